/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences between runs of `watch`, one or several of each side, row by row: the same stage,
 * direction, protocol, origin and group. The comparison's blocks (stats/contrast.h) are intervals,
 * joined to CONTRAST_BLOCKS at most.
 *
 * Memory: at most WATCH_COMPARE_ROWS rows of a run, of 64 histograms each (about 5 KB, if they are
 * full); further rows are counted.
 */
#ifndef HOSTLAT_WATCH_COMPARE_H
#define HOSTLAT_WATCH_COMPARE_H

#include "report/difference.h"
#include "watch/watch.h"

#define WATCH_COMPARE_ROWS 256u

struct watch_run;

int watch_run_new(struct watch_run **out);
void watch_run_free(struct watch_run *run);

/* Feeds an event to the run, as watch_feed() does. Returns 0 or -errno. */
int watch_run_feed(struct watch_run *run, const struct event *event);

/*
 * watch_run_any() returns true if the run has an interval, watch_run_duration_ns() the run's
 * duration in ns.
 */
bool watch_run_any(const struct watch_run *run);
uint64_t watch_run_duration_ns(const struct watch_run *run);

/* Returns the run's clocks and its style of times. They are valid as long as the run. */
struct times *watch_run_times(struct watch_run *run);

/* The runs of one side. */
struct watch_side {
	struct watch_run *runs[DIFFERENCE_RECORDINGS_MAX];
	size_t n;
};

/*
 * Adds to `r` the table "stages", a finding, and the reasons why a run is partial; what was tested
 * to `tally`. Returns 0 or -ENOMEM.
 */
int watch_compare_report(const struct watch_side *a, const struct watch_side *b, struct report *r,
			 struct difference_tally *tally);

#endif
