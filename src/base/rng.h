/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers as a parameter: whoever needs chance is handed a generator, and the same seed
 * always gives the same run. xoshiro256** 1.0, its state filled by splitmix64 (Blackman and Vigna,
 * "Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021; prng.di.unimi.it).
 * Not for secrets.
 */
#ifndef HOSTLAT_BASE_RNG_H
#define HOSTLAT_BASE_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state[4]; /* never all zero */
};

/* Any seed is good, 0 too. */
void rng_init(struct rng *rng, uint64_t seed);

/*
 * The n-th of the seeds that follow from one: no two of them are the same, and what they give has
 * nothing to do with each other.
 */
uint64_t rng_derive(uint64_t seed, uint64_t n);

/* All 2^64 values alike. */
uint64_t rng_u64(struct rng *rng);

/* 0 to n - 1, without bias; n must not be 0. */
uint64_t rng_below(struct rng *rng, uint64_t n);

/* 0 <= x < 1, in steps of 2^-53. */
double rng_uniform(struct rng *rng);

/* Exponential with this mean: the gaps of a Poisson process. Finite, >= 0. */
double rng_exponential(struct rng *rng, double mean);

#endif
