/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the guilty resources explains most. */
#include <math.h>

#include "fleet/rates.h"

/* Least effect: so many times the others' share of time. */
#define RATIO_MIN 2.0
/* Over half of the children must have so many times their expected time: a bad host is no rack. */
#define MIDDLE_MIN 1.5
/*
 * Least excess: 1 s lost in an hour. Users do not notice less, whatever its significance: in a
 * large fleet, any difference is significant.
 */
#define EXCESS_ONE_IN 3600.0
/* Explanations within 2 % of each other are equal: the connections of both are mostly the same. */
#define EQUAL 0.02
/* A child is told instead of a resource around it only if the other children are like others. */
#define AROUND_MIN 2.0

/* Of equal explanations, the kind with the smallest number is told. */
static const int rates_order[FLEET_KINDS] = {
	[FLEET_RACK] = 0, [FLEET_SWITCH] = 1, [FLEET_LINK] = 2, [FLEET_HOST] = 3,
	[FLEET_CONTAINER] = 4, [FLEET_APP] = 5, [FLEET_SERVICE] = 6, [FLEET_KERNEL] = 7,
	[FLEET_INSTANCE] = 8,
};

static bool rates_is_broad(const struct rates_suspect *s)
{
	if (units_are_connections(s->kind)) /* events are rare: the middle one may have none */
		return s->ratio_without >= RATIO_MIN;
	return s->middle >= MIDDLE_MIN;
}

static bool rates_is_guilty(const struct rates *r, const struct rates_suspect *s)
{
	const double window_ns = (double)r->f->grid.step_ns * r->f->grid.intervals;

	return s->testable && s->p <= r->options->alpha &&
		rates_ratio(r, s->limited_ns, s->expected_ns) >= RATIO_MIN &&
		rates_is_broad(s) &&
		s->lost_ns - s->lost_expected_ns >= window_ns / EXCESS_ONE_IN;
}

/*
 * Returns how much better the resource's rate explains its time than the rate of the others does:
 * the logarithm of a ratio of Poisson likelihoods, in intervals (Kulldorff 1997). A rack explains
 * less than its one bad host, and more than each of its bad hosts.
 */
static double rates_explained(const struct rates *r, const struct rates_suspect *s)
{
	const double step = (double)r->f->grid.step_ns;
	const double seen = s->limited_ns / step, expected = s->expected_ns / step + 1;

	return seen > expected ? seen * log(seen / expected) - (seen - expected) : 0;
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

/* Whether `outer` has all connections of `inner`, and children besides it. */
static bool rates_is_around(const struct rates *r, const struct rates_suspect *outer,
			    const struct rates_suspect *inner)
{
	const struct unit_entry *entries = r->kinds[inner->kind].items + inner->entry;

	if (units_are_connections(outer->kind))
		return false;
	for (size_t i = 0; i < inner->entries; i++)
		if (r->left[entries[i].conn] &&
		    !rates_shares(r->f, entries[i].conn, outer->resource))
			return false;
	return true;
}

/* A child may explain more than a bad rack if it is the worst of them: top down, it is the rack. */
static const struct rates_suspect *rates_around(const struct rates *r,
						const struct rates_suspect *child)
{
	const struct rates_suspect *best = NULL;

	vec_for_each(&r->suspects, s)
		if (rates_is_guilty(r, s) && s->ratio_without >= AROUND_MIN &&
		    rates_is_around(r, s, child) && (!best || rates_explains_more(r, s, best)))
			best = s;
	return best ? best : child;
}

const struct rates_suspect *rates_strongest(const struct rates *r)
{
	const struct rates_suspect *best = NULL;

	vec_for_each(&r->suspects, s)
		if (rates_is_guilty(r, s) && (!best || rates_explains_more(r, s, best)))
			best = s;
	return best && units_are_connections(best->kind) ? rates_around(r, best) : best;
}
