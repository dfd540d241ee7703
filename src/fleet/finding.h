/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a finding that do not depend on the evidence. */
#ifndef HOSTLAT_FLEET_FINDING_H
#define HOSTLAT_FLEET_FINDING_H

#include "fleet/groups.h"
#include "fleet/units.h"

/*
 * Sets counts, shares, times and the window by finding->resource and finding->class; rho, z and p
 * to n/a; no members, nothing around it. O(connections).
 */
void fleet_finding_fill(const struct fleet_groups *groups, struct fleet_finding *finding);

/*
 * Adds the numbers of hosts and connections of a resource to the finding, from its n entries, and
 * sets its share and lost time: of connections with known time in finding->class and, unless it is
 * NULL, with left[connection].
 */
void fleet_finding_describe(const struct fleet *f, const struct unit_entry *entries, size_t n,
			    const bool *left, struct fleet_finding *finding);

/*
 * Whether all connections with known time in the class are those of the resource. Then nothing
 * tells it from whatever else they share.
 */
bool fleet_finding_is_everywhere(const struct fleet_finding *finding);

/*
 * Return its resource's kind and name, as "link" and "uplink3"; "fleet" and "all connections" for
 * one about all of them. They last as long as the fleet.
 */
const char *fleet_finding_kind(const struct fleet *f, const struct fleet_finding *finding);
const char *fleet_finding_name(const struct fleet *f, const struct fleet_finding *finding);

#endif
