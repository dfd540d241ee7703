/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the CPUs noted, until all of it is there up to some time: then it comes out in the order of
 * time over all of them. A task that moves leaves one core before it comes to another.
 */
#ifndef HOSTLAT_PROBE_TIMELINE_QUEUE_H
#define HOSTLAT_PROBE_TIMELINE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_record.h"

/* Of a core, at 40 bytes each. */
#define TIMELINE_QUEUE_MAX (4 * ACT_RING)

struct timeline_queue;

/* 0 or -ENOMEM. */
int timeline_queue_new(struct timeline_queue **out, uint32_t cores);
void timeline_queue_free(struct timeline_queue *q);

/*
 * Of a core they come almost in order. An ACT_NAME has no time: it keeps its place before what is
 * put after it and isn't earlier than what was before it. 0, -ENOMEM, or -E2BIG.
 */
int timeline_queue_put(struct timeline_queue *q, uint32_t core, const struct act *act);

/* After something was put, before the first timeline_queue_next(). */
void timeline_queue_order(struct timeline_queue *q);

/* Takes the earliest up to `until`, if there is one: of several at a time, the lower core's. */
bool timeline_queue_next(struct timeline_queue *q, uint64_t until, uint32_t *core, struct act *act);

/* Half of what waits of that core is up to then. There is something. */
uint64_t timeline_queue_middle(const struct timeline_queue *q, uint32_t core);

#endif
