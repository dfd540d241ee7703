/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands at the period of the latency: the period by the requests, and which commands' bursts
 * have it. Most checks are that commands without it are not told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/rng.h"
#include "diagnose/period_judge.h"
#include "event/writer.h"
#include "event_file.h"
#include "stats/circular.h"

#define FROM (1000 * NS_PER_S)
#define PERIOD (700.0 * 1e6)
#define RUN_S 20.0
#define PEAK 0.4          /* phase of the peaks' middle in tests of bursts */
#define CAUSE 0.3         /* phase at which a cause begins */

static double normal(struct rng *rng)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += rng_uniform(rng);
	return sum;
}

/* ---- the test of directions ---- */

static double length_of_random(struct rng *rng, size_t n)
{
	double re = 0, im = 0;

	for (size_t i = 0; i < n; i++) {
		const double turns = rng_uniform(rng);

		re += cos(2 * M_PI * turns);
		im += sin(2 * M_PI * turns);
	}
	return hypot(re, im) / (double)n;
}

/* 4 % to 6 % of random directions are below 0.05; with fewer than 6 vectors it may be less. */
static void test_rayleigh(void **state)
{
	static const size_t numbers[] = { 4, 5, 6, 8, 10, 15, 30, 100 };
	const int runs = 20000;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++) {
		int below = 0, far_below = 0;

		for (int i = 0; i < runs; i++) {
			const double p = rayleigh_sf(length_of_random(&rng, numbers[k]),
						     numbers[k]);

			below += p <= 0.05;
			far_below += p <= 0.001;
		}
		assert_in_range(below, numbers[k] < 6 ? 0 : runs / 25, runs * 6 / 100);
		assert_in_range(far_below, 0, runs / 500);
	}
	assert_true(rayleigh_sf(0, 10) == 1 && rayleigh_sf(1, 0) == 1);
	assert_true(fabs(rayleigh_sf(sqrt(0.2919), 10) - 0.05) < 0.0005); /* Zar's table B.34 */
}

static void test_turns(void **state)
{
	(void)state;
	assert_true(fabs(circular_turns(0.9, 0.1) - 0.2) < 1e-12);
	assert_true(fabs(circular_turns(0.1, 0.9) + 0.2) < 1e-12);
	assert_true(fabs(circular_turns(7.25, 2.25)) < 1e-12);
}

/* ---- the period of requests ---- */

struct requests_of {
	double period;   /* 0: the latency has none */
	double phase;    /* phase at which each stall begins, in periods */
	double stall_ns;
	double run_s;
	double stop_s;   /* once, the server stands still for so long */
};

/* A request waits for the end of the stall in which it is due. */
static double waits(const struct requests_of *q, double at)
{
	const double in = q->period ? (at / q->period - q->phase) : 0;
	const double since = (in - floor(in)) * q->period, stop = 0.37 * q->run_s * 1e9;

	if (at > stop && at < stop + q->stop_s * 1e9)
		return stop + q->stop_s * 1e9 - at;
	return q->period && since < q->stall_ns ? q->stall_ns - since : 0;
}

static struct event_reader *load_of(const struct requests_of *q, int *fd)
{
	static const struct event_writer_options options = { .raw = true, .stream = 1 };
	struct event_reader *reader;
	struct event_writer *w;
	struct rng rng;

	rng_init(&rng, 3);
	*fd = memory_file("", 0);
	assert_int_equal(event_writer_new(&w, *fd, &options), 0);
	for (double at = 0; at < q->run_s * 1e9; at += rng_exponential(&rng, 2e6)) {
		const double took = 1e5 * exp(0.3 * normal(&rng)) + waits(q, at);
		struct event_sample s = { .intended = FROM + (uint64_t)at, .flow = 1 };

		s.sent = s.intended;
		s.done = s.intended + (uint64_t)took;
		assert_int_equal(event_writer_span(w, 0, 0, EV_SAMPLE, s.intended, s.done, &s), 0);
	}
	assert_int_equal(event_writer_close(w), 0);
	assert_int_equal(event_reader_new(&reader, *fd), 0);
	return reader;
}

static struct latency_period refined(const struct requests_of *q, double guess)
{
	struct latency_period p = { .ns = guess, .from = FROM,
				    .to = FROM + (uint64_t)(q->run_s * 1e9) };
	int fd;
	struct event_reader *reader = load_of(q, &fd);

	assert_int_equal(latency_period_refine(&p, reader), 0);
	event_reader_free(reader);
	close(fd);
	return p;
}

