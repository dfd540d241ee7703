/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of items that keep their number while the oldest are taken away: what a rolling log is
 * made of. Pointers into it are valid until the next ring_push().
 */
#ifndef HOSTLAT_DIAGNOSE_RING_H
#define HOSTLAT_DIAGNOSE_RING_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ring {
	unsigned char *items;
	size_t size;         /* an item's */
	uint64_t head, tail; /* numbers of the oldest and of the next one */
	uint64_t room;       /* a power of two, or 0 */
};

static inline void ring_init(struct ring *r, size_t size)
{
	*r = (struct ring){ .size = size };
}

static inline void ring_release(struct ring *r)
{
	free(r->items);
	ring_init(r, r->size);
}

/* The numbers go on: what is asked for by an old one is gone. */
static inline void ring_clear(struct ring *r)
{
	r->head = r->tail;
}

static inline uint64_t ring_len(const struct ring *r)
{
	return r->tail - r->head;
}

/* head <= number < tail */
static inline void *ring_at(const struct ring *r, uint64_t number)
{
	return r->items + (number & (r->room - 1)) * r->size;
}

static inline int ring_grow(struct ring *r)
{
	struct ring more = { .size = r->size, .head = r->head, .tail = r->tail,
			     .room = r->room ? 2 * r->room : 64 };

	more.items = malloc(more.room * more.size);
	if (!more.items)
		return -1;
	for (uint64_t i = r->head; i < r->tail; i++)
		memcpy(ring_at(&more, i), ring_at(r, i), r->size);
	free(r->items);
	*r = more;
	return 0;
}

/* Room for one more, at the end; NULL without memory. */
static inline void *ring_push(struct ring *r)
{
	if (ring_len(r) == r->room && ring_grow(r))
		return NULL;
	return ring_at(r, r->tail++);
}

#endif
