/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/same.h"

#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/sort.h"

/* A resource and its groups with defined connections, as a sum of random numbers. */
struct same_entry {
	uint64_t sum, groups;
	enum fleet_kind kind;
	uint32_t resource;
};

static int same_order(const void *a, const void *b)
{
	const struct same_entry *x = a, *y = b;

	return sort_order(x->sum, y->sum) ?: sort_order(x->groups, y->groups) ?:
	       sort_order(x->kind, y->kind) ?: sort_order(x->resource, y->resource);
}

static struct same_entry same_entry_of(const struct class_sums *sums, uint32_t resource)
{
	struct same_entry entry = { .kind = sums->f->resources.items[resource].kind,
				    .resource = resource };
	size_t n;
	const uint32_t *groups = fleet_groups_of(sums->groups, resource, &n);

	for (size_t i = 0; i < n; i++) {
		if (!class_sums_has(sums, groups[i]))
			continue;
		entry.sum += rng_derive(0, groups[i]);
		entry.groups++;
	}
	return entry;
}

int same_resources(const struct class_sums *sums, uint32_t *first)
{
	const uint32_t n = (uint32_t)sums->f->resources.len;
	struct same_entry *entries = malloc((n + 1) * sizeof(*entries));
	const struct same_entry *before = NULL;

	if (!entries)
		return -ENOMEM;
	for (uint32_t r = 0; r < n; r++)
		entries[r] = same_entry_of(sums, r);
	qsort(entries, n, sizeof(*entries), same_order);
	for (const struct same_entry *e = entries; e < entries + n; e++) {
		const bool same = before && before->sum == e->sum && before->groups == e->groups;

		first[e->resource] = !e->groups ? FLEET_NONE :
				     same ? first[before->resource] : e->resource;
		before = e;
	}
	free(entries);
	return 0;
}
