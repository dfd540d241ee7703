/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis behind `hostlat watch`: events in, report out.
 *
 * Live or from a file, the events are the same: facts, names and bindings once, then the deltas
 * of each interval (EV_HIST, EV_COUNT, EV_SHARE, EV_CULPRIT, EV_SLOW, EV_CLOCK), closed by an
 * EV_INTERVAL. Both the interval and the totals since the start are kept. Since deltas only add,
 * the totals are exactly the sum of the intervals, whatever the order of the deltas within one.
 *
 *	while ((err = next(&event)) > 0) {
 *		err = watch_feed(w, &event);
 *		if (err == WATCH_CLOSED)
 *			watch_report(w, WATCH_INTERVAL, &report);    show it, release it
 *	}
 *	watch_report(w, WATCH_TOTAL, &report);
 */
#ifndef HOSTLAT_WATCH_WATCH_H
#define HOSTLAT_WATCH_WATCH_H

#include <stdint.h>

#include "event/source.h"
#include "report/times.h"

/* Version of the JSON document, for struct provenance. */
#define WATCH_SCHEMA 1

/* EV_BINDING's `why` of a stage that the user did not select: the result is not partial for it. */
#define WATCH_NOT_SELECTED "not selected"

/* Facts about the run (EV_FACT) that the report shows. */
#define WATCH_FACT_TARGET "target"             /* target: "memcached (pid 4711)" */
#define WATCH_FACT_COST "own-cost"             /* why the overhead of the programs is unknown */
/* one fact per network namespace that was not measured all the time: "name [inode]: why" */
#define WATCH_FACT_UNCOVERED "netns-uncovered"
#define WATCH_FACT_OTHERS "other-traffic"      /* "counted", or the reason why not */
/* one fact per missing hook: mask of the stages it helps, hex, "why; without it, what is lost" */
#define WATCH_FACT_MISSING "missing"
#define WATCH_FACT_DROPS "drops"     /* "received unknown" or "sent unknown" */
#define WATCH_FACT_SLOWER "watch.slower_than_ns" /* latency from which messages are slow */

enum watch_span { WATCH_INTERVAL, WATCH_TOTAL, WATCH_SPANS };

enum watch_result {
	WATCH_MORE,
	WATCH_CLOSED, /* an interval is closed: the next delta begins a new interval */
};

struct watch;

/*
 * `stages`: mask of 1 << enum stage, the measured stages to show; 0: all. Returns NULL if there is
 * no memory.
 */
struct watch *watch_new(uint64_t stages);
void watch_free(struct watch *w);

/*
 * Feeds an event; other kinds are ignored. Returns an enum watch_result, -ENOMEM, or -EBADMSG for
 * impossible values. Such events, and those beyond the limits of watch/state.h, are ignored and
 * counted in the report.
 */
int watch_feed(struct watch *w, const struct event *event);

/* Sets what the source could not deliver, for the report: the totals are then partial. */
void watch_set_damage(struct watch *w, const struct event_damage *damage);

/* Sets the style of points in time in text; TIMES_AUTO by default. */
void watch_set_times(struct watch *w, enum times_style style);

/*
 * Fills `r`, which report_init() has prepared, with the last closed interval or with the totals.
 * The report borrows histograms: it is valid until the next watch_feed(), or
 * the next report of the same span. Returns 0 or -errno.
 */
int watch_report(struct watch *w, enum watch_span span, struct report *r);

#endif
