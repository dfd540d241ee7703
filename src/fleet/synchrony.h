/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do a resource's children have a problem at the same times? With z_u[k], the sum of child u in
 * interval k, S = sum of z_u, and w, W the same of weights:
 *
 *	U = sum_k (S^2 - sum_u z_u^2) - bias pairs of different children
 *	N = sum_k (W^2 - sum_u w_u^2)
 *	rho = U / N                          mean correlation
 *	V = 2 sum_|h|<=H (K - |h|) (C[h]^2 - sum_u C_u[h]^2) N / E(N)
 *	z = U / sqrt(V)
 *
 * V is the variance of U if children are independent, each with its own memory: C_u is the
 * autocovariance of z_u, C their sum; E(N) is N if children are known independently of each other.
 * O(children * intervals), never pairwise.
 */
#ifndef HOSTLAT_FLEET_SYNCHRONY_H
#define HOSTLAT_FLEET_SYNCHRONY_H

#include "fleet/children.h"

#define SYNCHRONY_LAGS 16u
#define SYNCHRONY_OVERLAP_MIN 30u /* least number of intervals with two known children */
#define SYNCHRONY_MEMORIES_MIN 30u /* least length of the window, in times of memory */

struct synchrony {
	double u, n, rho, v, z;
	bool testable;           /* two children are known for long enough */
	double p;                /* set by synchrony_shift() */
};

void synchrony_measure(const struct children *children, struct synchrony *out);

/*
 * Sets p: the children's series are shifted in time around a circle by random offsets, which keeps
 * each child's memory and law. At least 199 shifts, or as many as give ten as extreme as observed
 * (Besag and Clifford 1991). A p above `care` may be any above it: shifts end as soon as that is
 * certain. Returns 0 or -ENOMEM.
 */
int synchrony_shift(const struct children *children, uint64_t seed, double care,
		    struct synchrony *synchrony);

/* Fills covariance[h] of two series, h = 0 to SYNCHRONY_LAGS. */
void synchrony_covariance(const double *x, const double *y, uint32_t intervals,
			  double *covariance);

#endif
