/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a report tells points in time: by the realtime clock in spite of its steps (UTC), by the
 * monotonic clock, or since the recording began. Events in, texts and JSON fields out.
 *
 * Fields in JSON are of the realtime clock whatever the style: NAME_realtime_ns, in ns since 1970,
 * and realtime_error_ns, its bound; null where what it showed is not known.
 */
#ifndef HOSTLAT_REPORT_TIMES_H
#define HOSTLAT_REPORT_TIMES_H

#include "event/clocks.h"
#include "report/report.h"

enum times_style {
	TIMES_AUTO,      /* TIMES_WALL if the recording relates the clocks, else no times in text */
	TIMES_WALL,      /* "2026-11-20T12:00:03.250000Z", in as many digits as the bound allows */
	TIMES_MONOTONIC, /* "1000.250000 s" of CLOCK_MONOTONIC */
	TIMES_TRACE,     /* "0.250000 s" since the recording began */
};

struct times {
	enum times_style style;
	struct event_clocks clocks;
};

/* Does not allocate. Pair with times_release(), which accepts a zeroed struct, too. */
void times_init(struct times *times, enum times_style style);
void times_release(struct times *times);

/* Reads the clocks and times from an event of the recording. 0 or -ENOMEM. */
int times_feed(struct times *times, const struct event *event);

/*
 * Returns the time as text, owned by `r`, or NULL: it is not known, or text has no times. The date
 * is left out where it is that of `day_ns`; 0: never. `digits` of a second are printed at most: 0
 * to 6.
 */
const char *times_text(const struct times *times, struct report *r, uint64_t mono_ns,
		       uint64_t day_ns, unsigned int digits);

/* Returns true if text shows times of day, which end in "Z". */
bool times_is_wall(const struct times *times);

/* Returns the realtime clock's ns since 1970, and the bound of that, in ns, or null. */
struct value times_realtime(const struct times *times, uint64_t mono_ns);
struct value times_error(const struct times *times, uint64_t mono_ns);

/* Adds from_realtime_ns, to_realtime_ns and realtime_error_ns, the larger bound, to `o`. */
void times_add_span(const struct times *times, struct object *o, uint64_t from_ns, uint64_t to_ns);

/*
 * Adds "FROM to TO ±BOUND" to the summary, after `prefix`, without the bound if one of them is not
 * known, and a finding for each of the first steps of the realtime clock in between. Nothing if
 * text has no times.
 */
void times_add_span_text(const struct times *times, struct report *r, const char *prefix,
			 uint64_t from_ns, uint64_t to_ns);

#endif
