/* SPDX-License-Identifier: Apache-2.0 */
/* Shares that were counted, against the roots of (share - x)^2 = z^2 x (1 - x) / n, by Python. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/rng.h"
#include "stats/proportion.h"
#include "stats/shrink.h"

static void is_wilsons_interval(void **state)
{
	static const struct {
		uint64_t hits, n;
		double confidence, lo, hi;
	} cases[] = {
		{ 5, 10, 0.95, 0.2365930905, 0.7634069095 },
		{ 0, 10, 0.95, 0, 0.2775327999 },
		{ 10, 10, 0.95, 0.7224672001, 1 },
		{ 1, 20, 0.95, 0.0088814488, 0.2361311934 },
		{ 3, 100, 0.99, 0.0076121694, 0.1108752772 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct proportion p = proportion_interval(cases[i].hits, cases[i].n,
								cases[i].confidence);

		assert_true(fabs(p.share - (double)cases[i].hits / (double)cases[i].n) < 1e-12);
		assert_true(fabs(p.lo - cases[i].lo) < 1e-9);
		assert_true(fabs(p.hi - cases[i].hi) < 1e-9);
	}
}

static void knows_nothing_of_nothing(void **state)
{
	const struct proportion none = proportion_interval(0, 0, 0.95);
	const struct proportion absurd = proportion_interval(3, 2, 0.95);

	(void)state;
	assert_true(none.lo == 0 && none.hi == 1);
	assert_true(absurd.lo == 0 && absurd.hi == 1);
}

/* 2,000 things with shares of a beta law, 40 samples each: the law is found, and its tail. */
static void shares_have_a_law(void **state)
{
	struct shrink_law law, none = { 0 };
	struct shrink_sum sum = { 0 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < 2000; i++) {
		double share = 0, hits = 0;

		for (int k = 0; k < 4; k++) /* mean of 4 uniform values: variance 1/48 */
			share += rng_uniform(&rng) / 4;
		for (int k = 0; k < 40; k++)
			hits += rng_uniform(&rng) < share;
		shrink_add(&sum, hits / 40, 40);
	}
	law = shrink_fit(&sum);
	assert_true(fabs(law.mean - 0.5) < 0.01);
	assert_true(fabs(law.strength - 11) < 1.5); /* variance 1/48: 1/4 / (1 + 11) */
	assert_true(shrink_above(&law, 0.5, 40, 0.05) > 0.999);
	assert_true(shrink_above(&law, 0, 40, 0.5) < 0.01);

	/* without a law, 2 of 10 samples: 1 - I_0.05(3, 9) */
	assert_true(fabs(shrink_above(&none, 0.2, 10, 0.05) - 0.9848) < 0.0001);
	/* among things of 2 % they are chance, and 10 of 10 are not */
	law = (struct shrink_law){ .mean = 0.02, .strength = 1000 };
	assert_true(shrink_above(&law, 0.2, 10, 0.05) < 0.2);
	assert_true(shrink_above(&law, 1, 10, 0.05) > 0.999);
	/* one thing, or things with one sample each, have no law */
	sum = (struct shrink_sum){ 0 };
	shrink_add(&sum, 0.3, 50);
	assert_true(shrink_fit(&sum).strength == 0);
	sum = (struct shrink_sum){ 0 };
	for (int i = 0; i < 10; i++)
		shrink_add(&sum, i % 2, 1);
	assert_true(shrink_fit(&sum).strength == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_wilsons_interval),
		cmocka_unit_test(knows_nothing_of_nothing),
		cmocka_unit_test(shares_have_a_law),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