/* The guess is wrong by up to one turn over the run. */
static void test_refine(void **state)
{
	static const double turns[] = { -0.9, -0.5, 0, 0.4, 0.9 };
	const struct requests_of q = { PERIOD, 0.3, 60e6, RUN_S, 0 };
	const double count = RUN_S * 1e9 / PERIOD;

	(void)state;
	for (size_t i = 0; i < sizeof(turns) / sizeof(*turns); i++) {
		const struct latency_period p = refined(&q, PERIOD / (1 + turns[i] / count));

		assert_null(p.why);
		assert_true(fabs(p.ns - PERIOD) * count < 0.15 * PERIOD);
		assert_true(circular_turns(0.3, p.peak) > 0);
		assert_true(circular_turns(0.3, p.peak) < 0.12);
	}
}

/* One long stall neither hides the period nor moves the peak. */
static void test_refine_with_a_stop(void **state)
{
	const struct requests_of q = { PERIOD, 0.3, 60e6, RUN_S, 0.25 };
	const struct latency_period p = refined(&q, PERIOD);

	(void)state;
	assert_null(p.why);
	assert_true(circular_turns(0.3, p.peak) > 0);
	assert_true(circular_turns(0.3, p.peak) < 0.12);
}

static void test_unknown(void **state)
{
	const struct requests_of none = { 0, 0, 0, RUN_S, 0 }, few = { PERIOD, 0.3, 60e6, 3, 0 };
	struct requests_of stop = none;

	(void)state;
	stop.stop_s = 0.5;
	assert_string_equal(refined(&none, PERIOD).why,
			    "the requests' latency has no peak at one phase of that period");
	assert_non_null(refined(&stop, PERIOD).why);
	assert_string_equal(refined(&few, PERIOD).why,
			    "the run has too few periods: run longer (--for)");
	assert_string_equal(refined(&few, 1000).why, "the run has too many periods");
}

/* ---- bursts ---- */

struct world {
	struct rng rng;
	double run_s;
	struct burst_list bursts;
	struct period_commands_list told;
	struct latency_period period;
};

static void world_begin(struct world *w, uint64_t seed, double run_s)
{
	*w = (struct world){ .run_s = run_s };
	rng_init(&w->rng, seed);
	vec_init(&w->bursts, BURSTS_MAX);
	vec_init(&w->told, PERIOD_TESTED_MAX);
	w->period = (struct latency_period){ .ns = PERIOD, .from = FROM, .peak = PEAK,
					     .to = FROM + (uint64_t)(run_s * 1e9) };
}

static void world_end(struct world *w)
{
	vec_release(&w->bursts);
	vec_release(&w->told);
}

static void put(struct world *w, uint32_t command, double at, uint64_t ns)
{
	if (at >= 0 && at < w->run_s * 1e9)
		assert_int_equal(vec_push(&w->bursts, (struct burst){ .at = FROM + (uint64_t)at,
								      .command = command,
								      .task = command, .ns = ns }),
				 0);
}

/* Bursts every `period`, from `phase` of it on, each off by a normal `jitter` of it. */
static void put_periodic(struct world *w, uint32_t command, double period, double phase,
			 double jitter)
{
	for (double i = 0; i * period < w->run_s * 1e9; i++)
		put(w, command, (i + phase + jitter * normal(&w->rng)) * period, 1000);
}

static void put_random(struct world *w, uint32_t command, double mean)
{
	for (double at = 0; at < w->run_s * 1e9; at += rng_exponential(&w->rng, mean))
		put(w, command, at, 1000);
}

static size_t judge(struct world *w)
{
	uint64_t beyond;

	assert_int_equal(period_judge(&w->period, &w->bursts, &w->told, &beyond), 0);
	assert_int_equal(beyond, 0);
	return w->told.len;
}

static void test_fires(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, 7, RUN_S);
	put_periodic(&w, 1, PERIOD, CAUSE, 0.02);
	put_random(&w, 2, PERIOD);
	assert_int_equal(judge(&w), 1);
	assert_int_equal(w.told.items[0].command, 1);
	assert_int_equal(w.told.items[0].periods, 29);
	assert_int_equal(w.told.items[0].bursts, 29);
	assert_int_equal(w.told.items[0].ns, 29000);
	assert_in_range(w.told.items[0].same, 25, 29);
	assert_true(w.told.items[0].p < 1e-6);
	assert_true(fabs(w.told.items[0].before - (PEAK - CAUSE)) < 0.02);
	world_end(&w);
}

