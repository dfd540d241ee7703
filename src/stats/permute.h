/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permutation tests (Fisher 1935, Pitman 1937): no law is assumed, only that labels are
 * exchangeable. p = (1 + permutations at least as extreme) / (1 + permutations), valid for any
 * number of them (Phipson and Smyth 2010). Statistics within 1e-12 of each other count as equal,
 * since sums in another order round otherwise. All return 0, -EINVAL for NaN or infinite values,
 * -ENODATA for too few, -EDOM if all values are equal, -ENOMEM; or the statistic's own error < 0.
 */
#ifndef HOSTLAT_STATS_PERMUTE_H
#define HOSTLAT_STATS_PERMUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

struct permutation {
	double statistic; /* statistic of the samples as given */
	double p;         /* two-sided p-value: |statistic| is compared */
	uint64_t draws;
	bool exact;       /* all permutations were counted: p is their share */
};

/* Computes how two samples differ, e.g. a difference of quantiles. May reorder its arrays. */
typedef int (*permute_statistic)(double *a, size_t na, double *b, size_t nb, void *arg,
				 double *out);

/*
 * Tests two samples whose labels are exchangeable if there is no difference: na, nb >= 2, draws >=
 * 1. O(draws) times (na + nb) and the statistic.
 */
int permute_two_samples(const double *a, size_t na, const double *b, size_t nb,
			permute_statistic statistic, void *arg, uint64_t draws, struct rng *rng,
			struct permutation *out);

/*
 * Tests interleaved pairs (A/B): differences whose signs are exchangeable; the statistic is their
 * mean. n >= 2. All 2^n sign flips are counted if they are at most `draws`. O(n draws).
 */
int permute_pairs(const double *difference, size_t n, uint64_t draws, struct rng *rng,
		  struct permutation *out);

#endif
