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
	sums->hosts = calloc(groups->hosts + 1, sizeof(*sums->hosts));
	sums->z = calloc(2 * (size_t)intervals, sizeof(*sums->z));
	sums->weight = sums->z ? sums->z + intervals : NULL;
	if (!sums->standards || !sums->sums || !sums->hosts || !sums->z ||
	    fleet_sums_init(&sums->total, intervals) ||
	    fleet_sums_init(&sums->outside, intervals) ||
	    fleet_sums_init(&sums->part, intervals))
		return -ENOMEM;
	return 0;
}

static void class_sums_empty(struct class_sums *sums)
{
	for (size_t i = 0; sums->sums && i < sums->groups->all.len; i++)
		fleet_sums_release(&sums->sums[i]);
	for (size_t i = 0; sums->hosts && i < sums->groups->hosts; i++)
		fleet_sums_release(&sums->hosts[i]);
}

void class_sums_release(struct class_sums *sums)
{
	class_sums_empty(sums);
	fleet_sums_release(&sums->total);
	fleet_sums_release(&sums->outside);
	fleet_sums_release(&sums->part);
	free(sums->sums);
	free(sums->hosts);
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

static void class_sums_square(const struct fleet_sums *host, struct host_squares *squares,
			      double sign)
{
	for (uint32_t k = 0; k < host->intervals; k++) {
		const double z = (double)host->z[k] / STANDARD_ONE;
		const double weight = (double)host->weight[k] / STANDARD_ONE;

		squares->z += sign * z * z;
		squares->weight += sign * weight * weight;
	}
}

static int class_sums_add_host(struct class_sums *sums, const struct fleet_sums *group,
			       struct fleet_sums *host)
{
	if (!group->z)
		return 0;
	if (!host->z && fleet_sums_init(host, sums->f->grid.intervals))
		return -ENOMEM;
	fleet_sums_merge(host, group);
	return 0;
}

static void class_sums_total(struct class_sums *sums)
{
	fleet_sums_clear(&sums->total);
	sums->total_squares = (struct host_squares){ 0 };
	for (size_t i = 0; i < sums->groups->hosts; i++) {
		if (!sums->hosts[i].z)
			continue;
		fleet_sums_merge(&sums->total, &sums->hosts[i]);
		class_sums_square(&sums->hosts[i], &sums->total_squares, 1);
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
		if (!err)
			err = class_sums_add_host(sums, &sums->sums[i],
						  &sums->hosts[group->number]);
	}
	if (!err)
		class_sums_total(sums);
	return err;
}

/* Sets the scratch sums to the groups of one host, from the first of n on. Returns their number. */
static size_t class_sums_part(struct class_sums *sums, const uint32_t *groups, size_t n)
{
	const struct fleet_group *all = sums->groups->all.items;
	size_t i = 0;

	fleet_sums_clear(&sums->part);
	for (; i < n && all[groups[i]].host == all[groups[0]].host; i++)
		if (sums->sums[groups[i]].z)
			fleet_sums_merge(&sums->part, &sums->sums[groups[i]]);
	return i;
}

/* Leaves out the resource's hosts, or, if `part`, only its connections. */
static void class_sums_leave_out(struct class_sums *sums, uint32_t resource, bool part)
{
	size_t n, next;
	const uint32_t *groups = fleet_groups_of(sums->groups, resource, &n);

	fleet_sums_clear(&sums->outside);
	fleet_sums_merge(&sums->outside, &sums->total);
	sums->outside_squares = sums->total_squares;
	for (; n; n -= next, groups += next) {
		const struct fleet_sums *host =
			&sums->hosts[sums->groups->all.items[groups[0]].number];

		next = class_sums_part(sums, groups, n);
		if (!host->z || (part && !sums->part.connections))
			continue;
		fleet_sums_subtract(&sums->outside, part ? &sums->part : host);
		class_sums_square(host, &sums->outside_squares, -1);
		if (!part)
			continue;
		fleet_sums_subtract(&sums->part, host);
		class_sums_square(&sums->part, &sums->outside_squares, 1);
	}
}

bool class_sums_outside(struct class_sums *sums, uint32_t resource, uint32_t least)
{
	class_sums_leave_out(sums, resource, false);
	if (sums->outside.connections < least)
		class_sums_leave_out(sums, resource, true);
	return sums->outside.connections >= least;
}
