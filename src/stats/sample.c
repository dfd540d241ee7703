/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int sample_check(const double *x, size_t n, size_t min)
{
	if (n < min)
		return -ENODATA;
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(x[i]))
			return -EINVAL;
	}
	return 0;
}

bool sample_constant(const double *x, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (x[i] != x[0])
			return false;
	}
	return true;
}

int sample_check_varied(const double *x, size_t n, size_t min)
{
	int err = sample_check(x, n, min);

	if (!err && sample_constant(x, n))
		err = -EDOM;
	return err;
}

/* Sums distances from the first value, so that a large offset costs no precision. */
double sample_mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] - x[0];
	return x[0] + sum / (double)n;
}

static int sample_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void sample_sort(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), sample_compare);
}
