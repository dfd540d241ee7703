/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/contrast.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "stats/permute.h"
#include "stats/sample.h"
#include "stats/special.h"
#include "stats/block_corr.h"

#define SEED 0x68617264
#define RESAMPLES 2000
#define PERMUTATIONS 2499
/* Permutations of a second test if p <= RARE: significance in a long list takes a smaller p. */
#define PERMUTATIONS_CLOSER 19999
#define RARE (3.0 / (PERMUTATIONS + 1))

/* ---- blocks ---- */

static double contrast_variance(const double *x, size_t n)
{
	const double mean = sample_mean(x, n);
	double squares = 0;

	for (size_t i = 0; i < n; i++)
		squares += (x[i] - mean) * (x[i] - mean);
	return squares / (double)(n - 1);
}

double contrast_effective(const double *counts, size_t n)
{
	double x[CONTRAST_BLOCKS_MAX], r, mean, inflation;
	size_t blocks;

	if (n < CONTRAST_BLOCKS_MIN || n > CONTRAST_BLOCKS_MAX)
		return 0;
	memcpy(x, counts, n * sizeof(*x));
	blocks = block_corr_settle(x, n, CONTRAST_BLOCKS_MIN, &r);
	mean = sample_mean(x, blocks);
	if (r > BLOCK_CORR_TOO_MUCH || !(mean > 0))
		return 0;
	/* a joined block is a mean, whose variance is smaller than a single block's */
	inflation = contrast_variance(x, blocks) * (double)(n / blocks) / mean *
		    block_corr_widening(r) * block_corr_widening(r);
	return sample_mean(counts, n) * (double)n / fmax(1, inflation);
}

struct blocks {
	double x[CONTRAST_BLOCKS_MAX];
	size_t n;
};

struct pair {
	struct blocks a, b;
	double widening;       /* factor of standard deviations due to the blocks' correlation */
	bool dependent;        /* the blocks' correlation is too high for a result */
};

static void contrast_join(struct pair *pair)
{
	struct blocks *a = &pair->a, *b = &pair->b;
	double r = fmax(block_corr_correlation(a->x, a->n), block_corr_correlation(b->x, b->n));

	while (r > BLOCK_CORR_JOIN && a->n / 2 >= CONTRAST_BLOCKS_MIN &&
	       b->n / 2 >= CONTRAST_BLOCKS_MIN) {
		a->n = block_corr_join(a->x, a->n);
		b->n = block_corr_join(b->x, b->n);
		r = fmax(block_corr_correlation(a->x, a->n), block_corr_correlation(b->x, b->n));
	}
	pair->dependent = r > BLOCK_CORR_TOO_MUCH;
	pair->widening = r > BLOCK_CORR_JOIN ?
		block_corr_widening(fmin(r, BLOCK_CORR_TOO_MUCH)) : 1;
}

/* ---- permutation test ---- */

static int contrast_students_ratio(double *a, size_t na, double *b, size_t nb, void *arg,
				   double *out)
{
	const double error =
		sqrt(contrast_variance(a, na) / (double)na + contrast_variance(b, nb) / (double)nb);
	const double difference = sample_mean(b, nb) - sample_mean(a, na);

	(void)arg;
	*out = 0;
	if (difference != 0)
		*out = error > 0 ? difference / error : copysign(INFINITY, difference);
	return 0;
}

static int contrast_permute(struct pair *pair, struct contrast *out)
{
	/*
	 * Correlation of blocks widens the standard error by the factor `widening`. Instead, b
	 * moves towards a, so that the difference, and Student's ratio, shrink by that factor.
	 */
	const double move = out->difference * (1 - 1 / pair->widening);
	struct permutation found;
	struct rng rng;
	int err;

	for (size_t i = 0; i < pair->b.n; i++)
		pair->b.x[i] -= move;
	rng_init(&rng, SEED);
	err = permute_two_samples(pair->a.x, pair->a.n, pair->b.x, pair->b.n,
				  contrast_students_ratio, NULL, PERMUTATIONS, &rng, &found);
	if (!err && found.p <= RARE)
		err = permute_two_samples(pair->a.x, pair->a.n, pair->b.x, pair->b.n,
					  contrast_students_ratio, NULL, PERMUTATIONS_CLOSER, &rng,
					  &found);
	if (err && err != -EDOM)
		return err;
	out->tested = true;
	out->p = err ? 1 : found.p; /* -EDOM, all values are equal: no evidence of a difference */
	return 0;
}

