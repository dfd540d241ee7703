/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confidence intervals of a quantile from order statistics: the ranks of the values that bound it.
 * No distribution is assumed. Ranks are 1-based: rank 1 is the smallest of n values, rank n the
 * largest; 0 and n + 1 mean that these n values do not bound the quantile on that side. O(log n).
 *
 * `inflation` allows for dependent values: the long-run variance of 1{X <= quantile} over the
 * variance q (1 - q) of independent values. The interval is that of n / inflation independent
 * values: 1 for independent values, 10 if ten values are worth one.
 */
#ifndef HOSTLAT_STATS_ORDER_STAT_H
#define HOSTLAT_STATS_ORDER_STAT_H

#include <stdbool.h>
#include <stdint.h>

enum order_stat_side {
	ORDER_STAT_BOTH,  /* confidence is that of the two-sided interval */
	ORDER_STAT_LOWER, /* only `lo`: the quantile is at least its value; hi is n + 1 */
	ORDER_STAT_UPPER, /* only `hi`: the quantile is at most its value; lo is 0 */
};

struct order_stat_ranks {
	uint64_t lo, hi;
	bool exact; /* by the binomial law, not its normal approximation */
};

/*
 * The exact law is used if fewer effective values are expected on the quantile's thin side, which
 * is the one with fewer values.
 */
#define ORDER_STAT_EXACT_BELOW 50

/*
 * Returns the number of independent values expected on the quantile's side with fewer values: n
 * min(q, 1 - q) / inflation.
 */
double order_stat_effective(uint64_t n, double q, double inflation);

/*
 * Computes the ranks. Returns 0, -EINVAL unless 0 < q < 1, 0 < confidence < 1 and 0 < inflation <
 * inf, -ENODATA for n = 0.
 *
 * Below ORDER_STAT_EXACT_BELOW the ranks are Clopper and Pearson's (1934): the closest with a
 * coverage of at least `confidence` on each side, for continuous values. With an inflation the
 * binomial law is that of n / inflation trials, which need not be an integer (Korn and Graubard
 * 1998). Otherwise they are floor(n q - w) and ceil(n q + w) + 1, w = z sqrt(n q (1 - q)
 * inflation).
 */
int order_stat_interval(uint64_t n, double q, double confidence, enum order_stat_side side,
		   double inflation, struct order_stat_ranks *out);

/*
 * Computes ranks by formulas 1 and 2 of Lancet (Kogias et al., USENIX ATC 2019): the normal
 * approximation for independent values, both sides, for any n. The paper's example holds: n 10,000,
 * q 0.99, confidence 0.95: 9880 and 9921. Errors as order_stat_interval().
 */
int order_stat_lancet(uint64_t n, double q, double confidence, struct order_stat_ranks *out);

#endif
