/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the connections of each resource, by class of problem. */
#ifndef HOSTLAT_FLEET_TALLY_H
#define HOSTLAT_FLEET_TALLY_H

#include "fleet/state.h"

#define FLEET_OVERS 4u

struct fleet_tally {
	uint32_t connections;    /* with known time in the class */
	uint32_t affected;       /* connections with the problem at any time */
	/* connections with the problem for over 0, 25, 50 and 75 % of the time */
	uint32_t over[FLEET_OVERS];
	uint64_t known_ns, limited_ns, lost_ns;
};

/*
 * Returns the sums of the resource with index r and class c at [r * FLEET_CLASSES + c]; NULL
 * without memory. The caller frees them.
 */
struct fleet_tally *fleet_tally_all(const struct fleet *f);

#endif
