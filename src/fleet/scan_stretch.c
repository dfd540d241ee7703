/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scan statistic over time (Kulldorff 1997), with circular shifts of children as its null. A
 * stretch must be unusual both for the resource and beside the rest of the fleet: bursts that all
 * have are not reported for each rack, nor is the time of day.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/sort.h"
#include "fleet/scan.h"

static const uint32_t scan_widths[SCAN_WIDTHS] = { 1, 2, 3, 5, 8, 13, 20, 30 };

/* Fewer connections, or those of one child only, are no event of a resource. */
#define CONNECTIONS_MIN 3
#define CHILDREN_MIN 2
/* Least effect: so many times the connections that are usual, for it and for the rest then. */
#define TIMES_MIN 2.0
/* Added to counts of the rest of the fleet: one connection of few is no burst of the fleet. */
#define FLEET_PRIOR 1.0
#define SHIFTS 199

/* ---- memory ---- */

static int scan_cover_init(struct scan_cover *cover, uint32_t intervals)
{
	*cover = (struct scan_cover){ .intervals = intervals };
	for (unsigned int i = 0; i < SCAN_WIDTHS; i++) {
		/* One more, behind the last interval, for the ends of stretches. */
		cover->by_width[i] = calloc(intervals + 1, sizeof(*cover->by_width[i]));
		if (!cover->by_width[i])
			return -ENOMEM;
	}
	return 0;
}

static void scan_cover_clear(struct scan_cover *cover)
{
	for (unsigned int i = 0; i < SCAN_WIDTHS; i++)
		memset(cover->by_width[i], 0,
		       (cover->intervals + 1) * sizeof(*cover->by_width[i]));
}

static void scan_cover_release(struct scan_cover *cover)
{
	for (unsigned int i = 0; i < SCAN_WIDTHS; i++)
		free(cover->by_width[i]);
}

int scan_init(struct scan *s, uint32_t intervals, size_t events)
{
	int err;

	*s = (struct scan){ .intervals = intervals };
	s->times = calloc(events + 1, sizeof(*s->times));
	err = s->times ? 0 : -ENOMEM;
	err = scan_cover_init(&s->fleet, intervals) ?: err;
	err = scan_cover_init(&s->rest, intervals) ?: err;
	err = scan_cover_init(&s->conns, intervals) ?: err;
	return scan_cover_init(&s->children, intervals) ?: err;
}

void scan_release(struct scan *s)
{
	free(s->times);
	scan_cover_release(&s->fleet);
	scan_cover_release(&s->rest);
	scan_cover_release(&s->conns);
	scan_cover_release(&s->children);
}

/* ---- counting ---- */

/* Adds 1 to `length` intervals from `from`, on the circle: as a difference, summed up later. */
static void scan_mark(int32_t *difference, uint32_t intervals, uint32_t from, uint32_t length)
{
	const uint32_t to = from + length;

	difference[from]++;
	if (to <= intervals) {
		difference[to]--;
		return;
	}
	difference[intervals]--;
	difference[0]++;
	difference[to - intervals]--;
}

/*
 * Marks the stretches that hold at least one of n events at ascending times: those that begin up to
 * width - 1 intervals before an event, but behind the one before it.
 */
static void scan_mark_times(struct scan_cover *cover, const uint32_t *times, size_t n)
{
	const uint32_t all = cover->intervals;

	for (size_t i = 0; i < n; i++) {
		const uint32_t since = i ? times[i] - times[i - 1] : times[0] + all - times[n - 1];

		for (unsigned int k = 0; k < SCAN_WIDTHS; k++) {
			const uint32_t width = scan_widths[k] < all ? scan_widths[k] : all;
			const uint32_t length = since < width ? since : width;
			const uint32_t from = times[i] + 1 < length ? times[i] + all + 1 - length :
								      times[i] + 1 - length;

			scan_mark(cover->by_width[k], all, from, length);
		}
	}
}

static void scan_sum_up(struct scan_cover *cover)
{
	for (unsigned int i = 0; i < SCAN_WIDTHS; i++)
		for (uint32_t k = 1; k < cover->intervals; k++)
			cover->by_width[i][k] += cover->by_width[i][k - 1];
}

static int scan_time_order(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return sort_order(x, y);
}

/* The events of a connection are sorted, and mostly still are when shifted. */
static void scan_sort_times(uint32_t *times, size_t n)
{
	size_t i = 1;

	while (i < n && times[i - 1] <= times[i])
		i++;
	if (i < n)
		qsort(times, n, sizeof(*times), scan_time_order);
}

static uint32_t scan_shifted(uint32_t at, uint32_t shift, uint32_t intervals)
{
	return at < intervals - shift ? at + shift : at + shift - intervals;
}

void scan_add(struct scan *s, const struct scan_events *events, bool children,
	      const uint32_t *shifts, struct scan_cover *cover)
{
	const struct scan_event *e = events->items;
	size_t child = 0;

	for (size_t from = 0, to; from < events->len; from = to) {
		child += from && e[from].child != e[from - 1].child;
		for (to = from; to < events->len && e[to].child == e[from].child &&
		     (children || e[to].conn == e[from].conn); to++)
			s->times[to - from] = scan_shifted(e[to].at, shifts ? shifts[child] : 0,
							   s->intervals);
		scan_sort_times(s->times, to - from);
		scan_mark_times(cover, s->times, to - from);
	}
	scan_sum_up(cover);
}

