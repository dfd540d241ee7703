/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/class_sums.h"

#include <errno.h>
#include <stdlib.h>

int class_sums_init(struct class_sums *sums, const struct fleet_groups *groups)
{
	const uint32_t intervals = groups->f->grid.intervals;

	*sums = (struct class_sums){ .f = groups->f, .groups = groups };
	vec_init(&sums->steps, (size_t)FLEET_CONNECTIONS_MAX * FLEET_INTERVALS_MAX);
	vec_init(&sums->conns, FLEET_CONNECTIONS_MAX);
	sums->group_first = calloc(groups->all.len + 1, sizeof(*sums->group_first));
	sums->host_first = calloc((size_t)groups->hosts + 1, sizeof(*sums->host_first));
	sums->squares = calloc((size_t)groups->hosts + 1, sizeof(*sums->squares));
	if (!sums->group_first || !sums->host_first || !sums->squares ||
	    fleet_sums_init(&sums->total, intervals) ||
	    fleet_sums_init(&sums->outside, intervals) ||
	    fleet_sums_init(&sums->part, intervals) || fleet_sums_init(&sums->host, intervals))
		return -ENOMEM;
	return 0;
}

void class_sums_release(struct class_sums *sums)
{
	vec_release(&sums->steps);
	vec_release(&sums->conns);
	fleet_sums_release(&sums->total);
	fleet_sums_release(&sums->outside);
	fleet_sums_release(&sums->part);
	fleet_sums_release(&sums->host);
	free(sums->group_first);
	free(sums->host_first);
	free(sums->squares);
}

const struct class_conn *class_sums_group(const struct class_sums *sums, uint32_t group,
					  uint32_t *n)
{
	*n = sums->group_first[group + 1] - sums->group_first[group];
	return sums->conns.items + sums->group_first[group];
}

/* Adds the connections `from` to `to` - 1 of sums->conns. */
static void class_sums_add(const struct class_sums *sums, uint32_t from, uint32_t to,
			   struct fleet_sums *out)
{
	for (uint32_t i = from; i < to; i++)
		fleet_sums_add(out, sums->steps.items + sums->conns.items[i].first,
			       sums->conns.items[i].n);
}

void class_sums_add_group(const struct class_sums *sums, uint32_t group, struct fleet_sums *out)
{
	class_sums_add(sums, sums->group_first[group], sums->group_first[group + 1], out);
}

/* ---- a class ---- */

static int class_sums_push(struct class_sums *sums, uint32_t conn)
{
	const struct fleet_series *s = &sums->f->all.items[conn];
	struct class_conn new = { .conn = conn, .first = sums->steps.len };
	struct standard standard;
	int err;

	standard_of(sums->f, s, sums->class, &standard);
	if (!standard.defined)
		return 0;
	err = standard_push(sums->f, s, sums->class, &standard, &sums->steps);
	new.n = (uint32_t)(sums->steps.len - new.first);
	return err ? err : vec_push(&sums->conns, new);
}

static int class_sums_push_all(struct class_sums *sums)
{
	const struct fleet_groups *groups = sums->groups;
	int err = 0;

	for (uint32_t g = 0; g < groups->all.len && !err; g++) {
		const struct fleet_group *group = &groups->all.items[g];

		for (uint32_t j = 0; j < group->n && !err; j++)
			err = class_sums_push(sums, groups->conns[group->first + j]);
		sums->group_first[g + 1] = (uint32_t)sums->conns.len;
		sums->host_first[group->number + 1] = (uint32_t)sums->conns.len;
	}
	return err ? -ENOMEM : 0;
}

static struct host_squares class_sums_square(const struct fleet_sums *host)
{
	struct host_squares squares = { 0 };

	for (uint32_t k = 0; k < host->intervals; k++) {
		const double z = (double)host->z[k] / STANDARD_ONE;
		const double weight = (double)host->weight[k] / STANDARD_ONE;

		squares.z += z * z;
		squares.weight += weight * weight;
	}
	return squares;
}

static void host_squares_add(struct host_squares *to, struct host_squares squares, double sign)
{
	to->z += sign * squares.z;
	to->weight += sign * squares.weight;
}

/* Sets sums->host to the sums of a host's connections. */
static void class_sums_host(struct class_sums *sums, uint32_t number)
{
	fleet_sums_clear(&sums->host);
	class_sums_add(sums, sums->host_first[number], sums->host_first[number + 1], &sums->host);
	fleet_sums_finish(&sums->host);
}