/* Late by chance, a period that is off, missing bursts, among 50 others: told all the same. */
static void test_fires_in_spite_of(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world w;
		size_t kept = 0;

		world_begin(&w, seed, RUN_S);
		put_periodic(&w, 1, PERIOD * (1 + 0.1 / 28), CAUSE, 0.07);
		for (size_t i = 0; i < w.bursts.len; i++)
			if (i % 6)
				w.bursts.items[kept++] = w.bursts.items[i];
		w.bursts.len = kept;
		for (uint32_t command = 2; command < 52; command++)
			put_random(&w, command, PERIOD / 3);
		judge(&w);
		assert_int_equal(w.told.len, 1);
		assert_int_equal(w.told.items[0].command, 1);
		world_end(&w);
	}
}

/* Several processes of one command, and several commands of one job: the longest is first. */
static void test_jobs(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, 7, RUN_S);
	for (double i = 0; i < 28; i++) {
		put(&w, 1, (i + CAUSE) * PERIOD, 1000);
		for (double k = 0; k < 5; k++)
			put(&w, 2, (i + CAUSE + 0.01 + 0.015 * k) * PERIOD, 1000);
	}
	assert_int_equal(judge(&w), 2);
	assert_int_equal(w.told.items[0].command, 2);
	assert_int_equal(w.told.items[0].bursts, 28);
	assert_int_equal(w.told.items[0].same, 28);
	assert_int_equal(w.told.items[0].ns, 5 * 28000);
	assert_int_equal(w.told.items[1].command, 1);
	world_end(&w);
}

static void expect_quiet(double period, double phase, double run_s)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world w;

		world_begin(&w, seed, run_s);
		put_periodic(&w, 1, period * PERIOD, phase / period, 0.01);
		assert_int_equal(judge(&w), 0);
		world_end(&w);
	}
}

/* Another period, also half of it and twice it; and what runs all the time. */
static void test_other_periods(void **state)
{
	static const double others[] = { 0.1, 0.15, 0.5, 0.7, 0.9, 1.1, 1.4142, 2, 3 };

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		expect_quiet(others[i], CAUSE, RUN_S);
}

/* Bursts after the peaks are their effect; bursts half a period before are no cause. */
static void test_other_phases(void **state)
{
	(void)state;
	expect_quiet(1, PEAK + 0.06, RUN_S);
	expect_quiet(1, PEAK + 0.4, RUN_S);
	expect_quiet(1, PEAK - 0.32, RUN_S);
}

/* Three periods of a run say nothing, however exactly the bursts keep them. */
static void test_few_periods(void **state)
{
	(void)state;
	expect_quiet(1, CAUSE, 2.1);
}

/* A job of three processes that comes at random times: its bursts depend on each other. */
static void test_random_jobs(void **state)
{
	int told = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		struct world w;

		world_begin(&w, seed, 6 * PERIOD / 1e9);
		for (double i = 0; i < 6; i++) {
			const double at = (i + rng_uniform(&w.rng)) * PERIOD;

			for (double k = 0; k < 3; k++)
				put(&w, 1, at + 0.101 * PERIOD * k, 1000);
		}
		told += judge(&w) > 0;
		world_end(&w);
	}
	assert_in_range(told, 0, 25);
}

/* 50 commands without the period, with so many bursts in one: at most one run in 20 tells one. */
static int told_by_chance(double periods, double bursts)
{
	int told = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct world w;

		world_begin(&w, seed, periods * PERIOD / 1e9);
		for (uint32_t command = 1; command <= 50; command++)
			put_random(&w, command, PERIOD / (bursts + 0.01 * command));
		told += judge(&w) > 0;
		world_end(&w);
	}
	return told;
}

static void test_chance(void **state)
{
	static const double periods[] = { 5, 8, 12, 28 }, bursts[] = { 1, 2, 5 };

	(void)state;
	for (size_t i = 0; i < sizeof(periods) / sizeof(*periods); i++)
		for (size_t k = 0; k < sizeof(bursts) / sizeof(*bursts); k++)
			assert_in_range(told_by_chance(periods[i], bursts[k]), 0, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rayleigh),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_refine),
		cmocka_unit_test(test_refine_with_a_stop),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_fires),
		cmocka_unit_test(test_fires_in_spite_of),
		cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_other_periods),
		cmocka_unit_test(test_other_phases),
		cmocka_unit_test(test_few_periods),
		cmocka_unit_test(test_random_jobs),
		cmocka_unit_test(test_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
