/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of the synthetic server, by arithmetic: one queue, first come first served, N servers.
 * A request's departure time is computed at its arrival, so that no thread runs meanwhile. With one
 * server: departure(i) = max(arrival(i), departure(i - 1)) + service(i).
 */
#ifndef HOSTLAT_LOAD_SERVE_QUEUE_H
#define HOSTLAT_LOAD_SERVE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define SERVE_WORKERS_MAX 1024

/*
 * Periodic stalls: no service in the first `length_ns` of each `every_ns`, that is, while now %
 * every_ns < length_ns. An interrupted service continues after the stall.
 */
struct serve_stall {
	uint64_t length_ns; /* less than every_ns; 0: no stalls */
	uint64_t every_ns;
};

static inline bool serve_stalled(const struct serve_stall *stall, uint64_t now_ns)
{
	return stall->length_ns && now_ns % stall->every_ns < stall->length_ns;
}

/* Returns the end of work that begins at `start_ns` and takes `work_ns` without stalls. */
uint64_t serve_stall_after(const struct serve_stall *stall, uint64_t start_ns, uint64_t work_ns);

struct serve_queue {
	struct serve_stall stall;
	uint32_t servers;
	uint64_t *free_at; /* heap of times at which servers become free; owned */
};

/* Initializes a queue with 1 to SERVE_WORKERS_MAX servers. Returns 0 or -ENOMEM. */
int serve_queue_init(struct serve_queue *queue, uint32_t servers, const struct serve_stall *stall);
void serve_queue_release(struct serve_queue *queue);

/* Adds a request; arrivals must be in ascending order. Returns its departure time. */
uint64_t serve_queue_enter(struct serve_queue *queue, uint64_t arrival_ns, uint64_t service_ns);

/* A priority queue of due events: the earliest first; equal times in order of insertion. */
struct serve_due {
	uint64_t at_ns, number;
	void *what;
};

struct serve_agenda {
	struct VEC_OF(struct serve_due) heap;
	uint64_t number;
};

/* Inserts an event. Returns 0, -ENOMEM or -E2BIG. */
int serve_agenda_put(struct serve_agenda *agenda, uint64_t at_ns, void *what);
/* Returns the first event, or NULL. The pointer is valid until the next call. */
const struct serve_due *serve_agenda_first(const struct serve_agenda *agenda);
void serve_agenda_drop_first(struct serve_agenda *agenda);

#endif
