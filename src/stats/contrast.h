/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two runs. A run is a series of blocks in the order of time; values within a block may
 * depend on each other in any way. Blocks are resampled and exchanged as a whole. While neighboring
 * blocks are correlated they are joined in pairs, in both runs alike. If the fewest blocks allowed
 * are still correlated, results are widened a little; strong correlation yields no interval and no
 * p. docs/design/compare.md has the reasons, and the measured coverage and false alarms.
 *
 * Deterministic: random numbers come from a fixed seed. Intervals are those of these two runs: how
 * two runs of one set-up differ is unknown here (stats/welch.h takes several of each).
 *
 * All return 0, -EINVAL (NaN, a parameter out of range, histograms of different schemas), -ENOMEM.
 */
#ifndef HOSTLAT_STATS_CONTRAST_H
#define HOSTLAT_STATS_CONTRAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/hist.h"

#define CONTRAST_BLOCKS 64     /* more blocks of one run bring no benefit */
#define CONTRAST_BLOCKS_MAX 256 /* limit for the blocks of one run */
#define CONTRAST_BLOCKS_MIN 10 /* fewer blocks in one run: there is no result */
#define CONTRAST_EFFECTIVE_MIN 10 /* least number of values beyond a quantile for bounds or test */

#define CONTRAST_BLOCK_VALUES 8 /* values per block, at least, unless there are fewer in all */

/* Returns into how many blocks a run of `values` is divided: 1 to CONTRAST_BLOCKS. */
static inline size_t contrast_blocks(size_t values)
{
	const size_t n = values / CONTRAST_BLOCK_VALUES;

	return n > CONTRAST_BLOCKS ? CONTRAST_BLOCKS : n ? n : 1;
}

/* Returns the block of a value, by its index < `values` in the order of time. */
static inline size_t contrast_block(size_t value, size_t values)
{
	return (size_t)((unsigned __int128)value * contrast_blocks(values) / values);
}

struct contrast {
	double difference;     /* mean or quantile of b less that of a */
	bool bounded;
	double lo, hi;         /* bounds of the difference's confidence interval */
	bool tested;
	double p;              /* two-sided p-value of the difference */
	size_t blocks_a, blocks_b; /* number of blocks after neighbors were joined */
};

/*
 * Compares the mean of blocks of equal weight. The interval: both runs' blocks are resampled with
 * replacement (Efron 1979), percentiles expanded for few blocks (Hesterberg 2015). p: blocks are
 * permuted between the runs; Student's ratio also holds for different variances (Janssen 1997). 0 <
 * confidence < 1; at most CONTRAST_BLOCKS_MAX blocks each.
 */
int contrast_means(const double *a, size_t na, const double *b, size_t nb, double confidence,
		   struct contrast *out);

/* Computes only p, by the same test as contrast_means(). */
int contrast_test(const double *a, size_t na, const double *b, size_t nb, struct contrast *out);

/* Returns the standard error of the mean of a run's blocks; 0: unknown, as there are too few. */
double contrast_error(const double *blocks, size_t n);

/*
 * Returns the number of independent events equivalent to a count: the count divided by its
 * overdispersion against a Poisson process, from counts in blocks of equal size. 0: unknown. At
 * most CONTRAST_BLOCKS_MAX blocks.
 */
double contrast_effective(const double *counts, size_t n);

/* Histograms of a run's values by block: borrowed, all of one schema, empty ones allowed. */
struct contrast_run {
	const struct hist *const *blocks;
	size_t n;              /* number of blocks, at most CONTRAST_BLOCKS_MAX */
};

/* A run's quantile, with bounds that hold for dependent values, in ns. */
struct contrast_side {
	bool known, bounded;
	uint64_t ns, lo_ns, hi_ns;
};

/*
 * Estimates a quantile. Bounds are order statistics (stats/order_stat.h) of the equivalent number
 * of independent values, by the variance of the blocks; they include the quantile's whole bucket.
 * No bounds with fewer than CONTRAST_EFFECTIVE_MIN such values beyond the quantile. 0 < q < 1.
 */
int contrast_side(const struct contrast_run *run, double q, double confidence,
		  struct contrast_side *out);

/*
 * Sets the interval of b - a by the intervals of both (Zou and Donner 2008); `out->bounded` if both
 * are bounded. Leaves p unchanged.
 */
void contrast_sides(const struct contrast_side *a, const struct contrast_side *b,
		    struct contrast *out);

/*
 * Sets p: compares each block's share of values up to the quantile of both runs pooled, which does
 * not depend on the labels. p is 1 if both runs' quantiles lie in one bucket; there is no test if a
 * run has fewer than CONTRAST_EFFECTIVE_MIN values beyond. Leaves the interval unchanged.
 */
int contrast_shares(const struct contrast_run *a, const struct contrast_run *b, double q,
		    struct contrast *out);

#endif
