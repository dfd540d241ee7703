/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intervals of quantiles from a series of windows, and the looks of a run that may stop early. How
 * often intervals cover is for tests/sim/load_coverage.c.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "load/interval.h"
#include "load/interim.h"
#include "stats/order_stat.h"
#include "stats/special.h"

#define WINDOWS 200
#define WIDTH (1ULL << SERIES_SHIFT)

struct run {
	struct series series;
	struct hist pooled;
	struct interval_range range;
};

static void run_init(struct run *run)
{
	assert_int_equal(series_init(&run->series, 0), 0);
	hist_init(&run->pooled, LOAD_SCHEMA);
}

static void run_release(struct run *run)
{
	series_release(&run->series);
	hist_release(&run->pooled);
}

static void add(struct run *run, uint32_t window, uint64_t ns)
{
	const struct event_sample s = {
		.intended = window * WIDTH, .sent = window * WIDTH, .done = window * WIDTH + ns };

	assert_int_equal(series_add(&run->series, &s), 0);
}

static void pool(struct run *run)
{
	assert_int_equal(series_pool(&run->series, 0, run->series.n, LOAD_INTENDED,
				     &run->pooled), 0);
	run->range = (struct interval_range){
		.series = &run->series, .to = run->series.n, .which = LOAD_INTENDED,
		.pooled = &run->pooled, .failed = series_failed(&run->series, 0, run->series.n) };
}

/* `level` scales all latencies of a window. */
static void fill(struct run *run, struct rng *rng, uint32_t windows, uint32_t each,
		 double (*level)(uint32_t window, struct rng *rng))
{
	run_init(run);
	for (uint32_t w = 0; w < windows; w++) {
		const double mean = 100000 * level(w, rng);

		for (uint32_t i = 0; i < each; i++)
			add(run, w, (uint64_t)rng_exponential(rng, mean) + 1);
	}
	pool(run);
}

static double same(uint32_t window, struct rng *rng)
{
	(void)window;
	(void)rng;
	return 1;
}

/* Slow for 10 windows, fast for 10, by chance: a window says little about the law. */
static double moody(uint32_t window, struct rng *rng)
{
	static double mood;

	if (window % 10 == 0)
		mood = rng_below(rng, 2) ? 2 : 1;
	return mood;
}

static double slightly_moody(uint32_t window, struct rng *rng)
{
	return 1 + (moody(window, rng) - 1) / 5;
}

static void independent_samples_all_count(void **state)
{
	struct hist_quantile lo, hi;
	struct order_stat_ranks ranks;
	struct interval i;
	struct rng rng;
	struct run run;

	(void)state;
	rng_init(&rng, 5);
	fill(&run, &rng, WINDOWS, 500, same);
	assert_int_equal(interval_of(&run.range, 0.99, 0.95, &i), 0);
	assert_int_equal(i.why, INTERVAL_GOOD);
	assert_int_equal(i.count, 100000);
	/* 1 in truth; never less, and its estimate errs by some tenths. */
	assert_true(i.inflation >= 1 && i.inflation < 1.8);
	assert_true(i.tau > 0.5 && i.tau < 1.8);
	assert_true(i.lo_ns <= i.ns && i.ns <= i.hi_ns);
	/* Not narrower than the binomial interval of as many independent values. */
	assert_int_equal(order_stat_interval(100000, 0.99, 0.95, ORDER_STAT_BOTH, 1, &ranks), 0);
	assert_int_equal(hist_quantile(&run.pooled, (double)ranks.lo / 100000, &lo), 0);
	assert_int_equal(hist_quantile(&run.pooled, (double)ranks.hi / 100000, &hi), 0);
	assert_true(i.lo_ns <= lo.lo && hi.hi <= i.hi_ns);
	run_release(&run);
}

static void dependence_widens(void **state)
{
	struct interval alone, moods;
	struct rng rng;
	struct run run;

	(void)state;
	rng_init(&rng, 6);
	fill(&run, &rng, WINDOWS, 500, same);
	assert_int_equal(interval_of(&run.range, 0.5, 0.95, &alone), 0);
	run_release(&run);
	fill(&run, &rng, WINDOWS, 500, moody);
	assert_int_equal(interval_of(&run.range, 0.5, 0.95, &moods), 0);
	/* Moods last for a twentieth of the run: the bounds are those of the run. */
	assert_true(!moods.why && moods.run_only && !alone.run_only);
	assert_true(moods.lo_ns <= moods.ns && moods.ns <= moods.hi_ns);
	assert_true(interval_share(&moods) > interval_share(&alone));
	assert_true(moods.tau > 4 && moods.tau > moods.longest);
	/* At a tail that seems to depend for less time, the median decides. */
	assert_int_equal(interval_of(&run.range, 0.999, 0.95, &moods), 0);
	assert_true(moods.run_only);
	run_release(&run);
	/* Moods that hardly move the median leave an interval, by the slowest cosines. */
	fill(&run, &rng, WINDOWS, 500, slightly_moody);
	assert_int_equal(interval_of(&run.range, 0.5, 0.95, &moods), 0);
	assert_true(!moods.why && !moods.run_only);
	assert_true(moods.tau > 2 && moods.df < alone.df);
	assert_true(interval_share(&moods) > interval_share(&alone));
	run_release(&run);
}

