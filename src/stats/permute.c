/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/permute.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/sample.h"

static bool as_extreme(double value, double statistic)
{
	return fabs(value) >= fabs(statistic) * (1 - 1e-12);
}

/* Moves a random choice of `to` of the n values to the front. */
static void shuffle(double *x, size_t n, size_t to, struct rng *rng)
{
	for (size_t i = 0; i < to; i++) {
		size_t j = i + rng_below(rng, n - i);
		double x_i = x[i];

		x[i] = x[j];
		x[j] = x_i;
	}
}

int permute_two_samples(const double *a, size_t na, const double *b, size_t nb,
			permute_statistic statistic, void *arg, uint64_t draws, struct rng *rng,
			struct permutation *out)
{
	size_t n = na + nb;
	double *pool, *work, value;
	uint64_t extreme = 0;
	int err = sample_check(a, na, 2);

	err = err ? err : sample_check(b, nb, 2);
	if (err || !draws)
		return err ? err : -EINVAL;
	pool = malloc(2 * n * sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	work = pool + n;
	memcpy(pool, a, na * sizeof(*a));
	memcpy(pool + na, b, nb * sizeof(*b));
	memcpy(work, pool, n * sizeof(*pool));
	err = sample_constant(pool, n) ? -EDOM : 0;
	err = err ? err : statistic(work, na, work + na, nb, arg, &out->statistic);
	for (uint64_t i = 0; !err && i < draws; i++) {
		shuffle(pool, n, na, rng);
		memcpy(work, pool, n * sizeof(*pool));
		err = statistic(work, na, work + na, nb, arg, &value);
		extreme += !err && as_extreme(value, out->statistic);
	}
	out->p = (double)(1 + extreme) / (double)(1 + draws);
	out->draws = draws;
	out->exact = false;
	free(pool);
	return err;
}

/* Returns the mean, with the signs inverted whose bit in `flips` is set. */
static double flipped_mean(const double *x, size_t n, uint64_t flips)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += flips >> i & 1 ? -x[i] : x[i];
	return sum / (double)n;
}

static double randomly_flipped_mean(const double *x, size_t n, struct rng *rng)
{
	double sum = 0;

	for (size_t i = 0; i < n; i += 64) {
		size_t part = n - i < 64 ? n - i : 64;

		sum += flipped_mean(x + i, part, rng_u64(rng)) * (double)part;
	}
	return sum / (double)n;
}

int permute_pairs(const double *difference, size_t n, uint64_t draws, struct rng *rng,
		  struct permutation *out)
{
	uint64_t extreme = 0;
	int err = sample_check(difference, n, 2);

	if (err || !draws)
		return err ? err : -EINVAL;
	if (sample_constant(difference, n) && difference[0] == 0)
		return -EDOM;
	out->statistic = sample_mean(difference, n);
	out->exact = n < 63 && 1ULL << n <= draws;
	out->draws = out->exact ? 1ULL << n : draws;
	for (uint64_t i = 0; i < out->draws; i++) {
		double mean = out->exact ? flipped_mean(difference, n, i) :
					   randomly_flipped_mean(difference, n, rng);

		extreme += as_extreme(mean, out->statistic);
	}
	out->p = out->exact ? (double)extreme / (double)out->draws :
			      (double)(1 + extreme) / (double)(1 + draws);
	return 0;
}
