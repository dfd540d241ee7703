/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/dependence.h"

#include <errno.h>
#include <math.h>

#include "stats/sample.h"

/*
 * Returns the autocovariance at `lag` < n around the mean, divided by n (not n - lag), so that the
 * sequence over all lags is positive definite.
 */
static double covariance(const double *y, size_t n, size_t lag, double mean)
{
	double sum = 0;

	for (size_t i = lag; i < n; i++)
		sum += (y[i] - mean) * (y[i - lag] - mean);
	return sum / (double)n;
}

int autocorrelation(const double *y, size_t n, size_t lags, double *out)
{
	int err = sample_check_varied(y, n, 2);
	double mean, variance;

	if (err || lags >= n)
		return err ? err : -EINVAL;
	mean = sample_mean(y, n);
	variance = covariance(y, n, 0, mean);
	for (size_t lag = 0; lag <= lags; lag++)
		out[lag] = covariance(y, n, lag, mean) / variance;
	return 0;
}

int integrated_time(const double *y, size_t n, struct iat *out)
{
	int err = sample_check_varied(y, n, 4);
	double mean, variance, sum = 0, before = INFINITY;
	size_t lag;

	if (err)
		return err;
	mean = sample_mean(y, n);
	variance = covariance(y, n, 0, mean);
	for (lag = 0; lag + 1 < n; lag += 2) {
		double pair = (covariance(y, n, lag, mean) + covariance(y, n, lag + 1, mean)) /
			      variance;

		if (pair <= 0)
			break;
		before = fmin(before, pair);
		sum += before;
	}
	out->tau = fmax(2 * sum - 1, 1 / (double)n);
	out->window = lag;
	return 0;
}

int bartlett_lags(const double *y, size_t n, size_t pilot, size_t max, size_t *lags)
{
	double mean, s0, s1 = 0, automatic;
	int err = sample_check_varied(y, n, 2);

	if (err || pilot >= n)
		return err ? err : -EINVAL;
	mean = sample_mean(y, n);
	s0 = covariance(y, n, 0, mean);
	for (size_t lag = 1; lag <= pilot; lag++) {
		double both = 2 * covariance(y, n, lag, mean);

		s0 += both;
		s1 += (double)lag * both;
	}
	if (s0 == 0)
		return -EDOM;
	automatic = 1.1447 * cbrt(s1 / s0 * (s1 / s0)) * cbrt((double)n);
	*lags = automatic < (double)max ? (size_t)automatic : max;
	return 0;
}

int long_run_bartlett(const double *y, size_t n, size_t width, struct long_run *out)
{
	size_t pilot = (size_t)(4 * pow((double)n / 100, 2 / 9.0)), lags = width - 1;
	double mean, sum, size = (double)n;
	int err = sample_check_varied(y, n, 4);

	if (!err && !width)
		err = bartlett_lags(y, n, pilot < n ? pilot : n - 1, n / 2, &lags);
	if (err || lags >= n)
		return err ? err : -EINVAL;
	mean = sample_mean(y, n);
	sum = covariance(y, n, 0, mean);
	for (size_t lag = 1; lag <= lags; lag++)
		sum += 2 * (1 - (double)lag / ((double)lags + 1)) * covariance(y, n, lag, mean);
	*out = (struct long_run){
		.variance = sum,
		.df = fmin(1.5 * size / ((double)lags + 1), size - 1),
		.width = lags + 1,
	};
	return sum > 0 ? 0 : -EDOM;
}
