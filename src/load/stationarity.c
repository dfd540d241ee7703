/* SPDX-License-Identifier: Apache-2.0 */
#include "load/stationarity.h"

#include <errno.h>
#include <math.h>

#include "stats/dependence.h"
#include "stats/rank.h"
#include "stats/series_test.h"

#define MSER_BATCH 5
#define WARMUP_Z 3.0
#define WARMUP_MOST 4 /* warm-up: at most 1/4 of the run; longer changes are trends or shifts */
#define WARMUP_BEGIN 0.02 /* share of the windows at whose beginning a warm-up shows */
#define BEGIN_OFF 0.25 /* deviation there, as a share of the mean one */

/* ---- warm-up ---- */

static double window_median(const struct hist *hist)
{
	struct hist_quantile found;

	return hist_quantile(hist, 0.5, &found) ? NAN : (double)found.value;
}

/*
 * Computes value(), a statistic of the latencies, in each window. An empty window gets the value of
 * the previous window; empty windows at the start get the first value.
 */
static void window_values(const struct series *series, uint32_t to,
			  double (*value)(const struct hist *), double *y)
{
	double last = NAN;

	for (uint32_t i = to; i-- > 0;) {
		double v = value(&series->windows[i].latency[LOAD_INTENDED]);

		y[i] = v;
		last = isnan(v) ? last : v;
	}
	for (uint32_t i = 0; i < to; i++) {
		if (isnan(y[i]))
			y[i] = last;
		last = y[i];
	}
}

static double mean_of(const double *y, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += y[i];
	return sum / n;
}

/* Returns whether the mean of y[0..cut) is WARMUP_Z standard errors above that of the rest. */
static bool stationarity_is_slower(const double *y, uint32_t n, uint32_t cut)
{
	const double off = mean_of(y, cut) - mean_of(y + cut, n - cut);
	struct long_run lrv;

	if (long_run_bartlett(y + cut, n - cut, 0, &lrv))
		return off > 0; /* the values after the cut are constant */
	return off > WARMUP_Z * sqrt(lrv.variance * (1.0 / cut + 1.0 / (n - cut)));
}

/* Whether the deviation of y[0..cut) begins at the beginning: a warm-up does, a burst need not. */
static bool begins_off(const double *y, uint32_t n, uint32_t cut)
{
	const double rest = mean_of(y + cut, n - cut), off = mean_of(y, cut) - rest;
	uint32_t first = (uint32_t)ceil(WARMUP_BEGIN * n);

	first = first < cut ? first : cut;
	return (mean_of(y, first) - rest) / off >= BEGIN_OFF;
}

/* Whether a later stretch deviates as much as y[0..cut): then it belongs to the law. */
static bool comes_again(const double *y, uint32_t n, uint32_t cut)
{
	const double rest = mean_of(y + cut, n - cut), off = mean_of(y, cut) - rest;

	for (uint32_t i = cut; i + cut <= n; i++) {
		if ((mean_of(y + i, cut) - rest) / off >= 1)
			return true;
	}
	return false;
}

static int cut_of(const double *y, uint32_t n, uint32_t *cut)
{
	size_t found;
	int err = mser_cut(y, n, MSER_BATCH, &found);

	*cut = 0;
	if (err == -EDOM || err == -ENODATA)
		return 0; /* no warm-up ends in the first half, or there are few windows */
	if (!err && found && found <= n / WARMUP_MOST &&
	    stationarity_is_slower(y, n, (uint32_t)found) && begins_off(y, n, (uint32_t)found) &&
	    !comes_again(y, n, (uint32_t)found))
		*cut = (uint32_t)found;
	return err;
}

int stationarity_warmup(const struct series *series, uint32_t to, uint32_t *cut)
{
	double y[SERIES_WINDOWS];
	uint32_t by_mean, by_median = 0;
	int err;

	*cut = 0;
	window_values(series, to, hist_mean, y);
	if (!to || isnan(y[0]))
		return 0;
	err = cut_of(y, to, &by_mean);
	if (!err) {
		window_values(series, to, window_median, y);
		err = cut_of(y, to, &by_median);
	}
	*cut = by_mean > by_median ? by_mean : by_median;
	return err;
}

/* ---- the tests ---- */

/* Computes the logarithm of quantile q in each block of `width` windows. */
static int block_quantiles(const struct series *series, uint32_t from, uint32_t blocks,
			   uint32_t width, double q, double *y)
{
	struct hist_quantile found;
	struct hist pooled;
	int err = 0;

	hist_init(&pooled, LOAD_SCHEMA);
	for (uint32_t i = 0; !err && i < blocks; i++) {
		hist_reset(&pooled);
		err = series_pool(series, from + i * width, from + (i + 1) * width, LOAD_INTENDED,
				  &pooled);
		if (!err)
			err = hist_quantile(&pooled, q, &found);
		y[i] = log((double)found.value + 1);
	}
	hist_release(&pooled);
	return err;
}

static uint64_t samples_in(const struct series *series, uint32_t from, uint32_t to)
{
	uint64_t sum = 0;

	for (uint32_t i = from; i < to; i++)
		sum += series->windows[i].latency[LOAD_INTENDED].count;
	return sum;
}

