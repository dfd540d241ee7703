/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the guilty resources explains most. */
#include <math.h>

#include "fleet/rates.h"

/* Least effect: so many times the others' share of time. */
#define RATIO_MIN 2.0
/* Over half of the children must have so many times their expected time: a bad host is no rack. */
#define MIDDLE_MIN 1.5
/* All but the worst child must explain this part of what the worst one does. */
#define OTHERS_PART 0.2
/*
 * Least excess: 1 s lost in an hour. Users do not notice less, whatever its significance: in a
 * large fleet, any difference is significant.
 */
#define EXCESS_ONE_IN 3600.0
/* Explanations within 2 % of each other are equal: the connections of both are mostly the same. */
#define EQUAL 0.02
/* The rank test of a place, once something is known to be wrong. */
#define PLACE_P_MAX 0.005

/* The kind with the smallest number is reported of equal explanations. */
static const int rates_order[FLEET_KINDS] = {
	[FLEET_RACK] = 0, [FLEET_SWITCH] = 1, [FLEET_LINK] = 2, [FLEET_HOST] = 3,
	[FLEET_CONTAINER] = 4, [FLEET_APP] = 5, [FLEET_SERVICE] = 6, [FLEET_KERNEL] = 7,
	[FLEET_INSTANCE] = 8,
};

/*
 * Returns how much better a rate of its own explains the time than the rate of the others does: the
 * logarithm of a ratio of Poisson likelihoods, in intervals (Kulldorff 1997).
 */
static double rates_llr(const struct rates *r, double limited_ns, double expected_ns)
{
	const double step = (double)r->f->grid.step_ns;
	const double seen = limited_ns / step, expected = expected_ns / step + 1;

	return seen > expected ? seen * log(seen / expected) - (seen - expected) : 0;
}

/* A rack explains less than its one bad host, and more than each of its bad hosts. */
static double rates_explained(const struct rates *r, const struct rates_suspect *s)
{
	return rates_llr(r, s->limited_ns, s->expected_ns);
}

/* Returns the ratio without the worst child. */
static double rates_ratio_without(const struct rates *r, const struct rates_suspect *s)
{
	return rates_ratio(r, s->limited_ns - s->worst_limited_ns,
			   s->expected_ns - s->worst_expected_ns);
}

/* Whether more than one child has it. Events are rare: the middle connection may have none. */
static bool rates_is_broad(const struct rates *r, const struct rates_suspect *s)
{
	if (units_are_connections(s->kind))
		return rates_ratio_without(r, s) >= RATIO_MIN;
	return s->middle >= MIDDLE_MIN &&
		rates_llr(r, s->limited_ns - s->worst_limited_ns,
			  s->expected_ns - s->worst_expected_ns) >=
		OTHERS_PART * rates_llr(r, s->worst_limited_ns, s->worst_expected_ns);
}

static bool rates_has_effect(const struct rates *r, const struct rates_suspect *s)
{
	const double window_ns = (double)r->f->grid.step_ns * r->f->grid.intervals;

	return rates_ratio(r, s->limited_ns, s->expected_ns) >= RATIO_MIN &&
		s->lost_ns - s->lost_expected_ns >= window_ns / EXCESS_ONE_IN;
}

static bool rates_is_guilty(const struct rates *r, const struct rates_suspect *s)
{
	return s->testable && s->p <= r->options->alpha && rates_is_broad(r, s) &&
		rates_has_effect(r, s);
}

static bool rates_explains_more(const struct rates *r, const struct rates_suspect *a,
				const struct rates_suspect *b)
{
	const double x = rates_explained(r, a), y = rates_explained(r, b);

	if (fabs(x - y) <= EQUAL * fmax(x, y))
		return rates_order[a->kind] < rates_order[b->kind];
	return x > y;
}

static bool rates_shares(const struct fleet *f, uint32_t conn, uint32_t resource)
{
	const struct fleet_series *s = &f->all.items[conn];

	for (uint32_t i = 0; i < s->n; i++)
		if (f->shares.items[s->shares + i] == resource)
			return true;
	return false;
}

/* Whether `outer` has all connections of `inner`. */
static bool rates_contains(const struct rates *r, const struct rates_suspect *outer,
			   const struct rates_suspect *inner)
{
	const struct unit_entry *entries = r->kinds[inner->kind].items + inner->entry;

	for (size_t i = 0; i < inner->entries; i++)
		if (r->left[entries[i].conn] &&
		    !rates_shares(r->f, entries[i].conn, outer->resource))
			return false;
	return true;
}

/*
 * Once something is known to be wrong, its place is asked among the resources around and inside,
 * without a correction for many.
 */
static bool rates_may_be_place(const struct rates *r, const struct rates_suspect *s)
{
	return s->testable && fmax(s->p_rank, s->p_usual) <= PLACE_P_MAX && rates_has_effect(r, s);
}

/* Returns the one that explains most of the guilty resource and those inside and around it. */
static const struct rates_suspect *rates_place(const struct rates *r,
					       const struct rates_suspect *guilty)
{
	const struct rates_suspect *place = guilty;

	vec_for_each(&r->suspects, s)
		if (rates_may_be_place(r, s) && rates_is_broad(r, s) &&
		    rates_explains_more(r, s, place) &&
		    (rates_contains(r, s, guilty) || rates_contains(r, guilty, s)))
			place = s;
	return place;
}

/* A rack with several bad children is reported instead of the worst of them: top down. */
static const struct rates_suspect *rates_around(const struct rates *r,
						const struct rates_suspect *child)
{
	const struct rates_suspect *best = NULL;

	vec_for_each(&r->suspects, s)
		if (!units_are_connections(s->kind) && rates_may_be_place(r, s) &&
		    rates_is_broad(r, s) && rates_ratio_without(r, s) >= RATIO_MIN &&
		    rates_contains(r, s, child) && (!best || rates_explains_more(r, s, best)))
			best = s;
	return best ? best : child;
}

bool rates_strongest(const struct rates *r, struct rates_suspect *out)
{
	const struct rates_suspect *best = NULL;
	double p;

	vec_for_each(&r->suspects, s)
		if (rates_is_guilty(r, s) && (!best || rates_explains_more(r, s, best)))
			best = s;
	if (!best)
		return false;
	p = best->p;
	best = rates_place(r, best);
	if (units_are_connections(best->kind))
		best = rates_around(r, best);
	*out = *best;
	out->p = fmin(out->p, p);
	return true;
}
