/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats points in time for a report: by the realtime clock in spite of its steps (UTC), by the
 * monotonic clock, or since the recording began. Fed with events; produces texts and JSON fields.
 *
 * JSON fields are always of the realtime clock: NAME_realtime_ns, in ns since 1970, and
 * realtime_error_ns, its error bound; null while the realtime clock is not known.
 */
#ifndef HOSTLAT_REPORT_TIMES_H
#define HOSTLAT_REPORT_TIMES_H

#include "event/clocks.h"
#include "report/report.h"

enum times_style {
	TIMES_AUTO,      /* TIMES_WALL if the recording has realtime; else text has no times */
	TIMES_WALL,      /* text "2026-11-20T12:00:03.250000Z"; the error bound limits the digits */
	TIMES_MONOTONIC, /* text "1000.250000 s" of CLOCK_MONOTONIC */
	TIMES_TRACE,     /* text "0.250000 s" since the recording began */
};

struct times {
	enum times_style style;
	struct event_clocks clocks;
};

/* Initializes without allocating. Call times_release(), which also accepts a zeroed struct. */
void times_init(struct times *times, enum times_style style);
void times_release(struct times *times);

/* Reads the clocks and times from an event of the recording. Returns 0 or -ENOMEM. */
int times_feed(struct times *times, const struct event *event);

/*
 * Returns the time as text, owned by `r`; NULL: unknown, or text has no times. Omits the date if it
 * is that of `day_ns` (0: never omits it). Prints at most `digits` of a second: 0 to 6.
 */
const char *times_text(const struct times *times, struct report *r, uint64_t mono_ns,
		       uint64_t day_ns, unsigned int digits);

/* Returns true if text shows times of day, which end in "Z". */
bool times_is_wall(const struct times *times);

/* Return realtime in ns since 1970 and, times_error(), its error bound in ns; null if unknown. */
struct value times_realtime(const struct times *times, uint64_t mono_ns);
struct value times_error(const struct times *times, uint64_t mono_ns);

/* Adds from_realtime_ns, to_realtime_ns and realtime_error_ns, the larger bound, to `o`. */
void times_add_span(const struct times *times, struct object *o, uint64_t from_ns, uint64_t to_ns);

/*
 * Adds "FROM to TO ±BOUND" after `prefix` to the summary, without the bound if a time is unknown,
 * and a finding for each of the first steps of the realtime clock in between. Adds nothing if text
 * has no times.
 */
void times_add_span_text(const struct times *times, struct report *r, const char *prefix,
			 uint64_t from_ns, uint64_t to_ns);

#endif
