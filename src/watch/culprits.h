/* SPDX-License-Identifier: Apache-2.0 */
/* Culprits: tasks that held the CPU while readers waited for it. */
#ifndef HOSTLAT_WATCH_CULPRITS_H
#define HOSTLAT_WATCH_CULPRITS_H

#include "watch/state.h"

/* Largest number of tasks in a sentence or a table. */
#define WATCH_CULPRITS_SHOWN 32

/* Tasks in falling order of the readers' waits charged to them; the others are summed up. */
struct watch_culprits {
	const struct watch_task *tasks[WATCH_CULPRITS_SHOWN];
	size_t n;
	uint64_t others_ns, others_count; /* sums over the tasks that are not in `tasks` */
	uint64_t total_ns;
};

/* Fills `c` with the `most` (up to WATCH_CULPRITS_SHOWN) tasks to which most wait is charged. */
void watch_culprits(const struct watch *w, enum watch_span span, size_t most,
		    struct watch_culprits *c);

#endif
