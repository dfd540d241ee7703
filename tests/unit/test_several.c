/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several recordings of each side: what is reported to differ, over many seeds. Each recording is a
 * queue's latencies times a factor of its own, whose standard deviation is known: how much one
 * set-up differs from start to start.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "base/rng.h"
#include "binomial.h"
#include "brief.h"
#include "report/calibration.h"
#include "report/difference.h"
#include "stats/special.h"

#define BLOCKS 32
#define BLOCK_VALUES 200
#define SCHEMA 8
#define MEAN_NS 100000.0
#define SIDE 3

/* ---- Welch's test ---- */

/* The reference is an integration of Student's density. */
static void test_welch(void **state)
{
	const double x[] = { 1, 2, 3, 4 }, y[] = { 2, 4, 6, 8, 10 }, none[5] = { 0 };
	const double errors[] = { 3, 3, 3, 3 }, large[] = { 10 }, same[] = { 7, 7, 7 };
	const double bad[] = { 1, NAN };
	struct welch_side a = { x, none, 4 }, b = { y, none, 5 };
	struct contrast c, wider;

	(void)state;
	assert_int_equal(welch_compare(&a, &b, 0.95, &c), 0);
	assert_true(c.tested && c.bounded);
	assert_true(fabs(c.difference - 3.5) < 1e-12);
	assert_true(fabs(c.p - 0.0691336) < 1e-6);
	assert_true(fabs(c.lo + 0.385368) < 1e-5 && fabs(c.hi - 7.385368) < 1e-5);
	/* errors within the recordings are a floor */
	a.errors = errors;
	assert_int_equal(welch_compare(&a, &b, 0.95, &wider), 0);
	assert_true(wider.p > c.p && wider.hi - wider.lo > c.hi - c.lo);
	assert_true(fabs(welch_variance(&a) - 9) < 1e-12);
	/* one recording is taken to vary as the others do, or by its own error if that is more */
	for (int i = 0; i < 2; i++) {
		a = (struct welch_side){ x, none, 1 };
		assert_int_equal(welch_compare(i ? &b : &a, i ? &a : &b, 0.95, &c), 0);
		assert_true(c.tested && c.bounded);
		assert_true(fabs(fabs(c.difference) - 5) < 1e-12);
		/* sqrt(10 (1 + 1 / 5)) is the error, t(0.975, 4) = 2.776445 */
		assert_true(fabs(c.hi - c.difference - 2.776445 * sqrt(12)) < 1e-4);
		a.errors = large;
		assert_int_equal(welch_compare(i ? &b : &a, i ? &a : &b, 0.95, &wider), 0);
		assert_true(fabs(wider.hi - wider.difference - 2.776445 * sqrt(102)) < 1e-4);
	}
	/* two recordings, or values without any variance, prove nothing */
	b.n = 1;
	assert_int_equal(welch_compare(&a, &b, 0.95, &c), 0);
	assert_false(c.tested || c.bounded);
	b.n = 0;
	assert_int_equal(welch_compare(&a, &b, 0.95, &c), 0);
	assert_false(c.tested || c.bounded);
	a = (struct welch_side){ same, none, 3 };
	b = (struct welch_side){ same, none, 2 };
	assert_int_equal(welch_compare(&a, &b, 0.95, &c), 0);
	assert_false(c.tested || c.bounded);
	b = (struct welch_side){ bad, none, 2 };
	assert_int_equal(welch_compare(&a, &b, 0.95, &c), -EINVAL);
	assert_int_equal(welch_compare(&a, &a, 1, &c), -EINVAL);
}

/* ---- recordings ---- */

struct recording {
	struct hist hists[BLOCKS];
	const struct hist *blocks[BLOCKS];
};

static double normal(struct rng *rng)
{
	return normal_quantile(((double)rng_below(rng, 1 << 24) + 0.5) / (1 << 24));
}

