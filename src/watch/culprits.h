/* SPDX-License-Identifier: Apache-2.0 */
/* Culprits: tasks that held the CPU while readers waited for it. */
#ifndef HOSTLAT_WATCH_CULPRITS_H
#define HOSTLAT_WATCH_CULPRITS_H

#include "watch/state.h"

/* Largest number of tasks or commands in a sentence or a table. */
#define WATCH_CULPRITS_SHOWN 32

/*
 * A task or, as a job may be many processes of which each lives for a moment, all tasks with one
 * name.
 */
struct watch_culprit {
	const struct watch_task *task; /* for a command: its first one */
	uint32_t processes;
	uint64_t ns, count; /* readers' waits charged to it */
};

/* Culprits in falling order of the waits charged to them; the others are summed up. */
struct watch_culprits {
	struct watch_culprit list[WATCH_CULPRITS_SHOWN];
	size_t n;
	uint64_t others_ns, others_count; /* sums over those that are not in `list` */
	uint64_t total_ns;
};

/*
 * Fill `c` with the `most` (up to WATCH_CULPRITS_SHOWN) tasks, or commands, to which most wait is
 * charged.
 */
void watch_culprits(const struct watch *w, enum watch_span span, size_t most,
		    struct watch_culprits *c);
void watch_commands(const struct watch *w, enum watch_span span, size_t most,
		    struct watch_culprits *c);

#endif
