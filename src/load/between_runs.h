/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What several runs say together. A server that behaves differently after each start (hysteresis:
 * Zhang et al., "Treadmill", ISCA 2016) makes the interval of a single run too narrow for what
 * the next run will show: how the runs differ is part of the answer.
 */
#ifndef HOSTLAT_LOAD_BETWEEN_RUNS_H
#define HOSTLAT_LOAD_BETWEEN_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "load/analysis.h"

#define BETWEEN_RUNS_MAX 1000

/*
 * Logarithms are compared: runs differ by factors. `mean` is the geometric mean of the runs'
 * quantiles, its interval Student's over the runs: what the mean of such runs is, for any
 * distribution within each.
 */
struct between_runs {
	size_t n;           /* runs that were counted */
	double mean_ns, lo_ns, hi_ns;
	double min_ns, max_ns;
	bool tested;        /* the next two hold: every run has an interval */
	/* that runs alike differ as much: Cochran's Q (1954), chi-square */
	double p;
	double share;       /* I^2: share of the variance that is between runs, 0..1 */
};

/*
 * Of runs whose quantile is known; `confidence` of the interval over the runs. Those of the runs
 * have their own. -ENODATA for fewer than 2.
 */
int between_runs_combine(const struct load_quantile *runs, size_t n, double confidence,
			 struct between_runs *out);

/*
 * Two targets in slices, in turn: pairs of quantiles of neighbouring slices. `ratio` is how many
 * times target b's quantile is that of a, with Student's interval over the pairs' logarithms; p is
 * a permutation test's: that the two were exchanged in any pair would have done the same. A pair
 * without both quantiles is not counted. -ENODATA for fewer than 5 pairs.
 */
struct paired_diff {
	size_t n;           /* pairs that were counted */
	double a_ns, b_ns;  /* geometric means */
	double ratio, lo, hi;
	double p;
};

int between_runs_compare_targets(const struct load_quantile *a, const struct load_quantile *b,
				 size_t n, double confidence, struct rng *rng,
				 struct paired_diff *out);

/*
 * Shares of two targets in slices, in turn: how much greater b's is than a's, with Student's
 * interval over the pairs. A pair without both (NaN) is not counted. -ENODATA for fewer than 5.
 */
struct share_gap {
	double a, b;        /* means */
	double lo, hi;      /* of b - a */
};

int between_runs_compare_shares(const double *a, const double *b, size_t n, double confidence,
				struct share_gap *out);

#endif
