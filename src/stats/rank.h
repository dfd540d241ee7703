/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank tests: only the order of values counts, so outliers and units do not matter. All return 0,
 * -EINVAL for NaN or infinite values or parameters out of range, -ENODATA for too few values, -EDOM
 * for a constant series (no result), -ENOMEM. O(n log n) unless stated otherwise.
 */
#ifndef HOSTLAT_STATS_RANK_H
#define HOSTLAT_STATS_RANK_H

#include <stddef.h>
#include <stdint.h>

/* Sets `out` to ranks 1..n; ties share their mean rank. `out` has n entries; n may be 0. */
int rank_values(const double *x, size_t n, double *out);

/*
 * Spearman's rho (1904), with ties, and its two-sided p by Student's t with n - 2 degrees of
 * freedom, as scipy.stats.spearmanr. n >= 3.
 */
struct spearman {
	double rho;
	double p;
};

int spearman(const double *x, const double *y, size_t n, struct spearman *out);

/*
 * Computes Spearman's rho of `x` and each of m series, the rows of `y`. p allows for dependence in
 * time and for m tests: the share of all n circular shifts of `x`, shift 0 included, in which the
 * greatest |rho| of any series is at least this |rho| (max T of Westfall and Young 1993). Exact for
 * series that keep their law and whose ends could be joined: the chance of any p <= alpha is then
 * at most alpha. The seam adds to it for strong dependence in short series: AR(1) 0.8 and 0.9 with
 * n = 40, m = 8, alpha = 0.05 give 0.07 and 0.10; n = 120 gives 0.06. p is at least 1 / n, and
 * large for series of one regular rhythm, which others may share. n >= 3, m >= 1; out[m]. O(m n^2).
 */
int spearman_shifts(const double *x, const double *y, size_t m, size_t n, struct spearman *out);

/* Correlates a series with itself `lag` later: n - lag pairs, at least 3. */
int spearman_lag(const double *x, size_t n, size_t lag, struct spearman *out);

/*
 * Tests for a monotone trend by Mann (1945), Kendall (1975): S, its variance with tie correction
 * and the normal approximation with continuity correction. n >= 4; from 10 on p is good to about
 * 0.01. `inflation` > 0: 1 for independent values, else long-run variance / variance; z is divided
 * by its square root (Hamed and Rao 1998).
 */
struct mann_kendall {
	int64_t s;       /* pairs that rise minus pairs that fall */
	double tau;      /* S over its maximum, n (n - 1) / 2 */
	double variance; /* variance of S, with ties and the inflation */
	double z;
	double p;        /* two-sided p-value */
};

int mann_kendall(const double *y, size_t n, double inflation, struct mann_kendall *out);

/*
 * Theil (1950), Sen (1968): the median slope over all pairs of a series at 0, 1 ... n - 1, with its
 * confidence interval; as scipy.stats.theilslopes. n >= 2, 0 < confidence < 1. The k-th slope is
 * found by bisection on the count of inversions: at most about 64 steps of O(n log n), instead of
 * all n^2 / 2 slopes. A constant series has slope 0.
 */
struct theil_sen {
	double slope;     /* slope per step of the series */
	double intercept; /* value of the line at index 0 */
	double lo, hi;
};

int theil_sen(const double *y, size_t n, double confidence, struct theil_sen *out);

#endif
