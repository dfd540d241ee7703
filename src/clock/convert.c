/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts in both directions by one algorithm: a point has two coordinates, of which one is looked
 * up and the other returned. Times are below 2^62, so a product of two fits 128 bits.
 */
#include "clock/convert.h"

#include <errno.h>

#include "base/bug.h"

#define NS_PER_S 1000000000

enum convert_direction { FROM_MONO, TO_MONO };

/* A converted time, and the run of points between two discontinuities in which it is. */
struct convert_answer {
	__int128 value;
	__int128 error;
	size_t run;
};

static int64_t convert_known_time(const struct clock_point *point, enum convert_direction direction)
{
	return direction == FROM_MONO ? point->mono_ns : point->other;
}

static int64_t convert_wanted_time(const struct clock_point *point,
				   enum convert_direction direction)
{
	return direction == FROM_MONO ? point->other : point->mono_ns;
}

static bool convert_out_of_bounds(__int128 t)
{
	return t < -CONVERT_TIME_MAX || t > CONVERT_TIME_MAX;
}

static __int128 convert_divide_up(__int128 a, __int128 b)
{
	return (a + b - 1) / b;
}

/* Returns the line through a and b at t, with a rounding error of at most 1. */
static __int128 convert_along_line(const struct clock_point *a, const struct clock_point *b,
				   int64_t t, enum convert_direction direction)
{
	__int128 rise =
		(__int128)convert_wanted_time(b, direction) - convert_wanted_time(a, direction);
	__int128 run =
		(__int128)convert_known_time(b, direction) - convert_known_time(a, direction);

	return convert_wanted_time(a, direction) +
	       ((__int128)t - convert_known_time(a, direction)) * rise / run;
}

static __int128 convert_wander(const struct clock_relation *relation, __int128 distance_ns)
{
	return convert_divide_up(distance_ns * relation->wander_ppb, NS_PER_S);
}

/*
 * Converts a time between point a and the next point, b, whose errors bound the relation at both
 * ends.
 */
static void convert_interpolate(const struct clock_relation *relation, const struct clock_point *a,
				int64_t t, enum convert_direction direction,
				struct convert_answer *answer)
{
	const struct clock_point *b = a + 1;
	__int128 mono, from_a, to_b;

	answer->value = convert_along_line(a, b, t, direction);
	mono = direction == FROM_MONO ? t : answer->value;
	from_a = mono - a->mono_ns;
	to_b = b->mono_ns - mono;
	answer->error = (a->error_ns > b->error_ns ? a->error_ns : b->error_ns) +
			convert_wander(relation, from_a < to_b ? from_a : to_b) + 1;
}

/*
 * Converts beyond `end`, at the rate between `end` and its neighbor. The rate's uncertainty is that
 * of both points over the time between them. -ERANGE: further from `end` than `horizon_ns`, the
 * limit of extrapolation.
 */
static int convert_extrapolate(const struct clock_relation *relation, const struct clock_point *end,
			       const struct clock_point *neighbor, int64_t t,
			       enum convert_direction direction, struct convert_answer *answer)
{
	__int128 mono, distance, gap = 1, doubt = 0;

	if (neighbor == end && relation->ticks)
		return -ERANGE;
	if (neighbor == end) {
		answer->value = (__int128)convert_wanted_time(end, direction) + t -
				convert_known_time(end, direction);
	} else {
		answer->value = convert_along_line(end, neighbor, t, direction);
		gap = (__int128)end->mono_ns - neighbor->mono_ns;
		gap = gap < 0 ? -gap : gap;
		doubt = (__int128)end->error_ns + neighbor->error_ns;
	}
	mono = direction == FROM_MONO ? t : answer->value;
	distance = mono - end->mono_ns;
	distance = distance < 0 ? -distance : distance;
	if (distance > relation->horizon_ns)
		return -ERANGE;
	answer->error = end->error_ns + convert_wander(relation, distance) +
			convert_divide_up(distance * doubt, gap) + (neighbor == end ? 0 : 1);
	return 0;
}

/* Returns the index of the last point in first..last with a time <= t; `first` must have one. */
static size_t convert_bisect(const struct clock_point *points, size_t first, size_t last, int64_t t,
			     enum convert_direction direction)
{
	while (first < last) {
		size_t middle = first + (last - first + 1) / 2;

		if (convert_known_time(&points[middle], direction) <= t)
			first = middle;
		else
			last = middle - 1;
	}
	return first;
}

static int convert_find_in_run(const struct clock_relation *relation, size_t run, int64_t t,
			       enum convert_direction direction, struct convert_answer *answer)
{
	const struct clock_point *points = relation->points.items;
	bool is_last = run + 1 == relation->runs.len;
	size_t first = relation->runs.items[run];
	size_t last = (is_last ? relation->points.len : relation->runs.items[run + 1]) - 1;
	size_t i;

	answer->run = run;
	if (t < convert_known_time(&points[first], direction))
		return run ? -ERANGE
			   : convert_extrapolate(relation, &points[first],
						 &points[first < last ? first + 1 : first], t,
						 direction, answer);
	if (t > convert_known_time(&points[last], direction))
		return !is_last ? -ERANGE
				: convert_extrapolate(relation, &points[last],
						      &points[first < last ? last - 1 : last], t,
						      direction, answer);
	i = convert_bisect(points, first, last, t, direction);
	answer->value = convert_wanted_time(&points[i], direction);
	answer->error = points[i].error_ns;
	if (convert_known_time(&points[i], direction) < t)
		convert_interpolate(relation, &points[i], t, direction, answer);
	return 0;
}

