/* SPDX-License-Identifier: Apache-2.0 */
/* Test for one shift of the level: stats/series_test.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "stats/sample.h"
#include "stats/series_test.h"

static void shift_describe(const double *y, size_t n, size_t at, struct shift *out)
{
	out->at = at;
	out->before = sample_mean(y, at);
	out->after = sample_mean(y + at, n - at);
}

/* Running sums over the partial sums S_1 .. S_k around the mean: of S, t S and S^2. */
struct sums {
	double s, ts, ss;
};

/*
 * Returns the sum of (S_t - b t)^2 over `count` values t = 1, 2 ..., given the sums of S_t and t
 * S_t: the variation of partial sums around the straight line to their end.
 */
static double wandering(double ss, double ts, double b, double count)
{
	return ss - 2 * b * ts + b * b * count * (count + 1) * (2 * count + 1) / 6;
}

/*
 * Returns Shao and Zhang's T_k^2 / V_k times n^2. After the shift, time counts from the end and the
 * partial sums are S_k .. S_(n-1); S_n is 0.
 */
static double normalised(const struct sums *all, const double *s, size_t n, size_t k)
{
	double left = (double)(n - k), first = (double)k;
	double ss = all[n].ss - all[k - 1].ss;
	double ts = (double)n * (all[n].s - all[k - 1].s) - (all[n].ts - all[k - 1].ts);
	double v = wandering(all[k].ss, all[k].ts, s[k] / first, first) +
		   wandering(ss, ts, s[k] / left, left);

	if (v <= 1e-12 * all[n].ss) /* only rounding errors are left: a step without noise */
		return s[k] == 0 ? 0 : INFINITY;
	return s[k] * s[k] * (double)n / v;
}

/*
 * Returns p by the simulated limit law: 400,000 series of 2000 independent normal values. Between
 * these points ln p is linear in the root of the statistic.
 */
static double shift_p(double statistic)
{
	static const struct {
		double at, p;
	} table[] = {
		{ 2.99, 0.9 }, { 3.74, 0.8 }, { 4.69, 0.7 }, { 5.97, 0.6 }, { 7.73, 0.5 },
		{ 10.16, 0.4 }, { 13.7, 0.3 }, { 19.18, 0.2 }, { 29.52, 0.1 }, { 41.15, 0.05 },
		{ 53.8, 0.025 }, { 72.33, 0.01 }, { 87.19, 0.005 }, { 108.7, 0.002 },
		{ 126.78, 0.001 }, { 146.24, 0.0005 }, { 175.77, 0.0002 }, { 204.6, 0.0001 },
	};
	double x = sqrt(statistic), lo = 0, p = 1;

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		double hi = sqrt(table[i].at);

		if (x < hi)
			return p * pow(table[i].p / p, (x - lo) / (hi - lo));
		lo = hi;
		p = table[i].p;
	}
	return p;
}

int cusum_test(const double *y, size_t n, struct shift *out)
{
	int err = sample_check_varied(y, n, 20);
	double *s, mean;
	struct sums *all;
	size_t trim = n / 20 > 2 ? n / 20 : 2, at = trim;

	if (err)
		return err;
	s = calloc(n + 1, sizeof(*s) + sizeof(*all));
	if (!s)
		return -ENOMEM;
	all = (struct sums *)(s + n + 1);
	mean = sample_mean(y, n);
	for (size_t k = 1; k <= n; k++) {
		s[k] = k < n ? s[k - 1] + (y[k - 1] - mean) : 0;
		all[k].s = all[k - 1].s + s[k];
		all[k].ts = all[k - 1].ts + (double)k * s[k];
		all[k].ss = all[k - 1].ss + s[k] * s[k];
	}
	out->statistic = 0;
	for (size_t k = trim; k <= n - trim; k++) {
		double value = normalised(all, s, n, k);

		if (value > out->statistic * (1 + 1e-9)) { /* greater by more than rounding */
			out->statistic = value;
			at = k;
		}
	}
	free(s);
	out->p = shift_p(out->statistic);
	shift_describe(y, n, at, out);
	return 0;
}
