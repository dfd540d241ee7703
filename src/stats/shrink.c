/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/shrink.h"

#include <math.h>

#include "stats/special.h"

/* Part of the things that may be unlike the others. */
#define UNLIKE 0.01
/* Strongest law: it leaves a thing's own thousand samples half of the weight. */
#define STRENGTH_MAX 1000.0
/* Least mean share: the law of shares that were never seen is no point at 0. */
#define MEAN_MIN 1e-6

void shrink_add(struct shrink_sum *sum, double share, double n)
{
	sum->things++;
	sum->n += n;
	sum->squares += n * n;
	sum->hits += share * n;
	sum->hit_shares += share * share * n;
}

/*
 * By moments: with the correlation r between samples of one thing, shares vary about their mean by
 * p (1 - p) (k - 1 + r (n - sum n^2 / n - k + 1)) in all, k things and n samples.
 */
struct shrink_law shrink_fit(const struct shrink_sum *sum)
{
	const double mean = sum->n > 0 ? sum->hits / sum->n : 0;
	const double p = fmin(fmax(mean, MEAN_MIN), 1 - MEAN_MIN);
	const double seen = fmax(sum->hit_shares - sum->n * mean * mean, 0) / (p * (1 - p));
	const double apart = (double)sum->things - 1;
	const double room = sum->n - sum->squares / sum->n - apart;
	double r;

	if (sum->things < 2 || !(room > 0))
		return (struct shrink_law){ .mean = mean };
	r = fmax((seen - apart) / room, 1 / (1 + STRENGTH_MAX));
	return (struct shrink_law){ .mean = p, .strength = r < 1 ? 1 / r - 1 : 0 };
}

static double shrink_log_beta(double a, double b)
{
	int sign;

	return lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
}

double shrink_above(const struct shrink_law *law, double share, double n, double limit)
{
	const double hits = share * n, misses = n - hits;
	const double a = law->mean * law->strength, b = law->strength - a;
	const double any = beta_sf(limit, 1 + hits, 1 + misses);
	double alike, unlike;

	if (!(a > 0) || !(b > 0))
		return any;
	/* how likely the samples are for a thing like the others, and for one that is not */
	alike = log(1 - UNLIKE) + shrink_log_beta(a + hits, b + misses) - shrink_log_beta(a, b);
	unlike = log(UNLIKE) + shrink_log_beta(1 + hits, 1 + misses);
	unlike = 1 / (1 + exp(alike - unlike));
	return unlike * any + (1 - unlike) * beta_sf(limit, a + hits, b + misses);
}
