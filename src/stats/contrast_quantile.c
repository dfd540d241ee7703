/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "stats/contrast.h"
#include "stats/bucket_edges.h"
#include "stats/order_stat.h"
#include "stats/sample.h"
#include "stats/special.h"
#include "stats/block_corr.h"

#define DEGREES_MIN 4

/* ---- counts by bucket ---- */

/* Returns the bucket of a value; INT32_MIN for 0, INT32_MAX above BUCKET_LIMIT. */
static int32_t contrast_bucket(const struct hist *pooled, uint64_t ns)
{
	if (!ns)
		return INT32_MIN;
	return ns > BUCKET_LIMIT ? INT32_MAX : (int32_t)bucket_edges_index(pooled->schema, ns);
}

static uint64_t contrast_count_up_to(const struct hist *hist, int32_t bucket)
{
	uint64_t count = hist->zero;

	for (uint32_t i = 0; i < hist->len && hist->first + (int32_t)i <= bucket; i++)
		count += hist->buckets[i];
	return count;
}

static int contrast_pool(const struct contrast_run *run, struct hist *into, int schema)
{
	int err = run->n > CONTRAST_BLOCKS_MAX ? -EINVAL : 0;

	for (size_t i = 0; !err && i < run->n; i++)
		err = run->blocks[i]->schema != schema ? -EINVAL :
		      hist_merge(into, run->blocks[i]);
	return err;
}

/*
 * Sets z to each block's contribution to the error of `share`, the share of values up to `bucket`.
 * It is relative to the mean number of values in a block.
 */
static void contrast_deviations(const struct contrast_run *run, int32_t bucket, double share,
				double *z)
{
	double values = 0;

	for (size_t i = 0; i < run->n; i++)
		values += (double)run->blocks[i]->count / (double)run->n;
	for (size_t i = 0; i < run->n; i++)
		z[i] = ((double)contrast_count_up_to(run->blocks[i], bucket) -
			share * (double)run->blocks[i]->count) / values;
}

/* ---- quantile of one run ---- */

/* Variance of a mean of blocks, with its degrees of freedom. */
struct contrast_spread {
	double variance, df;
	bool dependent;
};

/*
 * Returns the variance of the mean of z. Degrees of freedom: 2 (n - 1) / (kurtosis - 1), n - 1 if
 * Gaussian (Satterthwaite 1946).
 */
static struct contrast_spread contrast_spread(double *z, size_t n)
{
	double r, mean, second = 0, fourth = 0, widening;
	struct contrast_spread s;

	n = block_corr_settle(z, n, CONTRAST_BLOCKS_MIN, &r);
	mean = sample_mean(z, n);
	for (size_t i = 0; i < n; i++) {
		const double square = (z[i] - mean) * (z[i] - mean);

		second += square / (double)n;
		fourth += square * square / (double)n;
	}
	s.dependent = r > BLOCK_CORR_TOO_MUCH;
	widening = block_corr_widening(fmin(r, BLOCK_CORR_TOO_MUCH));
	s.variance = second / (double)(n - 1) * widening * widening;
	s.df = (double)n - 1;
	if (second > 0)
		s.df = fmin(s.df, 2 * s.df / (fourth / (second * second) - 1));
	s.df = fmax(s.df, DEGREES_MIN);
	return s;
}

double contrast_error(const double *blocks, size_t n)
{
	double x[CONTRAST_BLOCKS_MAX];

	if (n < CONTRAST_BLOCKS_MIN || n > CONTRAST_BLOCKS_MAX)
		return 0;
	memcpy(x, blocks, n * sizeof(*x));
	return sqrt(contrast_spread(x, n).variance);
}

static void contrast_find_bounds(const struct hist *pooled, const struct order_stat_ranks *ranks,
				 struct contrast_side *out)
{
	const double n = (double)pooled->count;
	struct hist_quantile lo, hi;

	if (!ranks->lo || ranks->hi > pooled->count)
		return;
	if (hist_quantile(pooled, (double)ranks->lo / n, &lo) ||
	    hist_quantile(pooled, (double)ranks->hi / n, &hi))
		return;
	out->bounded = true;
	out->lo_ns = lo.lo;
	out->hi_ns = hi.hi;
}

static int contrast_bound(const struct contrast_run *run, const struct hist *pooled, double q,
			  double confidence, struct contrast_side *out)
{
	const int32_t bucket = contrast_bucket(pooled, out->ns);
	const double n = (double)pooled->count,
		     share = (double)contrast_count_up_to(pooled, bucket) / n;
	double z[CONTRAST_BLOCKS_MAX], inflation = 1, widening;
	struct order_stat_ranks ranks;
	struct contrast_spread s;
	int err;

	contrast_deviations(run, bucket, share, z);
	s = contrast_spread(z, run->n);
	if (s.dependent)
		return 0;
	if (share < 1)
		inflation = fmax(1, s.variance * n / (share * (1 - share)));
	if (order_stat_effective(pooled->count, q, inflation) < CONTRAST_EFFECTIVE_MIN)
		return 0;
	widening = student_quantile((1 + confidence) / 2, s.df) /
		   normal_quantile((1 + confidence) / 2);
	err = order_stat_interval(pooled->count, q, confidence, ORDER_STAT_BOTH,
			     inflation * widening * widening, &ranks);
	if (!err)
		contrast_find_bounds(pooled, &ranks, out);
	return err;
}

