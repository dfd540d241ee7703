/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/uniformity.h"

#include <errno.h>
#include <float.h>
#include <math.h>

#include "stats/sample.h"
#include "stats/special.h"

/*
 * Returns the integral in Anderson and Darling's series for one j, over w in 0..inf, with t = (4 j
 * + 1)^2 pi^2 / (8 z): exp(z / (8 (w^2 + 1)) - t w^2). The trapezoidal rule converges
 * geometrically.
 */
static double anderson_integral(double z, double t)
{
	const double step = 0.04;
	double sum = exp(z / 8) / 2;

	for (int i = 1;; i++) {
		double w2 = i * step * i * step;

		if (t * w2 > 45)
			break;
		sum += exp(z / (8 * (w2 + 1)) - t * w2);
	}
	return sum * step;
}

/* Returns the limit law, P(A^2 <= z). */
static double anderson_cdf(double z)
{
	double sum = 0, choose = 1; /* binomial coefficient (-1/2 over j) */

	if (z < 0.01) /* the result is less than 1e-50 */
		return 0;
	for (int j = 0; j < 60; j++) {
		double t = (4 * j + 1) * (4 * j + 1) * M_PI * M_PI / (8 * z);
		double term = choose * (4 * j + 1) * exp(-t) * anderson_integral(z, t);

		sum += term;
		if (fabs(term) < 1e-18)
			break;
		choose *= -(j + 0.5) / (j + 1);
	}
	return sqrt(2 * M_PI) / z * sum;
}

/*
 * Returns the correction of the limit law for n values, fitted by Marsaglia and Marsaglia (section
 * 3). Their first constant is -130.2137, with which the correction is not 0 at 1 and p has a floor
 * of 0.0006 / n.
 */
static double anderson_correction(double x, double n)
{
	static const double tail[] = { -130.2131, 745.2337, -1705.091, 1950.646, -1116.360,
				       255.7844 };
	static const double body[] = { -0.00022633, 6.54034, -14.6538, 14.458, -8.259, 1.91864 };
	double from = 0.01265 + 0.1757 / n, sum = 0, t;
	const double *c = x > 0.8 ? tail : body;

	if (x < from) {
		t = x / from;
		t = sqrt(t) * (1 - t) * (49 * t - 102);
		return t * (0.0037 / (n * n) + 0.00078 / n + 0.00006) / n;
	}
	t = x > 0.8 ? x : (x - from) / (0.8 - from);
	for (int i = 5; i >= 0; i--)
		sum = sum * t + c[i];
	return x > 0.8 ? sum / n : sum * (0.04213 + 0.01365 / n) / n;
}

/*
 * Computes exactly for n = 1, where the statistic is -1 - ln(u (1 - u)). Beyond z = 20 the first of
 * the weighted chi-squares in the limit law dominates: sqrt(3) erfc(sqrt(z)).
 */
double anderson_darling_sf(double z, uint64_t n)
{
	double x;

	if (isnan(z) || n == 0)
		return NAN;
	if (n == 1)
		return z > 2 * M_LN2 - 1 ? 1 - sqrt(1 - 4 * exp(-1 - z)) : 1;
	if (z > 20)
		return sqrt(3) * erfc(sqrt(z));
	x = anderson_cdf(z);
	x += anderson_correction(x, (double)n);
	return fmin(fmax(1 - x, 0), 1);
}

/* Clamps u to half the distance of 1 to its lower neighbor from 0 and 1: undoes rounding. */
static double inside(double u)
{
	return fmin(fmax(u, DBL_EPSILON / 4), 1 - DBL_EPSILON / 2);
}

static double anderson_uniform(const double *u, size_t n)
{
	double sum = 0, size = (double)n;

	for (size_t i = 0; i < n; i++) {
		double weight = (2 * (double)i + 1) / size;

		sum += weight * (log(inside(u[i])) + log1p(-inside(u[n - 1 - i])));
	}
	return -size - sum;
}

static double kolmogorov_distance(const double *u, size_t n)
{
	double max = 0, size = (double)n;

	for (size_t i = 0; i < n; i++) {
		max = fmax(max, (double)(i + 1) / size - u[i]);
		max = fmax(max, u[i] - (double)i / size);
	}
	return max;
}

int uniformity_test(double *u, size_t n, struct uniformity *out)
{
	int err = sample_check(u, n, 1);

	if (err)
		return err;
	sample_sort(u, n);
	if (u[0] < 0 || u[n - 1] > 1)
		return -EINVAL;
	out->ad = anderson_uniform(u, n);
	out->ad_p = anderson_darling_sf(out->ad, n);
	out->ks = kolmogorov_distance(u, n);
	out->ks_p = kolmogorov_exact_sf(out->ks, n);
	out->ks_p_limit = kolmogorov_sf(out->ks * sqrt((double)n));
	out->effect = out->ks;
	return 0;
}