/* Adds a recording whose latencies are `factor` times those of A, times its own factor. */
static void add_recording(struct difference_series *series, struct recording *into,
			  struct rng *rng, double factor, double between)
{
	const double mean = MEAN_NS * factor * exp(between * normal(rng));

	for (int i = 0; i < BLOCKS; i++) {
		hist_init(&into->hists[i], SCHEMA);
		into->blocks[i] = &into->hists[i];
		for (int k = 0; k < BLOCK_VALUES; k++)
			assert_int_equal(hist_record(&into->hists[i],
						     (uint64_t)rng_exponential(rng, mean)), 0);
	}
	series->schema = SCHEMA;
	assert_int_equal(difference_series_add(series,
					       &(struct contrast_run){ into->blocks, BLOCKS }), 0);
}

static void release(struct recording *recordings, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < BLOCKS; k++)
			hist_release(&recordings[i].hists[k]);
}

static bool any_differs(const struct quantile_difference *quantiles)
{
	for (int i = 0; i < REPORT_QUANTILES; i++)
		if (quantiles[i].d.significant)
			return true;
	return false;
}

/*
 * The mutant: p99 is tested by the errors within the recordings alone, as if recordings of one
 * set-up differed by nothing else.
 */
static bool mutant_differs(const struct difference_series *a, const struct difference_series *b)
{
	double difference = 0, variance = 0;

	for (int side = 0; side < 2; side++)
		for (int i = 0; i < SIDE; i++) {
			const struct contrast_side *s =
				&(side ? b : a)->sides[i][REPORT_P99];
			const double error =
				log((double)s->hi_ns / (double)s->lo_ns) / (2 * 1.96);

			if (!s->bounded) /* rare: by chance the blocks look dependent */
				return false;
			difference += (side ? 1 : -1) * log((double)s->ns) / SIDE;
			variance += error * error / (SIDE * SIDE);
		}
	return 2 * normal_sf(fabs(difference) / sqrt(variance)) <= 0.05 &&
	       fabs(difference) >= log(1 + DIFFERENCE_LEAST);
}

struct tally {
	unsigned int n, several, p99, two, mutant;
};

static struct tally play(double factor, double between)
{
	struct difference_series *series = calloc(2, sizeof(*series));
	struct recording *recordings = calloc(2 * SIDE, sizeof(*recordings));
	struct tally t = { .n = brief() ? 10 : getenv("HOSTLAT_LONG") ? 120 : 40 };
	struct rng rng;

	assert_true(series && recordings);
	rng_init(&rng, 19);
	for (unsigned int run = 0; run < t.n; run++) {
		struct quantile_difference q[REPORT_QUANTILES];

		series[0].n = series[1].n = 0;
		for (int i = 0; i < 2 * SIDE; i++)
			add_recording(&series[i / SIDE], &recordings[i], &rng,
				      i < SIDE ? 1 : factor, between);
		assert_int_equal(difference_quantiles(&series[0], &series[1], q), 0);
		assert_int_equal(difference_judge_quantiles(q, NULL), 0);
		t.several += any_differs(q);
		t.p99 += q[REPORT_P99].d.significant;
		t.mutant += mutant_differs(&series[0], &series[1]);
		assert_int_equal(difference_of_two(&series[0], 0, &series[1], 0, q), 0);
		assert_int_equal(difference_judge_quantiles(q, NULL), 0);
		t.two += any_differs(q);
		release(recordings, 2 * SIDE);
	}
	free(recordings);
	free(series);
	print_message("factor %g, between recordings %g: of %u: %d with %d differ %u (p99 %u), "
		      "two differ %u, by the error within alone %u\n", factor, between, t.n, SIDE,
		      SIDE, t.several, t.p99, t.two, t.mutant);
	return t;
}

/* Recordings of one set-up that differ by more than they vary within. */
static void test_one_setup(void **state)
{
	struct tally t;

	(void)state;
	for (int i = 0; i < 3; i++) {
		t = play(1, (const double[]){ 0, 0.05, 0.2 }[i]);
		assert_true(t.several <= at_most(t.n, 0.05));
		/* controls: neither two recordings nor the error within can tell */
		assert_true(!i || t.n < 40 || t.two > at_most(t.n, 0.1));
		assert_true(i < 2 || t.n < 40 || t.mutant > at_most(t.n, 0.05));
	}
}

