/* SPDX-License-Identifier: Apache-2.0 */
/* Drop reasons of the running kernel, from its BTF. */
#ifndef HOSTLAT_PROBE_DROP_REASON_H
#define HOSTLAT_PROBE_DROP_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns a drop reason's name, e.g. "SOCKET_RCVBUFF"; if it has none, a text made in `buf`. */
const char *drop_reason_name(uint32_t reason, char *buf, size_t size);

/* Returns the number of a drop reason, or -ENOENT if this kernel lacks it. */
int drop_reason_number(const char *name);

/* Returns true if the reason means that TCP had received the payload before. */
bool drop_reason_is_duplicate(const char *name);

#endif
