/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One class of problems: the standardized series of the connections, and their sums. Only
 * connections that are defined, which are few, take memory.
 */
#ifndef HOSTLAT_FLEET_CLASS_SUMS_H
#define HOSTLAT_FLEET_CLASS_SUMS_H

#include "fleet/groups.h"
#include "fleet/standard.h"
#include "fleet/sums.h"

/* Squares of the sums of each host's connections, summed up over intervals and hosts. */
struct host_squares {
	double z, weight;
};

/* A defined connection. */
struct class_conn {
	uint32_t conn;
	uint32_t n;              /* its steps: */
	size_t first;            /* in class_sums.steps */
};

struct class_conns VEC_OF(struct class_conn);

struct class_sums {
	const struct fleet *f;
	const struct fleet_groups *groups;
	enum fleet_class class;
	struct standard_steps steps;
	struct class_conns conns;        /* defined ones, in the order of groups */
	uint32_t *group_first;           /* those of group g: [g] to [g + 1] - 1 */
	uint32_t *host_first;            /* those of host number h: likewise */
	struct host_squares *squares;    /* each host's */
	struct fleet_sums total;
	struct host_squares total_squares;
	struct fleet_sums outside;       /* class_sums_outside() */
	struct host_squares outside_squares;
	struct fleet_sums part, host;    /* scratch */
};

/* Makes sums of nothing. Returns 0 or -ENOMEM; class_sums_release() follows in either case. */
int class_sums_init(struct class_sums *sums, const struct fleet_groups *groups);
void class_sums_release(struct class_sums *sums);

/* Replaces the sums by those of a class. Returns 0 or -ENOMEM. O(connections * runs). */
int class_sums_fill(struct class_sums *sums, enum fleet_class class);

/* Returns the defined connections of a group, and their number. */
const struct class_conn *class_sums_group(const struct class_sums *sums, uint32_t group,
					  uint32_t *n);

/* Adds the steps of a group's defined connections. */
void class_sums_add_group(const struct class_sums *sums, uint32_t group, struct fleet_sums *out);

/* Returns whether a connection of the group is defined. */
static inline bool class_sums_has(const struct class_sums *sums, uint32_t group)
{
	return sums->group_first[group] < sums->group_first[group + 1];
}

/*
 * Sets sums->outside, and the squares of its hosts, to the sums of all connections of hosts without
 * a connection of the resource; if they are fewer than `least`, to those of all connections that do
 * not share it. Returns whether there are that many.
 */
bool class_sums_outside(struct class_sums *sums, uint32_t resource, uint32_t least);

#endif
