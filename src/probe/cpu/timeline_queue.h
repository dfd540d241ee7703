/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue of the CPUs' events, sorted by time over all CPUs once they are complete up to some time: a
 * task that moves leaves one core before it comes to another.
 */
#ifndef HOSTLAT_PROBE_TIMELINE_QUEUE_H
#define HOSTLAT_PROBE_TIMELINE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_record.h"

/* Largest number of events per core, of 40 bytes each. */
#define TIMELINE_QUEUE_MAX (4 * ACT_RING)

struct timeline_queue;

/* Returns 0 or -ENOMEM. */
int timeline_queue_new(struct timeline_queue **out, uint32_t cores);
void timeline_queue_free(struct timeline_queue *q);

/*
 * Adds an event; a core's events come almost in order. ACT_NAME, which tells a task's name, has no
 * time of its own and gets that of the event before it. Returns 0, -ENOMEM, or -E2BIG if the core's
 * queue is full.
 */
int timeline_queue_put(struct timeline_queue *q, uint32_t core, const struct act *act);

/* Orders cores by first event; call it between timeline_queue_put() and timeline_queue_next(). */
void timeline_queue_order(struct timeline_queue *q);

/* Removes the earliest event up to `until`; at equal times, the lower core's. False: none left. */
bool timeline_queue_next(struct timeline_queue *q, uint64_t until, uint32_t *core, struct act *act);

/* Returns the median time of the core's waiting events. The core must have one. */
uint64_t timeline_queue_middle(const struct timeline_queue *q, uint32_t core);

#endif
