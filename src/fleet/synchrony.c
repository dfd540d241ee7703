/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/synchrony.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "fleet/shifted.h"

#define SHIFTS_MIN 199u
#define SHIFTS_ENOUGH 499u   /* for the moments */
#define SHIFTS_MAX 19999u
#define SHIFTS_WORK 3e7      /* children times intervals times shifts */
#define EXTREME_ENOUGH 10u
#define CORRELATION_NONE 0.1 /* so much of a short series' last lag may be chance */

/* Two neighbors of a series at once: compilers do not find them by themselves. */
typedef double synchrony_two __attribute__((vector_size(16), aligned(8), may_alias));

static synchrony_two synchrony_load(const double *series)
{
	return *(const synchrony_two *)series;
}

void synchrony_covariance(const double *x, const double *y, uint32_t intervals, double *covariance)
{
	for (uint32_t h = 0; h <= SYNCHRONY_LAGS; h++) {
		synchrony_two even = { 0 }, odd = { 0 };
		uint32_t k = h;

		for (; k + 4 <= intervals; k += 4) {
			even += synchrony_load(x + k) * synchrony_load(y + k - h);
			odd += synchrony_load(x + k + 2) * synchrony_load(y + k + 2 - h);
		}
		for (; k < intervals; k++)
			even[0] += x[k] * y[k - h];
		covariance[h] = (even[0] + even[1] + (odd[0] + odd[1])) / intervals;
	}
}

static double synchrony_squares(const double *series, size_t n)
{
	double squares = 0;

	for (size_t i = 0; i < n; i++)
		squares += series[i] * series[i];
	return squares;
}

static uint32_t synchrony_overlap(const struct children *children)
{
	uint32_t overlap = 0;

	for (uint32_t k = 0; k < children->intervals; k++)
		overlap += children->known[k] > 1;
	return overlap;
}

/* Returns the expectation of N if each child's known intervals are independent of the others'. */
static double synchrony_expected_pairs(const struct children *children)
{
	double all = 0, squares = 0;

	for (uint32_t u = 0; u < children->n; u++) {
		const double *weight = children->weight + (size_t)u * children->intervals;
		double sum = 0;

		for (uint32_t k = 0; k < children->intervals; k++)
			sum += weight[k];
		all += sum;
		squares += sum * sum;
	}
	return (all * all - squares) / children->intervals;
}

/*
 * Whether the window is long against the children's memory, by the last lag and as if that decayed
 * exponentially: a few long stretches coincide by chance, and no test can tell.
 */
static bool synchrony_is_long(const double *covariance, uint32_t intervals)
{
	const double decay = exp(-(double)(SYNCHRONY_LAGS * SYNCHRONY_MEMORIES_MIN) / intervals);

	return covariance[SYNCHRONY_LAGS] <= covariance[0] * fmax(CORRELATION_NONE, decay);
}

static double synchrony_variance(const struct children *children, bool *is_long)
{
	double all[SYNCHRONY_LAGS + 1] = { 0 }, squares[SYNCHRONY_LAGS + 1] = { 0 }, v = 0;

	for (uint32_t u = 0; u < children->n; u++) {
		const double *z = children->z + (size_t)u * children->intervals;
		double own[SYNCHRONY_LAGS + 1];

		synchrony_covariance(z, z, children->intervals, own);
		for (uint32_t h = 0; h <= SYNCHRONY_LAGS; h++) {
			all[h] += own[h];
			squares[h] += own[h] * own[h];
		}
	}
	*is_long = synchrony_is_long(all, children->intervals);
	for (uint32_t h = 0; h <= SYNCHRONY_LAGS && h < children->intervals; h++)
		v += (h ? 2 : 1) * (double)(children->intervals - h) *
		     (all[h] * all[h] - squares[h]);
	return 2 * v;
}