/* ---- confidence interval ---- */

static int contrast_ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return sort_order(x, y);
}

static double contrast_drawn_mean(const struct blocks *blocks, struct rng *rng)
{
	double sum = 0;

	for (size_t i = 0; i < blocks->n; i++)
		sum += blocks->x[rng_below(rng, blocks->n)];
	return sum / (double)blocks->n;
}

/* Returns the lower bootstrap percentile, expanded by Student's t for few blocks (Hesterberg). */
static double contrast_expanded(double confidence, size_t n)
{
	const double t = student_quantile((1 + confidence) / 2, (double)n - 1);

	return normal_cdf(-sqrt((double)n / (double)(n - 1)) * t);
}

static int contrast_resample(const struct pair *pair, double confidence, struct contrast *out)
{
	const size_t n = pair->a.n < pair->b.n ? pair->a.n : pair->b.n;
	const double miss = contrast_expanded(confidence, n);
	double *drawn = malloc(RESAMPLES * sizeof(*drawn));
	struct rng rng;

	if (!drawn)
		return -ENOMEM;
	rng_init(&rng, SEED);
	for (size_t i = 0; i < RESAMPLES; i++)
		drawn[i] =
			contrast_drawn_mean(&pair->b, &rng) - contrast_drawn_mean(&pair->a, &rng);
	qsort(drawn, RESAMPLES, sizeof(*drawn), contrast_ascending);
	out->lo = drawn[(size_t)floor(miss * (RESAMPLES - 1))];
	out->hi = drawn[(size_t)ceil((1 - miss) * (RESAMPLES - 1))];
	out->lo = out->difference + (out->lo - out->difference) * pair->widening;
	out->hi = out->difference + (out->hi - out->difference) * pair->widening;
	out->bounded = true;
	free(drawn);
	return 0;
}

/* Tests a against b; computes an interval unless `confidence` is 0. Returns 0 or -errno. */
static int contrast_compare(const double *a, size_t na, const double *b, size_t nb,
			    double confidence, struct contrast *out)
{
	struct pair pair = { .a.n = na, .b.n = nb };
	int err;

	if (na > CONTRAST_BLOCKS_MAX || nb > CONTRAST_BLOCKS_MAX)
		return -EINVAL;
	out->tested = false;
	out->blocks_a = na;
	out->blocks_b = nb;
	if (na < CONTRAST_BLOCKS_MIN || nb < CONTRAST_BLOCKS_MIN)
		return 0;
	err = sample_check(a, na, 2);
	err = err ? err : sample_check(b, nb, 2);
	if (err)
		return err;
	memcpy(pair.a.x, a, na * sizeof(*a));
	memcpy(pair.b.x, b, nb * sizeof(*b));
	contrast_join(&pair);
	out->blocks_a = pair.a.n;
	out->blocks_b = pair.b.n;
	out->difference = sample_mean(pair.b.x, pair.b.n) - sample_mean(pair.a.x, pair.a.n);
	if (pair.dependent)
		return 0;
	if (confidence > 0)
		err = contrast_resample(&pair, confidence, out);
	return err ? err : contrast_permute(&pair, out);
}

int contrast_means(const double *a, size_t na, const double *b, size_t nb, double confidence,
		   struct contrast *out)
{
	*out = (struct contrast){ 0 };
	if (!(confidence > 0 && confidence < 1))
		return -EINVAL;
	return contrast_compare(a, na, b, nb, confidence, out);
}

int contrast_test(const double *a, size_t na, const double *b, size_t nb, struct contrast *out)
{
	*out = (struct contrast){ 0 };
	return contrast_compare(a, na, b, nb, 0, out);
}