static void thin_tails_give_no_interval(void **state)
{
	struct interval i;
	struct rng rng;
	struct run run;

	(void)state;
	rng_init(&rng, 7);
	fill(&run, &rng, WINDOWS, 5, same);
	assert_int_equal(interval_of(&run.range, 0.5, 0.95, &i), 0);
	assert_int_equal(i.why, INTERVAL_GOOD);
	assert_int_equal(interval_of(&run.range, 0.995, 0.95, &i), 0);
	assert_int_equal(i.why, INTERVAL_FEW_EXCEEDANCES);
	assert_true(i.ns > 0 && i.exceedances <= i.exceedances_needed);
	assert_true(i.needed > i.count);
	run_release(&run);
}

/* As many requests as it says give an interval, and half as many give none. */
static void needed_requests_are_enough(void **state)
{
	struct interval i;
	struct rng rng;
	struct run run;
	uint64_t needed;

	(void)state;
	rng_init(&rng, 21);
	fill(&run, &rng, WINDOWS, 1, same);
	assert_int_equal(interval_of(&run.range, 0.99, 0.95, &i), 0);
	assert_int_equal(i.why, INTERVAL_FEW_EXCEEDANCES);
	needed = i.needed;
	run_release(&run);
	fill(&run, &rng, WINDOWS, (uint32_t)(2 * needed / WINDOWS), same);
	assert_int_equal(interval_of(&run.range, 0.99, 0.95, &i), 0);
	assert_int_equal(i.why, INTERVAL_GOOD);
	assert_true(i.needed <= i.count && i.exceedances >= i.exceedances_needed);
	run_release(&run);
}

/* The upper bound does not care what delayed the requests; the lower one does. */
static void delays_lower_the_lower_bound(void **state)
{
	struct interval own, some, most;
	struct rng rng;
	struct run run;

	(void)state;
	rng_init(&rng, 22);
	fill(&run, &rng, WINDOWS, 500, same);
	assert_int_equal(interval_of(&run.range, 0.99, 0.95, &own), 0);
	assert_int_equal(own.own_lo_ns, own.lo_ns);
	run.range.touched = 0.005;
	assert_int_equal(interval_of(&run.range, 0.99, 0.95, &some), 0);
	assert_int_equal(some.hi_ns, own.hi_ns);
	assert_int_equal(some.own_lo_ns, own.lo_ns);
	assert_true(some.lo_ns > 0 && some.lo_ns < own.lo_ns);
	assert_true(interval_share(&some) <= interval_share(&own));
	run.range.touched = 0.99;
	assert_int_equal(interval_of(&run.range, 0.99, 0.95, &most), 0);
	assert_int_equal(most.why, INTERVAL_GOOD);
	assert_int_equal(most.hi_ns, own.hi_ns);
	assert_int_equal(most.lo_ns, 0);
	run_release(&run);
}

static void short_runs_give_no_interval(void **state)
{
	struct interval i;
	struct rng rng;
	struct run run;

	(void)state;
	rng_init(&rng, 8);
	fill(&run, &rng, INTERVAL_WINDOWS_MIN - 1, 1000, same);
	assert_int_equal(interval_of(&run.range, 0.5, 0.95, &i), 0);
	assert_int_equal(i.why, INTERVAL_FEW_WINDOWS);
	run_release(&run);
	run_init(&run);
	pool(&run);
	assert_int_equal(interval_of(&run.range, 0.5, 0.95, &i), 0);
	assert_int_equal(i.why, INTERVAL_NO_SAMPLES);
	assert_int_equal(i.ns, 0);
	run_release(&run);
}

/* The interval must hold for any latency that the failed requests might have had. */
static void failures_widen(void **state)
{
	struct interval without, with;
	struct rng rng;
	struct run run;

	(void)state;
	rng_init(&rng, 9);
	fill(&run, &rng, WINDOWS, 500, same);
	assert_int_equal(interval_of(&run.range, 0.99, 0.95, &without), 0);
	run.range.failed = 300; /* three tenths of what lies beyond p99 */
	assert_int_equal(interval_of(&run.range, 0.99, 0.95, &with), 0);
	assert_int_equal(with.why, INTERVAL_GOOD);
	assert_true(with.lo_ns <= without.lo_ns && with.hi_ns > without.hi_ns);
	run.range.failed = 2000; /* more than beyond p99: it may be anything */
	assert_int_equal(interval_of(&run.range, 0.99, 0.95, &with), 0);
	assert_int_equal(with.why, INTERVAL_FAILURES);
	run_release(&run);
}

