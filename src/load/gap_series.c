/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gap_series.h"

#include <math.h>

/* Returns the index of a gap's length in `ns`. */
static uint32_t gap_series_length(uint64_t ns)
{
	uint32_t i = 0;

	while (i < GAP_SERIES_LENGTHS - 1 && ns >> GAP_SERIES_SHORT >> i)
		i++;
	return i;
}

/* Makes windows for the times from window number `first` to `last`, both of the present width. */
static void gap_series_cover(struct gap_series *gaps, uint64_t first, uint64_t last)
{
	struct gap_series wide = { .shift = gaps->shift };

	if (gaps->n && gaps->first < first)
		first = gaps->first;
	if (gaps->n && gaps->first + gaps->n - 1 > last)
		last = gaps->first + gaps->n - 1;
	for (; last - first >= GAP_SERIES_WINDOWS; wide.shift++) {
		first >>= 1;
		last >>= 1;
	}
	wide.first = first;
	wide.n = (uint32_t)(last - first) + 1;
	for (uint32_t i = 0; i < gaps->n; i++) {
		const uint64_t w = ((gaps->first + i) >> (wide.shift - gaps->shift)) - first;

		for (uint32_t k = 0; k < GAP_SERIES_LENGTHS; k++)
			wide.ns[k][w] += gaps->ns[k][i];
	}
	*gaps = wide;
}

void gap_series_add(struct gap_series *gaps, uint64_t begin, uint64_t end, uint64_t amount)
{
	double *const windows = gaps->ns[gap_series_length(amount)];
	const double length = (double)(end - begin) + 1;

	if (end < begin)
		return;
	if (!gaps->shift)
		gaps->shift = GAP_SERIES_SHIFT;
	if (!gaps->n || begin >> gaps->shift < gaps->first ||
	    end >> gaps->shift >= gaps->first + gaps->n)
		gap_series_cover(gaps, begin >> gaps->shift, end >> gaps->shift);
	for (uint64_t w = begin >> gaps->shift; w <= end >> gaps->shift; w++) {
		const uint64_t from = w << gaps->shift, to = from + ((1ULL << gaps->shift) - 1);
		const uint64_t b = begin > from ? begin : from, e = end < to ? end : to;

		windows[w - gaps->first] += (double)amount * ((double)(e - b) + 1) / length;
	}
}

double gap_series_between(const struct gap_series *gaps, uint64_t from, uint64_t to,
			  uint64_t least)
{
	const double width = ldexp(1, (int)gaps->shift);
	double sum = 0;

	for (uint32_t i = 0; i < gaps->n; i++) {
		const double begin = (double)(gaps->first + i) * width;
		const double b = fmax(begin, (double)from), e = fmin(begin + width, (double)to);

		for (uint32_t k = gap_series_length(least); e > b && k < GAP_SERIES_LENGTHS; k++)
			sum += gaps->ns[k][i] * (e - b) / width;
	}
	return sum;
}
