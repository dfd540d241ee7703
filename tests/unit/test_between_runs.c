/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics over several runs together. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bug.h"
#include "load/between_runs.h"

static struct load_quantile run_of(uint64_t ns, double half)
{
	return (struct load_quantile){
		.ns = ns, .lo_ns = (uint64_t)llround((double)ns * exp(-half)),
		.hi_ns = (uint64_t)llround((double)ns * exp(half)), .known = true, .bounded = true,
		.confidence = 0.95,
	};
}

static void assert_near(double got, double expected)
{
	if (!(fabs(got - expected) <= 1e-5 * fabs(expected)))
		fail_msg("%.9g is not %.9g", got, expected);
}

/*
 * By hand from the logarithms: t(0.975, 4) = 2.7764451 for the interval; Q = 85.5663868, whose tail
 * with 4 degrees of freedom is exp(-Q / 2) (1 + Q / 2), and I^2 = 1 - 4 / Q.
 */
static void test_interval(void **state)
{
	static const uint64_t ns[] = { 400000, 410000, 395000, 420000, 405000 };
	struct load_quantile runs[ARRAY_LEN(ns) + 1] = { 0 };
	struct between_runs b;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ns); i++)
		runs[i] = run_of(ns[i], 0.01);
	assert_int_equal(between_runs_combine(runs, ARRAY_LEN(runs), 0.95, &b), 0);
	assert_int_equal(b.n, 5); /* the one that is not known is not counted */
	assert_near(b.mean_ns, 405909.346);
	assert_near(b.lo_ns, 394188.614);
	assert_near(b.hi_ns, 417978.581);
	assert_near(b.min_ns, 395000);
	assert_near(b.max_ns, 420000);
	assert_true(b.tested);
	assert_near(b.p, 1.15027747e-17);
	assert_near(b.share, 0.953252671);
}

/*
 * Runs that differ as their intervals say, and runs that differ more: hysteresis keeps the choice
 * stable.
 */
static void test_overdispersed_runs_widen_with_hysteresis(void **state)
{
	static const uint64_t ns[] = { 400000, 410000, 395000, 420000, 405000 };
	struct load_quantile runs[ARRAY_LEN(ns)];
	struct between_runs b;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ns); i++)
		runs[i] = run_of(ns[i], 0.05);
	assert_int_equal(between_runs_combine(runs, ARRAY_LEN(ns), 0.95, &b), 0);
	assert_true(b.tested);
	assert_near(b.p, 0.489748498);
	assert_true(b.share == 0);
	runs[2].bounded = false;
	assert_int_equal(between_runs_combine(runs, ARRAY_LEN(ns), 0.95, &b), 0);
	assert_false(b.tested);
}

/*
 * The same widths say more if they were made for a higher confidence: then the runs differ more
 * than they allow. By hand: z(0.985) / z(0.975) = 1.10722, and Q = 85.5663868 times its square.
 */
static void test_widened_intervals(void **state)
{
	static const uint64_t ns[] = { 400000, 410000, 395000, 420000, 405000 };
	const double q = 85.5663868 * 1.10722139 * 1.10722139;
	struct load_quantile runs[ARRAY_LEN(ns)];
	struct between_runs b;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ns); i++) {
		runs[i] = run_of(ns[i], 0.01);
		runs[i].confidence = 0.97;
	}
	assert_int_equal(between_runs_combine(runs, ARRAY_LEN(ns), 0.95, &b), 0);
	assert_true(b.tested);
	assert_near(b.share, 1 - 4 / q);
	assert_near(b.lo_ns, 394188.614); /* over the runs it is as it was asked for */
	runs[1].confidence = 0; /* nobody knows what its width means */
	assert_int_equal(between_runs_combine(runs, ARRAY_LEN(ns), 0.95, &b), 0);
	assert_false(b.tested);
}

static void test_too_few_runs(void **state)
{
	struct load_quantile runs[2] = { run_of(1000, 0.1) };
	struct between_runs b;

	(void)state;
	assert_int_equal(between_runs_combine(runs, 2, 0.95, &b), -ENODATA);
	assert_int_equal(between_runs_combine(runs, 0, 0.95, &b), -ENODATA);
	assert_int_equal(between_runs_combine(runs, 2, 1, &b), -EINVAL);
	assert_int_equal(between_runs_combine(runs, BETWEEN_RUNS_MAX + 1, 0.95, &b), -EINVAL);
}

/* A drift that both targets share cancels in the pairs; a difference stays. */
static void test_shared_drift_cancels_in_pairs(void **state)
{
	struct load_quantile a[10], b[10];
	struct paired_diff v;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (size_t i = 0; i < 10; i++) {
		double drift = exp(0.3 * (double)i), noise = exp(0.02 * (rng_uniform(&rng) - 0.5));

		a[i] = run_of((uint64_t)(100000 * drift), 0.1);
		b[i] = run_of((uint64_t)(110000 * drift * noise), 0.1);
	}
	assert_int_equal(between_runs_compare_targets(a, b, 10, 0.95, &rng, &v), 0);
	assert_int_equal(v.n, 10);
	assert_true(v.lo < 1.1 && 1.1 < v.hi && v.lo > 1.08 && v.hi < 1.12);
	assert_near(v.b_ns / v.a_ns, v.ratio);
	assert_near(v.p, 2.0 / 1024); /* all ten on one side: two of 2^10 sign patterns */
	assert_int_equal(between_runs_compare_targets(a, a, 10, 0.95, &rng, &v), 0);
	assert_true(v.ratio == 1 && v.p == 1);
	for (size_t i = 0; i < 6; i++)
		b[i].known = false;
	assert_int_equal(between_runs_compare_targets(a, b, 10, 0.95, &rng, &v), -ENODATA);
}

/* Two equal targets are found to differ as often as the test's level says, and no more. */
static void test_equal_targets_differ_at_test_level(void **state)
{
	struct load_quantile a[10], b[10];
	uint32_t found = 0;
	struct paired_diff v;
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (int run = 0; run < 400; run++) {
		for (size_t i = 0; i < 10; i++) {
			a[i] = run_of((uint64_t)(1e5 * exp(rng_exponential(&rng, 0.2))), 0.1);
			b[i] = run_of((uint64_t)(1e5 * exp(rng_exponential(&rng, 0.2))), 0.1);
		}
		assert_int_equal(between_runs_compare_targets(a, b, 10, 0.95, &rng, &v), 0);
		found += v.p < 0.05;
	}
	/* Binomial(400, 0.05): 8 to 34 but for one in ten thousand on either side. */
	assert_in_range(found, 6, 34);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_overdispersed_runs_widen_with_hysteresis),
		cmocka_unit_test(test_widened_intervals),
		cmocka_unit_test(test_too_few_runs),
		cmocka_unit_test(test_shared_drift_cancels_in_pairs),
		cmocka_unit_test(test_equal_targets_differ_at_test_level),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
