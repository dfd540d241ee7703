/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank tests: they ask about order only, so outliers and units don't matter. All return 0, -EINVAL
 * for NaN or infinite values or parameters out of range, -ENODATA for too few values, -EDOM if a
 * series is constant (it can't be told), -ENOMEM. O(n log n) unless it says otherwise.
 */
#ifndef HOSTLAT_STATS_RANK_H
#define HOSTLAT_STATS_RANK_H

#include <stddef.h>
#include <stdint.h>

/* Ranks 1..n, ties share the mean of theirs. `out` has room for n; n may be 0. */
int rank_values(const double *x, size_t n, double *out);

/*
 * Spearman's rho (1904), ties included, and its two-sided p by Student's t with n - 2 degrees of
 * freedom: scipy.stats.spearmanr. n >= 3.
 */
struct spearman {
	double rho;
	double p;
};

int spearman(const double *x, const double *y, size_t n, struct spearman *out);

/*
 * The same of `x` against each of m series, the rows of `y`, with a p that allows for values that
 * depend on each other in time, and for m: the share of all n circular shifts of `x`, none
 * included, in which the greatest |rho| of any series is at least this one's (max T of Westfall
 * and Young 1993). Exact for series that keep their law and whose ends could be joined: the chance
 * of any p <= alpha is then at most alpha. The seam adds to it where dependence is strong and the
 * series short: of AR(1) 0.8 and 0.9 with n = 40, m = 8, alpha = 0.05 it makes 0.07 and 0.10, with
 * n = 120 nothing (0.06). p is at least 1 / n, and large for series of one regular rhythm: that
 * another one has the same says nothing. n >= 3, m >= 1; out[m]. O(m n^2).
 */
int spearman_shifts(const double *x, const double *y, size_t m, size_t n, struct spearman *out);

/* A series against itself `lag` later: n - lag pairs, at least 3. */
int spearman_lag(const double *x, size_t n, size_t lag, struct spearman *out);

/*
 * Is there a monotone trend? Mann (1945), Kendall (1975): S, its variance with tie correction and
 * the normal approximation with continuity correction. n >= 4; from 10 on p is good to about 0.01.
 * `inflation` > 0 is 1 for independent values; on a dependent series long-run variance / variance,
 * by whose root z is divided (Hamed and Rao 1998).
 */
struct mann_kendall {
	int64_t s;       /* pairs that rise minus pairs that fall */
	double tau;      /* S over its maximum, n (n - 1) / 2 */
	double variance; /* of S, with ties and the inflation */
	double z;
	double p;        /* two-sided */
};

int mann_kendall(const double *y, size_t n, double inflation, struct mann_kendall *out);

/*
 * Theil (1950), Sen (1968): the median slope over all pairs of a series at 0, 1 ... n - 1, with its
 * confidence interval; scipy.stats.theilslopes. n >= 2, 0 < confidence < 1. The k-th slope is found
 * by bisection on the count of inversions: O(n log n) memory-free steps of which there are at most
 * about 64 each, instead of all n^2 / 2 slopes. A constant series has slope 0.
 */
struct theil_sen {
	double slope;     /* per step of the series */
	double intercept; /* at index 0 */
	double lo, hi;
};

int theil_sen(const double *y, size_t n, double confidence, struct theil_sen *out);

#endif
