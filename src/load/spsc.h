/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of fixed-size records from one thread to another, without locks: one thread only pushes,
 * one only takes. Positions count records since the start and never wrap (2^64).
 */
#ifndef HOSTLAT_LOAD_SPSC_H
#define HOSTLAT_LOAD_SPSC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct spsc_queue {
	char *data;                        /* owned; aligned to 64 */
	uint64_t mask;                     /* number of places, less one */
	uint32_t record;                   /* bytes of one */
	/* Each side has cache lines of its own. */
	_Alignas(64) uint64_t head;        /* pushed so far; written by the producer */
	uint64_t tail_seen;                /* the producer's last look at `tail` */
	_Alignas(64) uint64_t tail;        /* taken so far; written by the consumer */
};

/* Room for `places` records, a power of two. Touches all of it. Returns 0 or -ENOMEM. */
int spsc_init(struct spsc_queue *queue, uint32_t record, uint64_t places);
void spsc_release(struct spsc_queue *queue);

/* Producer: the place of the next record, or NULL if there is none. */
static inline void *spsc_reserve(struct spsc_queue *queue)
{
	if (queue->head - queue->tail_seen > queue->mask) {
		queue->tail_seen = __atomic_load_n(&queue->tail, __ATOMIC_ACQUIRE);
		if (queue->head - queue->tail_seen > queue->mask)
			return NULL;
	}
	return queue->data + (queue->head & queue->mask) * queue->record;
}

/* Producer: what was written to the reserved place is there. */
static inline void spsc_commit(struct spsc_queue *queue)
{
	__atomic_store_n(&queue->head, queue->head + 1, __ATOMIC_RELEASE);
}

/* Producer: false if there was no room. */
static inline bool spsc_push(struct spsc_queue *queue, const void *record)
{
	void *place = spsc_reserve(queue);

	if (!place)
		return false;
	memcpy(place, record, queue->record);
	spsc_commit(queue);
	return true;
}

/* Consumer: how many may be taken. */
static inline uint64_t spsc_ready(const struct spsc_queue *queue)
{
	return __atomic_load_n(&queue->head, __ATOMIC_ACQUIRE) - queue->tail;
}

/*
 * Consumer: the oldest records, of which `most` are wanted; *n of them lie one after the other.
 * They stay until ring_take().
 */
const void *spsc_peek(const struct spsc_queue *queue, uint64_t most, uint64_t *n);
void spsc_consume(struct spsc_queue *queue, uint64_t n);

#endif
