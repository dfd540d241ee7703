/* SPDX-License-Identifier: Apache-2.0 */
/* Corrections of p-values for several tests. */
#ifndef HOSTLAT_STATS_MULTIPLE_H
#define HOSTLAT_STATS_MULTIPLE_H

#include <stddef.h>

/*
 * Adjusts p-values by Holm (1979): rejecting those <= alpha limits the chance of any false
 * rejection to alpha, however the tests depend on each other. `out` may not be `p`. -EINVAL unless
 * all are in 0..1; n may be 0. O(n^2) without memory: for a few dozen tests.
 */
int holm_adjust(const double *p, size_t n, double *out);

/*
 * Adjusts p-values by Benjamini and Hochberg (1995): of those <= alpha, on average at most a share
 * of alpha is false, for independent or positively dependent tests. `out` may not be `p`. -EINVAL
 * unless all are in 0..1, -ENOMEM; n may be 0. O(n log n).
 */
int fdr_adjust(const double *p, size_t n, double *out);

/*
 * Returns the greatest "least possible p" with which a test can be of use (Tarone 1990): tests of
 * small samples that could not become significant beside the others are left out, and do not
 * count in a correction for several tests. `least` has the least possible p of each of n tests, in
 * ascending order; 0 < alpha < 1. O(n).
 */
double testable_least_p(const double *least, size_t n, double alpha);

#endif
