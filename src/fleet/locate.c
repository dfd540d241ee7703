/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/locate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/sort.h"
#include "stats/special.h"

/* A resource without another one's connections; two children have no p far below 1 / intervals. */
#define P_MAX 0.01
#define P_MAX_INTERVALS 2.0
#define Z_MIN 4.0
/*
 * The rest of a resource is unlike all of it if so many deviations more would still be less than
 * the whole's correlation. Two children may differ from all by chance: they must have half of it.
 */
#define UNLIKE_Z 1.0
#define FEW_UNLIKE_Z 2.0
#define FEW_PART 0.5
#define FEW 2u
#define EXCESS_MIN 0.1           /* correlation of a finer resource beyond what is explained */
#define EXCESS_PART 0.5          /* or so much of its own */
#define BLOCKS 15u
#define T_QUANTILE 0.99

struct locate {
	struct class_sums *sums;
	uint64_t seed;
	struct locate_candidate *items;
	size_t n;
	uint32_t *without;       /* scratch: resources */
};

enum relation { APART, INSIDE, CROSSING };

/* Whether connections are synchronous; UNCLEAR: they are too few to tell. */
enum answer { NO, UNCLEAR, YES };

static int locate_order(const void *a, const void *b)
{
	const struct locate_candidate *x = a, *y = b;

	return sort_order(y->connections, x->connections) ?: sort_order(y->hosts, x->hosts) ?:
	       sort_order(x->resource, y->resource);
}

/* Returns how many groups with defined connections both have; both lists are sorted. */
static size_t locate_common(const struct class_sums *sums, uint32_t a, uint32_t b, size_t *of_b)
{
	size_t n, m, common = 0;
	const uint32_t *x = fleet_groups_of(sums->groups, a, &n);
	const uint32_t *y = fleet_groups_of(sums->groups, b, &m);

	*of_b = 0;
	for (size_t i = 0, j = 0; j < m; j++) {
		if (!class_sums_has(sums, y[j]))
			continue;
		while (i < n && x[i] < y[j])
			i++;
		common += i < n && x[i] == y[j];
		++*of_b;
	}
	return common;
}

static enum relation locate_relation(const struct locate *l, const struct locate_candidate *a,
				     const struct locate_candidate *b)
{
	size_t of_b;
	const size_t common = locate_common(l->sums, a->resource, b->resource, &of_b);

	return !common ? APART : common == of_b ? INSIDE : CROSSING;
}

/* Few connections are rarely significant: that does not say that they are unlike the others. */
static bool locate_is_unlike(const struct synchrony *whole, const struct synchrony *rest,
			     uint32_t children)
{
	if (rest->z <= 0)
		return true;
	if (children <= FEW)
		return rest->rho * (1 + FEW_UNLIKE_Z / rest->z) < whole->rho * FEW_PART;
	return rest->rho * (1 + UNLIKE_Z / rest->z) < whole->rho;
}

static enum answer locate_answer(const struct synchrony *whole, const struct synchrony *rest,
				 uint32_t children, double p_max)
{
	if (!rest->testable)
		return UNCLEAR;
	if (rest->rho >= LOCATE_RHO_MIN && rest->z > Z_MIN && rest->p <= p_max)
		return YES;
	return locate_is_unlike(whole, rest, children) ? NO : UNCLEAR;
}

/* Sets *is: whether the resource is synchronous without the connections of others. */
static int locate_test(const struct locate *l, const struct locate_candidate *a,
		       const uint32_t *without, size_t n, enum answer *is)
{
	const struct fleet_subset subset = { a->resource, a->resource, without, n };
	struct synchrony s;
	struct children children;
	int err = children_make(l->sums, &subset, &children);
	const double p_max = fmax(P_MAX, P_MAX_INTERVALS / children.intervals);

	*is = NO;
	if (!err && children.n) {
		synchrony_measure(&children, &s);
		if (s.testable && s.rho >= LOCATE_RHO_MIN && s.z > Z_MIN)
			err = synchrony_shift(&children, l->seed, p_max, &s);
		*is = locate_answer(&a->synchrony, &s, children.n, p_max);
	}
	children_release(&children);
	return err;
}

