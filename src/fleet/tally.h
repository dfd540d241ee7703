/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the connections of each resource, by class of problem. */
#ifndef HOSTLAT_FLEET_TALLY_H
#define HOSTLAT_FLEET_TALLY_H

#include "fleet/state.h"

/* Shares of a connection's time from which the table of applications counts it. */
#define FLEET_OVERS 4u

struct fleet_tally {
	uint32_t connections;    /* with known time in the class */
	uint32_t affected;       /* connections with the problem at any time */
	uint32_t over[FLEET_OVERS]; /* connections with the problem for longer: fleet_over_share() */
	uint64_t known_ns, limited_ns, lost_ns;
};

/*
 * Returns the sums of the resource with index r and class c at [r * FLEET_CLASSES + c]; NULL
 * without memory. The caller frees them.
 */
struct fleet_tally *fleet_tally_all(const struct fleet *f);

/* Returns a limit of struct fleet_tally.over, of 0 to FLEET_OVERS - 1: 0, 0.25, 0.5 or 0.75. */
double fleet_over_share(unsigned int i);

#endif
