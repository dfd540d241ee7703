/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/block_corr.h"

#include <math.h>

#include "stats/sample.h"

double block_corr_correlation(const double *x, size_t n)
{
	const double mean = sample_mean(x, n);
	double squares = 0, products = 0;

	for (size_t i = 0; i < n; i++) {
		squares += (x[i] - mean) * (x[i] - mean);
		if (i)
			products += (x[i] - mean) * (x[i - 1] - mean);
	}
	/* corrects the bias: the estimate is 1/n too low */
	return squares > 0 ? fmax(0, products / squares + 1.0 / (double)n) : 0;
}

size_t block_corr_join(double *x, size_t n)
{
	for (size_t i = 0; i < n / 2; i++)
		x[i] = (x[2 * i] + x[2 * i + 1]) / 2;
	return n / 2;
}

double block_corr_widening(double correlation)
{
	return sqrt((1 + correlation) / (1 - correlation));
}

size_t block_corr_settle(double *x, size_t n, size_t least, double *r)
{
	*r = block_corr_correlation(x, n);
	while (*r > BLOCK_CORR_JOIN && n / 2 >= least) {
		n = block_corr_join(x, n);
		*r = block_corr_correlation(x, n);
	}
	return n;
}
