/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/conn_cover.h"

#include <stdbool.h>

static bool is_whole(const struct conn_gap *gap)
{
	return gap->ns == gap->to - gap->from;
}

void conn_cover_gap(struct conn_cover *cover, uint64_t from, uint64_t to, uint64_t ns)
{
	const struct conn_gap gap = { from, to, ns < to - from ? ns : to - from };
	struct conn_gap *last = &cover->gaps[(cover->n - 1) % CONN_GAPS];

	if (cover->n && last->from == from) {
		*last = gap;
	} else if (cover->n && last->to == from && is_whole(last) && is_whole(&gap)) {
		last->to = to;
		last->ns += gap.ns;
	} else {
		if (cover->n >= CONN_GAPS)
			cover->forgotten = cover->gaps[cover->n % CONN_GAPS].to;
		cover->gaps[cover->n++ % CONN_GAPS] = gap;
	}
}

/* The part of a gap's time that falls into from..to, spread evenly. */
static uint64_t within(const struct conn_gap *gap, uint64_t from, uint64_t to)
{
	const uint64_t begin = gap->from > from ? gap->from : from;
	const uint64_t end = gap->to < to ? gap->to : to;

	if (end <= begin)
		return 0;
	return (uint64_t)((unsigned __int128)gap->ns * (end - begin) / (gap->to - gap->from));
}

uint64_t conn_cover_missing(const struct conn_cover *cover, uint64_t from, uint64_t to)
{
	const size_t kept = cover->n < CONN_GAPS ? cover->n : CONN_GAPS;
	uint64_t ns = 0;

	for (size_t i = 1; i <= kept; i++) {
		const struct conn_gap *gap = &cover->gaps[(cover->n - i) % CONN_GAPS];

		if (gap->to <= from)
			return ns;
		ns += within(gap, from, to);
	}
	if (from < cover->forgotten)
		ns += (cover->forgotten < to ? cover->forgotten : to) - from;
	return ns;
}