static void class_sums_total(struct class_sums *sums)
{
	fleet_sums_clear(&sums->total);
	sums->total_squares = (struct host_squares){ 0 };
	for (uint32_t h = 0; h < sums->groups->hosts; h++) {
		if (sums->host_first[h] == sums->host_first[h + 1])
			continue;
		class_sums_host(sums, h);
		fleet_sums_merge(&sums->total, &sums->host);
		sums->squares[h] = class_sums_square(&sums->host);
		host_squares_add(&sums->total_squares, sums->squares[h], 1);
	}
}

int class_sums_fill(struct class_sums *sums, enum fleet_class class)
{
	int err;

	vec_clear(&sums->steps);
	vec_clear(&sums->conns);
	sums->class = class;
	err = class_sums_push_all(sums);
	if (!err)
		class_sums_total(sums);
	return err;
}

/* ---- outside of a resource ---- */

/* Goes through the hosts of a resource, with the groups of each that share it. */
struct class_hosts {
	const struct fleet_group *all;
	const uint32_t *groups;  /* the host's and all later ones */
	size_t left, n;          /* all of these; the host's */
	uint32_t number;         /* the host's */
};

static struct class_hosts class_hosts_of(const struct class_sums *sums, uint32_t resource)
{
	struct class_hosts hosts = { .all = sums->groups->all.items };

	hosts.groups = fleet_groups_of(sums->groups, resource, &hosts.left);
	return hosts;
}

static bool class_hosts_next(struct class_hosts *hosts)
{
	hosts->groups += hosts->n;
	hosts->left -= hosts->n;
	hosts->n = 0;
	if (!hosts->left)
		return false;
	hosts->number = hosts->all[hosts->groups[0]].number;
	while (hosts->n < hosts->left &&
	       hosts->all[hosts->groups[hosts->n]].number == hosts->number)
		hosts->n++;
	return true;
}

/* Leaves out the resource's hosts. */
static void class_sums_leave_hosts(struct class_sums *sums, uint32_t resource)
{
	struct class_hosts hosts = class_hosts_of(sums, resource);

	fleet_sums_clear(&sums->part);
	while (class_hosts_next(&hosts)) {
		class_sums_add(sums, sums->host_first[hosts.number],
			       sums->host_first[hosts.number + 1], &sums->part);
		host_squares_add(&sums->outside_squares, sums->squares[hosts.number], -1);
	}
	fleet_sums_finish(&sums->part);
	fleet_sums_subtract(&sums->outside, &sums->part);
}

/* Leaves out the resource's connections of one host. */
static void class_sums_leave_part(struct class_sums *sums, const struct class_hosts *host)
{
	fleet_sums_clear(&sums->part);
	for (size_t i = 0; i < host->n; i++)
		class_sums_add_group(sums, host->groups[i], &sums->part);
	if (!sums->part.connections)
		return;
	fleet_sums_finish(&sums->part);
	fleet_sums_subtract(&sums->outside, &sums->part);
	class_sums_host(sums, host->number);
	fleet_sums_subtract(&sums->host, &sums->part);
	host_squares_add(&sums->outside_squares, sums->squares[host->number], -1);
	host_squares_add(&sums->outside_squares, class_sums_square(&sums->host), 1);
}

static uint32_t class_sums_count_outside(const struct class_sums *sums, uint32_t resource)
{
	struct class_hosts hosts = class_hosts_of(sums, resource);
	uint32_t n = sums->total.connections;

	while (class_hosts_next(&hosts))
		n -= sums->host_first[hosts.number + 1] - sums->host_first[hosts.number];
	return n;
}

bool class_sums_outside(struct class_sums *sums, uint32_t resource, uint32_t least)
{
	struct class_hosts hosts = class_hosts_of(sums, resource);

	fleet_sums_clear(&sums->outside);
	fleet_sums_merge(&sums->outside, &sums->total);
	sums->outside_squares = sums->total_squares;
	if (class_sums_count_outside(sums, resource) >= least)
		class_sums_leave_hosts(sums, resource);
	else
		while (class_hosts_next(&hosts))
			class_sums_leave_part(sums, &hosts);
	return sums->outside.connections >= least;
}
