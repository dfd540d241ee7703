/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rank-sum test (Wilcoxon 1945, Mann and Whitney 1947), one-sided: do n values tend to be
 * greater than the other values? The caller ranks all values together with rank_values(), once for
 * any number of samples.
 */
#ifndef HOSTLAT_STATS_RANK_SUM_H
#define HOSTLAT_STATS_RANK_SUM_H

#include <stdbool.h>
#include <stddef.h>

struct rank_sum {
	double z; /* by the normal approximation, with tie correction */
	double p; /* chance of a sum of ranks as large */
	bool exact; /* p is no approximation, or rounded up */
};

/*
 * Tests n of `total` values: `ranks` is the sum of their ranks, `squares` the sum of the squares of
 * all ranks. p is exact near the upper end, for up to 100 values on the smaller side; with ties it
 * is that of values without ties, rounded up. Otherwise p is the normal approximation's. Returns 0,
 * -ENODATA for n = 0 or n >= total, -EDOM if all values are equal, -ENOMEM.
 */
int rank_sum_upper(double ranks, size_t n, size_t total, double squares, struct rank_sum *out);

/*
 * Returns the chance that n of `total` values have `above` or more of the `marked` ones: the tail
 * of the hypergeometric law. above <= n <= total, marked <= total. O(n).
 */
double rank_sum_marked_p(size_t above, size_t n, size_t marked, size_t total);

/* Returns the least p that n of `total` values can have: 1 of all choices; 1 for n >= total. */
double rank_sum_least_p(size_t n, size_t total);

#endif
