/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two set-ups by several recordings of each. One recording is one observation, so the
 * variance between recordings decides (Welch 1947): how much one set-up differs from start to start
 * is part of it. The error within a recording is only a floor. With it alone, two recordings of one
 * set-up "differ" in most cases: docs/results/compare-aa.md.
 */
#ifndef HOSTLAT_STATS_WELCH_H
#define HOSTLAT_STATS_WELCH_H

#include <stddef.h>

#include "stats/contrast.h"

/* The recordings of one set-up: a value of each, and its standard error within the recording. */
struct welch_side {
	const double *values;
	const double *errors;  /* 0 where the error is unknown */
	size_t n;
};

/*
 * Returns the variance of the values, an estimate with n - 1 degrees of freedom; at least the mean
 * square of their errors. n >= 2.
 */
double welch_variance(const struct welch_side *side);

/*
 * Sets the difference of the means, b's less a's, its interval and p. Degrees of freedom follow
 * Satterthwaite (1946). A side of one value is taken to vary as the other side does, whose degrees
 * of freedom then hold (Student 1908). No interval and no p with fewer than 3 values in all or none
 * on a side, or if all values of both sides are equal and without error. Returns 0, or -EINVAL for
 * values that are not finite or a confidence outside of 0 to 1.
 */
int welch_compare(const struct welch_side *a, const struct welch_side *b, double confidence,
		  struct contrast *out);

#endif
