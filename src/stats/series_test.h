/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests whether an equally spaced series (of window quantiles) keeps its law over time. All return
 * 0, -EINVAL for NaN or infinite values or parameters out of range, -ENODATA for too few values,
 * -EDOM without a result (a constant series, a perfect fit), -ENOMEM.
 */
#ifndef HOSTLAT_STATS_SERIES_TEST_H
#define HOSTLAT_STATS_SERIES_TEST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Augmented Dickey-Fuller test with a constant (Said and Dickey 1984): small p rejects a unit root.
 * Lags by AIC up to Schwert's (1989) ceil(12 (n / 100)^(1/4)), p by MacKinnon's (1994) surface: the
 * results of statsmodels' adfuller(regression='c', autolag='AIC'). n >= 6. O(n lags^2): for a few
 * thousand values.
 */
struct adf {
	double statistic;
	double p;
	size_t lags;
	size_t used; /* observations in the final regression */
};

int adf_test(const double *y, size_t n, struct adf *out);

/*
 * Test of Kwiatkowski, Phillips, Schmidt and Shin (1992) around a constant: small p rejects
 * stationarity. The bandwidth is that of Hobijn, Franses and Ooms (2004) (statsmodels kpss
 * nlags='auto') or ceil(12 (n / 100)^(1/4)) ('legacy'). The table of p ends at 0.01 and 0.1:
 * `bounded` means that the true p lies beyond. n >= 4. O(n lags).
 */
enum kpss_lags { KPSS_AUTO, KPSS_LEGACY };

struct kpss {
	double statistic;
	double p;
	bool bounded;
	size_t lags;
};

int kpss_test(const double *y, size_t n, enum kpss_lags lags, struct kpss *out);

/*
 * One shift of the level. `at` is the index of the first value after the most likely shift;
 * `before` and `after` are the means on both sides.
 *
 * Self-normalized CUSUM (Shao and Zhang 2010): the partial sums around the mean, divided by their
 * variation within each side. This holds for dependent values without a bandwidth, which in short
 * series either hides a shift or finds one too often. At most 6 % false alarms at 5 %: for
 * independent values from n = 20, for AR(1) 0.3 from 100, 0.6 from 500. The first and last
 * twentieth are not searched. p is from a table that ends at 0.0001; a step without noise has an
 * infinite statistic. n >= 20, O(n).
 */
struct shift {
	double statistic;
	double p;
	size_t at;
	double before, after;
};

int cusum_test(const double *y, size_t n, struct shift *out);

/*
 * A periodic component of any shape. Periodic stalls leave a comb of small harmonics, so sums of 1,
 * 2, 4, 8 and 16 harmonics of one frequency are tested: their share of the power is Beta(h, m - h)
 * for white noise with m ordinates (h = 1: Fisher's g). p is the smallest of all times their number
 * (Bonferroni: at 5 % at most 5 % false alarms). AR(1) is removed before, since a merely correlated
 * series also has its power in few ordinates. 16 <= n <= PERIODIC_VALUES_MAX: the transform is the
 * plain sum, O(n^2).
 */
#define PERIODIC_VALUES_MAX 512

struct periodic {
	double p;
	double period;      /* period in steps of the series */
	unsigned harmonics; /* number of harmonics summed: 1, 2, 4, 8 or 16 */
	double share;       /* share of the whitened series' variance */
};

int periodic_test(const double *y, size_t n, struct periodic *out);

/*
 * Finds the end of the warm-up: MSER (White 1997), MSER-5 for batch 5. *cut: number of values to
 * exclude, a multiple of `batch`, that minimizes the variance of the mean of the rest. Only the
 * first half is searched; -EDOM if the minimum is at its end (no steady state), -ENODATA for fewer
 * than 4 batches. A constant series needs no cut: 0. O(n).
 */
int mser_cut(const double *y, size_t n, size_t batch, size_t *cut);

#endif
