/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/pipeline_lags.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "fleet/shifted.h"
#include "fleet/synchrony.h"

#define SCREEN_Z 2.0         /* below, no shifts: p is 1 */
#define SHIFTS_MIN 200u
#define SHIFTS_WORK 1e8      /* hosts times intervals times shifts */
#define GUARD_PART 10u       /* intervals near 0 that are no shifts, at most, as a part of all */
#define CORRELATION_NONE 0.1 /* so much of a short series' last lag may be chance */
#define PARTS 60u            /* parts of the window, at most */
#define ORDER_ALPHA 0.01     /* chance that the order in time is wrong */
/* The variance at a time is that of so many intervals to both sides, at most. */
#define REACH_MAX 30u
#define REACH_PART 8u
#define WEIGHTS_MIN 1e-9     /* as many are none: what rounding leaves */
#define HOST_Z 2.0           /* a host with more shows it by itself */

struct lags {
	const struct pipeline_pair *pair;
	double *problem, *waiting; /* weights times the side's variance at about that time */
	double memory;           /* memory of the products, in intervals; from 1 */
	double variance;         /* variance of C if both sides are independent */
	double care;             /* a p above it may be any above it */
	double near[PIPELINE_NEAR]; /* C / sqrt(V), at lag i - PIPELINE_LAGS */
	double product, weights; /* C and N at the greatest lag from 0 on */
	uint32_t lag;
	double *statistic;       /* with all pairs, by shift; NaN: not computed yet */
};

/* Two neighbors of a series at once: compilers do not find them by themselves. */
typedef double lags_two __attribute__((vector_size(16), aligned(8), may_alias));

static lags_two lags_load(const double *series)
{
	return *(const lags_two *)series;
}

static double lags_dot(const double *x, const double *y, uint32_t n)
{
	lags_two even = { 0 }, odd = { 0 };
	uint32_t k = 0;

	for (; k + 4 <= n; k += 4) {
		even += lags_load(x + k) * lags_load(y + k);
		odd += lags_load(x + k + 2) * lags_load(y + k + 2);
	}
	for (; k < n; k++)
		even[0] += x[k] * y[k];
	return even[0] + even[1] + (odd[0] + odd[1]);
}

/* Returns the sum over children of x[k] y[k + shift]. */
static double lags_cross(const struct pipeline_pair *pair, const double *x, const double *y,
			 uint32_t shift)
{
	const size_t n = pair->intervals, rest = n - shift;
	double sum = 0;

	for (uint32_t u = 0; u < pair->n; u++, x += n, y += n)
		sum += lags_dot(x, y + shift, (uint32_t)rest) + lags_dot(x + rest, y, shift);
	return sum;
}

static double lags_ratio(double product, double weights)
{
	return weights > WEIGHTS_MIN ? product / sqrt(weights) : 0;
}

/* Returns C / sqrt(V) of all pairs at a shift. */
static double lags_statistic(struct lags *l, uint32_t shift)
{
	const struct pipeline_pair *pair = l->pair;

	if (isnan(l->statistic[shift]))
		l->statistic[shift] = lags_ratio(
			lags_cross(pair, pair->problem.z, pair->waiting.z, shift),
			lags_cross(pair, l->problem, l->waiting, shift));
	return l->statistic[shift];
}

static double lags_own(const struct pipeline_pair *pair, const double *own, uint32_t lag)
{
	const uint32_t n = pair->intervals;
	double sum = 0;

	for (uint32_t k = 0; own && k < n; k++)
		sum += own[(size_t)lag * n + k];
	return sum;
}

/* Returns N at lag number i - PIPELINE_LAGS; sets *all to the same with connections' own. */
static double lags_weights(const struct pipeline_pair *pair, uint32_t i, double *all)
{
	const uint32_t n = pair->intervals, shift = (n + i - PIPELINE_LAGS) % n;

	*all = lags_cross(pair, pair->problem.weight, pair->waiting.weight, shift);
	return *all - lags_own(pair, pair->own_weight, i);
}

/* Returns whether N is above 0. Without connections' own, none of its terms is below 0. */
static bool lags_has_weights(const struct pipeline_pair *pair, uint32_t i)
{
	const uint32_t n = pair->intervals, shift = (n + i - PIPELINE_LAGS) % n;
	double all;

	for (uint32_t k = 0; !pair->own && k + shift < n; k++)
		if (pair->problem.weight[k] * pair->waiting.weight[k + shift] > WEIGHTS_MIN)
			return true;
	return lags_weights(pair, i, &all) > WEIGHTS_MIN;
}

