/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combines several runs. If a server behaves differently after each start (hysteresis: Zhang et
 * al., "Treadmill", ISCA 2016), the interval of a single run is too narrow to predict the next run,
 * so the variance between runs is part of the answer.
 */
#ifndef HOSTLAT_LOAD_BETWEEN_RUNS_H
#define HOSTLAT_LOAD_BETWEEN_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "load/analysis.h"

#define BETWEEN_RUNS_MAX 1000
/* With 5 pairs, a permutation test finds no difference: its smallest p is 2 / 2^5 = 6 %. */
#define BETWEEN_RUNS_PAIRS_MIN 6

/*
 * Result of several runs, from logarithms, as runs differ by factors. `mean_ns` is the geometric
 * mean of the quantiles, with Student's interval over the runs, which holds for any distribution
 * within a run.
 */
struct between_runs {
	size_t n;           /* number of runs with a known quantile */
	double mean_ns, lo_ns, hi_ns;
	double min_ns, max_ns;
	bool tested;        /* p and share are valid: every run has an interval */
	/* p value of the hypothesis that the runs are equal: Cochran's Q (1954), chi-square */
	double p;
	double share;       /* I^2: share of the variance that is between runs, 0..1 */
};

/* Rounds to whole ns, at most INT64_MAX: an interval of few runs may be very wide. */
uint64_t between_runs_ns(double ns);

/*
 * Combines the runs whose quantile is known. `confidence` is the level of the interval over the
 * runs, not of each run's interval. Returns 0, -EINVAL, or -ENODATA for fewer than 2 runs.
 */
int between_runs_combine(const struct load_quantile *runs, size_t n, double confidence,
			 struct between_runs *out);

/*
 * Comparison of targets a and b by pairs of consecutive runs, one run at each target. `ratio` is
 * b's quantile over a's, with Student's interval over the logarithms of the pairs. p comes from a
 * permutation test that exchanges a and b within pairs. A pair without both quantiles is not
 * counted. between_runs_compare_targets() returns 0, -EINVAL, -ENOMEM, or -ENODATA for fewer than
 * BETWEEN_RUNS_PAIRS_MIN pairs.
 */
struct paired_diff {
	size_t n;           /* number of pairs of runs with both quantiles */
	double a_ns, b_ns;  /* geometric mean of the quantile over each target's runs */
	double ratio, lo, hi;
	double p;
};

int between_runs_compare_targets(const struct load_quantile *a, const struct load_quantile *b,
				 size_t n, double confidence, struct rng *rng,
				 struct paired_diff *out);

/*
 * Comparison of a share (such as misses) between targets a and b by pairs of consecutive runs: the
 * difference b - a, with Student's interval over the pairs. A pair with a NaN is not counted.
 * between_runs_compare_shares() returns 0, -EINVAL, or -ENODATA for fewer than
 * BETWEEN_RUNS_PAIRS_MIN pairs.
 */
struct share_gap {
	double a, b;        /* mean shares of the targets */
	double lo, hi;      /* confidence interval of the mean difference b - a */
};

int between_runs_compare_shares(const double *a, const double *b, size_t n, double confidence,
				struct share_gap *out);

#endif
