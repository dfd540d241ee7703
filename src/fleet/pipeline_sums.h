/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of the connections of the resources that were asked for last: pairs of resources need those
 * of each resource many times.
 */
#ifndef HOSTLAT_FLEET_PIPELINE_SUMS_H
#define HOSTLAT_FLEET_PIPELINE_SUMS_H

#include "fleet/class_sums.h"

struct pipeline_slot {
	uint32_t resource;       /* FLEET_NONE: empty */
	struct fleet_sums sums;
};

/* Begins as zeros. */
struct pipeline_sums {
	struct pipeline_slot *slots; /* resource r is in slot r % n */
	uint32_t n;
};

/*
 * Makes room for the sums of a class, 8 MiB at most, and forgets those of the class before.
 * Returns 0 or -ENOMEM; pipeline_sums_release() follows in either case.
 */
int pipeline_sums_begin(struct pipeline_sums *cache, uint32_t intervals);
void pipeline_sums_release(struct pipeline_sums *cache);

/* Returns the sums of a resource's connections, valid until the next call; NULL without memory. */
const struct fleet_sums *pipeline_sums_of(struct pipeline_sums *cache,
					  const struct class_sums *sums, uint32_t resource);

#endif
