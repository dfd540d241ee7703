/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the resources that explain which connections are synchronous. Resources that contain or
 * cross each other have connections in common, so one cause makes many of them synchronous.
 *
 * A resource is dropped if its rest is not synchronous without the connections of another one
 * inside of it: neither significantly, nor about as much as the whole. Of two that cross, one is
 * dropped if the other one alone is synchronous without its connections. A resource inside of
 * another one that stays is told only if its children go together more than the load that they
 * share with the rest of the other one explains.
 */
#ifndef HOSTLAT_FLEET_LOCATE_H
#define HOSTLAT_FLEET_LOCATE_H

#include "fleet/synchrony.h"

#define LOCATE_RHO_MIN 0.01      /* less correlation is nothing to tell */

struct locate_candidate {
	uint32_t resource;
	uint32_t hosts, connections; /* with defined connections; defined connections */
	struct synchrony synchrony;
	double p;                /* adjusted for all tests */
	bool dropped;
	uint32_t within;         /* candidate around it, or FLEET_NONE */
};

struct locate_candidates VEC_OF(struct locate_candidate);

/*
 * Sorts the candidates of one class, most connections first, and sets `dropped` and `within`.
 * Returns 0 or -ENOMEM.
 */
int locate_causes(struct class_sums *sums, uint64_t seed, struct locate_candidates *candidates);

#endif
