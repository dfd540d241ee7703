/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/order_stat.h"

#include <errno.h>
#include <math.h>

#include "stats/special.h"

double order_stat_effective(uint64_t n, double q, double inflation)
{
	return (double)n * fmin(q, 1 - q) / inflation;
}

static int order_stat_check(uint64_t n, double q, double confidence, double inflation)
{
	if (!(q > 0 && q < 1) || !(confidence > 0 && confidence < 1))
		return -EINVAL;
	if (!(inflation > 0 && inflation < INFINITY))
		return -EINVAL;
	return n ? 0 : -ENODATA;
}

/*
 * Returns the chance that the value of rank `rank` is above the quantile: fewer than `rank` of the
 * n values are below the quantile. For independent values P(Binomial(n, q) <= rank - 1).
 */
static double chance_above(uint64_t rank, uint64_t n, double q, double inflation)
{
	double below = (double)(rank - 1) / inflation;

	return beta_sf(q, below + 1, (double)n / inflation - below);
}

/* Returns the largest rank whose chance to be too high is <= `miss`, but for rounding; or 0. */
static uint64_t highest_rank(uint64_t n, double q, double miss, double inflation)
{
	uint64_t lo = 0, hi = n;

	while (lo < hi) {
		uint64_t at = hi - (hi - lo) / 2;

		if (chance_above(at, n, q, inflation) <= miss * (1 + 1e-9))
			lo = at;
		else
			hi = at - 1;
	}
	return lo;
}

/* Computes both ranks: `hi` is the `lo` of 1 - q with ranks from the largest value. */
static int exact_ranks(uint64_t n, double q, double confidence, enum order_stat_side side,
		       double inflation, struct order_stat_ranks *out)
{
	double miss = side == ORDER_STAT_BOTH ? (1 - confidence) / 2 : 1 - confidence;
	int err = order_stat_check(n, q, confidence, inflation);

	if (err)
		return err;
	*out = (struct order_stat_ranks){ .lo = 0, .hi = n + 1, .exact = true };
	if (side != ORDER_STAT_UPPER)
		out->lo = highest_rank(n, q, miss, inflation);
	if (side != ORDER_STAT_LOWER)
		out->hi = n + 1 - highest_rank(n, 1 - q, miss, inflation);
	return 0;
}

static int normal_ranks(uint64_t n, double q, double confidence, enum order_stat_side side,
			double inflation, struct order_stat_ranks *out)
{
	double level = side == ORDER_STAT_BOTH ? (1 + confidence) / 2 : confidence;
	double mean = (double)n * q, width, lo, hi;
	int err = order_stat_check(n, q, confidence, inflation);

	if (err)
		return err;
	width = normal_quantile(level) * sqrt(mean * (1 - q) * inflation);
	lo = floor(mean - width);
	hi = ceil(mean + width) + 1;
	*out = (struct order_stat_ranks){ .lo = 0, .hi = n + 1 };
	if (side != ORDER_STAT_UPPER && lo >= 1)
		out->lo = lo < (double)n ? (uint64_t)lo : n;
	if (side != ORDER_STAT_LOWER && hi <= (double)n)
		out->hi = hi > 1 ? (uint64_t)hi : 1;
	return 0;
}

int order_stat_interval(uint64_t n, double q, double confidence, enum order_stat_side side,
		   double inflation, struct order_stat_ranks *out)
{
	const bool few = order_stat_effective(n, q, inflation) < ORDER_STAT_EXACT_BELOW;

	return (few ? exact_ranks : normal_ranks)(n, q, confidence, side, inflation, out);
}

int order_stat_lancet(uint64_t n, double q, double confidence, struct order_stat_ranks *out)
{
	return normal_ranks(n, q, confidence, ORDER_STAT_BOTH, 1, out);
}
