/* SPDX-License-Identifier: Apache-2.0 */
/* Connections behind a resource's synchrony. */
#ifndef HOSTLAT_FLEET_MEMBERS_H
#define HOSTLAT_FLEET_MEMBERS_H

#include "fleet/children.h"

/* Share of false members among those named. */
#define MEMBERS_ALPHA 0.01
/* Members have this part of the strongest one's score at least. */
#define MEMBERS_PART 0.5

/*
 * Appends the connections that have the problem at the same times as the other children, strongest
 * first: z_c . R / sqrt(V_c) with R, the sum of the other children, and V_c by the memory of both;
 * chosen by Benjamini and Hochberg and by MEMBERS_PART. Returns 0 or -ENOMEM. O(connections *
 * intervals).
 */
int members_name(const struct class_sums *sums, const struct children *children,
		 struct fleet_members *out);

#endif
