/* SPDX-License-Identifier: Apache-2.0 */
/* The analyses of a fleet, one for each kind of evidence. */
#ifndef HOSTLAT_FLEET_ANALYSES_H
#define HOSTLAT_FLEET_ANALYSES_H

#include "fleet/fleet.h"

/*
 * Where nothing is wrong, the chance of any finding is alpha at most: it is divided by the kinds of
 * evidence, by the kinds of resources and by the classes of problems.
 */
#define FLEET_EVIDENCES 3

/*
 * Each adds its findings and their members, and counts `tested` and `too_few`. Return 0 or -ENOMEM.
 */
int fleet_together(const struct fleet *f, const struct fleet_options *options,
		   struct fleet_result *out);
int fleet_more(const struct fleet *f, const struct fleet_options *options,
	       struct fleet_result *out);
int fleet_at_once(const struct fleet *f, const struct fleet_options *options,
		  struct fleet_result *out);

/*
 * Adds pipelines, and counts `pipelines_tested` and `pipelines_too_few`. They are no evidence of a
 * resource's problem: their part of alpha comes on top. Returns 0 or -ENOMEM.
 */
int fleet_pipelines(const struct fleet *f, const struct fleet_options *options,
		    struct fleet_result *out);

#endif