/*
 * Converts `t` in the only run of points (between two discontinuities) that covers it; the first
 * and the last run reach beyond their points. -ERANGE if no run does, or several do because the
 * clock was set back.
 */
static int convert_find(const struct clock_relation *relation, int64_t t,
			enum convert_direction direction, struct convert_answer *answer)
{
	int found = 0;

	for (size_t run = 0; run < relation->runs.len; run++) {
		struct convert_answer candidate;

		if (convert_find_in_run(relation, run, t, direction, &candidate))
			continue;
		*answer = candidate;
		found++;
	}
	return found == 1 && !convert_out_of_bounds(answer->value) ? 0 : -ERANGE;
}

/*
 * Converts a monotonic time that is known to +-`doubt` ns. -ERANGE if the target clock may have
 * been set within that range.
 */
static int convert_find_from_mono(const struct clock_relation *relation, int64_t mono,
				  __int128 doubt, struct convert_answer *answer)
{
	struct convert_answer earliest, latest;
	int err;

	if (convert_out_of_bounds(mono - doubt) || convert_out_of_bounds(mono + doubt))
		return -ERANGE;
	err = convert_find(relation, mono, FROM_MONO, answer);
	if (err || !doubt)
		return err;
	if (convert_find(relation, mono - (int64_t)doubt, FROM_MONO, &earliest) ||
	    convert_find(relation, mono + (int64_t)doubt, FROM_MONO, &latest) ||
	    earliest.run != latest.run)
		return -ERANGE;
	/* the two domains' rates differ by less than 1/1000 */
	answer->error += doubt + convert_divide_up(doubt, 1000);
	return 0;
}

void clock_table_init(struct clock_table *table)
{
	for (int i = 0; i < DOMAIN_COUNT; i++) {
		struct clock_relation *relation = &table->relations[i];

		*relation = (struct clock_relation){ .ticks = i == DOMAIN_TSC || i == DOMAIN_FILE };
		vec_init(&relation->points, CONVERT_POINTS_MAX);
		vec_init(&relation->runs, CONVERT_POINTS_MAX);
	}
}

void clock_table_release(struct clock_table *table)
{
	if (!table)
		return;
	for (int i = 0; i < DOMAIN_COUNT; i++) {
		vec_release(&table->relations[i].points);
		vec_release(&table->relations[i].runs);
	}
}

void clock_table_limits(struct clock_table *table, enum clock_domain domain, uint32_t wander_ppb,
			int64_t horizon_ns)
{
	BUG_ON((unsigned int)domain >= DOMAIN_COUNT || horizon_ns < 0);
	table->relations[domain].wander_ppb = wander_ppb;
	table->relations[domain].horizon_ns = horizon_ns;
}

/* Returns true if the point may follow the previous points. */
static bool convert_is_in_order(const struct clock_relation *relation,
				const struct clock_point *point)
{
	const struct clock_point *before;

	if (convert_out_of_bounds(point->mono_ns) || convert_out_of_bounds(point->other) ||
	    convert_out_of_bounds(point->error_ns))
		return false;
	if (!relation->points.len)
		return true;
	before = vec_last(&relation->points);
	return point->mono_ns > before->mono_ns &&
	       (point->discontinuity || point->other > before->other);
}

int clock_table_add(struct clock_table *table, enum clock_domain domain,
		    const struct clock_point *point)
{
	struct clock_relation *relation;
	int err;

	BUG_ON((unsigned int)domain >= DOMAIN_COUNT || domain == DOMAIN_MONO);
	relation = &table->relations[domain];
	if (!convert_is_in_order(relation, point))
		return -EINVAL;
	err = vec_reserve(&relation->points, relation->points.len + 1);
	if (!err && (point->discontinuity || !relation->points.len))
		err = vec_push(&relation->runs, relation->points.len);
	if (!err)
		err = vec_push(&relation->points, *point);
	return err;
}

void clock_table_forget(struct clock_table *table, enum clock_domain domain)
{
	BUG_ON((unsigned int)domain >= DOMAIN_COUNT);
	vec_clear(&table->relations[domain].points);
	vec_clear(&table->relations[domain].runs);
}

int clock_convert(const struct clock_table *table, enum clock_domain from, enum clock_domain to,
		  int64_t t, struct clock_time *result)
{
	struct convert_answer mono = { .value = t }, answer;
	int err = 0;

	BUG_ON((unsigned int)from >= DOMAIN_COUNT || (unsigned int)to >= DOMAIN_COUNT);
	if (convert_out_of_bounds(t))
		return -ERANGE;
	if (from != to && from != DOMAIN_MONO)
		err = convert_find(&table->relations[from], t, TO_MONO, &mono);
	answer = mono;
	if (!err && from != to && to != DOMAIN_MONO)
		err = convert_find_from_mono(&table->relations[to], (int64_t)mono.value, mono.error,
					     &answer);
	if (err)
		return err;
	result->value = (int64_t)answer.value;
	result->error_ns = (uint64_t)answer.error;
	return 0;
}
