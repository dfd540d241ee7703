/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are values distributed as declared? Goodness of fit against a law that is fully *known*: values
 * go through its distribution function first (u = 1 - exp(-gap * rate)) and must then be uniform
 * in 0..1. All return 0, -EINVAL for NaN or values outside of the range, -ENODATA for too few,
 * -EDOM if it can't be told.
 */
#ifndef HOSTLAT_STATS_UNIFORMITY_H
#define HOSTLAT_STATS_UNIFORMITY_H

#include <stddef.h>
#include <stdint.h>

struct uniformity {
	double ad, ad_p;   /* Anderson-Darling A^2 */
	double ks, ks_p;   /* Kolmogorov-Smirnov D; exact law */
	double ks_p_limit; /* by the law for n -> infinity */
	double effect;     /* max |ECDF(u) - u|: D, which says how far off, not how surely */
};

/*
 * Sorts `u` in place; n >= 1. O(n log n). Values closer than 2^-53 to 0 or 1 count as that far from
 * them, so that A^2 is finite. With n in the thousands any real client differs from a perfect one:
 * judge p together with the effect.
 *
 * p of A^2: limit law by the series of Anderson and Darling (1954), corrected for finite n as in
 * Marsaglia and Marsaglia (2004); p of D as scipy's kstest, 'exact' and 'asymp'.
 */
int uniformity_test(double *u, size_t n, struct uniformity *out);

/* P(A^2 > z) for n values, n >= 1; z >= 0. */
double anderson_darling_sf(double z, uint64_t n);

#endif