int contrast_side(const struct contrast_run *run, double q, double confidence,
		  struct contrast_side *out)
{
	struct hist_quantile found;
	struct hist pooled;
	int err;

	*out = (struct contrast_side){ 0 };
	if (!(q > 0 && q < 1) || !(confidence > 0 && confidence < 1))
		return -EINVAL;
	if (!run->n)
		return 0;
	hist_init(&pooled, run->blocks[0]->schema);
	err = contrast_pool(run, &pooled, pooled.schema);
	if (!err && pooled.count) {
		err = hist_quantile(&pooled, q, &found);
		out->known = !err;
		out->ns = err ? 0 : found.value;
		if (!err && run->n >= CONTRAST_BLOCKS_MIN)
			err = contrast_bound(run, &pooled, q, confidence, out);
	}
	hist_release(&pooled);
	return err;
}

/* ---- difference of two runs ---- */

void contrast_sides(const struct contrast_side *a, const struct contrast_side *b,
		    struct contrast *out)
{
	const double x = (double)a->ns, y = (double)b->ns;

	out->difference = y - x;
	out->bounded = a->bounded && b->bounded;
	if (!out->bounded)
		return;
	out->lo = y - x - hypot(y - (double)b->lo_ns, (double)a->hi_ns - x);
	out->hi = y - x + hypot((double)b->hi_ns - y, x - (double)a->lo_ns);
}

static double contrast_share(const struct contrast_run *run, int32_t bucket)
{
	double below = 0, count = 0;

	for (size_t i = 0; i < run->n; i++) {
		below += (double)contrast_count_up_to(run->blocks[i], bucket);
		count += (double)run->blocks[i]->count;
	}
	return below / count;
}

static int contrast_test_edge(const struct contrast_run *a, const struct contrast_run *b,
			      const struct hist *pooled, int32_t bucket, struct contrast *out)
{
	const double share = (double)contrast_count_up_to(pooled, bucket) / (double)pooled->count;
	double za[CONTRAST_BLOCKS_MAX], zb[CONTRAST_BLOCKS_MAX];

	contrast_deviations(a, bucket, share, za);
	contrast_deviations(b, bucket, share, zb);
	return contrast_test(za, a->n, zb, b->n, out);
}

/*
 * Tests at both edges of the bucket with the pooled quantile. Only an edge between the two runs'
 * quantiles shows that these differ: a bucket may hold much more than one quantile.
 */
static int contrast_test_shares(const struct contrast_run *a, const struct contrast_run *b,
				const struct hist *pooled, double q, struct contrast *out)
{
	struct contrast found = { 0 };
	struct hist_quantile at;
	int err = hist_quantile(pooled, q, &at);
	const int32_t upper = err ? 0 : contrast_bucket(pooled, at.value);
	uint32_t separating = 0;

	for (int32_t i = 0; !err && i < 2; i++) {
		const int32_t bucket = upper > INT32_MIN ? upper - i : upper;

		if ((contrast_share(a, bucket) >= q) == (contrast_share(b, bucket) >= q))
			continue;
		err = contrast_test_edge(a, b, pooled, bucket, &found);
		out->p = separating++ ? fmax(out->p, found.p) : found.p;
	}
	if (!err && !separating) {
		err = contrast_test_edge(a, b, pooled, upper, &found);
		out->p = 1;
	}
	out->tested = found.tested;
	out->blocks_a = found.blocks_a;
	out->blocks_b = found.blocks_b;
	return err;
}

/* Returns true if a run has enough values beyond the quantile, on the side with fewer. */
static bool contrast_suffices(const struct contrast_run *run, double q)
{
	double count = 0;

	for (size_t i = 0; i < run->n; i++)
		count += (double)run->blocks[i]->count;
	return count * fmin(q, 1 - q) >= CONTRAST_EFFECTIVE_MIN;
}

int contrast_shares(const struct contrast_run *a, const struct contrast_run *b, double q,
		    struct contrast *out)
{
	struct hist pooled;
	int err;

	out->tested = false;
	if (!(q > 0 && q < 1))
		return -EINVAL;
	if (!contrast_suffices(a, q) || !contrast_suffices(b, q))
		return 0;
	hist_init(&pooled, a->blocks[0]->schema);
	err = contrast_pool(a, &pooled, pooled.schema);
	if (!err)
		err = contrast_pool(b, &pooled, pooled.schema);
	if (!err)
		err = contrast_test_shares(a, b, &pooled, q, out);
	hist_release(&pooled);
	return err;
}
