/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws sizes in whole bytes from a distribution, exactly but without evaluating it for each draw:
 * a table holds the probabilities of small sizes, a guide table (Chen and Asau, AIIE Transactions
 * 6, 1974) the range of sizes for each u. Immutable, so that threads can share it.
 */
#ifndef HOSTLAT_LOAD_SIZES_H
#define HOSTLAT_LOAD_SIZES_H

#include <stdint.h>

#include "base/rng.h"
#include "load/dist.h"

#define SIZES_SLICES 1024
#define SIZES_KEPT 4096

struct sizes {
	struct dist dist;
	uint32_t min, max;             /* limits of drawn sizes, bytes */
	uint32_t at[SIZES_SLICES + 1]; /* size at u = i / SIZES_SLICES; last: largest size */
	double below[SIZES_KEPT];      /* below[i] is P(size <= i) */
};

/* Makes the tables. Drawn values are rounded to whole bytes, then clamped to `min`..`max`. */
void sizes_init(struct sizes *sizes, const struct dist *dist, uint32_t min, uint32_t max);

/* Returns the smallest size s with P(size <= s) > u, 0 <= u < 1. */
uint32_t sizes_at(const struct sizes *sizes, double u);

static inline uint32_t sizes_draw(const struct sizes *sizes, struct rng *rng)
{
	return sizes_at(sizes, rng_uniform(rng));
}

/* Returns the largest size that can be drawn. */
static inline uint32_t sizes_largest(const struct sizes *sizes)
{
	return sizes->at[SIZES_SLICES];
}

#endif
