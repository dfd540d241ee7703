/* SPDX-License-Identifier: Apache-2.0 */
/* xoshiro256** and the distributions drawn from it. */
#include "base/rng.h"

#include "base/bug.h"
#include "base/portable.h"

static uint64_t rng_splitmix64(uint64_t *x)
{
	uint64_t z = (*x += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* Mixes the seed before n is added, so that neighboring seeds have no neighboring sequences. */
uint64_t rng_derive(uint64_t seed, uint64_t n)
{
	uint64_t x = rng_splitmix64(&seed) + n;

	return rng_splitmix64(&x);
}

static uint64_t rng_rotate_left(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

void rng_init(struct rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		rng->state[i] = rng_splitmix64(&seed);
}

uint64_t rng_u64(struct rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t result = rng_rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rng_rotate_left(s[3], 45);
	return result;
}

/* Source: Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019. */
uint64_t rng_below(struct rng *rng, uint64_t n)
{
	unsigned __int128 product;
	uint64_t threshold;

	BUG_ON(!n);
	threshold = -n % n;
	do
		product = (unsigned __int128)rng_u64(rng) * n;
	while ((uint64_t)product < threshold);
	return (uint64_t)(product >> 64);
}

double rng_uniform(struct rng *rng)
{
	return (double)(rng_u64(rng) >> 11) * 0x1p-53;
}

/* By inversion; 1 - u is never 0, so the logarithm is finite. */
double rng_exponential(struct rng *rng, double mean)
{
	return -mean * portable_log(1 - rng_uniform(rng));
}
