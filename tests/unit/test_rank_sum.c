/* SPDX-License-Identifier: Apache-2.0 */
/* The rank-sum test, against all choices counted one by one, and which tests can be of use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "stats/multiple.h"
#include "stats/rank.h"
#include "stats/rank_sum.h"

#define TOTAL 12u

static double sum_of(const double *ranks, unsigned int choice)
{
	double sum = 0;

	for (unsigned int i = 0; i < TOTAL; i++)
		sum += choice >> i & 1 ? ranks[i] : 0;
	return sum;
}

/* Returns the share of choices as large as this one whose sum of ranks is as great. */
static double count(const double *ranks, unsigned int choice)
{
	unsigned int all = 0, as_great = 0;

	for (unsigned int other = 0; other < 1u << TOTAL; other++) {
		if (__builtin_popcount(other) != __builtin_popcount(choice))
			continue;
		all++;
		as_great += sum_of(ranks, other) >= sum_of(ranks, choice) - 1e-9;
	}
	return (double)as_great / all;
}

static double squares_of(const double *ranks, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += ranks[i] * ranks[i];
	return sum;
}

static void is_exact_without_ties(void **state)
{
	double ranks[TOTAL];
	unsigned int exact = 0;

	(void)state;
	for (unsigned int i = 0; i < TOTAL; i++)
		ranks[i] = i + 1;
	for (unsigned int choice = 1; choice < (1u << TOTAL) - 1; choice += 7) {
		const size_t n = (size_t)__builtin_popcount(choice);
		struct rank_sum test;

		assert_int_equal(rank_sum_upper(sum_of(ranks, choice), n, TOTAL,
						squares_of(ranks, TOTAL), &test), 0);
		if (test.p > 0.4) /* the normal approximation's half */
			continue;
		exact++;
		assert_true(fabs(test.p - count(ranks, choice)) < 1e-9);
	}
	assert_true(exact > 100);
}

/* With ties, p is never less than what counting gives, where half of the values are equal. */
static void rounds_ties_up(void **state)
{
	const double values[TOTAL] = { 0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 4, 5 };
	double ranks[TOTAL];

	(void)state;
	assert_int_equal(rank_values(values, TOTAL, ranks), 0);
	for (unsigned int choice = 0xf; choice < 1u << TOTAL; choice += 5) {
		const size_t n = (size_t)__builtin_popcount(choice);
		struct rank_sum test;

		if (n != 4)
			continue;
		assert_int_equal(rank_sum_upper(sum_of(ranks, choice), n, TOTAL,
						squares_of(ranks, TOTAL), &test), 0);
		if (count(ranks, choice) < 0.05)
			assert_true(test.p > count(ranks, choice) * 0.9);
	}
}

/* Large samples: mean n (N + 1) / 2, variance n m (N + 1) / 12, by hand. */
static void is_normal_for_many(void **state)
{
	const size_t n = 500, total = 1500;
	const double squares = (double)total * (total + 1) * (2.0 * total + 1) / 6;
	const double mean = n * (total + 1) / 2.0, deviation = sqrt(n * 1000.0 * (total + 1) / 12);
	struct rank_sum test;

	(void)state;
	assert_int_equal(rank_sum_upper(mean + 2 * deviation + 0.5, n, total, squares, &test), 0);
	assert_true(fabs(test.z - 2) < 1e-6);
	assert_true(fabs(test.p - 0.022750132) < 1e-6);
	/* one of 3 of 1000 is far from the top: 1 of C(1000, 3) would be the least */
	assert_true(fabs(rank_sum_least_p(3, 1000) * 166167000 - 1) < 1e-6);
	assert_int_equal(rank_sum_upper(998 + 999 + 1000, 3, 1000, 1000.0 * 1001 * 2001 / 6,
					&test), 0);
	assert_true(fabs(test.p * 166167000 - 1) < 1e-6);
}

static void refuses(void **state)
{
	struct rank_sum test;

	(void)state;
	assert_int_equal(rank_sum_upper(1, 0, 10, 385, &test), -ENODATA);
	assert_int_equal(rank_sum_upper(55, 10, 10, 385, &test), -ENODATA);
	/* all ranks are 5.5 */
	assert_int_equal(rank_sum_upper(11, 2, 10, 302.5, &test), -EDOM);
	assert_true(rank_sum_least_p(10, 10) == 1);
}

/* Tarone's example of use: at 5 %, of 10 tests, 3 can reach 0.05 / 3 and the others only 0.03. */
static void leaves_out_hopeless_tests(void **state)
{
	const double least[] = { 0.001, 0.002, 0.01, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03 };
	const double fine[] = { 0.001, 0.001 };

	(void)state;
	assert_true(fabs(testable_least_p(least, 10, 0.05) - 0.05 / 3) < 1e-12);
	assert_true(fabs(testable_least_p(fine, 2, 0.05) - 0.05 / 2) < 1e-12);
	assert_true(testable_least_p(fine, 0, 0.05) == 0.05);
	assert_true(testable_least_p(least + 3, 1, 0.02) == 0.02);
}

static void marked_by_the_hypergeometric_law(void **state)
{
	(void)state;
	/* 4 of 10 balls are red, 3 are drawn: all red 4/120, two or more 40/120. */
	assert_true(fabs(rank_sum_marked_p(3, 3, 4, 10) - 4.0 / 120) < 1e-12);
	assert_true(fabs(rank_sum_marked_p(2, 3, 4, 10) - 40.0 / 120) < 1e-12);
	assert_true(fabs(rank_sum_marked_p(0, 3, 4, 10) - 1) < 1e-12);
	assert_true(fabs(rank_sum_marked_p(3, 3, 10, 10) - 1) < 1e-12);
	/* 2 % of 100,000 are marked: 2 of 5 or more are nothing special. */
	assert_true(rank_sum_marked_p(2, 5, 2000, 100000) > 0.0038);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marked_by_the_hypergeometric_law),
		cmocka_unit_test(is_exact_without_ties),
		cmocka_unit_test(rounds_ties_up),
		cmocka_unit_test(is_normal_for_many),
		cmocka_unit_test(refuses),
		cmocka_unit_test(leaves_out_hopeless_tests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
