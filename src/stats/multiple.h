/* SPDX-License-Identifier: Apache-2.0 */
/* Several tests at once. */
#ifndef HOSTLAT_STATS_MULTIPLE_H
#define HOSTLAT_STATS_MULTIPLE_H

#include <stddef.h>

/*
 * Holm (1979): adjusted p-values; rejecting those <= alpha keeps the chance of any false rejection
 * below alpha, however the tests depend on each other. `out` may not be `p`. -EINVAL unless all are
 * in 0..1; n may be 0. O(n^2) without memory: for the gates, of which there are a few dozen.
 */
int holm_adjust(const double *p, size_t n, double *out);

/*
 * Benjamini and Hochberg (1995): adjusted p-values; of those <= alpha at most a share of alpha is
 * false on average, for tests that are independent or depend on each other positively. `out` may
 * not be `p`. -EINVAL unless all are in 0..1, -ENOMEM; n may be 0. O(n log n).
 */
int fdr_adjust(const double *p, size_t n, double *out);

#endif
