// SPDX-License-Identifier: Apache-2.0
#include "stats/dependence.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stats/fft.h"
#include "stats/sample.h"

static void covariance_directly(const double *y, size_t n, size_t lags, double mean, double *out)
{
	for (size_t lag = 0; lag <= lags; lag++) {
		double sum = 0;

		for (size_t i = lag; i < n; i++)
			sum += (y[i] - mean) * (y[i - lag] - mean);
		out[lag] = sum / (double)n;
	}
}

/* The power spectrum of the series, padded so that no lag wraps, is transformed back. */
static int covariance_by_fft(const double *y, size_t n, size_t lags, double mean, double *out)
{
	size_t size = fft_size(n + lags + 1);
	double *re = calloc(2 * size, sizeof(*re)), *im = re + size;
	int err = re ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < n; i++)
		re[i] = y[i] - mean;
	err = err ? err : fft_power_of_two(re, im, size);
	for (size_t k = 0; !err && k < size; k++) {
		re[k] = re[k] * re[k] + im[k] * im[k];
		im[k] = 0;
	}
	err = err ? err : fft_power_of_two(re, im, size);
	for (size_t lag = 0; !err && lag <= lags; lag++)
		out[lag] = re[lag] / (double)size / (double)n;
	free(re);
	return err;
}

int autocovariance(const double *y, size_t n, size_t lags, double *out)
{
	int err = sample_check(y, n, 1);
	double mean;

	if (err || lags >= n)
		return err ? err : -EINVAL;
	mean = sample_mean(y, n);
	if ((double)lags > 20 * log2((double)n))
		return covariance_by_fft(y, n, lags, mean, out);
	covariance_directly(y, n, lags, mean, out);
	return 0;
}

int autocorrelation(const double *y, size_t n, size_t lags, double *out)
{
	int err = sample_check_varied(y, n, 2);
	double variance;

	err = err ? err : autocovariance(y, n, lags, out);
	if (err)
		return err;
	variance = out[0];
	for (size_t lag = 0; lag <= lags; lag++)
		out[lag] /= variance;
	return 0;
}

int integrated_time(const double *y, size_t n, struct iat *out)
{
	int err = sample_check_varied(y, n, 4);
	double *r, sum = 0, before = INFINITY;
	size_t lag;

	if (err)
		return err;
	r = malloc(n * sizeof(*r));
	if (!r)
		return -ENOMEM;
	err = autocorrelation(y, n, n - 1, r);
	for (lag = 0; !err && lag + 1 < n; lag += 2) {
		double pair = r[lag] + r[lag + 1];

		if (pair <= 0)
			break;
		before = fmin(before, pair);
		sum += before;
	}
	free(r);
	out->tau = fmax(2 * sum - 1, 1 / (double)n);
	out->window = lag;
	return err;
}

int long_run_batches(const double *y, size_t n, size_t width, struct long_run *out)
{
	int err = sample_check(y, n, 2);
	size_t batches;
	double mean, sum = 0;

	if (err || !width)
		return err ? err : -EINVAL;
	batches = n / width;
	if (batches < 2)
		return -ENODATA;
	if (sample_constant(y, n))
		return -EDOM;
	mean = sample_mean(y, batches * width);
	for (size_t i = 0; i < batches; i++) {
		double difference = sample_mean(y + i * width, width) - mean;

		sum += difference * difference;
	}
	*out = (struct long_run){ .variance = sum / (double)(batches - 1) * (double)width,
				  .df = (double)(batches - 1), .width = width };
	return sum > 0 ? 0 : -EDOM;
}

int bartlett_lags(const double *y, size_t n, size_t pilot, size_t max, size_t *lags)
{
	double *covariance, s0, s1 = 0, automatic;
	int err = sample_check_varied(y, n, 2);

	if (err || pilot >= n)
		return err ? err : -EINVAL;
	covariance = malloc((pilot + 1) * sizeof(*covariance));
	if (!covariance)
		return -ENOMEM;
	err = autocovariance(y, n, pilot, covariance);
	s0 = covariance[0];
	for (size_t lag = 1; !err && lag <= pilot; lag++) {
		s0 += 2 * covariance[lag];
		s1 += 2 * (double)lag * covariance[lag];
	}
	free(covariance);
	if (err)
		return err;
	if (s0 == 0)
		return -EDOM;
	automatic = 1.1447 * cbrt(s1 / s0 * (s1 / s0)) * cbrt((double)n);
	*lags = automatic < (double)max ? (size_t)automatic : max;
	return 0;
}

int long_run_bartlett(const double *y, size_t n, size_t width, struct long_run *out)
{
	size_t pilot = (size_t)(4 * pow((double)n / 100, 2 / 9.0)), lags = width - 1;
	double *covariance, size = (double)n;
	int err = sample_check_varied(y, n, 4);

	if (!err && !width)
		err = bartlett_lags(y, n, pilot < n ? pilot : n - 1, n / 2, &lags);
	if (err || lags >= n)
		return err ? err : -EINVAL;
	covariance = malloc((lags + 1) * sizeof(*covariance));
	if (!covariance)
		return -ENOMEM;
	err = autocovariance(y, n, lags, covariance);
	if (!err) {
		double sum = covariance[0];

		for (size_t lag = 1; lag <= lags; lag++)
			sum += 2 * (1 - (double)lag / ((double)lags + 1)) * covariance[lag];
		*out = (struct long_run){
			.variance = sum,
			.df = fmin(1.5 * size / ((double)lags + 1), size - 1),
			.width = lags + 1,
		};
		err = sum > 0 ? 0 : -EDOM;
	}
	free(covariance);
	return err;
}

int long_run_auto(const double *y, size_t n, struct long_run *out)
{
	int err = n < 40 ? -ENODATA : 0;
	struct iat time;
	double width;

	err = err ? err : integrated_time(y, n, &time);
	if (err)
		return err;
	width = fmin(ceil(20 * time.tau), (double)(n / 10));
	return long_run_bartlett(y, n, (size_t)width, out);
}
