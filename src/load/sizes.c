/* SPDX-License-Identifier: Apache-2.0 */
/* Draws sizes by inverting a tabulated cumulative distribution function. */
#include "load/sizes.h"

/* Returns P(size <= n), for any n. */
static double sizes_below(const struct sizes *sizes, uint32_t n)
{
	if (n >= sizes->max)
		return 1;
	if (n < sizes->min)
		return 0;
	return dist_cdf(&sizes->dist, n + 0.5);
}

/* Returns the smallest size n in `low`..`high` with u < P(size <= n), which `high` fulfills. */
static uint32_t sizes_search(const struct sizes *sizes, double u, uint32_t low, uint32_t high)
{
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		double p = middle < SIZES_KEPT ? sizes->below[middle] : sizes_below(sizes, middle);

		if (u < p)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void sizes_init(struct sizes *sizes, const struct dist *dist, uint32_t min, uint32_t max)
{
	sizes->dist = *dist;
	sizes->min = min;
	sizes->max = max;
	for (uint32_t i = 0; i < SIZES_KEPT; i++)
		sizes->below[i] = sizes_below(sizes, i);
	for (uint32_t i = 0; i <= SIZES_SLICES; i++) {
		/* The largest u that rng_uniform() returns is 1 - 2^-53. */
		double u = i < SIZES_SLICES ? (double)i / SIZES_SLICES : 1 - 0x1p-53;

		sizes->at[i] = sizes_search(sizes, u, min, max);
	}
}

uint32_t sizes_at(const struct sizes *sizes, double u)
{
	uint32_t slice = (uint32_t)(u * SIZES_SLICES);

	return sizes_search(sizes, u, sizes->at[slice], sizes->at[slice + 1]);
}