void synchrony_measure(const struct children *children, struct synchrony *out)
{
	const size_t k = children->intervals, size = children->n * k;

	*out = (struct synchrony){ .rho = NAN, .z = NAN, .p = 1 };
	if (children->n < 2)
		return;
	out->n = synchrony_squares(children->sum_weight, k) -
		 synchrony_squares(children->weight, size);
	out->testable = synchrony_overlap(children) >= SYNCHRONY_OVERLAP_MIN && out->n > 0;
	if (!out->testable)
		return;
	out->u = synchrony_squares(children->sum, k) - synchrony_squares(children->z, size) -
		 children->bias;
	out->rho = out->u / out->n;
	out->z = 0;
	if (out->u <= 0)
		return;
	out->v = synchrony_variance(children, &out->testable) * out->n /
		 synchrony_expected_pairs(children);
	if (out->v > 0 && out->testable)
		out->z = out->u / sqrt(out->v);
}

/* ---- circular shifts ---- */

/* From interval `at` on, a child's weight is larger by so much, in 1/STANDARD_ONE. */
struct shifts_step {
	uint32_t child, at;
	int64_t by;
};

struct shifts_steps VEC_OF(struct shifts_step);

struct shifts {
	const struct children *children;
	struct rng *rngs;        /* one generator for each child */
	uint32_t *offsets;       /* each child's */
	double *z, *weight;      /* sums of the shifted series */
	struct shifts_steps steps; /* the weights', in order of children, around the circle */
	int64_t *step_sums;      /* the shifted steps'; NULL: weights are not whole */
	double own_z, own_weight; /* the children's own squares, which no shift changes */
	struct shifted drawn;
};

static void shifts_add(double *sum, const double *series, uint32_t n)
{
	uint32_t k = 0;

	for (; k + 4 <= n; k += 4) {
		*(synchrony_two *)(sum + k) += synchrony_load(series + k);
		*(synchrony_two *)(sum + k + 2) += synchrony_load(series + k + 2);
	}
	for (; k < n; k++)
		sum[k] += series[k];
}

static void shifts_add_from(double *sum, const double *series, uint32_t n, uint32_t offset)
{
	shifts_add(sum, series + offset, n - offset);
	shifts_add(sum + (n - offset), series, offset);
}

/* Sums up the shifted weights one by one. */
static void shifts_add_weights(struct shifts *s)
{
	const struct children *c = s->children;

	memset(s->weight, 0, c->intervals * sizeof(*s->weight));
	for (uint32_t i = 0; i < c->n; i++)
		shifts_add_from(s->weight, c->weight + (size_t)i * c->intervals, c->intervals,
				s->offsets[i]);
}

/* Does the same with the steps: weights hardly ever change. The sums are exact either way. */
static void shifts_add_steps(struct shifts *s)
{
	const struct children *c = s->children;
	const uint32_t intervals = c->intervals;
	int64_t sum = 0;

	memset(s->step_sums, 0, intervals * sizeof(*s->step_sums));
	vec_for_each(&s->steps, step) {
		const uint32_t offset = s->offsets[step->child];

		s->step_sums[step->at < offset ? step->at + intervals - offset :
						 step->at - offset] += step->by;
	}
	for (uint32_t i = 0; i < c->n; i++)
		sum += (int64_t)(c->weight[(size_t)i * intervals + s->offsets[i]] * STANDARD_ONE);
	s->step_sums[0] = sum;
	for (uint32_t k = 0; k < intervals; k++) {
		sum += k ? s->step_sums[k] : 0;
		s->weight[k] = (double)sum / STANDARD_ONE;
	}
}

