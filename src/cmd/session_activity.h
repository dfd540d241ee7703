/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPUs do, for a session: its programs' events and, if asked, the kernel's functions. */
#ifndef HOSTLAT_CMD_SESSION_ACTIVITY_H
#define HOSTLAT_CMD_SESSION_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#include "event/writer.h"
#include "probe/cpu/activity.h"
#include "trace/funcgraph.h"

/* All NULL: nothing is recorded, and every function does nothing. */
struct session_activity {
	struct activity *activity;
	struct funcgraph *functions; /* NULL: not asked for */
	uint64_t throttled;          /* times that some group was before the start ... */
	bool throttled_known;        /* ... if that can be told */
};

/*
 * `functions` NULL: none. 0, or -errno after a message: `activity` is NULL then if this kernel
 * refuses what all of it needs, which the rest of a session can do without. To be released in
 * either case.
 */
int session_activity_open(struct session_activity *a, uint32_t pid,
			  const struct tracefs_config *functions);
int session_activity_start(struct session_activity *a);

/* All that has come. Returns the writer's first error. */
int session_activity_pull(struct session_activity *a, struct event_writer *writer);

/* The last of it. */
int session_activity_end(struct session_activity *a, struct event_writer *writer);

/* Events that found no room, so far. */
uint64_t session_activity_lost(const struct session_activity *a);

void session_activity_release(struct session_activity *a);

#endif
