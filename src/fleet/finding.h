/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a finding that do not depend on the evidence. */
#ifndef HOSTLAT_FLEET_FINDING_H
#define HOSTLAT_FLEET_FINDING_H

#include "fleet/groups.h"

/*
 * Sets counts, shares, times and the window by finding->resource and finding->class; rho, z and p
 * to n/a; no members, nothing around it. O(connections).
 */
void fleet_finding_fill(const struct fleet_groups *groups, struct fleet_finding *finding);

#endif