/* Returns U / sqrt(N) of the children, each shifted by a random offset. */
static double shifts_draw(struct shifts *s)
{
	const struct children *c = s->children;
	double u = -s->own_z, n = -s->own_weight;

	memset(s->z, 0, c->intervals * sizeof(*s->z));
	for (uint32_t i = 0; i < c->n; i++) {
		s->offsets[i] = (uint32_t)rng_below(&s->rngs[i], c->intervals);
		shifts_add_from(s->z, c->z + (size_t)i * c->intervals, c->intervals,
				s->offsets[i]);
	}
	if (!s->step_sums)
		shifts_add_weights(s);
	else if (s->steps.len || !s->drawn.n)
		shifts_add_steps(s);
	for (uint32_t k = 0; k < c->intervals; k++) {
		u += s->z[k] * s->z[k];
		n += s->weight[k] * s->weight[k];
	}
	return n > 0 ? u / sqrt(n) : 0;
}

static uint32_t shifts_limit(const struct children *c)
{
	const double limit = SHIFTS_WORK / ((double)c->n * c->intervals);

	return limit > SHIFTS_MAX ? SHIFTS_MAX : limit < SHIFTS_ENOUGH ? SHIFTS_ENOUGH :
									 (uint32_t)limit;
}

static void shifts_run(struct shifts *s, const struct synchrony *synchrony, double care)
{
	const double observed = synchrony->u / sqrt(synchrony->n);
	const uint32_t limit = shifts_limit(s->children);
	const double enough = fmax(care * (1 + limit), 1); /* more extreme ones: p > care */

	while (s->drawn.n < limit &&
	       (s->drawn.n < SHIFTS_MIN || s->drawn.extreme < EXTREME_ENOUGH) &&
	       1 + s->drawn.extreme <= enough)
		shifted_add(&s->drawn, shifts_draw(s), observed);
}

static int64_t shifts_step_by(const double *weight, uint32_t intervals, uint32_t k)
{
	return (int64_t)((weight[k] - weight[k ? k - 1 : intervals - 1]) * STANDARD_ONE);
}

/* Lists the steps of the weights. Without a common load, weights are scaled, and not whole. */
static int shifts_list_steps(struct shifts *s)
{
	const struct children *c = s->children;
	int err = 0;

	if (!c->load.series && !c->load.none)
		return 0;
	s->step_sums = malloc(c->intervals * sizeof(*s->step_sums));
	if (!s->step_sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n; i++) {
		const double *weight = c->weight + (size_t)i * c->intervals;

		for (uint32_t k = 0; k < c->intervals && !err; k++) {
			const int64_t by = shifts_step_by(weight, c->intervals, k);

			if (by)
				err = vec_push(&s->steps, (struct shifts_step){ i, k, by });
		}
	}
	return err ? -ENOMEM : 0;
}

static int shifts_init(struct shifts *s, const struct children *children, uint64_t seed)
{
	const size_t size = (size_t)children->n * children->intervals;

	*s = (struct shifts){ .children = children };
	vec_init(&s->steps, size);
	s->rngs = malloc(children->n * sizeof(*s->rngs));
	s->offsets = malloc(children->n * sizeof(*s->offsets));
	s->z = malloc(2 * (size_t)children->intervals * sizeof(*s->z));
	if (!s->rngs || !s->offsets || !s->z)
		return -ENOMEM;
	s->weight = s->z + children->intervals;
	s->own_z = synchrony_squares(children->z, size);
	s->own_weight = synchrony_squares(children->weight, size);
	for (uint32_t i = 0; i < children->n; i++)
		rng_init(&s->rngs[i], rng_derive(seed, children->keys[i]));
	return shifts_list_steps(s);
}

static void shifts_release(struct shifts *s)
{
	free(s->rngs);
	free(s->offsets);
	free(s->z);
	free(s->step_sums);
	vec_release(&s->steps);
}

int synchrony_shift(const struct children *children, uint64_t seed, double care,
		    struct synchrony *synchrony)
{
	struct shifts s;
	int err = shifts_init(&s, children, seed);

	if (!err) {
		shifts_run(&s, synchrony, care);
		synchrony->p = shifted_p(&s.drawn);
	}
	shifts_release(&s);
	return err;
}
