/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rolling log: a queue of items that keep their number while the oldest items are removed.
 * Pointers into it are valid until the next rolling_push().
 */
#ifndef HOSTLAT_DIAGNOSE_ROLLING_H
#define HOSTLAT_DIAGNOSE_ROLLING_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct rolling {
	unsigned char *items;
	size_t size;         /* size of an item in bytes */
	uint64_t head, tail; /* numbers of the oldest item and of the next to be added */
	uint64_t room;       /* items that fit: a power of two, or 0 */
};

static inline void rolling_init(struct rolling *r, size_t size)
{
	*r = (struct rolling){ .size = size };
}

static inline void rolling_release(struct rolling *r)
{
	free(r->items);
	rolling_init(r, r->size);
}

/* Removes all items. Numbers continue, so a removed item's number is never reused. */
static inline void rolling_clear(struct rolling *r)
{
	r->head = r->tail;
}

static inline uint64_t rolling_len(const struct rolling *r)
{
	return r->tail - r->head;
}

/* Returns the item; head <= number < tail. */
static inline void *rolling_at(const struct rolling *r, uint64_t number)
{
	return r->items + (number & (r->room - 1)) * r->size;
}

static inline int rolling_grow(struct rolling *r)
{
	struct rolling more = { .size = r->size, .head = r->head, .tail = r->tail,
			     .room = r->room ? 2 * r->room : 64 };

	more.items = malloc(more.room * more.size);
	if (!more.items)
		return -1;
	for (uint64_t i = r->head; i < r->tail; i++)
		memcpy(rolling_at(&more, i), rolling_at(r, i), r->size);
	free(r->items);
	*r = more;
	return 0;
}

/* Adds an item at the end and returns its uninitialized memory; NULL: out of memory. */
static inline void *rolling_push(struct rolling *r)
{
	if (rolling_len(r) == r->room && rolling_grow(r))
		return NULL;
	return rolling_at(r, r->tail++);
}

#endif
