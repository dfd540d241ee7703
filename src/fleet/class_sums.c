/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/class_sums.h"

#include <errno.h>
#include <stdlib.h>

int class_sums_init(struct class_sums *sums, const struct fleet_groups *groups)
{
	const struct fleet *f = groups->f;
	const uint32_t intervals = f->grid.intervals;

	*sums = (struct class_sums){ .f = f, .groups = groups };
	sums->standards = calloc(f->all.len + 1, sizeof(*sums->standards));
	sums->sums = calloc(groups->all.len + 1, sizeof(*sums->sums));
	sums->z = calloc(2 * (size_t)intervals, sizeof(*sums->z));
	sums->weight = sums->z ? sums->z + intervals : NULL;
	if (!sums->standards || !sums->sums || !sums->z ||
	    fleet_sums_init(&sums->total, intervals) || fleet_sums_init(&sums->outside, intervals))
		return -ENOMEM;
	return 0;
}

static void class_sums_empty(struct class_sums *sums)
{
	for (size_t i = 0; sums->sums && i < sums->groups->all.len; i++)
		fleet_sums_release(&sums->sums[i]);
}

void class_sums_release(struct class_sums *sums)
{
	class_sums_empty(sums);
	fleet_sums_release(&sums->total);
	fleet_sums_release(&sums->outside);
	free(sums->sums);
	free(sums->standards);
	free(sums->z);
}

static int class_sums_add(struct class_sums *sums, struct fleet_sums *group, uint32_t conn)
{
	const struct fleet_series *s = &sums->f->all.items[conn];
	struct standard *standard = &sums->standards[conn];

	standard_of(sums->f, s, sums->class, standard);
	if (!standard->defined)
		return 0;
	if (!group->z && fleet_sums_init(group, sums->f->grid.intervals))
		return -ENOMEM;
	standard_fill(sums->f, s, sums->class, standard, sums->z, sums->weight);
	fleet_sums_add(group, sums->z, sums->weight);
	return 0;
}

int class_sums_fill(struct class_sums *sums, enum fleet_class class)
{
	const struct fleet_groups *groups = sums->groups;
	int err = 0;

	class_sums_empty(sums);
	fleet_sums_clear(&sums->total);
	sums->class = class;
	for (size_t i = 0; i < groups->all.len && !err; i++) {
		const struct fleet_group *group = &groups->all.items[i];

		for (uint32_t j = 0; j < group->n && !err; j++)
			err = class_sums_add(sums, &sums->sums[i], groups->conns[group->first + j]);
		if (!err && sums->sums[i].z)
			fleet_sums_merge(&sums->total, &sums->sums[i]);
	}
	return err;
}

static void class_sums_without(struct class_sums *sums, const uint32_t *groups, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sums->sums[groups[i]].z)
			fleet_sums_subtract(&sums->outside, &sums->sums[groups[i]]);
}

bool class_sums_outside(struct class_sums *sums, uint32_t resource, uint32_t least)
{
	uint32_t host = FLEET_NONE;
	const uint32_t *groups, *on_host;
	size_t n, n_on_host;

	groups = fleet_groups_of(sums->groups, resource, &n);
	fleet_sums_clear(&sums->outside);
	fleet_sums_merge(&sums->outside, &sums->total);
	for (size_t i = 0; i < n; i++) {
		if (sums->groups->all.items[groups[i]].host == host)
			continue;
		host = sums->groups->all.items[groups[i]].host;
		on_host = fleet_groups_of(sums->groups, host, &n_on_host);
		class_sums_without(sums, on_host, n_on_host);
	}
	if (sums->outside.connections >= least)
		return true;
	fleet_sums_clear(&sums->outside);
	fleet_sums_merge(&sums->outside, &sums->total);
	class_sums_without(sums, groups, n);
	return sums->outside.connections >= least;
}
