/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/rank.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/sample.h"
#include "stats/special.h"

struct rank_place {
	double value;
	size_t at;
};

static int rank_compare_values(const void *a, const void *b)
{
	const struct rank_place *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

int rank_values(const double *x, size_t n, double *out)
{
	int err = sample_check(x, n, 0);
	struct rank_place *places;

	if (err || !n)
		return err;
	places = malloc(n * sizeof(*places));
	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		places[i] = (struct rank_place){ x[i], i };
	qsort(places, n, sizeof(*places), rank_compare_values);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && places[end].value == places[i].value; end++)
			;
		for (size_t j = i; j < end; j++)
			out[places[j].at] = (double)(i + end + 1) / 2;
	}
	free(places);
	return 0;
}

/* Returns Pearson's correlation of ranks, whose mean is known. */
static double correlation(const double *x, const double *y, size_t n)
{
	double mean = ((double)n + 1) / 2, xx = 0, yy = 0, xy = 0;

	for (size_t i = 0; i < n; i++) {
		xx += (x[i] - mean) * (x[i] - mean);
		yy += (y[i] - mean) * (y[i] - mean);
		xy += (x[i] - mean) * (y[i] - mean);
	}
	return fmin(fmax(xy / sqrt(xx * yy), -1), 1);
}

int spearman(const double *x, const double *y, size_t n, struct spearman *out)
{
	double *ranks;
	int err = sample_check_varied(x, n, 3);

	err = err ? err : sample_check_varied(y, n, 3);
	if (err)
		return err;
	ranks = malloc(2 * n * sizeof(*ranks));
	if (!ranks)
		return -ENOMEM;
	err = rank_values(x, n, ranks);
	err = err ? err : rank_values(y, n, ranks + n);
	if (!err) {
		double r = correlation(ranks, ranks + n, n), df = (double)(n - 2);

		out->rho = r;
		out->p = student_two_sided(r * sqrt(df / ((1 - r) * (1 + r))), df);
	}
	free(ranks);
	return err;
}

int spearman_lag(const double *x, size_t n, size_t lag, struct spearman *out)
{
	if (lag >= n)
		return -ENODATA;
	return spearman(x, x + lag, n - lag, out);
}

/*
 * Sorts `x` by merging and returns the number of pairs i < j that change places: x[j] < x[i], or
 * x[j] <= x[i] if `equal`. `scratch` holds n values.
 */
static uint64_t inversions(double *x, double *scratch, size_t n, bool equal)
{
	size_t half = n / 2, a = 0, b = half, to = 0;
	uint64_t count;

	if (n < 2)
		return 0;
	count = inversions(x, scratch, half, equal) +
		inversions(x + half, scratch, n - half, equal);
	memcpy(scratch, x, n * sizeof(*x));
	while (a < half || b < n) {
		bool right = a == half || (b < n && (scratch[b] < scratch[a] ||
						     (equal && scratch[b] == scratch[a])));

		if (right)
			count += half - a;
		x[to++] = right ? scratch[b++] : scratch[a++];
	}
	return count;
}

/* Sums t (t - 1) / 2 and t (t - 1) (2 t + 5) over groups of t equal values of sorted `x`. */
static void rank_ties(const double *x, size_t n, uint64_t *pairs, double *variance)
{
	*pairs = 0;
	*variance = 0;
	for (size_t i = 0, end; i < n; i = end) {
		double t;

		for (end = i + 1; end < n && x[end] == x[i]; end++)
			;
		t = (double)(end - i);
		*pairs += (uint64_t)(end - i) * (end - i - 1) / 2;
		*variance += t * (t - 1) * (2 * t + 5);
	}
}

static double trend_variance(size_t n, double tied)
{
	double size = (double)n;

	return (size * (size - 1) * (2 * size + 5) - tied) / 18;
}

