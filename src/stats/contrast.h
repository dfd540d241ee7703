/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two runs. A run is a series of blocks in the order of time; values within a block may
 * depend on each other in any way. Blocks are resampled and exchanged as a whole. While
 * neighbouring blocks are correlated they are joined by twos, in both runs alike; if the fewest
 * that may remain still are, little is widened for it, and much leaves no interval and no p.
 * docs/design/compare.md has the reasons and what was measured of coverage and false alarms.
 *
 * Deterministic: chance comes from a fixed seed. Nothing here knows how two runs of the same set-up
 * differ: intervals are those of these two.
 *
 * All return 0, -EINVAL (NaN, a parameter out of range, histograms of different schemas), -ENOMEM.
 */
#ifndef HOSTLAT_STATS_CONTRAST_H
#define HOSTLAT_STATS_CONTRAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/hist.h"

#define CONTRAST_BLOCKS 64     /* as many are worth making */
#define CONTRAST_BLOCKS_MAX 256 /* of one run */
#define CONTRAST_BLOCKS_MIN 10 /* with fewer in one run there is no result */
#define CONTRAST_EFFECTIVE_MIN 10 /* values beyond a quantile: fewer say too little */

struct contrast {
	double difference;     /* b - a */
	bool bounded;
	double lo, hi;         /* of the difference */
	bool tested;
	double p;              /* that runs alike differ as much; two-sided */
	size_t blocks_a, blocks_b; /* once neighbours were joined */
};

/*
 * Means of blocks that are worth the same. The interval: both runs' blocks are drawn anew, with
 * replacement (Efron 1979), percentiles expanded for few blocks (Hesterberg 2015). p: blocks change
 * runs, by Student's ratio, which holds for different variances too (Janssen 1997).
 * 0 < confidence < 1; at most CONTRAST_BLOCKS_MAX blocks each.
 */
int contrast_means(const double *a, size_t na, const double *b, size_t nb, double confidence,
		   struct contrast *out);

/* p alone, by the same test. */
int contrast_test(const double *a, size_t na, const double *b, size_t nb, struct contrast *out);

/*
 * Returns how many independent events a count is worth: the count divided by its overdispersion
 * against a Poisson process, from counts in blocks of equal size. 0: unknown. At most
 * CONTRAST_BLOCKS_MAX blocks.
 */
double contrast_effective(const double *counts, size_t n);

/* A run's values by block. Histograms are borrowed, all of one schema; empty ones are fine. */
struct contrast_run {
	const struct hist *const *blocks;
	size_t n;              /* at most CONTRAST_BLOCKS_MAX */
};

/* A run's quantile, with bounds that hold for dependent values. */
struct contrast_side {
	bool known, bounded;
	uint64_t ns, lo_ns, hi_ns;
};

/*
 * By order statistics (stats/order_stat.h) of as many independent values as these are worth by the
 * variance of their blocks; bounds include the bucket. None with fewer than
 * CONTRAST_EFFECTIVE_MIN such values beyond the quantile. 0 < q < 1.
 */
int contrast_side(const struct contrast_run *run, double q, double confidence,
		  struct contrast_side *out);

/*
 * The interval of a difference from those of its sides (Zou and Donner 2008); `out->bounded` if
 * both are. p is left as it is.
 */
void contrast_sides(const struct contrast_side *a, const struct contrast_side *b,
		    struct contrast *out);

/*
 * p: by the share that each block has up to the quantile of both runs together, which is the same
 * whatever the labels. 1 if both runs' quantiles lie in one bucket. None if one of them has fewer
 * than CONTRAST_EFFECTIVE_MIN values beyond. The interval is left as it is.
 */
int contrast_shares(const struct contrast_run *a, const struct contrast_run *b, double q,
		    struct contrast *out);

#endif
