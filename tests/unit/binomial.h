/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds for counts of random outcomes in tests. */
#ifndef TESTS_UNIT_BINOMIAL_H
#define TESTS_UNIT_BINOMIAL_H

#include "stats/special.h"

/* Returns the smallest k with P(B <= k) >= 0.999 for B ~ Binomial(n, p), 0 < p < 1. */
static inline unsigned int at_most(unsigned int n, double p)
{
	unsigned int k = 0;

	while (k < n && beta_sf(p, k + 1, n - k) < 0.999)
		k++;
	return k;
}

#endif
