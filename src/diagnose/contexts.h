/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the activity of cores during messages: tasks, interrupts, softirqs, idle time. */
#ifndef HOSTLAT_DIAGNOSE_CONTEXTS_H
#define HOSTLAT_DIAGNOSE_CONTEXTS_H

#include "base/vec.h"
#include "diagnose/attrib.h"

#define CONTEXTS_MAX 4096u

struct context {
	uint32_t core;
	/* task: number in DICT_TASK; interrupt or softirq: number as in slice.detail */
	uint32_t detail;
	uint8_t type;          /* enum cpu_segment_type */
	uint8_t where;
	uint64_t target_ns;
	uint64_t reference_ns;
};

struct contexts {
	struct context_vec VEC_OF(struct context) all;
	uint32_t *places; /* hash table, open addressing: index + 1 in the array `all`; 0: free */
	uint64_t lost_ns;      /* ns of activity left out, as `all` has CONTEXTS_MAX entries */
};

/* Returns 0 or -ENOMEM. Call contexts_release() in either case. */
int contexts_init(struct contexts *contexts);
void contexts_release(struct contexts *contexts);

/*
 * Adds a slice's time to the sums of its core's activity: of target messages, of reference
 * messages, or both. The slice's core must be known. Returns 0 or -ENOMEM.
 */
int contexts_add(struct contexts *contexts, const struct slice *slice, bool target, bool reference);

#endif
