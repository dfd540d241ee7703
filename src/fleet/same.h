/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources with the same defined connections in a class: a rack of which one host alone has a
 * problem is, for this class, that host. They are tested and told once.
 */
#ifndef HOSTLAT_FLEET_SAME_H
#define HOSTLAT_FLEET_SAME_H

#include "fleet/class_sums.h"

/*
 * Sets first[r] to the resource that stands for r: of those with the same connections the one of
 * the first kind; FLEET_NONE without a defined connection. Returns 0 or -ENOMEM.
 */
int same_resources(const struct class_sums *sums, uint32_t *first);

#endif
