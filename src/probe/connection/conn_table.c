/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/conn_table.h"

#include <stdlib.h>

#define SIZE_MIN 1024

/* Steele and others 2014, the finalizer of splitmix64: all bits of a counter count. */
static size_t home(const struct conn_table *t, uint32_t netns, uint64_t cookie)
{
	uint64_t h = cookie ^ (uint64_t)netns << 32;

	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ULL;
	h = (h ^ h >> 27) * 0x94d049bb133111ebULL;
	return (h ^ h >> 31) & (t->size - 1);
}

void conn_table_free(struct conn_table *t)
{
	for (size_t i = 0; i < t->size; i++)
		free(t->places[i]);
	free(t->places);
	*t = (struct conn_table){ .item = t->item };
}

/* Where it is, or where it would be. */
static size_t place_of(const struct conn_table *t, uint32_t netns, uint64_t cookie)
{
	size_t i = home(t, netns, cookie);

	while (t->places[i] && (t->places[i]->cookie != cookie || t->places[i]->netns != netns))
		i = (i + 1) & (t->size - 1);
	return i;
}

void *conn_table_find(const struct conn_table *t, uint32_t netns, uint64_t cookie)
{
	return t->size ? t->places[place_of(t, netns, cookie)] : NULL;
}

/* At most half of the places are taken. */
static bool grow(struct conn_table *t)
{
	struct conn_table larger = { .n = t->n, .size = t->size ? 2 * t->size : SIZE_MIN,
				     .item = t->item };

	larger.places = calloc(larger.size, sizeof(*larger.places));
	if (!larger.places)
		return false;
	for (size_t i = 0; i < t->size; i++) {
		struct conn_key *s = t->places[i];

		if (s)
			larger.places[place_of(&larger, s->netns, s->cookie)] = s;
	}
	free(t->places);
	*t = larger;
	return true;
}

void *conn_table_add(struct conn_table *t, uint32_t netns, uint64_t cookie)
{
	struct conn_key *s;

	if (2 * (t->n + 1) > t->size && !grow(t))
		return NULL;
	s = calloc(1, t->item);
	if (!s)
		return NULL;
	s->netns = netns;
	s->cookie = cookie;
	t->places[place_of(t, netns, cookie)] = s;
	t->n++;
	return s;
}

void *conn_table_resize(struct conn_table *t, struct conn_key *s, size_t size)
{
	const size_t place = place_of(t, s->netns, s->cookie);

	s = realloc(s, size);
	if (s)
		t->places[place] = s;
	return s;
}

void conn_table_remove(struct conn_table *t, struct conn_key *s)
{
	size_t hole = place_of(t, s->netns, s->cookie), i = hole;

	free(s);
	t->places[hole] = NULL;
	t->n--;
	/* What stands behind a hole and could stand in it moves there: no search ends too early. */
	while (t->places[i = (i + 1) & (t->size - 1)]) {
		size_t from = home(t, t->places[i]->netns, t->places[i]->cookie);

		if (((i - from) & (t->size - 1)) < ((i - hole) & (t->size - 1)))
			continue;
		t->places[hole] = t->places[i];
		t->places[i] = NULL;
		hole = i;
	}
}

void *conn_table_next(const struct conn_table *t, size_t *at)
{
	while (*at < t->size)
		if (t->places[(*at)++])
			return t->places[*at - 1];
	return NULL;
}
