/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of connections: those of one host that share the same resources. The sums of a resource,
 * and of two resources' intersections and differences, are sums of whole groups.
 */
#ifndef HOSTLAT_FLEET_GROUPS_H
#define HOSTLAT_FLEET_GROUPS_H

#include <stdbool.h>

#include "fleet/state.h"

struct fleet_group {
	uint32_t host;           /* resource */
	uint32_t number;         /* number of this host among those with connections, from 0 */
	uint32_t first, n;       /* its connections, in fleet_groups.conns */
};

struct fleet_groups {
	const struct fleet *f;
	struct fleet_group_list VEC_OF(struct fleet_group) all; /* groups of a host are neighbors */
	uint32_t hosts;          /* with connections */
	uint32_t *conns;
	uint32_t *of;            /* groups of resource r: of[first[r]] to of[first[r + 1] - 1] */
	uint32_t *first;
};

/* Returns 0 or -ENOMEM; fleet_groups_release() follows in either case. */
int fleet_groups_make(const struct fleet *f, struct fleet_groups *out);
void fleet_groups_release(struct fleet_groups *groups);

/* Returns whether the connections of a group share the resource. O(log FLEET_SHARES_MAX). */
bool fleet_group_shares(const struct fleet_groups *groups, uint32_t group, uint32_t resource);

/* Returns the groups of a resource in the order of `all`, and their number. */
const uint32_t *fleet_groups_of(const struct fleet_groups *groups, uint32_t resource, size_t *n);

#endif
