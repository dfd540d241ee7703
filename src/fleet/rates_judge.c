/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a resource unlike the others? Its children are ranked beside all children of its kind, each by
 * its time with the problem over the expected one: children, not connections or intervals, for
 * those of one child depend on each other. Kinds that differ by their nature, such as applications,
 * must also be outliers among their kind.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/sort.h"
#include "fleet/rates.h"
#include "stats/multiple.h"
#include "stats/outlier.h"
#include "stats/rank.h"
#include "stats/rank_sum.h"
#include "stats/sample.h"

/* Fewer children cannot be judged: two hosts; three connections, as they vary more. */
#define CHILDREN_MIN 2u
#define CONNECTIONS_MIN 3u
/*
 * Shares of applications, services and hosts differ by a factor of 1.6 or so, before a fleet's own
 * are known: a deviation of the logarithm, worth eight more of the kind.
 */
static const struct outlier_prior rates_prior = { .deviation = 0.5, .freedom = 8 };

double rates_ratio(const struct rates *r, double limited_ns, double expected_ns)
{
	/* One interval more: where nothing is expected, a single event is not infinitely many. */
	return limited_ns / (expected_ns + (double)r->f->grid.step_ns);
}

static size_t rates_children_min(enum fleet_kind kind)
{
	return units_are_connections(kind) ? CONNECTIONS_MIN : CHILDREN_MIN;
}

/* ---- children ---- */

/* Sets `middle` and the worst child; `ratios` has room for one of each child. */
static void rates_describe(const struct rates *r, struct rates_suspect *suspect, double *ratios)
{
	const struct rates_unit *units = r->units.items + suspect->unit, *most = units;

	for (const struct rates_unit *u = units; u < units + suspect->units; u++)
		if (u->limited_ns - u->expected_ns > most->limited_ns - most->expected_ns)
			most = u;
	suspect->worst_limited_ns = most->limited_ns;
	suspect->worst_expected_ns = most->expected_ns;
	for (size_t i = 0; i < suspect->units; i++)
		ratios[i] = rates_ratio(r, units[i].limited_ns, units[i].expected_ns);
	sample_sort(ratios, suspect->units);
	suspect->middle = ratios[(suspect->units - 1) / 2];
}

/* Returns the chance of so many children of the suspect with a rank above the least one. */
static double rates_marked_p(const struct rates *r, const struct rates_suspect *s,
			     const double *ranks, double least, size_t ties)
{
	size_t above = 0;

	for (size_t i = s->unit; i < s->unit + s->units; i++)
		above += ranks[r->units.items[i].place] > least;
	return rank_sum_marked_p(above, s->units, r->ranked - ties, r->ranked);
}

/*
 * Returns the chance of the suspect's ranks. Where most children have no excess, a tie, the normal
 * approximation is far too small, and an exact chance is that without ties, which may be far too
 * large. How many have any excess is exact then: it limits the one, and is a second test beside the
 * other, each at half of the level.
 */
static double rates_rank_p(const struct rates *r, const struct rates_suspect *s,
			   const struct rank_sum *test, const double *ranks, double least,
			   size_t ties)
{
	double marked;

	if (2 * ties < r->ranked || !s->units)
		return test->p;
	marked = rates_marked_p(r, s, ranks, least, ties);
	return test->exact ? fmin(2 * fmin(test->p, marked), 1) : fmax(test->p, marked);
}

/* Sets the ratios by place: that of the recorded host's child, if a place has two. */
static void rates_fill_ratios(const struct rates *r, double *ratios)
{
	for (int own = 0; own <= 1; own++)
		vec_for_each(&r->units, u)
			if (u->is_own == own)
				ratios[u->place] = rates_ratio(r, u->limited_ns, u->aligned_ns);
}

/*
 * Ranks the children of all suspects; `ratios` and `ranks` have an entry for each of them. They are
 * aligned ranks (Hodges and Lehmann 1962): the chance of few others in a stratum would be common to
 * all children of the resource, and make them look alike.
 */
static int rates_rank(const struct rates *r, struct rates_suspect *suspects, size_t n,
		      double *ratios, double *ranks)
{
	const size_t total = r->ranked;
	double squares = 0, least = INFINITY;
	size_t ties = 0;
	int err;

	rates_fill_ratios(r, ratios);
	err = rank_values(ratios, total, ranks);
	for (size_t i = 0; i < total; i++)
		squares += ranks[i] * ranks[i];
	for (size_t i = 0; i < total; i++)
		least = fmin(least, ranks[i]);
	for (size_t i = 0; i < total; i++)
		ties += ranks[i] <= least;
	for (struct rates_suspect *s = suspects; s < suspects + n && !err; s++) {
		struct rank_sum test = { .p = 1, .exact = true };
		double sum = 0;

		for (size_t i = s->unit; i < s->unit + s->units; i++)
			sum += ranks[r->units.items[i].place];
		if (s->units && rank_sum_upper(sum, s->units, total, squares, &test) == -ENOMEM)
			return -ENOMEM;
		s->z = test.z;
		s->p_rank = rates_rank_p(r, s, &test, ranks, least, ties);
		if (s->units)
			rates_describe(r, s, ratios + s->unit);
	}
	return err;
}