uint32_t scan_children(const struct scan_events *events)
{
	uint32_t n = 0;

	for (size_t i = 0; i < events->len; i++)
		n += !i || events->items[i].child != events->items[i - 1].child;
	return n;
}

/* Returns whether each child is one connection: then they are counted once. */
static bool scan_children_are_conns(const struct scan_events *events)
{
	for (size_t i = 1; i < events->len; i++)
		if (events->items[i].child == events->items[i - 1].child &&
		    events->items[i].conn != events->items[i - 1].conn)
			return false;
	return true;
}

void scan_leave_out(struct scan *s, const struct scan_events *events)
{
	scan_cover_clear(&s->conns);
	scan_add(s, events, false, NULL, &s->conns);
	s->counted = events->len;
	for (unsigned int i = 0; i < SCAN_WIDTHS; i++)
		for (uint32_t k = 0; k < s->intervals; k++)
			s->rest.by_width[i][k] = s->fleet.by_width[i][k] -
				s->conns.by_width[i][k];
}

/* ---- the statistic ---- */

static double scan_mean(const int32_t *counts, uint32_t intervals)
{
	int64_t sum = 0;

	for (uint32_t k = 0; k < intervals; k++)
		sum += counts[k];
	return (double)sum / intervals;
}

/*
 * Returns the log of the likelihood ratio of a count against the rest of the fleet in the same
 * stretch, whose count is chance, too: seen + rest connections, of which a part is expected to be
 * the resource's. For a large rest this is Y ln(Y/E) - (Y - E).
 */
static double scan_llr(double seen, double rest, double part)
{
	const double all = seen + rest;

	return seen * log(seen / (all * part)) + rest * log(rest / (all * (1 - part)));
}

/* Takes the strongest stretch of this width; a stretch does not go over the end of the circle. */
static void scan_width_strongest(const struct scan *s, const struct scan_cover *children,
				 unsigned int number, const double *means,
				 struct scan_stretch *best)
{
	const int32_t *conns = s->conns.by_width[number], *rest = s->rest.by_width[number];
	const double prior = FLEET_PRIOR;

	for (uint32_t k = 0; k + scan_widths[number] <= s->intervals; k++) {
		double beside, expected, llr;

		if (conns[k] < CONNECTIONS_MIN || conns[k] < TIMES_MIN * means[0] ||
		    children->by_width[number][k] < CHILDREN_MIN)
			continue;
		beside = (rest[k] + prior) / (means[1] + prior);
		expected = means[0] * fmax(beside, 1);
		if (conns[k] < TIMES_MIN * expected)
			continue;
		llr = scan_llr(conns[k], rest[k] + prior,
			       means[0] / (means[0] + means[1] + prior));
		if (llr > best->llr)
			*best = (struct scan_stretch){ llr, expected, (uint32_t)conns[k], k,
						       scan_widths[number] };
	}
}

struct scan_stretch scan_strongest(struct scan *s, const struct scan_events *events,
				   const uint32_t *shifts)
{
	const bool same = scan_children_are_conns(events);
	struct scan_stretch best = { 0 };

	if (shifts || s->counted != events->len) {
		scan_cover_clear(&s->conns);
		scan_add(s, events, false, shifts, &s->conns);
	}
	s->counted = SIZE_MAX;
	if (!same) {
		scan_cover_clear(&s->children);
		scan_add(s, events, true, shifts, &s->children);
	}
	for (unsigned int i = 0; i < SCAN_WIDTHS; i++) {
		const double means[] = { scan_mean(s->conns.by_width[i], s->intervals),
					 scan_mean(s->rest.by_width[i], s->intervals) };

		scan_width_strongest(s, same ? &s->conns : &s->children, i, means, &best);
	}
	return best;
}

/* ---- its chance ---- */

/*
 * Where no shift comes near, the chance falls on from that of the greatest one as in a Gumbel law
 * of their deviation (Abrams, Kulldorff and Kleinman 2010), but not faster than a ratio's own law.
 */
static double scan_beyond(double llr, double most, double mean, double squares)
{
	const double deviation = sqrt(fmax(squares / SHIFTS - mean * mean, 0));
	const double scale = fmax(deviation * sqrt(6) / M_PI, 1);

	return exp(-(llr - most) / scale) / (SHIFTS + 1);
}

double scan_chance(struct scan *s, const struct scan_events *events, double llr, uint32_t *shifts,
		   struct rng *rng)
{
	const uint32_t children = scan_children(events);
	double sum = 0, squares = 0, most = 0;
	unsigned int as_great = 0;

	for (int i = 0; i < SHIFTS; i++) {
		double shifted;

		for (uint32_t c = 0; c < children; c++)
			shifts[c] = (uint32_t)rng_below(rng, s->intervals);
		shifted = scan_strongest(s, events, shifts).llr;
		as_great += shifted >= llr - 1e-9;
		most = fmax(most, shifted);
		sum += shifted;
		squares += shifted * shifted;
	}
	if (as_great)
		return (1.0 + as_great) / (SHIFTS + 1);
	return scan_beyond(llr, most, sum / SHIFTS, squares);
}
