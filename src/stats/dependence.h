/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the values of a series say about each other. All return 0, -EINVAL for NaN or infinite
 * values or parameters out of range, -ENODATA for too few values, -EDOM for a constant series.
 */
#ifndef HOSTLAT_STATS_DEPENDENCE_H
#define HOSTLAT_STATS_DEPENDENCE_H

#include <stddef.h>

/* out[0..lags]: autocorrelations around the mean. n >= 2, lags < n. O(n lags). */
int autocorrelation(const double *y, size_t n, size_t lags, double *out);

/*
 * Integrated autocorrelation time 1 + 2 sum of the autocorrelations, by Geyer's (1992) initial
 * monotone sequence: pairs of lags are added while their sum is positive, none more than the one
 * before. 1 for independent values; n / tau is the effective number of values. `window` is the
 * first lag not added. At least 1/n, so that it divides. n >= 4. O(n window).
 */
struct iat {
	double tau;
	size_t window;
};

int integrated_time(const double *y, size_t n, struct iat *out);

/*
 * Long-run variance: n times the variance of the mean, for n -> infinity. `df` are the degrees of
 * freedom of the estimate as a multiple of chi-square: use Student's t with them.
 */
struct long_run {
	double variance;
	double df;
	size_t width; /* values per batch, or lags of the kernel (1: none but lag 0) */
};

/*
 * The last lag that Newey and West (1994) would give a weight, from the autocovariances up to lag
 * `pilot` < n: floor(1.1447 (s1 / s0)^(2/3) n^(1/3)), at most `max`; s0 and s1 are the sums of the
 * autocovariances and of those times |lag|.
 */
int bartlett_lags(const double *y, size_t n, size_t pilot, size_t max, size_t *lags);

/*
 * By the Bartlett kernel, weights 1 - lag / width (Newey and West 1987). width 0: automatic, that
 * of Newey and West (1994) with their pilot lag 4 (n / 100)^(2/9), no prewhitening; at most n / 2.
 * df is 3 n / (2 width) (Priestley 1981, 6.2.4), at most n - 1. n >= 4. O(n width).
 */
int long_run_bartlett(const double *y, size_t n, size_t width, struct long_run *out);

#endif