/* ---- the usual share of the kind ---- */

static bool rates_kind_differs(enum fleet_kind kind)
{
	return units_are_connections(kind) || kind == FLEET_APP || kind == FLEET_SERVICE;
}

/*
 * Applications and services are compared by their shares as they are: beside a guilty one on the
 * same hosts, others seem to have too little.
 */
static double rates_level(const struct rates *r, const struct rates_suspect *s)
{
	const double step = (double)r->f->grid.step_ns;

	if (units_are_connections(s->kind))
		return log((s->limited_ns + step) / (s->expected_ns + step));
	return log((s->all_limited_ns + step) / s->all_known_ns);
}

struct rates_levels {
	double level;
	struct rates_suspect *suspect;
};

static int rates_level_order(const void *a, const void *b)
{
	const struct rates_levels *x = a, *y = b;

	return sort_order(y->level, x->level) ?: sort_order(x->suspect, y->suspect);
}

/* Sets p_usual of the suspects; those with too few children do not count. */
static void rates_compare_kind(const struct rates *r, struct rates_suspect *suspects, size_t n,
			       struct rates_levels *levels, double *values, double *p)
{
	size_t k = 0;

	for (struct rates_suspect *s = suspects; s < suspects + n; s++) {
		s->p_usual = NAN;
		if (s->units >= rates_children_min(s->kind))
			levels[k++] = (struct rates_levels){ rates_level(r, s), s };
	}
	qsort(levels, k, sizeof(*levels), rates_level_order);
	for (size_t i = 0; i < k; i++)
		values[i] = levels[i].level;
	outlier_upper(values, k, &rates_prior, p);
	/* A deviation needs two others. */
	for (size_t i = 0; i < k && k > 2; i++)
		levels[i].suspect->p_usual = p[i];
}

static int rates_usual(const struct rates *r, struct rates_suspect *suspects, size_t n)
{
	struct rates_levels *levels;
	double *values, *p;
	int err = -ENOMEM;

	if (!rates_kind_differs(suspects->kind))
		return 0;
	levels = calloc(n, sizeof(*levels));
	values = calloc(n, sizeof(*values));
	p = calloc(n, sizeof(*p));
	if (levels && values && p) {
		rates_compare_kind(r, suspects, n, levels, values, p);
		err = 0;
	}
	free(levels);
	free(values);
	free(p);
	return err;
}

/* ---- several tests ---- */

static bool rates_has_enough(const struct rates_suspect *s)
{
	return s->units >= rates_children_min(s->kind) && !isnan(s->p_usual);
}

/* Marks what can be tested: enough to compare, and a rank test that could become significant. */
static void rates_mark_testable(const struct rates *r, struct rates_suspect *suspects, size_t n,
				double *least)
{
	const size_t total = r->ranked;
	double limit;
	size_t k = 0;

	for (struct rates_suspect *s = suspects; s < suspects + n; s++)
		if (rates_has_enough(s))
			least[k++] = rank_sum_least_p(s->units, total);
	sample_sort(least, k);
	limit = testable_least_p(least, k, r->options->alpha);
	for (struct rates_suspect *s = suspects; s < suspects + n; s++)
		s->testable = rates_has_enough(s) &&
			rank_sum_least_p(s->units, total) <= limit;
}

/* A family for each kind and class; all families together keep alpha, without any problem. */
static int rates_adjust(const struct rates *r, struct rates_suspect *suspects, size_t n, double *p,
			double *adjusted)
{
	size_t k = 0;
	int err;

	for (struct rates_suspect *s = suspects; s < suspects + n; s++)
		if (s->testable)
			p[k++] = fmax(s->p_rank, s->p_usual);
	err = fdr_adjust(p, k, adjusted);
	k = 0;
	for (struct rates_suspect *s = suspects; s < suspects + n; s++)
		s->p = s->testable && !err ? fmin(r->families * adjusted[k++], 1) : 1;
	return err;
}

int rates_judge(struct rates *r, struct rates_suspect *suspects, size_t n)
{
	const size_t size = r->units.len > n ? r->units.len : n;
	double *x = calloc(size, sizeof(*x)), *y = calloc(size, sizeof(*y));
	int err = x && y ? rates_rank(r, suspects, n, x, y) : -ENOMEM;

	if (!err)
		err = rates_usual(r, suspects, n);
	if (!err) {
		rates_mark_testable(r, suspects, n, x);
		err = rates_adjust(r, suspects, n, x, y);
	}
	free(x);
	free(y);
	return err;
}
