/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goodness of fit to a law that is fully *known*: values first go through its distribution function
 * (u = 1 - exp(-gap * rate)) and must then be uniform in 0..1. All return 0, -EINVAL for NaN or
 * values out of range, -ENODATA for too few, -EDOM without a result.
 */
#ifndef HOSTLAT_STATS_UNIFORMITY_H
#define HOSTLAT_STATS_UNIFORMITY_H

#include <stddef.h>
#include <stdint.h>

struct uniformity {
	double ad, ad_p;   /* Anderson-Darling A^2, and its p */
	double ks, ks_p;   /* Kolmogorov-Smirnov D; p by the exact law */
	double ks_p_limit; /* p of D by the law for n -> infinity */
	double effect;     /* max |ECDF(u) - u|, which is D: the size of the deviation */
};

/*
 * Tests `u`, which it sorts in place; n >= 1. O(n log n). Values closer than 2^-53 to 0 or 1 count
 * as that distance, so that A^2 is finite. With thousands of values any real client differs from a
 * perfect one: judge p together with the effect.
 *
 * p of A^2: limit law by the series of Anderson and Darling (1954), corrected for finite n as in
 * Marsaglia and Marsaglia (2004); p of D as scipy's kstest, 'exact' and 'asymp'.
 */
int uniformity_test(double *u, size_t n, struct uniformity *out);

/* Returns P(A^2 > z) for n values, n >= 1; z >= 0. */
double anderson_darling_sf(double z, uint64_t n);

#endif
