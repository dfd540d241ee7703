/* SPDX-License-Identifier: Apache-2.0 */
/* KPSS test and warm-up: stats/series_test.h. */
#include <errno.h>
#include <math.h>

#include "stats/dependence.h"
#include "stats/sample.h"
#include "stats/series_test.h"

/* Returns p by Kwiatkowski et al., table 1, eta_mu, with linear interpolation. */
static double kpss_p(double statistic, bool *bounded)
{
	static const double at[] = { 0.347, 0.463, 0.574, 0.739 }, p[] = { 0.1, 0.05, 0.025, 0.01 };
	int i = 0;

	*bounded = statistic <= at[0] || statistic >= at[3];
	if (*bounded)
		return statistic <= at[0] ? p[0] : p[3];
	while (statistic > at[i + 1])
		i++;
	return p[i] + (p[i + 1] - p[i]) * (statistic - at[i]) / (at[i + 1] - at[i]);
}

int kpss_test(const double *y, size_t n, enum kpss_lags lags, struct kpss *out)
{
	int err = sample_check_varied(y, n, 4);
	double mean, level = 0, sum = 0, size = (double)n;
	struct long_run run;
	size_t last;

	if (err)
		return err;
	last = (size_t)ceil(12 * pow(size / 100, 0.25));
	last = last < n - 1 ? last : n - 1;
	if (lags == KPSS_AUTO)
		err = bartlett_lags(y, n, (size_t)pow(size, 2 / 9.0), n - 1, &last);
	err = err ? err : long_run_bartlett(y, n, last + 1, &run);
	if (err)
		return err;
	mean = sample_mean(y, n);
	for (size_t i = 0; i < n; i++) {
		level += y[i] - mean;
		sum += level * level;
	}
	out->statistic = sum / (size * size) / run.variance;
	out->p = kpss_p(out->statistic, &out->bounded);
	out->lags = last;
	return 0;
}

/*
 * Goes from the last batch back to the first, and tries the cuts up to half of the batches.
 * `count`, `mean` and `squares` are of the batches from i on.
 */
int mser_cut(const double *y, size_t n, size_t batch, size_t *cut)
{
	int err = sample_check(y, n, 1);
	double mean = 0, squares = 0, count = 0, best = INFINITY;
	size_t batches, found = 0;

	if (err || !batch)
		return err ? err : -EINVAL;
	batches = n / batch;
	if (batches < 4)
		return -ENODATA;
	*cut = 0;
	if (sample_constant(y, n))
		return 0;
	for (size_t i = batches; i-- > 0;) {
		double value = sample_mean(y + i * batch, batch), off = value - mean;

		count++;
		mean += off / count;
		squares += off * (value - mean);
		/* Chooses the smallest of the cuts that differ only by rounding. */
		if (i <= batches / 2 && squares / (count * count) <= best * (1 + 1e-9)) {
			best = fmin(best, squares / (count * count));
			found = i;
		}
	}
	*cut = found * batch;
	return found < batches / 2 ? 0 : -EDOM;
}
