/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/rank_sum.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stats/special.h"

/* Limits of the exact law: so many values on the smaller side, and so far below the maximum. */
#define EXACT_VALUES 100u
#define EXACT_DEFICIT 20000.0

/* Returns the logarithm of the number of choices of n out of `total`. */
static double rank_sum_log_choices(size_t n, size_t total)
{
	return lgamma((double)total + 1) - lgamma((double)n + 1) - lgamma((double)(total - n) + 1);
}

double rank_sum_least_p(size_t n, size_t total)
{
	return n < total ? exp(-rank_sum_log_choices(n, total)) : 1;
}

/*
 * Counts choices by how far their sum is below the maximum: coefficients of the Gaussian binomial,
 * the product of (1 - q^(most + i)) / (1 - q^i), i = 1 .. least (Harding 1984).
 */
static double rank_sum_count(double *counts, size_t deficit, size_t least, size_t most)
{
	double sum = 0;

	counts[0] = 1;
	for (size_t i = 1; i <= least; i++) {
		for (size_t j = deficit; j >= most + i && j <= deficit; j--)
			counts[j] -= counts[j - most - i];
		for (size_t j = i; j <= deficit; j++)
			counts[j] += counts[j - i];
	}
	for (size_t j = 0; j <= deficit; j++)
		sum += counts[j];
	return sum;
}

static int rank_sum_exact(size_t deficit, size_t n, size_t total, double *p)
{
	const size_t rest = total - n, least = n < rest ? n : rest, most = total - least;
	double *counts = calloc(deficit + 1, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	*p = exp(log(rank_sum_count(counts, deficit, least, most)) -
		 rank_sum_log_choices(n, total));
	*p = fmin(*p, 1);
	free(counts);
	return 0;
}

int rank_sum_upper(double ranks, size_t n, size_t total, double squares, struct rank_sum *out)
{
	const double all = (double)total, in = (double)n, rest = all - in, mean = (all + 1) / 2;
	/* How far the sum is below the greatest possible one. */
	const double deficit = in * rest + in * (in + 1) / 2 - ranks;
	double variance;

	if (!n || n >= total)
		return -ENODATA;
	variance = in * rest / (all * (all - 1)) * (squares - all * mean * mean);
	if (!(variance > 0))
		return -EDOM;
	out->z = (ranks - in * mean - 0.5) / sqrt(variance);
	out->p = normal_sf(out->z);
	out->exact = false;
	if (deficit > EXACT_DEFICIT || deficit > in * rest / 2 || fmin(in, rest) > EXACT_VALUES)
		return 0;
	out->exact = true;
	return rank_sum_exact((size_t)ceil(fmax(deficit, 0)), n, total, &out->p);
}

double rank_sum_marked_p(size_t above, size_t n, size_t marked, size_t total)
{
	const double all = rank_sum_log_choices(n, total);
	double p = 0;

	for (size_t k = above; k <= n && k <= marked; k++)
		if (n - k <= total - marked)
			p += exp(rank_sum_log_choices(k, marked) +
				 rank_sum_log_choices(n - k, total - marked) - all);
	return fmin(p, 1);
}
