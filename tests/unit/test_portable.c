/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/portable.h"
#include "base/rng.h"
#include "brief.h"

#define DRAWS (brief() ? 100000 : 1000000)
#define HASHED 1000000

static double ulps(double a, double b)
{
	return fabs(a - b) / (nextafter(fabs(b), INFINITY) - fabs(b));
}

/* libm is right within one unit; so is what must be within two of the truth within three of it. */
static void test_log(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < DRAWS; i++) {
		double u = 1 - rng_uniform(&rng), x = ldexp(u, (int)rng_below(&rng, 1980) - 960);

		assert_true(ulps(portable_log(u), log(u)) <= 3);
		assert_true(ulps(portable_log(x), log(x)) <= 3);
		x = 1 + ldexp(u - 0.5, -(int)rng_below(&rng, 50));
		assert_true(ulps(portable_log(x), log(x)) <= 3);
	}
	assert_true(portable_log(1) == 0);
	assert_true(portable_log(0x1p-1022) == log(0x1p-1022));
}

static void test_exp(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 2);
	for (int i = 0; i < DRAWS; i++) {
		double x = (rng_uniform(&rng) - 0.5) * 1416, y = x * 0x1p-12;

		assert_true(ulps(portable_exp(x), exp(x)) <= 3);
		assert_true(ulps(portable_exp(y), exp(y)) <= 3);
		assert_true(ulps(portable_expm1(y), expm1(y)) <= 3);
		assert_true(ulps(portable_expm1(x / 708), expm1(x / 708)) <= 5);
		y = ldexp(y, -(int)rng_below(&rng, 60));
		assert_true(ulps(portable_expm1(y), expm1(y)) <= 3);
	}
	assert_true(portable_exp(0) == 1);
	assert_true(portable_exp(-709) == 0 && portable_exp(-INFINITY) == 0);
	assert_true(isinf(portable_exp(710)));
}

static void test_sin(void **state)
{
	static const double quarters[] = { 0, 1, 0, -1 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int i = 0; i < DRAWS; i++) {
		double x = rng_uniform(&rng);

		assert_true(fabs(portable_sin_turn(x) - sin(2 * M_PI * x)) < 1.5e-15);
	}
	for (int i = 0; i < 4; i++)
		assert_true(portable_sin_turn(i / 4.0) == quarters[i]);
}

static uint64_t mix(uint64_t hash, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return (hash ^ bits) * 0x100000001b3;
}

/* The promise itself: the same on every compiler and processor that runs this test. */
static void test_bits(void **state)
{
	uint64_t logs = 0, exps = 0, sines = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	for (int i = 0; i < HASHED; i++) {
		double u = 1 - rng_uniform(&rng);

		logs = mix(logs, portable_log(u));
		exps = mix(exps, portable_exp(u * 64 - 32));
		exps = mix(exps, portable_expm1(u));
		sines = mix(sines, portable_sin_turn(1 - u));
	}
	assert_int_equal(logs, 0xe4db9cd56764521);
	assert_int_equal(exps, 0x648e74afc0c8f0);
	assert_int_equal(sines, 0x3e6ca95cf36bc7ad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_exp),
		cmocka_unit_test(test_sin),
		cmocka_unit_test(test_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
