/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences between two runs of `watch`, row by row: the same stage, direction, protocol, origin
 * and group. The blocks of the comparison (stats/contrast.h) are the intervals, or as many of them
 * together as it takes for COMPARE_BLOCKS to be enough.
 *
 * Memory: at most WATCH_COMPARE_ROWS rows of a run, of 64 histograms each (about 5 KB, if they are
 * full); further rows are counted.
 */
#ifndef HOSTLAT_WATCH_COMPARE_H
#define HOSTLAT_WATCH_COMPARE_H

#include "watch/watch.h"

#define WATCH_COMPARE_ROWS 256u

struct watch_run;

int watch_run_new(struct watch_run **out);
void watch_run_free(struct watch_run *run);

/* Takes an event as watch_feed() does. 0, -ENOMEM or -EBADMSG. */
int watch_run_feed(struct watch_run *run, const struct event *event);

/* Whether there was any interval; and how long all of them took. */
bool watch_run_any(const struct watch_run *run);
uint64_t watch_run_duration_ns(const struct watch_run *run);

/* Returns the run's clocks and its style of times, valid as long as the run. */
struct times *watch_run_times(struct watch_run *run);

/* Adds "stages", a finding, and the reasons of both runs. 0 or -ENOMEM. */
int watch_compare_report(struct watch_run *a, struct watch_run *b, struct report *r);

#endif
