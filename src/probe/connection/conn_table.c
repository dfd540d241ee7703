/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/conn_table.h"

#include <stdlib.h>

#define SIZE_MIN 1024

/* Returns the home slot: splitmix64's finalizer (Steele and others 2014) mixes all bits. */
static size_t conn_table_home(const struct conn_table *t, uint32_t netns, uint64_t cookie)
{
	uint64_t h = cookie ^ (uint64_t)netns << 32;

	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ULL;
	h = (h ^ h >> 27) * 0x94d049bb133111ebULL;
	return (h ^ h >> 31) & (t->size - 1);
}

void conn_table_free(struct conn_table *t)
{
	for (size_t i = 0; i < t->size; i++)
		free(t->slots[i]);
	free(t->slots);
	*t = (struct conn_table){ .item = t->item };
}

/* Returns the index of the slot where the item is, or would be inserted. */
static size_t conn_table_slot(const struct conn_table *t, uint32_t netns, uint64_t cookie)
{
	size_t i = conn_table_home(t, netns, cookie);

	while (t->slots[i] && (t->slots[i]->cookie != cookie || t->slots[i]->netns != netns))
		i = (i + 1) & (t->size - 1);
	return i;
}

void *conn_table_find(const struct conn_table *t, uint32_t netns, uint64_t cookie)
{
	return t->size ? t->slots[conn_table_slot(t, netns, cookie)] : NULL;
}

/* Doubles the table, which is at most half full. Returns false without memory. */
static bool conn_table_grow(struct conn_table *t)
{
	struct conn_table larger = { .n = t->n, .size = t->size ? 2 * t->size : SIZE_MIN,
				     .item = t->item };

	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < t->size; i++) {
		struct conn_key *s = t->slots[i];

		if (s)
			larger.slots[conn_table_slot(&larger, s->netns, s->cookie)] = s;
	}
	free(t->slots);
	*t = larger;
	return true;
}

void *conn_table_add(struct conn_table *t, uint32_t netns, uint64_t cookie)
{
	struct conn_key *s;

	if (2 * (t->n + 1) > t->size && !conn_table_grow(t))
		return NULL;
	s = calloc(1, t->item);
	if (!s)
		return NULL;
	s->netns = netns;
	s->cookie = cookie;
	t->slots[conn_table_slot(t, netns, cookie)] = s;
	t->n++;
	return s;
}

void *conn_table_resize(struct conn_table *t, struct conn_key *s, size_t size)
{
	const size_t place = conn_table_slot(t, s->netns, s->cookie);

	s = realloc(s, size);
	if (s)
		t->slots[place] = s;
	return s;
}

void conn_table_remove(struct conn_table *t, struct conn_key *s)
{
	size_t hole = conn_table_slot(t, s->netns, s->cookie), i = hole;

	free(s);
	t->slots[hole] = NULL;
	t->n--;
	/*
	 * Move a later item into the emptied slot if its search passes that slot and would end
	 * there.
	 */
	while (t->slots[i = (i + 1) & (t->size - 1)]) {
		size_t from = conn_table_home(t, t->slots[i]->netns, t->slots[i]->cookie);

		if (((i - from) & (t->size - 1)) < ((i - hole) & (t->size - 1)))
			continue;
		t->slots[hole] = t->slots[i];
		t->slots[i] = NULL;
		hole = i;
	}
}

void *conn_table_next(const struct conn_table *t, size_t *at)
{
	while (*at < t->size)
		if (t->slots[(*at)++])
			return t->slots[*at - 1];
	return NULL;
}
