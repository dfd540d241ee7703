/* SPDX-License-Identifier: Apache-2.0 */
/* How much longer an application waits while others have a problem. */
#ifndef HOSTLAT_FLEET_PIPELINE_EFFECT_H
#define HOSTLAT_FLEET_PIPELINE_EFFECT_H

#include "fleet/pipeline_pair.h"

/*
 * Sets counts of connections, shares and waiting time of a pipeline whose application follows by
 * `lag` intervals. A host's intervals with less of the problem than usual are without it. Those
 * with more are with it from their mean on. Returns 0 or -ENOMEM. O(connections * intervals).
 */
int pipeline_effect_measure(const struct pipeline_work *work, const struct pipeline_pair *pair,
			    uint32_t lag, struct fleet_pipeline *out);

#endif
