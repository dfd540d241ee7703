/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of fixed-size records from one thread to another, without locks: one thread only pushes,
 * one only takes. Positions count records since the start and never wrap (2^64).
 */
#ifndef HOSTLAT_LOAD_RING_H
#define HOSTLAT_LOAD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ring {
	char *data;                        /* owned; aligned to 64 */
	uint64_t mask;                     /* number of places, less one */
	uint32_t record;                   /* bytes of one */
	/* Each side has cache lines of its own. */
	_Alignas(64) uint64_t head;        /* pushed so far; written by the producer */
	uint64_t tail_seen;                /* the producer's last look at `tail` */
	_Alignas(64) uint64_t tail;        /* taken so far; written by the consumer */
};

/* Room for `places` records, a power of two. Touches all of it. Returns 0 or -ENOMEM. */
int ring_init(struct ring *ring, uint32_t record, uint64_t places);
void ring_release(struct ring *ring);

/* Producer: the place of the next record, or NULL if there is none. */
static inline void *ring_reserve(struct ring *ring)
{
	if (ring->head - ring->tail_seen > ring->mask) {
		ring->tail_seen = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
		if (ring->head - ring->tail_seen > ring->mask)
			return NULL;
	}
	return ring->data + (ring->head & ring->mask) * ring->record;
}

/* Producer: what was written to the reserved place is there. */
static inline void ring_commit(struct ring *ring)
{
	__atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
}

/* Producer: false if there was no room. */
static inline bool ring_push(struct ring *ring, const void *record)
{
	void *place = ring_reserve(ring);

	if (!place)
		return false;
	memcpy(place, record, ring->record);
	ring_commit(ring);
	return true;
}

/* Consumer: how many may be taken. */
static inline uint64_t ring_ready(const struct ring *ring)
{
	return __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) - ring->tail;
}

/*
 * Consumer: the oldest records, of which `most` are wanted; *n of them lie one after the other.
 * They stay until ring_take().
 */
const void *ring_peek(const struct ring *ring, uint64_t most, uint64_t *n);
void ring_take(struct ring *ring, uint64_t n);

#endif
