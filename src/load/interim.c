/* SPDX-License-Identifier: Apache-2.0 */
#include "load/interim.h"

#include <math.h>

#include "base/bug.h"
#include "stats/special.h"

#define GRID 81 /* odd number of points for Simpson's rule over the interval -c..c */

static double interim_normal_density(double z)
{
	return exp(-z * z / 2) / sqrt(2 * M_PI);
}

static double simpson_weight(int i, double step)
{
	if (!i || i == GRID - 1)
		return step / 3;
	return (i & 1 ? 4 : 2) * step / 3;
}

uint64_t interim_time(uint64_t max_time_ns, uint32_t look)
{
	return max_time_ns >> (INTERIM_LOOKS - 1 - look);
}

/* Computes the density of z = B(t) / sqrt(t), B Brownian, at the next t, if |z| <= c before. */
static void interim_next_density(double ratio, double c, const double *f, double *out)
{
	const double step = 2 * c / (GRID - 1), spread = sqrt(1 - ratio);

	for (int i = 0; i < GRID; i++) {
		double to = -c + i * step;

		out[i] = 0;
		for (int k = 0; k < GRID; k++) {
			double from = -c + k * step;

			out[i] += f[k] * simpson_weight(k, step) / spread *
				  interim_normal_density((to - from * sqrt(ratio)) / spread);
		}
	}
}

double interim_coverage(const double *t, uint32_t n, double c)
{
	const double step = 2 * c / (GRID - 1);
	double f[GRID], g[GRID], sum = 0;

	BUG_ON(!n);
	for (int i = 0; i < GRID; i++)
		f[i] = interim_normal_density(-c + i * step);
	for (uint32_t k = 1; k < n; k++) {
		interim_next_density(t[k - 1] / t[k], c, f, g);
		for (int i = 0; i < GRID; i++)
			f[i] = g[i];
	}
	for (int i = 0; i < GRID; i++)
		sum += f[i] * simpson_weight(i, step);
	return sum;
}

/* Returns the confidence of each look that makes all of them hold with `confidence`. */
static double interim_each(double confidence)
{
	double t[INTERIM_LOOKS], c, before, missed, missed_before;

	for (int i = 0; i < INTERIM_LOOKS; i++)
		t[i] = ldexp(1, i - INTERIM_LOOKS + 1);
	/* Find c by the secant method: the coverage is smooth, and convex near its root. */
	before = normal_quantile((1 + confidence) / 2);
	missed_before = interim_coverage(t, INTERIM_LOOKS, before) - confidence;
	c = before + 0.4;
	for (int i = 0; i < 8; i++) {
		double step;

		missed = interim_coverage(t, INTERIM_LOOKS, c) - confidence;
		if (fabs(missed) < 1e-9)
			break;
		step = missed * (c - before) / (missed - missed_before);
		before = c;
		missed_before = missed;
		c -= step;
	}
	return 1 - 2 * normal_sf(c);
}

double interim_confidence(double confidence, bool looks)
{
	const double all = 1 - INTERIM_MISSES * (1 - confidence);

	return looks ? interim_each(all) : all;
}
