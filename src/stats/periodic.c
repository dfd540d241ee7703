// SPDX-License-Identifier: Apache-2.0
/* Fisher's g and combs of harmonics: stats/series_test.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/dependence.h"
#include "stats/fft.h"
#include "stats/sample.h"
#include "stats/series_test.h"
#include "stats/special.h"

/* Ordinates that differ by rounding are equal: the longest period is named. */
#define MORE (1 + 1e-9)

/*
 * P(g > x) = sum over k >= 1 of (-1)^(k-1) C(m, k) (1 - k x)^(m-1) while k x < 1. Its first term is
 * the expected number of ordinates above x; where that is large the terms would cancel, and they
 * are nearly independent: none is above with probability exp(-term).
 */
static double fisher_p(double x, size_t ordinates)
{
	double m = (double)ordinates, sum = 0, log_choose = 0, sign = 1;
	double expected = m * exp((m - 1) * log1p(-x));

	if (x >= 1)
		return 0;
	if (expected > 15)
		return 1 - exp(-expected);
	for (size_t k = 1; k <= ordinates && (double)k * x < 1; k++, sign = -sign) {
		double term;

		log_choose += log((m - (double)k + 1) / (double)k);
		term = exp(log_choose + (m - 1) * log1p(-(double)k * x));
		sum += sign * term;
		if (term < 1e-18)
			break;
	}
	return fmin(fmax(sum, 0), 1);
}

/*
 * power[1 .. (n - 1) / 2], ordinates of the periodogram as shares of their sum. `work` has room for
 * 2 n, the series in its first n values; power may be `work`.
 */
static int spectrum(double *work, size_t n, double *power)
{
	double mean = sample_mean(work, n), sum = 0, *re = work, *im = work + n;
	int err;

	for (size_t i = 0; i < n; i++) {
		re[i] -= mean;
		im[i] = 0;
	}
	err = fft(re, im, n);
	if (err)
		return err;
	for (size_t j = 1; j <= (n - 1) / 2; j++) {
		power[j] = re[j] * re[j] + im[j] * im[j];
		sum += power[j];
	}
	if (!(sum > 0))
		return -EDOM;
	for (size_t j = 1; j <= (n - 1) / 2; j++)
		power[j] /= sum;
	return 0;
}

int fisher_g_test(const double *y, size_t n, struct fisher_g *out)
{
	int err = sample_check_varied(y, n, 7);
	size_t ordinates = (n - 1) / 2, at = 1;
	double *work;

	if (err)
		return err;
	work = malloc(2 * n * sizeof(*work));
	if (!work)
		return -ENOMEM;
	memcpy(work, y, n * sizeof(*y));
	err = spectrum(work, n, work);
	for (size_t j = 2; !err && j <= ordinates; j++)
		at = work[j] > work[at] * MORE ? j : at;
	if (!err) {
		out->g = work[at];
		out->p = fisher_p(out->g, ordinates);
		out->period = (double)n / (double)at;
	}
	free(work);
	return err;
}

/* What the value before doesn't explain: n - 1 values. */
static int remove_ar1(const double *y, size_t n, double *out)
{
	double r[2], mean = sample_mean(y, n);
	int err = autocorrelation(y, n, 1, r);

	for (size_t i = 1; !err && i < n; i++)
		out[i - 1] = y[i] - mean - r[1] * (y[i - 1] - mean);
	return err;
}

/*
 * Fundamental frequencies i / h, i >= h, whose h-th harmonic is ordinate i: the others are the
 * ordinates next to their places, all different.
 */
static void combs(const double *power, size_t ordinates, size_t n, struct periodic *out)
{
	double tests = 0;

	out->p = 1;
	for (unsigned h = 1; h <= 16 && h < ordinates; h *= 2) {
		for (size_t i = h; i <= ordinates; i++) {
			double share = 0, p;

			for (unsigned k = 1; k <= h; k++)
				share += power[(k * i + h / 2) / h];
			p = beta_sf(fmin(share, 1), h, (double)(ordinates - h));
			if (p * MORE < out->p)
				*out = (struct periodic){ p, (double)n * h / (double)i, h, share };
			tests++;
		}
	}
	out->p = fmin(1, out->p * tests);
}

int periodic_test(const double *y, size_t n, struct periodic *out)
{
	int err = sample_check_varied(y, n, 16);
	double *work;

	if (err)
		return err;
	work = malloc(2 * n * sizeof(*work));
	if (!work)
		return -ENOMEM;
	*out = (struct periodic){ .p = 1 };
	err = remove_ar1(y, n, work);
	err = err ? err : spectrum(work, n - 1, work);
	if (!err)
		combs(work, (n - 2) / 2, n - 1, out);
	free(work);
	return err;
}
