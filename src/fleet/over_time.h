/* SPDX-License-Identifier: Apache-2.0 */
/* The share of a resource's connections with a problem, over time. */
#ifndef HOSTLAT_FLEET_OVER_TIME_H
#define HOSTLAT_FLEET_OVER_TIME_H

#include "fleet/fleet.h"

#define FLEET_POINTS 120u        /* rows at most: intervals are merged */

/*
 * Returns the table {offset_ns, length_ns, share} of a finding's resource and class: the mean of
 * its connections' known intervals; null where none is known.
 */
struct value fleet_over_time(const struct fleet *f, const struct fleet_finding *finding,
			     struct report *r);

#endif
