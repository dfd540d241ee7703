/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes in whole bytes from a distribution, exactly and without its mathematics per draw: the
 * probabilities of small sizes are kept, and a guide (Chen and Asau, AIIE Transactions 6, 1974)
 * says between which two sizes the answer to u lies. Immutable, so that threads share it.
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
	uint32_t min, max;             /* what a draw is cut to */
	uint32_t at[SIZES_SLICES + 1]; /* the size for u = i / SIZES_SLICES; last: the largest */
	double below[SIZES_KEPT];      /* P(size <= i) */
};

/* Its values are rounded to the nearest byte, then cut to `min` and `max`. */
void sizes_init(struct sizes *sizes, const struct dist *dist, uint32_t min, uint32_t max);

/* The smallest size with P(size <= it) > u, 0 <= u < 1. */
uint32_t sizes_at(const struct sizes *sizes, double u);

static inline uint32_t sizes_draw(const struct sizes *sizes, struct rng *rng)
{
	return sizes_at(sizes, rng_uniform(rng));
}

/* The most that is ever drawn. */
static inline uint32_t sizes_largest(const struct sizes *sizes)
{
	return sizes->at[SIZES_SLICES];
}

#endif
