/* SPDX-License-Identifier: Apache-2.0 */
/* Test for combs of harmonics: stats/series_test.h. */
#include <errno.h>
#include <math.h>

#include "base/bug.h"
#include "stats/dependence.h"
#include "stats/sample.h"
#include "stats/series_test.h"
#include "stats/special.h"

/* Ordinates that differ only by rounding count as equal: the longest period is reported. */
#define MORE (1 + 1e-9)

/* Sets power[1 .. (n - 1) / 2] to the periodogram's ordinates as shares of their sum. */
static int spectrum(const double *x, size_t n, double *power)
{
	double cosine[PERIODIC_VALUES_MAX], sine[PERIODIC_VALUES_MAX];
	double mean = sample_mean(x, n), sum = 0;

	for (size_t i = 0; i < n; i++) {
		cosine[i] = cos(2 * M_PI * (double)i / (double)n);
		sine[i] = sin(2 * M_PI * (double)i / (double)n);
	}
	for (size_t j = 1; j <= (n - 1) / 2; j++) {
		double re = 0, im = 0;

		for (size_t i = 0; i < n; i++) {
			re += (x[i] - mean) * cosine[i * j % n];
			im += (x[i] - mean) * sine[i * j % n];
		}
		power[j] = re * re + im * im;
		sum += power[j];
	}
	if (!(sum > 0))
		return -EDOM;
	for (size_t j = 1; j <= (n - 1) / 2; j++)
		power[j] /= sum;
	return 0;
}

/* Subtracts the part explained by the previous value (AR(1)); leaves n - 1 values. */
static int remove_ar1(const double *y, size_t n, double *out)
{
	double r[2], mean = sample_mean(y, n);
	int err = autocorrelation(y, n, 1, r);

	for (size_t i = 1; !err && i < n; i++)
		out[i - 1] = y[i] - mean - r[1] * (y[i - 1] - mean);
	return err;
}

/*
 * Tests combs: fundamental frequencies i / h, i >= h, whose h-th harmonic is ordinate i. The other
 * harmonics are the nearest ordinates, all different.
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
	double white[PERIODIC_VALUES_MAX], power[PERIODIC_VALUES_MAX / 2];
	int err = sample_check_varied(y, n, 16);

	BUG_ON(n > PERIODIC_VALUES_MAX);
	if (err)
		return err;
	*out = (struct periodic){ .p = 1 };
	err = remove_ar1(y, n, white);
	err = err ? err : spectrum(white, n - 1, power);
	if (!err)
		combs(power, (n - 2) / 2, n - 1, out);
	return err;
}
