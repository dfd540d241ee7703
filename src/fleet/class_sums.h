/* SPDX-License-Identifier: Apache-2.0 */
/* One class of problems: the standardized connections and the sums of their groups. */
#ifndef HOSTLAT_FLEET_CLASS_SUMS_H
#define HOSTLAT_FLEET_CLASS_SUMS_H

#include "fleet/groups.h"
#include "fleet/standard.h"
#include "fleet/sums.h"

/* Squares of the sums of each host's connections, summed up over intervals and hosts. */
struct host_squares {
	double z, weight;
};

struct class_sums {
	const struct fleet *f;
	const struct fleet_groups *groups;
	enum fleet_class class;
	struct standard *standards;      /* one for each connection */
	struct fleet_sums *sums;         /* one for each group; .z is NULL if none is defined */
	struct fleet_sums *hosts;        /* one for each host; .z likewise */
	struct fleet_sums total;
	struct host_squares total_squares;
	struct fleet_sums outside;       /* class_sums_outside() */
	struct host_squares outside_squares;
	struct fleet_sums part;          /* scratch: a part of a host */
	int32_t *z, *weight;             /* scratch: one connection */
};

/* Makes sums of nothing. Returns 0 or -ENOMEM; class_sums_release() follows in either case. */
int class_sums_init(struct class_sums *sums, const struct fleet_groups *groups);
void class_sums_release(struct class_sums *sums);

/* Replaces the sums by those of a class. Returns 0 or -ENOMEM. O(connections * intervals). */
int class_sums_fill(struct class_sums *sums, enum fleet_class class);

/*
 * Sets sums->outside, and the squares of its hosts, to the sums of all connections of hosts without
 * a connection of the resource; if they are fewer than `least`, to those of all connections that do
 * not share it. Returns whether there are that many.
 */
bool class_sums_outside(struct class_sums *sums, uint32_t resource, uint32_t least);

#endif
