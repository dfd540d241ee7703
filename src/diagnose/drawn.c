/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/drawn.h"

#include <stdlib.h>

#include "base/sort.h"

/* Slices are merged when there are so many: seldom enough that sorting them costs little. */
#define DRAWN_FULL (2 * DRAWN_MAX)

void drawn_init(struct drawn *drawn)
{
	vec_init(drawn, DRAWN_FULL);
}

void drawn_release(struct drawn *drawn)
{
	vec_release(drawn);
}

static bool drawn_alike(const struct slice *a, const struct slice *b)
{
	return a->cause == b->cause && a->where == b->where && a->core == b->core &&
	       a->culprit == b->culprit && a->message == b->message && a->detail == b->detail;
}

static uint64_t drawn_length(const struct drawn_slice *s)
{
	return s->slice.end - s->slice.begin;
}

/* Returns what merging two neighbors hides, in ns: the length of the shorter one. */
static uint64_t drawn_cost(const struct drawn_slice *a, const struct drawn_slice *b)
{
	if (drawn_alike(&a->slice, &b->slice))
		return 0;
	return drawn_length(a) < drawn_length(b) ? drawn_length(a) : drawn_length(b);
}

static struct drawn_slice drawn_merge(const struct drawn_slice *a, const struct drawn_slice *b)
{
	const bool alike = drawn_alike(&a->slice, &b->slice);
	struct drawn_slice out = b->own_ns > a->own_ns ? *b : *a;

	out.slice.begin = a->slice.begin;
	out.slice.end = b->slice.end;
	out.own_ns = alike ? a->own_ns + b->own_ns : out.own_ns;
	out.merged = a->merged + b->merged + !alike;
	return out;
}

static int drawn_compare_costs(const void *a, const void *b)
{
	return sort_order(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Returns the `n`-th smallest cost, from 1 on, of merging a slice with its next one. */
static uint64_t drawn_find_cost(const struct drawn *drawn, size_t n)
{
	uint64_t costs[DRAWN_FULL];

	for (size_t i = 0; i + 1 < drawn->len; i++)
		costs[i] = drawn_cost(&drawn->items[i], &drawn->items[i + 1]);
	qsort(costs, drawn->len - 1, sizeof(*costs), drawn_compare_costs);
	return costs[n - 1];
}

/*
 * Merges pairs of neighbors until DRAWN_MAX slices are left. Each pass takes disjoint pairs, the
 * cheapest, and at least a third of what is to go. A slice that grows is dearer in the next pass.
 */
static void drawn_reduce(struct drawn *drawn)
{
	while (drawn->len > DRAWN_MAX) {
		size_t more = drawn->len - DRAWN_MAX, to = 0;
		const uint64_t cost = drawn_find_cost(drawn, more);

		for (size_t from = 0; from < drawn->len; from++) {
			const struct drawn_slice *s = &drawn->items[from];

			if (more && from + 1 < drawn->len && drawn_cost(s, s + 1) <= cost) {
				drawn->items[to++] = drawn_merge(s, s + 1);
				from++;
				more--;
			} else {
				drawn->items[to++] = *s;
			}
		}
		drawn->len = to;
	}
}

int drawn_add(struct drawn *drawn, const struct slice *slice)
{
	if (drawn->len == DRAWN_FULL)
		drawn_reduce(drawn);
	return vec_push(drawn, (struct drawn_slice){ .slice = *slice,
						     .own_ns = slice->end - slice->begin });
}

void drawn_finish(struct drawn *drawn)
{
	drawn_reduce(drawn);
}