/* Returns C at lag number i - PIPELINE_LAGS. */
static double lags_product(const struct pipeline_pair *pair, uint32_t i)
{
	const uint32_t n = pair->intervals, shift = (n + i - PIPELINE_LAGS) % n;

	return lags_cross(pair, pair->problem.z, pair->waiting.z, shift) -
	       lags_own(pair, pair->own, i);
}

static void lags_near(struct lags *l)
{
	const struct pipeline_pair *pair = l->pair;
	const uint32_t n = pair->intervals;

	for (uint32_t i = 0; i < PIPELINE_NEAR; i++) {
		const uint32_t shift = (n + i - PIPELINE_LAGS) % n;
		const double product = lags_product(pair, i);
		double all;
		const double weights = lags_weights(pair, i, &all);
		const double part = weights > WEIGHTS_MIN ? weights / all : 0;

		l->near[i] = lags_ratio(product, part * lags_cross(pair, l->problem, l->waiting,
								   shift));
		if (i < PIPELINE_LAGS ||
		    (i > PIPELINE_LAGS && l->near[i] <= l->near[l->lag + PIPELINE_LAGS]))
			continue;
		l->lag = i - PIPELINE_LAGS;
		l->product = product;
		l->weights = weights;
	}
}

/* Returns the greatest value of n. */
static double lags_most(const double *x, uint32_t n)
{
	double most = x[0];

	for (uint32_t i = 1; i < n; i++)
		most = fmax(most, x[i]);
	return most;
}

/*
 * Sets C's variance if both sides are independent, and hosts, too: only good for a first look. Sets
 * the memory that both sides have, and whether the window is long against it.
 */
static void lags_variance(struct lags *l, bool *is_long)
{
	const struct pipeline_pair *pair = l->pair;
	const uint32_t n = pair->intervals;
	const double decay = exp(-(double)(SYNCHRONY_LAGS * SYNCHRONY_MEMORIES_MIN) / n);
	double products[SYNCHRONY_LAGS + 1] = { 0 }, variance = 0;

	for (size_t u = 0; u < pair->n; u++) {
		const double *x = pair->problem.z + u * n, *y = pair->waiting.z + u * n;
		double a[SYNCHRONY_LAGS + 1], b[SYNCHRONY_LAGS + 1];

		synchrony_covariance(x, x, n, a);
		synchrony_covariance(y, y, n, b);
		for (uint32_t h = 0; h <= SYNCHRONY_LAGS; h++)
			products[h] += a[h] * b[h];
	}
	for (uint32_t h = 0; h <= SYNCHRONY_LAGS; h++)
		variance += (h ? 2 : 1) * (double)(n - h) * products[h];
	l->memory = products[0] > 0 ? fmax(1, variance / n / products[0]) : 1;
	*is_long = products[SYNCHRONY_LAGS] <= products[0] * fmax(CORRELATION_NONE, decay);
	l->variance = variance;
}

/* Returns whether a product stands out so much that its chance is asked. */
static bool lags_stands_out(const struct lags *l, double product)
{
	return product > 0 && product * product > SCREEN_Z * SCREEN_Z * l->variance;
}

/* ---- variance ---- */

/* Sets the mean variance of each unit of weight in the intervals around each one. */
static void lags_level(const struct pipeline_pair *pair, const struct pipeline_series *series,
		       double *level)
{
	const uint32_t n = pair->intervals, reach = n / REACH_PART < REACH_MAX ?
		n / REACH_PART : REACH_MAX;
	double *squares = level + n, *weights = squares + n;

	for (size_t u = 0; u < pair->n; u++)
		for (uint32_t k = 0; k < n; k++) {
			const double z = series->z[u * n + k];

			squares[k] += z * z;
			weights[k] += series->weight[u * n + k];
		}
	for (uint32_t k = 0; k < n; k++) {
		double square = 0, weight = 0;

		for (uint32_t i = k < reach ? 0 : k - reach; i <= k + reach && i < n; i++) {
			square += squares[i];
			weight += weights[i];
		}
		level[k] = weight > 0 ? square / weight : 0;
	}
}

/*
 * Sets what replaces a side's weights: at times at which both sides vary more, as by day, products
 * vary more than in the shifts.
 */
