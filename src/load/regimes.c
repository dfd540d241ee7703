/* SPDX-License-Identifier: Apache-2.0 */
#include "load/regimes.h"

#include <math.h>

#define WINDOWS_MIN 16
#define SAMPLES_MIN 16 /* requests in a window whose median counts */
#define FACTOR_MIN 2
#define APART 4        /* distance of the groups, in standard deviations within them */
#define ROUNDS 32      /* splits until the groups stay the same, at most */

struct regime_group {
	uint32_t n;
	double mean;
};

/* Computes the groups below and above `split`, and the mean square deviation within them. */
static double regimes_split(const double *y, uint32_t n, double split,
			    struct regime_group groups[2])
{
	double squares = 0;

	groups[0] = groups[1] = (struct regime_group){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		struct regime_group *g = &groups[y[i] > split];
		const double before = g->mean;

		g->mean += (y[i] - g->mean) / ++g->n;
		squares += (y[i] - before) * (y[i] - g->mean);
	}
	return squares / n;
}

static uint32_t regimes_medians(const struct series *series, uint32_t from, uint32_t to,
				enum load_from which, double *y)
{
	struct hist_quantile found;
	uint32_t n = 0;

	for (uint32_t i = from; i < to; i++) {
		const struct hist *h = &series->windows[i].latency[which];

		if (h->count >= SAMPLES_MIN && !hist_quantile(h, 0.5, &found) && found.value)
			y[n++] = log((double)found.value);
	}
	return n;
}

static uint32_t regimes_stretches(const double *y, uint32_t n, double split)
{
	uint32_t stretches = 0;

	for (uint32_t i = 0; i < n; i++)
		stretches += y[i] > split && (!i || y[i - 1] <= split);
	return stretches;
}

void regimes_find(const struct series *series, uint32_t from, uint32_t to, enum load_from which,
		  struct regimes *out)
{
	double y[SERIES_WINDOWS], low = INFINITY, high = -INFINITY, split, within = 0, before;
	const uint32_t n = regimes_medians(series, from, to, which, y);
	struct regime_group groups[2];

	*out = (struct regimes){ 0 };
	if (n < WINDOWS_MIN)
		return;
	for (uint32_t i = 0; i < n; i++) {
		low = fmin(low, y[i]);
		high = fmax(high, y[i]);
	}
	/* Lloyd's two means: split half way between the groups until that changes nothing. */
	split = (low + high) / 2;
	for (int i = 0; i < ROUNDS; i++) {
		within = regimes_split(y, n, split, groups);
		if (!groups[0].n || !groups[1].n)
			return;
		before = split;
		split = (groups[0].mean + groups[1].mean) / 2;
		if (split == before)
			break;
	}
	if (groups[1].n >= groups[0].n || groups[1].mean - groups[0].mean < log(FACTOR_MIN) ||
	    groups[1].mean - groups[0].mean < APART * sqrt(within))
		return;
	*out = (struct regimes){
		.found = true, .factor = exp(groups[1].mean - groups[0].mean),
		.share = (double)groups[1].n / n,
		.stretches = regimes_stretches(y, n, split),
	};
}