/*
 * Sets *is: whether `a` is synchronous apart from `b`. The evidence of a resource of several hosts
 * is pairs of different hosts, none of which are within one host.
 */
static int locate_apart(const struct locate *l, const struct locate_candidate *a,
			const struct locate_candidate *b, enum answer *is)
{
	*is = YES;
	return b->hosts == 1 && a->hosts > 1 ? 0 : locate_test(l, a, &b->resource, 1, is);
}

/* ---- finer resources ---- */

struct locate_excess_state {
	const struct children *own, *rest; /* the finer resource; the coarser one without it */
	double shared;           /* correlation that the rest's load explains, over `cross` */
	double rho;              /* correlation of the finer resource */
	double explained;
	double cross;            /* correlation of both sums */
};

static double excess_product(const double *x, const double *y, uint32_t from, uint32_t to)
{
	double product = 0;

	for (uint32_t k = from; k < to; k++)
		product += x[k] * y[k];
	return product;
}

static double excess_ratio(double x, double y)
{
	return y > 0 ? x / y : 0;
}

/*
 * With one load in the rest, l_u the correlation of child u with it and l_R that of the rest's own
 * children, u's with the rest is l_u l_R, and that of two children l_u l_v.
 */
static void excess_explain(struct locate_excess_state *e, double rest_rho)
{
	const struct children *own = e->own, *rest = e->rest;
	double sum = 0, squares = 0, weights = 0, weight_squares = 0;

	for (uint32_t u = 0; u < own->n; u++) {
		const double *z = own->z + (size_t)u * own->intervals;
		const double *w = own->weight + (size_t)u * own->intervals;
		const double weight = excess_product(w, rest->sum_weight, 0, own->intervals);
		const double x = excess_product(z, rest->sum, 0, own->intervals);

		sum += x;
		squares += x * x;
		weights += weight;
		weight_squares += weight * weight;
	}
	e->explained = excess_ratio(excess_ratio(sum * sum - squares,
						 weights * weights - weight_squares), rest_rho);
	e->explained = fmax(0, fmin(e->explained, 1));
	e->cross = excess_ratio(sum, weights);
	e->shared = excess_ratio(e->explained, e->cross);
}

/* Returns the excess correlation in the intervals from .. to - 1. */
static double excess_in(const struct locate_excess_state *e, uint32_t from, uint32_t to)
{
	const struct children *own = e->own, *rest = e->rest;
	double u = excess_product(own->sum, own->sum, from, to);
	double n = excess_product(own->sum_weight, own->sum_weight, from, to), cross;

	for (uint32_t i = 0; i < own->n; i++) {
		const double *z = own->z + (size_t)i * own->intervals;
		const double *w = own->weight + (size_t)i * own->intervals;

		u -= excess_product(z, z, from, to);
		n -= excess_product(w, w, from, to);
	}
	cross = excess_ratio(excess_product(own->sum, rest->sum, from, to),
			     excess_product(own->sum_weight, rest->sum_weight, from, to));
	return excess_ratio(u, n) - e->shared * cross;
}

/* Returns whether the excess is large, and above 0 by Student's t over blocks of time. */
static bool excess_is_large(const struct locate_excess_state *e)
{
	const uint32_t intervals = e->own->intervals;
	double sum = 0, squares = 0, mean, variance;

	if (!(e->rho - e->explained > fmin(EXCESS_MIN, EXCESS_PART * e->rho)))
		return false;
	for (uint32_t i = 0; i < BLOCKS; i++) {
		const double x = excess_in(e, (uint32_t)((uint64_t)intervals * i / BLOCKS),
					   (uint32_t)((uint64_t)intervals * (i + 1) / BLOCKS));

		sum += x;
		squares += x * x;
	}
	mean = sum / BLOCKS;
	variance = (squares - mean * sum) / (BLOCKS - 1);
	return mean > student_quantile(T_QUANTILE, BLOCKS - 1) * sqrt(fmax(variance, 0) / BLOCKS);
}