static int lags_set_side(const struct pipeline_pair *pair, const struct pipeline_series *series,
			 double *out)
{
	const size_t n = pair->intervals;
	double *level = calloc(3 * n, sizeof(*level));

	if (!level)
		return -ENOMEM;
	lags_level(pair, series, level);
	for (size_t u = 0; u < pair->n; u++)
		for (size_t k = 0; k < n; k++)
			out[u * n + k] = series->weight[u * n + k] * level[k];
	free(level);
	return 0;
}

static int lags_init(struct lags *l)
{
	const struct pipeline_pair *pair = l->pair;
	const size_t size = (size_t)pair->n * pair->intervals;
	int err;

	l->problem = malloc((2 * size + pair->intervals) * sizeof(*l->problem));
	if (!l->problem)
		return -ENOMEM;
	l->waiting = l->problem + size;
	l->statistic = l->waiting + size;
	for (uint32_t k = 0; k < pair->intervals; k++)
		l->statistic[k] = NAN;
	err = lags_set_side(pair, &pair->problem, l->problem);
	return err ? err : lags_set_side(pair, &pair->waiting, l->waiting);
}

static uint32_t lags_overlap(const struct pipeline_pair *pair)
{
	uint32_t overlap = 0;

	for (uint32_t k = 0; k < pair->intervals; k++) {
		bool known = false;

		for (size_t u = 0; u < pair->n; u++)
			known |= pair->problem.weight[u * pair->intervals + k] > 0 &&
				 pair->waiting.weight[u * pair->intervals + k] > 0;
		overlap += known;
	}
	return overlap;
}

/*
 * Returns how many equal parts of the time would give C: of one burst of both, whose chance no
 * shift of so few can tell, 1. A part is longer than the memory, so that no burst fills several.
 */
static double lags_times(const struct lags *l)
{
	const struct pipeline_pair *pair = l->pair;
	const uint32_t n = pair->intervals;
	const size_t own = (size_t)(l->lag + PIPELINE_LAGS) * n;
	const double most = n / (2 * l->memory);
	const uint32_t n_parts = most < PARTS ? (uint32_t)fmax(1, most) : PARTS;
	double parts[PARTS] = { 0 }, sum = 0, squares = 0;

	for (size_t u = 0; u < pair->n; u++)
		for (uint32_t k = 0; k < n; k++)
			parts[(uint64_t)k * n_parts / n] += pair->problem.z[u * n + k] *
				pair->waiting.z[u * n + (k + l->lag) % n];
	for (uint32_t k = 0; pair->own && k < n; k++)
		parts[(uint64_t)k * n_parts / n] -= pair->own[own + k];
	for (uint32_t i = 0; i < PARTS; i++) {
		sum += parts[i];
		squares += parts[i] * parts[i];
	}
	return squares > 0 ? sum * sum / squares : 0;
}

/* ---- shifts ---- */

static uint32_t lags_stride(const struct pipeline_pair *pair, uint32_t shifts)
{
	const double most = SHIFTS_WORK / ((double)pair->n * pair->intervals);
	const double wanted = most < SHIFTS_MIN ? SHIFTS_MIN : most;

	return shifts > wanted ? (uint32_t)ceil(shifts / wanted) : 1;
}

/* Statistics of the lags around one shift, as l->near has those around 0. */
static void lags_around(struct lags *l, uint32_t shift, double *out)
{
	for (uint32_t i = 0; i < PIPELINE_NEAR; i++)
		out[i] = lags_statistic(l, shift + i - PIPELINE_LAGS);
}

struct lags_shifts {
	struct shifted most, later, reversed;
};

/* By how much the greatest of the lags above 0 is greater than that of 0. */
static double lags_later(const double *near)
{
	return lags_most(near + PIPELINE_LAGS + 1, PIPELINE_LAGS) - near[PIPELINE_LAGS];
}

/* By how much the greatest of the lags below 0 is greater than all others. */
static double lags_reversed(const double *near)
{
	return lags_most(near, PIPELINE_LAGS) -
	       lags_most(near + PIPELINE_LAGS, PIPELINE_LAGS + 1);
}

/* Returns the number of shifts that make p greater than `care`, if they are as extreme. */
static double lags_enough(const struct lags *l, uint32_t shifts, uint32_t stride)
{
	return fmax(1, l->care * (1 + (double)shifts / stride + 1));
}

