/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The correlation method of SNAP (Yu et al., NSDI 2011, section 2.3), for comparison with hostlat's
 * own: a connection is one vector of its times in five classes of problems, one class behind the
 * other; a resource is reported if the mean Pearson correlation of all pairs of its connections is
 * above a threshold. An unknown interval counts as one without a problem, and connections that
 * never change are left out, for which the paper defines nothing.
 */
#ifndef HOSTLAT_FLEET_PAPER_H
#define HOSTLAT_FLEET_PAPER_H

#include "base/vec.h"
#include "fleet/fleet.h"

/* The paper's threshold. */
#define FLEET_PAPER_ALPHA 0.4

struct fleet_paper_resource {
	uint32_t resource;
	uint32_t connections;
	uint32_t defined;        /* those that change: they are correlated */
	double acc;              /* mean correlation of pairs */
};

struct fleet_paper VEC_OF(struct fleet_paper_resource);

/*
 * Lists the resources with at least 2 defined connections whose mean correlation is above `alpha`,
 * greatest first. Returns 0 or -ENOMEM; vec_release() follows in either case. O(connections times
 * intervals) for each kind of resources.
 */
int fleet_paper(const struct fleet *f, double alpha, struct fleet_paper *out);

#endif
