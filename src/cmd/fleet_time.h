/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as people type them for --since and --until. */
#ifndef HOSTLAT_CMD_FLEET_TIME_H
#define HOSTLAT_CMD_FLEET_TIME_H

#include <stdint.h>

#define FLEET_TIME_TAKES \
	"a time (2026-11-28 03:00, or with Z for UTC) or a duration before the end (1h)"

/*
 * Parses "2026-11-28 03:00[:00]" (a blank or a T; local time, or UTC with a Z at the end), or a
 * duration before `end_ns`, into CLOCK_REALTIME. Returns 0 or -EINVAL.
 */
int fleet_time_parse(const char *text, uint64_t end_ns, uint64_t *out);

#endif