/* A change of 10 % is found in some quantile. */
static void test_change(void **state)
{
	const struct tally t = play(1.1, 0.01);

	(void)state;
	assert_true(t.n - t.several <= at_most(t.n, 0.15));
}

/* ---- quantiles of a known law ---- */

/*
 * Fills in the quantiles of a recording, without histograms: each has a factor in common, whose
 * standard deviation is `between`, and an error of its own, of which its interval tells.
 */
static void draw_sides(struct difference_series *series, struct rng *rng, double factor,
		       double between, double within)
{
	static const double at[REPORT_QUANTILES] = { 1, 2.3, 4.6, 6.9 };
	const double common = between * normal(rng);

	series->schema = SCHEMA;
	for (int i = 0; i < REPORT_QUANTILES; i++) {
		const double ns = MEAN_NS * at[i] * factor * exp(common + within * normal(rng));

		series->sides[series->n][i] = (struct contrast_side){
			.known = true, .bounded = true, .ns = (uint64_t)ns,
			.lo_ns = (uint64_t)(ns * exp(-1.96 * within)),
			.hi_ns = (uint64_t)(ns * exp(1.96 * within)) };
	}
	series->n++;
}

/* Returns how many of `n` comparisons find a difference: in p99, or in any quantile. */
static struct tally draw(unsigned int n, int na, int nb, double factor, double between,
			 double within)
{
	struct difference_series *series = calloc(2, sizeof(*series));
	struct tally t = { .n = n };
	struct rng rng;

	assert_non_null(series);
	rng_init(&rng, 21);
	for (unsigned int run = 0; run < n; run++) {
		struct quantile_difference q[REPORT_QUANTILES];

		series[0].n = series[1].n = 0;
		for (int i = 0; i < na + nb; i++)
			draw_sides(&series[i >= na], &rng, i < na ? 1 : factor, between, within);
		assert_int_equal(difference_quantiles(&series[0], &series[1], q), 0);
		assert_int_equal(difference_judge_quantiles(q, NULL), 0);
		t.several += any_differs(q);
		t.p99 += q[REPORT_P99].d.significant;
	}
	free(series);
	print_message("%d with %d, factor %g, between %g, within %g: of %u differ %u, p99 %u\n",
		      na, nb, factor, between, within, n, t.several, t.p99);
	return t;
}

/*
 * Acceptance: with three of each side at most 5 % of one set-up's comparisons differ, and p99
 * differs in 90 % after a change of 10 % where recordings vary by 2 %.
 */
static void test_three_of_each_side(void **state)
{
	const unsigned int n = 2000;
	struct tally t;

	(void)state;
	for (int side = 2; side <= 5; side++)
		for (int i = 0; i < 3; i++) {
			const double between = (const double[]){ 0, 0.1, 0.5 }[i];

			t = draw(n, side, side, 1, between, 0.02);
			assert_true(t.several <= at_most(n, 0.05));
			/* one beside several, as in CI */
			t = draw(n, 1, 2 * side, 1, between, 0.02);
			assert_true(t.several <= at_most(n, 0.05));
		}
	t = draw(n, 10, 1, 1.1, 0.02, 0.005);
	assert_true(t.p99 >= 0.9 * n);
	t = draw(n, SIDE, SIDE, 1.1, 0.02, 0.005);
	assert_true(t.p99 >= 0.9 * n);
	/* where recordings vary by 5 %, 10 % are rarely found by three, but 30 % are */
	t = draw(n, SIDE, SIDE, 1.1, 0.05, 0.005);
	assert_true(t.p99 <= 0.6 * n);
	t = draw(n, SIDE, SIDE, 1.3, 0.05, 0.005);
	assert_true(t.p99 >= 0.9 * n);
}

