/* SPDX-License-Identifier: Apache-2.0 */
/* Drop reasons of the running kernel, by its BTF. */
#ifndef HOSTLAT_PROBE_DROP_REASON_H
#define HOSTLAT_PROBE_DROP_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns a reason's name, e.g. "SOCKET_RCVBUFF"; `buf` holds it where the kernel has none. */
const char *drop_reason_name(uint32_t reason, char *buf, size_t size);

/* Returns the number of a reason, or -ENOENT. */
int drop_reason_number(const char *name);

/* Returns true if TCP drops payload for this reason that it had received before. */
bool drop_reason_is_duplicate(const char *name);

#endif
