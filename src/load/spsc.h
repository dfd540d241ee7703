/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock-free queue of fixed-size records with a single producer and a single consumer thread.
 * Positions count records since the start and never wrap (2^64).
 */
#ifndef HOSTLAT_LOAD_SPSC_H
#define HOSTLAT_LOAD_SPSC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct spsc_queue {
	char *data;                        /* owned; aligned to 64 bytes */
	uint64_t mask;                     /* capacity in records - 1; capacity: a power of two */
	uint32_t record;                   /* size of a record in bytes */
	/* Producer's and consumer's members are in different cache lines. */
	_Alignas(64) uint64_t head;        /* records pushed; written by the producer */
	uint64_t tail_seen;                /* value of `tail` that the producer read last */
	_Alignas(64) uint64_t tail;        /* records consumed; written by the consumer */
};

/* Allocates space for `places` records (a power of two) and touches it. Returns 0 or -ENOMEM. */
int spsc_init(struct spsc_queue *queue, uint32_t record, uint64_t places);
void spsc_release(struct spsc_queue *queue);

/* Producer: returns the space for the next record, or NULL if the queue is full. */
static inline void *spsc_reserve(struct spsc_queue *queue)
{
	if (queue->head - queue->tail_seen > queue->mask) {
		queue->tail_seen = __atomic_load_n(&queue->tail, __ATOMIC_ACQUIRE);
		if (queue->head - queue->tail_seen > queue->mask)
			return NULL;
	}
	return queue->data + (queue->head & queue->mask) * queue->record;
}

/* Producer: publishes the record written to the reserved space. */
static inline void spsc_commit(struct spsc_queue *queue)
{
	__atomic_store_n(&queue->head, queue->head + 1, __ATOMIC_RELEASE);
}

/* Producer: pushes a record. Returns false if the queue is full. */
static inline bool spsc_push(struct spsc_queue *queue, const void *record)
{
	void *place = spsc_reserve(queue);

	if (!place)
		return false;
	memcpy(place, record, queue->record);
	spsc_commit(queue);
	return true;
}

/* Consumer: returns the number of records ready. */
static inline uint64_t spsc_ready(const struct spsc_queue *queue)
{
	return __atomic_load_n(&queue->head, __ATOMIC_ACQUIRE) - queue->tail;
}

/*
 * Consumer: returns the oldest records; *n is the number of contiguous ones, at most `most`. They
 * remain valid until spsc_consume().
 */
const void *spsc_peek(const struct spsc_queue *queue, uint64_t most, uint64_t *n);
void spsc_consume(struct spsc_queue *queue, uint64_t n);

#endif