int mann_kendall(const double *y, size_t n, double inflation, struct mann_kendall *out)
{
	uint64_t pairs = (uint64_t)n * (n - (n > 0)) / 2, falling, equal;
	int err = sample_check_varied(y, n, 4);
	double *work, tied;

	if (err || !(inflation > 0 && inflation < INFINITY))
		return err ? err : -EINVAL;
	work = malloc(2 * n * sizeof(*work));
	if (!work)
		return -ENOMEM;
	memcpy(work, y, n * sizeof(*work));
	falling = inversions(work, work + n, n, false);
	rank_ties(work, n, &equal, &tied);
	free(work);

	out->s = (int64_t)(pairs - equal - 2 * falling);
	out->tau = (double)out->s / (double)pairs;
	out->variance = trend_variance(n, tied) * inflation;
	out->z = (double)(out->s - (out->s > 0) + (out->s < 0)) / sqrt(out->variance);
	out->p = 2 * normal_sf(fabs(out->z));
	return 0;
}

struct slopes {
	const double *y;
	size_t n;
	double *work; /* buffer for 2 n values */
	double range; /* upper bound of all slopes' absolute values */
};

/*
 * Returns the number of pairs with a slope <= `slope`: pairs that do not rise after the line with
 * that slope is subtracted.
 */
static uint64_t slopes_up_to(const struct slopes *s, double slope)
{
	for (size_t i = 0; i < s->n; i++)
		s->work[i] = s->y[i] - s->y[0] - slope * (double)i;
	return inversions(s->work, s->work + s->n, s->n, true);
}

/* Maps doubles to integers of the same order, so that bisection ends after 64 steps. */
static int64_t to_order(double x)
{
	int64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits < 0 ? INT64_MIN - bits : bits;
}

static double from_order(int64_t order)
{
	int64_t bits = order < 0 ? INT64_MIN - order : order;
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Returns the k-th smallest slope, k in 1 .. n (n - 1) / 2. */
static double slope_of_rank(const struct slopes *s, uint64_t k)
{
	int64_t lo = to_order(-s->range), hi = to_order(s->range);

	while (lo < hi) {
		int64_t at = (lo & hi) + ((lo ^ hi) >> 1); /* mean of lo and hi, without overflow */

		if (slopes_up_to(s, from_order(at)) >= k)
			hi = at;
		else
			lo = at + 1;
	}
	return from_order(hi);
}

static double median_of_sorted(const double *x, size_t n)
{
	return x[(n - 1) / 2] / 2 + x[n / 2] / 2;
}

/*
 * Computes the slope's confidence interval by Sen's (1968) equation 2.6, with ranks as scipy rounds
 * them: 0-based, around the middle, clamped to the valid ranks.
 */
static void slope_interval(const struct slopes *s, double confidence, double tied,
			   struct theil_sen *out)
{
	uint64_t pairs = (uint64_t)s->n * (s->n - 1) / 2;
	double width = normal_quantile((1 + confidence) / 2) * sqrt(trend_variance(s->n, tied));
	double lo = rint(((double)pairs - width) / 2) - 1, hi = rint(((double)pairs + width) / 2);

	out->lo = slope_of_rank(s, lo > 0 ? (uint64_t)lo + 1 : 1);
	out->hi = slope_of_rank(s, hi < (double)pairs ? (uint64_t)hi + 1 : pairs);
}

int theil_sen(const double *y, size_t n, double confidence, struct theil_sen *out)
{
	uint64_t pairs = (uint64_t)n * (n - (n > 0)) / 2, equal;
	int err = sample_check(y, n, 2);
	struct slopes s = { .y = y, .n = n };
	double tied, median;

	if (err || !(confidence > 0 && confidence < 1))
		return err ? err : -EINVAL;
	s.work = malloc(2 * n * sizeof(*s.work));
	if (!s.work)
		return -ENOMEM;
	memcpy(s.work, y, n * sizeof(*y));
	sample_sort(s.work, n);
	s.range = s.work[n - 1] - s.work[0];
	median = median_of_sorted(s.work, n);
	rank_ties(s.work, n, &equal, &tied);
	if (isfinite(s.range)) {
		out->slope = slope_of_rank(&s, (pairs + 1) / 2) / 2;
		out->slope += slope_of_rank(&s, pairs / 2 + 1) / 2;
		out->intercept = median - out->slope * ((double)n - 1) / 2;
		slope_interval(&s, confidence, tied, out);
	}
	free(s.work);
	return isfinite(s.range) ? 0 : -EINVAL;
}
