// SPDX-License-Identifier: Apache-2.0
#include "clock/domain.h"

#include <stddef.h>

static const char *const names[DOMAIN_COUNT] = {
	[DOMAIN_MONO] = "monotonic",
	[DOMAIN_RAW] = "monotonic-raw",
	[DOMAIN_REALTIME] = "realtime",
	[DOMAIN_TAI] = "tai",
	[DOMAIN_BOOTTIME] = "boottime",
	[DOMAIN_TSC] = "tsc",
	[DOMAIN_NIC] = "nic",
	[DOMAIN_FILE] = "file",
	[DOMAIN_SCHED] = "sched-clock",
};

const char *clock_domain_name(enum clock_domain domain)
{
	return (unsigned int)domain < DOMAIN_COUNT ? names[domain] : NULL;
}
