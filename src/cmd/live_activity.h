/* SPDX-License-Identifier: Apache-2.0 */
/* CPU activity of a live run: events of BPF programs and, on request, the kernel's functions. */
#ifndef HOSTLAT_CMD_LIVE_ACTIVITY_H
#define HOSTLAT_CMD_LIVE_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#include "event/writer.h"
#include "probe/cpu/activity.h"
#include "trace/funcgraph.h"

/* All NULL: nothing is recorded, and every function does nothing. */
struct live_activity {
	struct activity *activity;
	struct funcgraph *functions; /* NULL: not asked for */
	uint64_t throttled;          /* times that control groups were throttled before the start */
	bool throttled_known;        /* false: `throttled` could not be read */
};

/*
 * `functions` NULL: none. 0, or -errno after a message: `activity` is NULL then if this kernel
 * refuses what all of it needs, which the rest of a session can do without. To be released in
 * either case.
 */
int live_activity_open(struct live_activity *a, uint32_t pid,
		       const struct tracefs_config *functions);
int live_activity_start(struct live_activity *a);

/* Records all events that have come. Returns the writer's first error. */
int live_activity_pull(struct live_activity *a, struct event_writer *writer);

/* Records the last events and stops. */
int live_activity_end(struct live_activity *a, struct event_writer *writer);

/* Returns how many events were lost so far. */
uint64_t live_activity_lost(const struct live_activity *a);

void live_activity_release(struct live_activity *a);

#endif
