/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers as a parameter: code that needs random numbers gets a generator, and the same seed
 * always gives the same run. xoshiro256** 1.0, its state filled by splitmix64 (Blackman and Vigna,
 * "Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021; prng.di.unimi.it). Not
 * for secrets.
 */
#ifndef HOSTLAT_BASE_RNG_H
#define HOSTLAT_BASE_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state[4]; /* never all zero */
};

/* Initializes the generator. Any seed is good, including 0. */
void rng_init(struct rng *rng, uint64_t seed);

/*
 * Returns the n-th of the seeds derived from one: all are different, and the sequences from them
 * are unrelated.
 */
uint64_t rng_derive(uint64_t seed, uint64_t n);

/* Returns a uniform 64-bit number. */
uint64_t rng_u64(struct rng *rng);

/* Returns 0 to n - 1, without bias; n must not be 0. */
uint64_t rng_below(struct rng *rng, uint64_t n);

/* Returns 0 <= x < 1, in steps of 2^-53. */
double rng_uniform(struct rng *rng);

/* Returns an exponential value with this mean: the gaps of a Poisson process. Finite, >= 0. */
double rng_exponential(struct rng *rng, double mean);

#endif
