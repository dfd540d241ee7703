/* SPDX-License-Identifier: Apache-2.0 */
/* Spearman's rho with p-values from circular shifts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stats/rank.h"
#include "stats/sample.h"

/* Relative difference within which two sums in different order count as equal. */
#define SAME 1e-12

/* Computes centered ranks of length 1, whose product is rho; the values must not all be equal. */
static int unit_ranks(const double *values, size_t n, double *out)
{
	double mean = ((double)n + 1) / 2, sum = 0;
	int err = rank_values(values, n, out);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		out[i] -= mean;
		sum += out[i] * out[i];
	}
	for (size_t i = 0; i < n; i++)
		out[i] /= sqrt(sum);
	return 0;
}

/* Returns rho of x shifted by `shift`; `twice` holds x two times, so that it is contiguous. */
static double rho_at(const double *twice, size_t shift, const double *y, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += twice[shift + i] * y[i];
	return fmin(fmax(sum, -1), 1);
}

static void count_shifts(const double *twice, const double *y, size_t m, size_t n,
			 struct spearman *out)
{
	for (size_t j = 0; j < m; j++)
		out[j] = (struct spearman){ .rho = rho_at(twice, 0, y + j * n, n) };
	for (size_t shift = 0; shift < n; shift++) {
		double most = 0;

		for (size_t j = 0; j < m; j++)
			most = fmax(most, fabs(rho_at(twice, shift, y + j * n, n)));
		for (size_t j = 0; j < m; j++)
			out[j].p += most >= fabs(out[j].rho) - SAME;
	}
	for (size_t j = 0; j < m; j++)
		out[j].p /= (double)n;
}

int spearman_shifts(const double *x, const double *y, size_t m, size_t n, struct spearman *out)
{
	int err = sample_check_varied(x, n, 3);
	double *ranks, *twice;

	for (size_t j = 0; j < m && !err; j++)
		err = sample_check_varied(y + j * n, n, 3);
	if (err || !m)
		return err ? err : -EINVAL;
	ranks = calloc((m + 2) * n, sizeof(*ranks));
	if (!ranks)
		return -ENOMEM;
	twice = ranks + m * n;
	err = unit_ranks(x, n, twice);
	for (size_t j = 0; j < m && !err; j++)
		err = unit_ranks(y + j * n, n, ranks + j * n);
	for (size_t i = 0; i < n && !err; i++)
		twice[n + i] = twice[i];
	if (!err)
		count_shifts(twice, ranks, m, n, out);
	free(ranks);
	return err;
}