/* ---- the least effect ---- */

static void test_least_effect(void **state)
{
	struct difference_series *series = calloc(2, sizeof(*series));
	struct difference d = { .c.tested = true, .c.p = 1e-6 };
	struct difference *list[] = { &d };
	struct quantile_difference q;

	(void)state;
	assert_non_null(series);
	difference_set_small(&d, 100, 104.9);
	assert_int_equal(difference_judge(list, 1, NULL), 0);
	assert_true(d.small && !d.significant && difference_is_too_little(&d));
	assert_string_equal(difference_why(&d).string, "least-effect");
	for (int i = 0; i < 2; i++) {
		struct difference_tally tally = { 0 };

		difference_set_small(&d, i ? 105.1 : 100, i ? 100 : 105.1);
		assert_int_equal(difference_judge(list, 1, &tally), 0);
		assert_true(!d.small && d.significant);
		assert_int_equal(difference_why(&d).type, VALUE_NULL);
		assert_int_equal(tally.tested, 1);
		assert_int_equal(tally.significant, 1);
	}
	d.c.p = 0.5;
	assert_int_equal(difference_judge(list, 1, NULL), 0);
	assert_string_equal(difference_why(&d).string, "chance");
	d.c.tested = d.significant = false;
	assert_string_equal(difference_why(&d).string, "untested");
	difference_set_small(&d, 0, 1e-9);
	assert_false(d.small);
	/* a bucket of 9 % counts more than 5 % */
	for (int i = 0; i < 2; i++) {
		series[i].schema = 3;
		for (int k = 0; k < 3; k++)
			series[i].sides[k][REPORT_P99] = (struct contrast_side){
				.known = true, .ns = i ? 1080000 : 1000000 };
		series[i].n = 3;
	}
	{
		struct quantile_difference all[REPORT_QUANTILES];

		assert_int_equal(difference_quantiles(&series[0], &series[1], all), 0);
		q = all[REPORT_P99];
	}
	assert_true(q.d.small);
	assert_false(q.d.c.lo > q.d.c.difference || q.d.c.hi < q.d.c.difference);
	free(series);
}

/* ---- calibration ---- */

static void test_calibration(void **state)
{
	enum { N = 12 };
	struct difference_series *series = calloc(1, sizeof(*series));
	struct recording *recordings = calloc(N, sizeof(*recordings));
	struct calibration_result c;
	struct rng rng;

	(void)state;
	assert_true(series && recordings);
	rng_init(&rng, 20);
	for (int i = 0; i < 5; i++)
		add_recording(series, &recordings[i], &rng, 1, 0.1);
	assert_int_equal(calibration_run(series, &c), 0);
	assert_int_equal(c.pairs, 10);
	assert_int_equal(c.single, 5);
	assert_int_equal(c.drawn, 0);
	for (int i = 5; i < N; i++)
		add_recording(series, &recordings[i], &rng, 1, 0.1);
	assert_int_equal(calibration_run(series, &c), 0);
	assert_int_equal(c.recordings, N);
	assert_int_equal(c.pairs, N * (N - 1) / 2);
	assert_int_equal(c.drawn, CALIBRATION_DRAWS);
	assert_true(c.deviation[REPORT_P50] > 0.05 && c.deviation[REPORT_P50] < 0.2);
	assert_true(c.found[REPORT_P50] > 3 * c.deviation[REPORT_P50]);
	assert_true(c.pairs_differ[CALIBRATION_ANY] >= c.pairs / 2);
	assert_true(c.drawn_differ[CALIBRATION_ANY] <= c.drawn / 10);
	assert_true(c.single_differ[CALIBRATION_ANY] <= 2);
	release(recordings, N);
	free(recordings);
	free(series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_welch),	     cmocka_unit_test(test_one_setup),
		cmocka_unit_test(test_change),	     cmocka_unit_test(test_three_of_each_side),
		cmocka_unit_test(test_least_effect),
		cmocka_unit_test(test_calibration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
