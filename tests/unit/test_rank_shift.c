/* SPDX-License-Identifier: Apache-2.0 */
/* Correlation of series whose values depend on each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/rng.h"
#include "brief.h"
#include "stats/rank.h"

#define N 40
#define ROWS 8

/* Each shift of 1..5 against 2 1 4 3 5, in tenths: 8 -2 -2 -7 3. */
static void of_one(void **state)
{
	const double x[] = { 1, 2, 3, 4, 5 }, y[] = { 2, 1, 4, 3, 5 };
	const double down[] = { 4, 5, 2, 3, 1 };
	struct spearman s;

	(void)state;
	assert_int_equal(spearman_shifts(x, y, 1, 5, &s), 0);
	assert_float_equal(s.rho, 0.8, 1e-12);
	assert_float_equal(s.p, 1.0 / 5, 1e-12);
	assert_int_equal(spearman_shifts(x, down, 1, 5, &s), 0);
	assert_float_equal(s.rho, -0.8, 1e-12);
	assert_float_equal(s.p, 1.0 / 5, 1e-12);
}

/*
 * Ranks 1 2.5 2.5 4 6 5; 1 3.5 3.5 2 6 5, whose rho are 14 -1.25 -7.5 -1.5 -6.5 2.75, by 17; and
 * 5 1 4 2 6 3, of which 3 2.5 -9.5 -3 -2.5 9.5, by the root of 17 * 17.5. The first one is greater
 * than all; of the second one's 0.174, only shift 1 has nothing as great: 0.145.
 */
static void of_two_with_ties(void **state)
{
	const double x[] = { 10, 20, 20, 30, 50, 40 };
	const double y[] = { 1, 3, 3, 2, 9, 8, /**/ 5, 1, 4, 2, 6, 3 };
	struct spearman s[2], plain;

	(void)state;
	assert_int_equal(spearman_shifts(x, y, 2, 6, s), 0);
	assert_float_equal(s[0].rho, 14.0 / 17, 1e-12);
	assert_float_equal(s[0].p, 1.0 / 6, 1e-12);
	assert_float_equal(s[1].rho, 3 / sqrt(17 * 17.5), 1e-12);
	assert_float_equal(s[1].p, 5.0 / 6, 1e-12);
	assert_int_equal(spearman(x, y + 6, 6, &plain), 0);
	assert_float_equal(s[1].rho, plain.rho, 1e-12);
}

/* Every other shift is as good. */
static void of_one_rhythm(void **state)
{
	const double x[] = { 1, 9, 2, 9, 1, 9 }, y[] = { 1, 5, 1, 5, 1, 5 };
	struct spearman s;

	(void)state;
	assert_int_equal(spearman_shifts(x, y, 1, 6, &s), 0);
	assert_float_equal(s.rho, 13.5 / sqrt(15 * 13.5), 1e-12);
	assert_float_equal(s.p, 1, 1e-12);
}

static void refusals(void **state)
{
	const double x[] = { 1, 2, 3 }, same[] = { 2, 2, 2 }, bad[] = { 1, NAN, 2 };
	const double second[] = { 1, 2, 3, 7, 7, 7 };
	struct spearman s[2];

	(void)state;
	assert_int_equal(spearman_shifts(x, x, 1, 2, s), -ENODATA);
	assert_int_equal(spearman_shifts(x, x, 0, 3, s), -EINVAL);
	assert_int_equal(spearman_shifts(x, bad, 1, 3, s), -EINVAL);
	assert_int_equal(spearman_shifts(same, x, 1, 3, s), -EDOM);
	assert_int_equal(spearman_shifts(x, second, 2, 3, s), -EDOM);
}

/* ---- under noise ---- */

static double normal(struct rng *rng)
{
	return sqrt(rng_exponential(rng, 2)) * cos(2 * M_PI * rng_uniform(rng));
}

/* In its steady state from the first value on. */
static void autoregressive(struct rng *rng, double phi, double *out)
{
	double at = normal(rng) / sqrt(1 - phi * phi);

	for (int i = 0; i < N; i++) {
		out[i] = at;
		at = phi * at + normal(rng);
	}
}

struct rates {
	double shifts;  /* any p <= 0.05 */
	double student; /* the same of the first series, had its values been independent */
};

static struct rates false_alarms(double phi, size_t rows, int runs, uint64_t seed)
{
	double x[N], y[ROWS * N];
	struct spearman s[ROWS], plain;
	struct rates rates = { 0 };
	struct rng rng;

	rng_init(&rng, seed);
	for (int run = 0; run < runs; run++) {
		bool any = false;

		autoregressive(&rng, phi, x);
		for (size_t j = 0; j < rows; j++)
			autoregressive(&rng, phi, y + j * N);
		assert_int_equal(spearman_shifts(x, y, rows, N, s), 0);
		assert_int_equal(spearman(x, y, N, &plain), 0);
		for (size_t j = 0; j < rows; j++)
			any |= s[j].p <= 0.05;
		rates.shifts += any;
		rates.student += plain.p <= 0.05;
	}
	rates.shifts /= runs;
	rates.student /= runs;
	print_message("phi %.1f, %zu series: %.3f by shifts, %.3f by Student\n", phi, rows,
		      rates.shifts, rates.student);
	return rates;
}

/* At most 5 % and three standard errors, and what the seam adds at strong dependence. */
static void false_alarms_are_few(void **state)
{
	static const struct {
		double phi, seam;
	} cases[] = { { 0, 0 }, { 0.5, 0.005 }, { 0.8, 0.02 }, { 0.9, 0.05 } };
	const int runs = brief() ? 1000 : 4000;
	struct rates r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (size_t rows = 1; rows <= ROWS; rows += ROWS - 1) {
			r = false_alarms(cases[i].phi, rows, runs, 20261123 + i);
			assert_true(r.shifts <= 0.05 + 3 * sqrt(0.05 * 0.95 / runs) +
				    cases[i].seam);
			assert_true(r.shifts >= 0.03);
		}
	assert_true(r.student > 0.2); /* negative control: this is why shifts are used */
}

/* Something that comes and goes at random: how often is it found among seven that are noise? */
static void finds_what_is_there(void **state)
{
	const int runs = brief() ? 300 : 1000;
	double x[N], y[ROWS * N];
	struct spearman s[ROWS];
	struct rng rng;
	int found = 0, false_ones = 0;

	(void)state;
	rng_init(&rng, 7);
	for (int run = 0; run < runs; run++) {
		bool on = false;

		for (size_t j = 1; j < ROWS; j++)
			autoregressive(&rng, 0.5, y + j * N);
		for (int i = 0; i < N; i++) {
			on ^= rng_uniform(&rng) < 1.0 / 3;
			x[i] = 3 * on + normal(&rng);
			y[i] = 3 * on + normal(&rng);
		}
		assert_int_equal(spearman_shifts(x, y, ROWS, N, s), 0);
		found += s[0].p <= 0.05;
		for (size_t j = 1; j < ROWS; j++)
			false_ones += s[j].p <= 0.05;
	}
	print_message("found %.3f, false %.3f a run\n", (double)found / runs,
		      (double)false_ones / runs);
	assert_true(found >= 0.8 * runs);
	assert_true(false_ones <= 0.1 * runs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_one),
		cmocka_unit_test(of_two_with_ties),
		cmocka_unit_test(of_one_rhythm),
		cmocka_unit_test(refusals),
		cmocka_unit_test(false_alarms_are_few),
		cmocka_unit_test(finds_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