static void lags_shift(struct lags *l, struct lags_shifts *s)
{
	const uint32_t n = l->pair->intervals;
	const uint32_t guard = (n / GUARD_PART < SYNCHRONY_LAGS ? n / GUARD_PART :
				SYNCHRONY_LAGS) + 2 * PIPELINE_LAGS;
	const uint32_t stride = lags_stride(l->pair, n - 2 * guard);
	const double most = lags_most(l->near + PIPELINE_LAGS, PIPELINE_LAGS + 1);
	const double enough = lags_enough(l, n - 2 * guard, stride);
	double around[PIPELINE_NEAR];

	for (uint32_t shift = guard; shift < n - guard && s->most.extreme <= enough;
	     shift += stride) {
		lags_around(l, shift, around);
		shifted_add(&s->most, lags_most(around + PIPELINE_LAGS, PIPELINE_LAGS + 1), most);
		shifted_add(&s->later, lags_later(around), lags_later(l->near));
		shifted_add(&s->reversed, lags_reversed(around), lags_reversed(l->near));
	}
}

static void lags_judge(struct lags *l, struct pipeline_test *out)
{
	struct lags_shifts shifts = { 0 };

	lags_shift(l, &shifts);
	out->p = shifted_p_of(&shifts.most, l->pair->intervals / l->memory);
	out->z = shifted_z(&shifts.most);
	out->later = lags_later(l->near) > 0 && shifted_p(&shifts.later) <= ORDER_ALPHA;
	out->reversed = lags_reversed(l->near) > 0 && shifted_p(&shifts.reversed) <= ORDER_ALPHA;
}

/* Busy times, between which both sides wait in turn, have less at other lags than more at one. */
static bool lags_is_dip(const struct lags *l)
{
	double least = 0;

	for (uint32_t i = 0; i < PIPELINE_NEAR; i++)
		least = fmin(least, l->near[i]);
	return -least > l->near[l->lag + PIPELINE_LAGS];
}

static void lags_test(struct lags *l, struct pipeline_test *out)
{
	lags_near(l);
	out->testable &= l->weights > WEIGHTS_MIN;
	if (!out->testable)
		return;
	out->rho = l->product / l->weights;
	out->lag = l->lag;
	out->times = lags_times(l);
	if (lags_stands_out(l, l->product) && !lags_is_dip(l))
		lags_judge(l, out);
}

/*
 * Sets whether the pair is testable, as far as that is known without the greatest lag. Returns
 * whether any lag stands out, or none is known: most pairs need no more than this.
 */
static bool lags_look(struct lags *l, struct pipeline_test *out)
{
	const struct pipeline_pair *pair = l->pair;
	bool stands_out = false;

	lags_variance(l, &out->testable);
	out->testable &= lags_overlap(pair) >= SYNCHRONY_OVERLAP_MIN;
	for (uint32_t i = PIPELINE_LAGS; i < PIPELINE_NEAR && out->testable && !stands_out; i++)
		stands_out = lags_stands_out(l, lags_product(pair, i)) ||
			     !lags_has_weights(pair, i);
	return stands_out;
}

int pipeline_lags_test(const struct pipeline_pair *pair, double care, struct pipeline_test *out)
{
	struct lags l = { .pair = pair, .care = care };
	int err;

	*out = (struct pipeline_test){ .rho = NAN, .z = NAN, .p = 1 };
	if (pair->intervals < PIPELINE_INTERVALS_MIN || !pair->n || !lags_look(&l, out))
		return 0;
	err = lags_init(&l);
	if (!err)
		lags_test(&l, out);
	free(l.problem);
	return err;
}

/* Returns a host's C in deviations, without memory. */
static double lags_host(const struct pipeline_pair *pair, uint32_t child, uint32_t lag)
{
	const size_t n = pair->intervals;
	const double *x = pair->problem.z + child * n, *y = pair->waiting.z + child * n;
	double product = 0, squares = 0;

	for (uint32_t k = 0; k < n; k++) {
		const double add = x[k] * y[(k + lag) % n];

		product += add;
		squares += add * add;
	}
	return squares > 0 ? product / sqrt(squares) : 0;
}

uint32_t pipeline_lags_hosts(const struct pipeline_pair *pair, uint32_t lag)
{
	uint32_t hosts = 0;

	for (uint32_t u = 0; u < pair->n; u++)
		hosts += lags_host(pair, u, lag) > HOST_Z;
	return hosts;
}