static uint32_t block_width(const struct series *series, uint32_t from, uint32_t to, double q,
			    double tau)
{
	const uint32_t n = to - from;
	const double per_window = (double)samples_in(series, from, to) / n;
	const double needed = 2 / fmin(q, 1 - q) / per_window;
	const double most = floor((double)n / STATIONARITY_BLOCKS_MIN);
	double width = fmax(fmin(ceil(tau), most), (double)n / STATIONARITY_BLOCKS_MAX);

	width = ceil(fmax(width, needed));
	return width < n ? (uint32_t)width : n;
}

/* P(integral of a squared Brownian bridge > x), with a relative error of 8 % for x > 0.3. */
static double kpss_tail(double x)
{
	return x > 0 ? fmin(1, M_SQRT2 * erfc(M_PI * sqrt(x / 2))) : 1;
}

/*
 * Returns the factor (>= 1) by which serial dependence inflates the variance: long-run variance /
 * variance. Subtracts the means before and after the shift, which would inflate it otherwise.
 */
static double inflation_of(const double *y, uint32_t n, const struct shift *shift)
{
	double around[STATIONARITY_BLOCKS_MAX], variance = 0;
	struct long_run lrv;

	for (uint32_t i = 0; i < n; i++) {
		around[i] = y[i] - (i < shift->at ? shift->before : shift->after);
		variance += around[i] * around[i] / n;
	}
	if (!(variance > 0) || long_run_bartlett(around, n, 0, &lrv))
		return 1;
	return fmax(1, lrv.variance / variance);
}

static double variance_of(const double *y, uint32_t n)
{
	const double mean = mean_of(y, n);
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (y[i] - mean) * (y[i] - mean);
	return sum / n;
}

/* Returns the relative change, peak to peak, of values that are logarithms. */
static double swing_of(const double *y, uint32_t n, const struct periodic *periodic)
{
	return expm1(2 * sqrt(2 * periodic->share * variance_of(y, n)));
}

static int run_tests(const double *y, uint32_t n, double block_ns, struct stationarity_tests *out)
{
	_Static_assert(STATIONARITY_BLOCKS_MAX <= PERIODIC_VALUES_MAX, "that many are tested");
	struct mann_kendall mk;
	struct theil_sen slope;
	struct periodic periodic;
	struct shift shift;
	struct kpss kpss;
	struct adf adf;
	int err;

	if ((err = adf_test(y, n, &adf)) || (err = kpss_test(y, n, KPSS_AUTO, &kpss)) ||
	    (err = cusum_test(y, n, &shift)) || (err = periodic_test(y, n, &periodic)) ||
	    (err = theil_sen(y, n, 0.95, &slope)) ||
	    (err = mann_kendall(y, n, inflation_of(y, n, &shift), &mk)))
		return err;
	*out = (struct stationarity_tests){
		.known = true, .blocks = n,
		.adf = adf.statistic, .adf_p = adf.p,
		.kpss = kpss.statistic, .kpss_p = kpss_tail(kpss.statistic),
		.trend = expm1(slope.slope * n), .trend_p = mk.p,
		.shift = expm1(shift.after - shift.before), .shift_p = shift.p,
		.shift_at = (double)shift.at / n,
		.swing = swing_of(y, n, &periodic),
		.swing_p = periodic.p,
		.period_ns = periodic.period * block_ns,
	};
	return 0;
}

static bool all_same(const double *y, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		if (y[i] != y[0])
			return false;
	}
	return true;
}

int stationarity_test(const struct series *series, uint32_t from, uint32_t to, double q, double tau,
		      struct stationarity_tests *out)
{
	double y[SERIES_WINDOWS];
	uint32_t width, blocks;
	int err;

	_Static_assert(STATIONARITY_BLOCKS_MIN == 20, "its words say so");
	*out = (struct stationarity_tests){ .untested = "no request was answered" };
	if (to <= from || !samples_in(series, from, to))
		return 0;
	width = block_width(series, from, to, q, tau);
	blocks = (to - from) / width;
	if (blocks < STATIONARITY_BLOCKS_MIN) {
		out->untested = "the run is too short to compare 20 parts of it";
		return 0;
	}
	out->untested = "a part of the run has no reply";
	err = block_quantiles(series, from, blocks, width, q, y);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = run_tests(y, blocks, ldexp(width, (int)series->shift), out);
	if (err && err != -ENOMEM)
		out->untested = all_same(y, blocks) ? NULL :
				"the latency is the same in most parts of the run";
	return err == -ENOMEM ? err : 0;
}

int stationarity_period(const struct series *series, uint32_t from, uint32_t to, double q,
			double *period_ns)
{
	double y[SERIES_WINDOWS];
	struct periodic periodic;
	uint32_t width, blocks;
	int err;

	*period_ns = 0;
	if (to <= from || !samples_in(series, from, to))
		return 0;
	width = block_width(series, from, to, q, 0);
	blocks = (to - from) / width;
	if (blocks < STATIONARITY_BLOCKS_MIN)
		return 0;
	err = block_quantiles(series, from, blocks, width, q, y);
	if (!err)
		err = periodic_test(y, blocks, &periodic);
	if (!err && periodic.p <= PERIODIC_ALPHA && swing_of(y, blocks, &periodic) > PERIODIC_SWING)
		*period_ns = periodic.period * ldexp(width, (int)series->shift);
	return err == -ENOMEM ? err : 0; /* other errors: a block is empty, or all are alike */
}
