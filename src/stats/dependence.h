/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dependence between the values of a series. All return 0, -EINVAL for NaN or infinite values or
 * parameters out of range, -ENODATA for too few values, -EDOM for a constant series.
 */
#ifndef HOSTLAT_STATS_DEPENDENCE_H
#define HOSTLAT_STATS_DEPENDENCE_H

#include <stddef.h>

/* Sets out[0..lags] to the autocorrelations around the mean. n >= 2, lags < n. O(n lags). */
int autocorrelation(const double *y, size_t n, size_t lags, double *out);

/*
 * Integrated autocorrelation time tau: 1 + 2 * the sum of the autocorrelations, by Geyer's (1992)
 * initial monotone sequence: pairs of lags are added while their sum is positive, each at most the
 * previous pair. 1 for independent values; n / tau is the effective number of values. `window` is
 * the first lag not added. At least 1/n, so that it can divide. n >= 4. O(n window).
 */
struct iat {
	double tau;
	size_t window;
};

int integrated_time(const double *y, size_t n, struct iat *out);

/*
 * Long-run variance: n times the variance of the mean, for n -> infinity. `df`: degrees of freedom
 * of the estimate as a multiple of chi-square, for Student's t.
 */
struct long_run {
	double variance;
	double df;
	size_t width; /* values per batch, or lags of the kernel (1: only lag 0) */
};

/*
 * Computes the last lag with a weight by Newey and West (1994), from the autocovariances up to lag
 * `pilot` < n: floor(1.1447 (s1 / s0)^(2/3) n^(1/3)), at most `max`. s0 and s1 are the sums of the
 * autocovariances, and of the autocovariances times |lag|.
 */
int bartlett_lags(const double *y, size_t n, size_t pilot, size_t max, size_t *lags);

/*
 * Computes the long-run variance by the Bartlett kernel, weights 1 - lag / width (Newey and West
 * 1987). width 0: as Newey and West (1994), pilot lag 4 (n / 100)^(2/9), no prewhitening; at most n
 * / 2. df is 3 n / (2 width) (Priestley 1981, 6.2.4), at most n - 1. n >= 4. O(n width).
 */
int long_run_bartlett(const double *y, size_t n, size_t width, struct long_run *out);

#endif
