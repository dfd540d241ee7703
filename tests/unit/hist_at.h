/* SPDX-License-Identifier: Apache-2.0 */
/* Single buckets of a histogram, read and filled. */
#ifndef TESTS_UNIT_HIST_AT_H
#define TESTS_UNIT_HIST_AT_H

#include "stats/hist.h"

/* Returns how many values are in bucket `index`. */
static inline uint64_t hist_at(const struct hist *hist, int32_t index)
{
	if (index < hist->first || index >= hist->first + (int32_t)hist->len)
		return 0;
	return hist->buckets[index - hist->first];
}

/* Adds n values to bucket `index`. Returns 0 or what the histogram returns. */
static inline int hist_add_at(struct hist *hist, int32_t index, uint64_t n)
{
	if (hist_has_index(hist->schema, index) && hist_cover(hist, hist->schema, index, index))
		return -1;
	return hist_add_scaled(hist, hist->schema, index, n);
}

#endif
