/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does an application wait when, or shortly after, connections on the same hosts have a problem?
 * With a_u[k] and b_u[k], the series of host u in interval k, and w their weights:
 *
 *	C(l) = sum_u sum_k a_u[k] b_u[k + l]     around the circle, less a connection with itself
 *	N(l) = the same of weights, V(l) of weights times the variance at about that time
 *	T    = max over 0 <= l <= L of C(l) / sqrt(V(l))
 *	rho  = C(l) / N(l) at the l of T         mean correlation of two connections
 *
 * p compares T with the same maximum when b is shifted in time. All hosts shift together: what they
 * have in common, of either side, is then as strong in the shifts as observed.
 * O(hosts * intervals * shifts), and shifts only if T stands out.
 */
#ifndef HOSTLAT_FLEET_PIPELINE_LAGS_H
#define HOSTLAT_FLEET_PIPELINE_LAGS_H

#include "fleet/pipeline_pair.h"

/* Fewer intervals have too few shifts. */
#define PIPELINE_INTERVALS_MIN 100u

struct pipeline_test {
	bool testable;           /* long enough, also against its memory, with two connections */
	double rho, z, p;        /* p is 1 without shifts */
	uint32_t lag;            /* intervals by which the application follows at T */
	bool later;              /* that it does not wait at once is significant */
	bool reversed;           /* it waits before the problem comes: that is significant */
	double times;            /* number of equal parts of the time that would give C */
};

/*
 * A p above `care` may be any above it: shifts end as soon as that is certain; 1 gives z and p in
 * any case. Only a pair that stands out has rho, lag and times. Returns 0 or -ENOMEM.
 */
int pipeline_lags_test(const struct pipeline_pair *pair, double care, struct pipeline_test *out);

/* Returns the number of hosts on which the application waits with the problem, by themselves. */
uint32_t pipeline_lags_hosts(const struct pipeline_pair *pair, uint32_t lag);

#endif
