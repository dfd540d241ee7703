/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as people type them for --since and --until. */
#ifndef HOSTLAT_CMD_FLEET_TIME_H
#define HOSTLAT_CMD_FLEET_TIME_H

#include <stdint.h>

#define FLEET_TIME_TAKES \
	"a local time ('2026-11-28 03:00'), one with its offset (2026-11-28T03:00Z, " \
	"'2026-11-28 03:00+02:00'), today or yesterday (from 00:00 UTC on), now, or a duration " \
	"before the end (6h)"

/* Returns CLOCK_REALTIME in ns, to the second. */
uint64_t fleet_time_now(void);

/*
 * Parses "2026-11-28[ 03:00[:00]]" (a blank or a T; local time, or with Z or +02:00 at the end that
 * of the offset), "now", "today" or "yesterday" (0:00 UTC), or a duration before `end_ns`, into
 * CLOCK_REALTIME. Returns 0 or -EINVAL.
 */
int fleet_time_parse(const char *text, uint64_t now_ns, uint64_t end_ns, uint64_t *out);

#endif
