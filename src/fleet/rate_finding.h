/* SPDX-License-Identifier: Apache-2.0 */
/* Counts that findings of every evidence have. */
#ifndef HOSTLAT_FLEET_RATE_FINDING_H
#define HOSTLAT_FLEET_RATE_FINDING_H

#include "fleet/units.h"

/*
 * Sets the numbers of hosts and connections, share and lost time of a resource, from its n entries:
 * of connections with known time in the class and, unless it is NULL, with left[connection].
 */
void finding_describe(const struct fleet *f, enum fleet_class class,
		      const struct unit_entry *entries, size_t n, const bool *left,
		      struct fleet_finding *finding);

#endif