static void constant_latency(void **state)
{
	struct interval i;
	struct run run;

	(void)state;
	run_init(&run);
	for (uint32_t n = 0; n < 100000; n++)
		add(&run, n % WINDOWS, 5000);
	pool(&run);
	assert_int_equal(interval_of(&run.range, 0.99, 0.95, &i), 0);
	assert_int_equal(i.why, INTERVAL_GOOD);
	assert_int_equal(i.lo_ns, 5000);
	assert_int_equal(i.hi_ns, 5000);
	run_release(&run);
}

static void batches_agree(void **state)
{
	uint64_t lo, hi;
	struct interval i;
	struct rng rng;
	struct run run;

	(void)state;
	rng_init(&rng, 10);
	fill(&run, &rng, WINDOWS, 500, same);
	assert_int_equal(interval_of(&run.range, 0.99, 0.95, &i), 0);
	assert_int_equal(interval_by_batches(&run.range, 0.99, 0.95, 20, &lo, &hi), 0);
	assert_true(lo < i.ns && i.ns < hi);
	assert_true((double)(hi - lo) < 2.0 * (double)(i.hi_ns - i.lo_ns));
	assert_true((double)(hi - lo) > 0.5 * (double)(i.hi_ns - i.lo_ns));
	assert_int_equal(interval_by_batches(&run.range, 0.99, 0.95, 1, &lo, &hi), -ENODATA);
	assert_int_equal(interval_by_batches(&run.range, 0.99, 0.95, WINDOWS + 1, &lo, &hi),
			 -ENODATA);
	run_release(&run);
}

/* Every bucket, from both ends of the window of buckets. */
static void counts_up_to_a_latency(void **state)
{
	struct hist h;
	uint64_t sum = 0;

	(void)state;
	hist_init(&h, LOAD_SCHEMA);
	assert_int_equal(interval_at_most(&h, 1000), 0);
	for (uint64_t ns = 1000; ns < 100000; ns += ns / 50)
		assert_int_equal(hist_record_n(&h, ns, ns), 0);
	assert_int_equal(hist_record_n(&h, 0, 3), 0);
	assert_int_equal(hist_record_n(&h, BUCKET_LIMIT + 1, 4), 0);
	assert_int_equal(interval_at_most(&h, 0), 3);
	assert_int_equal(interval_at_most(&h, 1), 3);
	assert_int_equal(interval_at_most(&h, 900), 3);
	sum = 3;
	for (uint64_t ns = 1000; ns < 100000; ns += ns / 50) {
		sum += ns;
		assert_int_equal(interval_at_most(&h, ns), sum);
	}
	assert_int_equal(interval_at_most(&h, BUCKET_LIMIT), h.count - 4);
	assert_int_equal(interval_at_most(&h, UINT64_MAX), h.count);
	hist_release(&h);
}

/* ---- looks ---- */

/* Pocock (1977), table 1: nominal levels for K equally spaced looks that make 5 % together. */
static void interim_analyses_follow_pocock(void **state)
{
	static const struct {
		uint32_t looks;
		double c;
	} table[] = { { 1, 1.960 }, { 2, 2.178 }, { 3, 2.289 }, { 4, 2.361 }, { 5, 2.413 },
		      { 10, 2.555 } };
	double t[10];

	(void)state;
	for (int i = 0; i < 10; i++)
		t[i] = i + 1;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_true(fabs(interim_coverage(t, table[i].looks, table[i].c) - 0.95) < 2e-4);
}

static void interim_analyses_keep_the_confidence(void **state)
{
	static const double wanted[] = { 0.5, 0.8, 0.9, 0.95, 0.99, 0.999 };
	double t[INTERIM_LOOKS];

	(void)state;
	for (int i = 0; i < INTERIM_LOOKS; i++)
		t[i] = (double)interim_time(1ULL << 40, (uint32_t)i);
	assert_int_equal(interim_time(1ULL << 40, INTERIM_LOOKS - 1), 1ULL << 40);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const double single = interim_confidence(wanted[i], true);
		const double only = interim_confidence(wanted[i], false);
		const double c = normal_quantile((1 + single) / 2);

		assert_true(single > only && only > wanted[i] && single < 1);
		assert_true(fabs(interim_coverage(t, INTERIM_LOOKS, c) - only) < 1e-6);
		/* Less demanding than Bonferroni: the looks know of each other. */
		assert_true(1 - single > (1 - only) / INTERIM_LOOKS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(independent_samples_all_count),
		cmocka_unit_test(dependence_widens),
		cmocka_unit_test(thin_tails_give_no_interval),
		cmocka_unit_test(needed_requests_are_enough),
		cmocka_unit_test(delays_lower_the_lower_bound),
		cmocka_unit_test(short_runs_give_no_interval),
		cmocka_unit_test(failures_widen),
		cmocka_unit_test(constant_latency),
		cmocka_unit_test(batches_agree),
		cmocka_unit_test(counts_up_to_a_latency),
		cmocka_unit_test(interim_analyses_follow_pocock),
		cmocka_unit_test(interim_analyses_keep_the_confidence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
