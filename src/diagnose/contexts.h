/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the activity of messages' cores: tasks, interrupts, softirqs, idle. */
#ifndef HOSTLAT_DIAGNOSE_CONTEXTS_H
#define HOSTLAT_DIAGNOSE_CONTEXTS_H

#include "base/vec.h"
#include "diagnose/attrib.h"

#define CONTEXTS_MAX 4096u

struct context {
	uint32_t core;
	uint32_t detail;       /* DICT_TASK; or the number of an interrupt, as in struct slice */
	uint8_t type;          /* enum cpu_segment_type */
	uint8_t where;
	uint64_t target_ns;
	uint64_t reference_ns;
};

struct contexts {
	struct context_vec VEC_OF(struct context) all;
	uint32_t *places;      /* open addressing: its place + 1, 0 = free */
	uint64_t lost_ns;      /* time in contexts beyond CONTEXTS_MAX */
};

/* 0 or -ENOMEM; to be released in either case. */
int contexts_init(struct contexts *contexts);
void contexts_release(struct contexts *contexts);

/* Adds a slice whose core is known. 0 or -ENOMEM. */
int contexts_add(struct contexts *contexts, const struct slice *slice, bool target, bool reference);

#endif
