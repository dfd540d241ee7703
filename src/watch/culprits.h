/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that held the CPU while readers waited for it. */
#ifndef HOSTLAT_WATCH_CULPRITS_H
#define HOSTLAT_WATCH_CULPRITS_H

#include "watch/state.h"

/* A sentence or a table has this many names at most. */
#define WATCH_CULPRITS_SHOWN 32

/* Tasks in falling order of time, the rest pooled. */
struct watch_culprits {
	const struct watch_task *tasks[WATCH_CULPRITS_SHOWN];
	size_t n;
	uint64_t others_ns, others_count; /* exactly what the tasks above leave of the total */
	uint64_t total_ns;
};

/* The `most` (at most WATCH_CULPRITS_SHOWN) tasks with the most time. */
void watch_culprits(const struct watch *w, enum watch_span span, size_t most,
		    struct watch_culprits *c);

#endif