/* Sets *is: whether `b` goes together more than its being inside of `a` explains. */
static int locate_excess(const struct locate *l, const struct locate_candidate *a,
			 const struct locate_candidate *b, bool *is)
{
	const struct fleet_subset inside = { b->resource, a->resource, NULL, 0 };
	const struct fleet_subset others = { a->resource, a->resource, &b->resource, 1 };
	struct children own, rest = { 0 };
	struct synchrony s, rest_s;
	int err = children_make(l->sums, &inside, &own);

	err = err ? err : children_make(l->sums, &others, &rest);
	if (!err) {
		struct locate_excess_state e = { .own = &own, .rest = &rest };

		synchrony_measure(&own, &s);
		synchrony_measure(&rest, &rest_s);
		e.rho = s.rho;
		if (rest_s.testable && rest_s.rho >= LOCATE_RHO_MIN)
			excess_explain(&e, rest_s.rho);
		*is = rest_s.testable && excess_is_large(&e);
	}
	children_release(&own);
	children_release(&rest);
	return err;
}

/* ---- decisions ---- */

static int locate_pair(const struct locate *l, uint32_t i, uint32_t j)
{
	struct locate_candidate *a = &l->items[i], *b = &l->items[j];
	const enum relation relation = locate_relation(l, a, b);
	enum answer a_apart, b_apart = NO;
	int err;

	if (relation == APART)
		return 0;
	err = locate_apart(l, a, b, &a_apart);
	if (!err && relation == CROSSING)
		err = locate_apart(l, b, a, &b_apart);
	if (err)
		return err;
	a->dropped |= relation == INSIDE ? a_apart == NO : a_apart != YES && b_apart == YES;
	b->dropped |= relation == CROSSING && a_apart == YES && b_apart != YES;
	if (relation == CROSSING && a_apart != YES && b_apart != YES)
		b->within = i;
	return 0;
}

/* Drops a candidate inside of another one that stays, unless it has an excess of its own. */
static int locate_inside(const struct locate *l, uint32_t j)
{
	struct locate_candidate *b = &l->items[j];
	int err = 0;

	for (uint32_t i = 0; i < j && !err && !b->dropped; i++) {
		const struct locate_candidate *a = &l->items[i];
		bool is = true;

		if (a->dropped || locate_relation(l, a, b) != INSIDE)
			continue;
		err = locate_excess(l, a, b, &is);
		b->dropped |= !is;
		b->within = i;
	}
	return err;
}

/* Drops a candidate that all finer ones together explain. */
static int locate_union(const struct locate *l, uint32_t i)
{
	struct locate_candidate *a = &l->items[i];
	size_t n = 0;
	enum answer is;
	int err;

	for (uint32_t j = i + 1; j < l->n; j++) {
		const struct locate_candidate *b = &l->items[j];

		if (!b->dropped && (b->hosts > 1 || a->hosts == 1) &&
		    locate_relation(l, a, b) != APART)
			l->without[n++] = b->resource;
	}
	if (n < 2)
		return 0;
	err = locate_test(l, a, l->without, n, &is);
	a->dropped |= !err && is == NO;
	return err;
}

/* Candidates point only to others that stay. */
static void locate_tidy(const struct locate *l)
{
	for (size_t i = 0; i < l->n; i++)
		while (l->items[i].within != FLEET_NONE && l->items[l->items[i].within].dropped)
			l->items[i].within = l->items[l->items[i].within].within;
}

static int locate_all(const struct locate *l)
{
	int err = 0;

	for (uint32_t i = 0; i < l->n; i++)
		for (uint32_t j = i + 1; j < l->n && !err; j++)
			err = locate_pair(l, i, j);
	for (uint32_t j = 0; j < l->n && !err; j++)
		if (!l->items[j].dropped)
			err = locate_inside(l, j);
	for (uint32_t i = 0; i < l->n && !err; i++)
		if (!l->items[i].dropped)
			err = locate_union(l, i);
	locate_tidy(l);
	return err;
}

int locate_causes(struct class_sums *sums, uint64_t seed, struct locate_candidates *candidates)
{
	struct locate l = { .sums = sums, .seed = seed, .items = candidates->items,
			    .n = candidates->len };
	int err;

	if (!l.n)
		return 0;
	qsort(l.items, l.n, sizeof(*l.items), locate_order);
	l.without = malloc(l.n * sizeof(*l.without));
	err = l.without ? locate_all(&l) : -ENOMEM;
	free(l.without);
	return err;
}
