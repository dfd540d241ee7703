/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permutation tests (Fisher 1935, Pitman 1937): no law is assumed, only that labels could have been
 * given otherwise. p = (1 + permutations at least as extreme) / (1 + permutations), which is valid
 * for any number of them (Phipson and Smyth 2010). All return 0, -EINVAL for NaN or infinite
 * values, -ENODATA for too few, -EDOM if all values are equal, -ENOMEM; or what the statistic
 * returns < 0. As extreme counts what differs by less than 1e-12 of the statistic: sums in another
 * order round otherwise.
 */
#ifndef HOSTLAT_STATS_PERMUTE_H
#define HOSTLAT_STATS_PERMUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

struct permutation {
	double statistic; /* of the samples as they are */
	double p;         /* two-sided: |statistic| is compared */
	uint64_t draws;
	bool exact;       /* all permutations were counted, none drawn: then p is their share */
};

/* How two samples differ, e.g. a difference of quantiles. May reorder its arrays. */
typedef int (*permute_statistic)(double *a, size_t na, double *b, size_t nb, void *arg,
				 double *out);

/*
 * Samples that are interchangeable if there is no difference: na, nb >= 2, draws >= 1. O(draws)
 * times (na + nb) and the statistic.
 */
int permute_two_samples(const double *a, size_t na, const double *b, size_t nb,
			permute_statistic statistic, void *arg, uint64_t draws, struct rng *rng,
			struct permutation *out);

/*
 * Interleaved pairs (A/B): differences whose signs could have been otherwise; the statistic is
 * their mean. n >= 2. All 2^n flips are counted if they are no more than `draws`. O(n draws).
 */
int permute_pairs(const double *difference, size_t n, uint64_t draws, struct rng *rng,
		  struct permutation *out);

#endif
