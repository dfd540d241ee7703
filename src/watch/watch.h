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

/* EV_BINDING's `why` of a stage that nobody asked for: it is no reason to call a result partial. */
#define WATCH_NOT_SELECTED "not selected"

/* Facts about the run that have a place in the report (EV_FACT). */
#define WATCH_FACT_TARGET "target"             /* "memcached (pid 4711)" */
#define WATCH_FACT_COST "own-cost"             /* why the cost of the programs is unknown */
#define WATCH_FACT_UNCOVERED "netns-uncovered" /* one per namespace: "name: why" */
#define WATCH_FACT_OTHERS "other-traffic"      /* "counted", or why it is not */
#define WATCH_FACT_MISSING "missing" /* one per hook: stages in hex, "why; without it, what" */
#define WATCH_FACT_DROPS "drops"     /* "received unknown", "sent unknown": one for each */
#define WATCH_FACT_SLOWER "watch.slower_than_ns" /* from when on a message is told of: EV_SLOW */

enum watch_span { WATCH_INTERVAL, WATCH_TOTAL, WATCH_SPANS };

enum watch_result {
	WATCH_MORE,
	WATCH_CLOSED, /* this event closed an interval: the next delta begins a new one */
};

struct watch;

/*
 * `stages` is a mask of 1 << enum stage: what to show, of what was measured; 0 shows everything.
 * NULL when there is no memory.
 */
struct watch *watch_new(uint64_t stages);
void watch_free(struct watch *w);

/*
 * Takes an event; kinds of no concern are ignored. Returns an enum watch_result, -ENOMEM, or
 * -EBADMSG for a payload that cannot be. Such events, and those beyond the limits of
 * watch/state.h, are ignored, and the report says so.
 */
int watch_feed(struct watch *w, const struct event *event);

/* Reports what the source could not deliver: the totals are then marked as partial. */
void watch_set_damage(struct watch *w, const struct event_damage *damage);

/* Style of points in time in text; TIMES_AUTO by default. */
void watch_set_times(struct watch *w, enum times_style style);

/*
 * Fills `r`, which report_init() has prepared, with the last closed interval or with the totals.
 * The report borrows histograms: it is valid until the next watch_feed(), or
 * the next report of the same span. Returns 0 or -errno.
 */
int watch_report(struct watch *w, enum watch_span span, struct report *r);

#endif
