/* SPDX-License-Identifier: Apache-2.0 */
/* CPU activity of a live run: events of BPF programs and, on request, kernel function calls. */
#ifndef HOSTLAT_CMD_LIVE_ACTIVITY_H
#define HOSTLAT_CMD_LIVE_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#include "event/writer.h"
#include "probe/cpu/activity.h"
#include "trace/funcgraph.h"

/* Recorders of CPU activity during a live run. Zeroed: the functions below record nothing. */
struct live_activity {
	struct activity *activity;
	struct funcgraph *functions; /* tracer of kernel functions; NULL: not requested */
	uint64_t throttled;          /* throttlings of control groups before the run, a count */
	bool throttled_known;        /* false: `throttled` could not be read */
};

/*
 * Prepares recording CPU activity, and calls of kernel `functions`; NULL: no calls. Returns 0, or
 * -errno after a message. After an error, a->activity is NULL if the kernel lacks a feature that
 * all CPU activity needs; the caller may then go on without CPU activity. The caller calls
 * live_activity_release() in either case.
 */
int live_activity_open(struct live_activity *a, uint32_t pid,
		       const struct tracefs_config *functions);
int live_activity_start(struct live_activity *a);

/* Writes all available events. Returns 0 or the writer's first error. */
int live_activity_pull(struct live_activity *a, struct event_writer *writer);

/* Writes the last events and stops recording. Returns 0 or the writer's first error. */
int live_activity_end(struct live_activity *a, struct event_writer *writer);

/* Returns the number of events lost so far. */
uint64_t live_activity_lost(const struct live_activity *a);

void live_activity_release(struct live_activity *a);

#endif
