/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/measuring.h"

#include <stddef.h>

#include "base/log.h"
#include "base/privilege.h"
#include "trace/tracefs.h"

void measuring_prepare(void)
{
	tracefs_clean(NULL);
}

void measuring_begin(void)
{
	privilege_keep(PRIVILEGE_COLLECT);
	log_info("measuring");
}
