/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/pipeline_sums.h"

#include <errno.h>
#include <stdlib.h>

#define SLOTS_MAX 1024u
#define SUMS_BYTES_MAX (8UL << 20)

int pipeline_sums_begin(struct pipeline_sums *cache, uint32_t intervals)
{
	const size_t most = SUMS_BYTES_MAX / (2 * sizeof(int64_t) * intervals);

	if (!cache->slots)
		cache->slots = calloc(SLOTS_MAX, sizeof(*cache->slots));
	cache->n = most < SLOTS_MAX ? (uint32_t)most : SLOTS_MAX;
	for (uint32_t i = 0; i < cache->n && cache->slots; i++)
		cache->slots[i].resource = FLEET_NONE;
	return cache->slots ? 0 : -ENOMEM;
}

void pipeline_sums_release(struct pipeline_sums *cache)
{
	for (uint32_t i = 0; i < cache->n && cache->slots; i++)
		fleet_sums_release(&cache->slots[i].sums);
	free(cache->slots);
	*cache = (struct pipeline_sums){ 0 };
}

static void pipeline_sums_fill(struct pipeline_slot *slot, const struct class_sums *sums,
			       uint32_t resource)
{
	size_t n;
	const uint32_t *groups = fleet_groups_of(sums->groups, resource, &n);

	fleet_sums_clear(&slot->sums);
	for (size_t i = 0; i < n; i++)
		class_sums_add_group(sums, groups[i], &slot->sums);
	fleet_sums_finish(&slot->sums);
	slot->resource = resource;
}

const struct fleet_sums *pipeline_sums_of(struct pipeline_sums *cache,
					  const struct class_sums *sums, uint32_t resource)
{
	struct pipeline_slot *slot = &cache->slots[resource % cache->n];

	if (slot->resource == resource)
		return &slot->sums;
	if (!slot->sums.z && fleet_sums_init(&slot->sums, sums->f->grid.intervals))
		return NULL;
	pipeline_sums_fill(slot, sums, resource);
	return &slot->sums;
}
