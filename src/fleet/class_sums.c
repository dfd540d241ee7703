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
	    fleet_sums_init(&sums->total, intervals) ||
	    fleet_sums_init(&sums->outside, intervals) ||
	    fleet_sums_init(&sums->host, intervals))
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
	fleet_sums_release(&sums->host);
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

/* Sets the scratch sums to a host's, of its groups `from` to the first of another host. */
static size_t class_sums_host(struct class_sums *sums, size_t from, uint32_t without)
{
	const struct fleet_group *all = sums->groups->all.items;
	size_t i = from;

	fleet_sums_clear(&sums->host);
	for (; i < sums->groups->all.len && all[i].host == all[from].host; i++)
		if (sums->sums[i].z &&
		    (without == FLEET_NONE ||
		     !fleet_group_shares(sums->groups, (uint32_t)i, without)))
			fleet_sums_merge(&sums->host, &sums->sums[i]);
	return i;
}

static void class_sums_square(struct class_sums *sums, struct host_squares *squares, double sign)
{
	for (uint32_t k = 0; k < sums->f->grid.intervals && sums->host.connections; k++) {
		const double z = (double)sums->host.z[k] / STANDARD_ONE;
		const double weight = (double)sums->host.weight[k] / STANDARD_ONE;

		squares->z += sign * z * z;
		squares->weight += sign * weight * weight;
	}
}

/* Sums up all hosts' connections that do not share the resource; FLEET_NONE: all. */
static void class_sums_all(struct class_sums *sums, uint32_t without, struct fleet_sums *to,
			   struct host_squares *squares)
{
	fleet_sums_clear(to);
	*squares = (struct host_squares){ 0 };
	for (size_t i = 0; i < sums->groups->all.len;) {
		i = class_sums_host(sums, i, without);
		fleet_sums_merge(to, &sums->host);
		class_sums_square(sums, squares, 1);
	}
}

int class_sums_fill(struct class_sums *sums, enum fleet_class class)
{
	const struct fleet_groups *groups = sums->groups;
	int err = 0;

	class_sums_empty(sums);
	sums->class = class;
	for (size_t i = 0; i < groups->all.len && !err; i++) {
		const struct fleet_group *group = &groups->all.items[i];

		for (uint32_t j = 0; j < group->n && !err; j++)
			err = class_sums_add(sums, &sums->sums[i], groups->conns[group->first + j]);
	}
	if (!err)
		class_sums_all(sums, FLEET_NONE, &sums->total, &sums->total_squares);
	return err;
}

/* Returns the first group of a group's host. */
static size_t class_sums_first(const struct class_sums *sums, size_t group)
{
	const struct fleet_group *all = sums->groups->all.items;

	while (group && all[group - 1].host == all[group].host)
		group--;
	return group;
}

/* Sets the sums outside to all without those of the hosts of a resource. */
static void class_sums_other_hosts(struct class_sums *sums, uint32_t resource)
{
	uint32_t host = FLEET_NONE;
	size_t n;
	const uint32_t *groups = fleet_groups_of(sums->groups, resource, &n);

	fleet_sums_clear(&sums->outside);
	fleet_sums_merge(&sums->outside, &sums->total);
	sums->outside_squares = sums->total_squares;
	for (size_t i = 0; i < n; i++) {
		if (sums->groups->all.items[groups[i]].host == host)
			continue;
		host = sums->groups->all.items[groups[i]].host;
		class_sums_host(sums, class_sums_first(sums, groups[i]), FLEET_NONE);
		fleet_sums_subtract(&sums->outside, &sums->host);
		class_sums_square(sums, &sums->outside_squares, -1);
	}
}

bool class_sums_outside(struct class_sums *sums, uint32_t resource, uint32_t least)
{
	class_sums_other_hosts(sums, resource);
	if (sums->outside.connections < least)
		class_sums_all(sums, resource, &sums->outside, &sums->outside_squares);
	return sums->outside.connections >= least;
}
