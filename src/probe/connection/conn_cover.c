/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/conn_cover.h"

void conn_cover_gap(struct conn_cover *cover, uint64_t from, uint64_t to, uint64_t ns)
{
	struct conn_gap *place = &cover->gaps[cover->n % CONN_GAPS];

	if (cover->n >= CONN_GAPS)
		cover->forgotten = place->to;
	*place = (struct conn_gap){ from, to, ns < to - from ? ns : to - from };
	cover->n++;
}

void conn_cover_set(struct conn_cover *cover, bool sampled, uint64_t now)
{
	if (sampled && cover->since)
		conn_cover_gap(cover, cover->since, now, now - cover->since);
	if (sampled || !cover->since)
		cover->since = sampled ? 0 : now;
}

/*
 * Returns how much of a gap's unsampled time lies in from..to, in ns, if spread evenly over the
 * gap.
 */
static uint64_t conn_cover_part(const struct conn_gap *gap, uint64_t from, uint64_t to)
{
	const uint64_t begin = gap->from > from ? gap->from : from;
	const uint64_t end = gap->to < to ? gap->to : to;

	if (end <= begin)
		return 0;
	return (uint64_t)((unsigned __int128)gap->ns * (end - begin) / (gap->to - gap->from));
}

uint64_t conn_cover_missing(const struct conn_cover *cover, uint64_t from, uint64_t to)
{
	const size_t n_gaps = cover->n < CONN_GAPS ? cover->n : CONN_GAPS;
	uint64_t ns = 0;

	if (cover->since && cover->since < to)
		ns = to - (cover->since > from ? cover->since : from);
	for (size_t i = 1; i <= n_gaps; i++) {
		const struct conn_gap *gap = &cover->gaps[(cover->n - i) % CONN_GAPS];

		if (gap->to <= from)
			return ns;
		ns += conn_cover_part(gap, from, to);
	}
	if (from < cover->forgotten)
		ns += (cover->forgotten < to ? cover->forgotten : to) - from;
	return ns;
}
