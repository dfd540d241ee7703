/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"

#define DRAWS 200000

/*
 * The first outputs for the state 1, 2, 3, 4 follow by hand from the definition: 2 * 5 rotated by 7
 * is 1280, times 9 is 11520; then the second state word is 0 and the output too.
 */
static void test_reference(void **state)
{
	static const uint64_t expected[] = { 11520, 0, 1509978240, 1215971899390074240 };
	struct rng rng = { .state = { 1, 2, 3, 4 } };

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(rng_u64(&rng), expected[i]);
}

/* splitmix64's first output for the seed 0 is published with the algorithm. */
static void test_seed(void **state)
{
	struct rng a, b, c;

	(void)state;
	rng_init(&a, 0);
	assert_int_equal(a.state[0], 0xe220a8397b1dcdaf);
	rng_init(&b, 1);
	rng_init(&c, 1);
	for (int i = 0; i < 100; i++)
		assert_int_equal(rng_u64(&b), rng_u64(&c));
	assert_int_not_equal(rng_u64(&a), rng_u64(&b));
}

/* Chi-square of 10 cells, 9 degrees of freedom: above 33.7 with probability 1e-4. */
static void test_below(void **state)
{
	uint64_t cells[10] = { 0 };
	double chi2 = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 42);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t x = rng_below(&rng, 10);

		assert_true(x < 10);
		cells[x]++;
	}
	for (int i = 0; i < 10; i++)
		chi2 += pow((double)cells[i] - DRAWS / 10.0, 2) / (DRAWS / 10.0);
	assert_true(chi2 < 33.7);
	assert_int_equal(rng_below(&rng, 1), 0);
}

/* Without rejection, of 3 * 2^62 cells every third would be drawn twice as often as the others. */
static void test_below_large(void **state)
{
	uint64_t n = 3ULL << 62, thirds = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (int i = 0; i < DRAWS; i++)
		thirds += rng_below(&rng, n) % 3 == 0;
	assert_true(fabs((double)thirds / DRAWS - 1.0 / 3) < 0.005);
}

static void test_uniform_and_exponential(void **state)
{
	double sum = 0, gaps = 0, squares = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int i = 0; i < DRAWS; i++) {
		double u = rng_uniform(&rng), gap = rng_exponential(&rng, 5);

		assert_true(u >= 0 && u < 1);
		assert_true(gap >= 0 && isfinite(gap));
		sum += u;
		gaps += gap;
		squares += gap * gap;
	}
	assert_true(fabs(sum / DRAWS - 0.5) < 0.004);
	assert_true(fabs(gaps / DRAWS - 5) < 0.06);
	/* The second moment of an exponential is twice the square of its mean. */
	assert_true(fabs(squares / DRAWS - 50) < 2.5);
}

/*
 * Streams of one seed, of neighbouring seeds, and of seeds that they derive: no two are the same.
 */
static void test_derive(void **state)
{
	enum { SEEDS = 8, EACH = 64 };
	uint64_t all[SEEDS * EACH];
	size_t n = 0;

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++)
		for (uint64_t i = 0; i < EACH; i++)
			all[n++] = rng_derive(seed, i);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(all[i] != all[k]);
	assert_true(rng_derive(1, 2) == rng_derive(1, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reference),
		cmocka_unit_test(test_seed),
		cmocka_unit_test(test_derive),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_below_large),
		cmocka_unit_test(test_uniform_and_exponential),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
