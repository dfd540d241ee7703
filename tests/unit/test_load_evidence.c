/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evidence that the gates of `load` judge: gaps, connections, host interference, stationarity,
 * Lancet's method.
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
#include "load/balance.h"
#include "load/gaps.h"
#include "load/lancet.h"
#include "load/interference.h"
#include "load/stationarity.h"

#define NS_PER_S 1000000000ULL
#define STARTED (100 * NS_PER_S)

/* ---- gaps ---- */

struct sends {
	struct gaps gaps;
	struct gap_queue queue;
};

static void sends_init(struct sends *s, enum arrival_kind kind, double rate, uint64_t duration)
{
	const struct arrival arrival = { .kind = kind };

	assert_int_equal(gaps_init(&s->gaps, &arrival, rate, duration), 0);
	gap_queue_init(&s->queue);
}

static void sends_release(struct sends *s)
{
	gaps_release(&s->gaps);
	gap_queue_release(&s->queue);
}

static void send_at(struct sends *s, uint64_t intended, uint64_t lag)
{
	assert_int_equal(gaps_add(&s->gaps, &s->queue, STARTED + intended,
				  STARTED + intended + lag), 0);
}

static void take_all(struct sends *s)
{
	gaps_keep_complete(&s->gaps, &s->queue, STARTED, UINT64_MAX);
}

static void poisson_fits_itself(void **state)
{
	struct gap_fit schedule, sent;
	struct sends s;
	struct rng rng;
	double at = 0;

	(void)state;
	rng_init(&rng, 11);
	sends_init(&s, ARRIVAL_POISSON, 1000, 5 * NS_PER_S);
	while ((at += rng_exponential(&rng, 1e6)) < 5e9)
		/* Sent in bundles, every 2 ms: then they are no longer Poisson. */
		send_at(&s, (uint64_t)at, 2000000 - (uint64_t)at % 2000000);
	take_all(&s);
	assert_int_equal(gaps_fit(&s.gaps, &s.gaps.schedule, &schedule), 0);
	assert_int_equal(gaps_fit(&s.gaps, &s.gaps.sent, &sent), 0);
	assert_true(schedule.known && schedule.n > 4900);
	assert_true(schedule.p > 0.01 && schedule.effect < 0.03);
	assert_true(sent.p < 0.001 && sent.effect > 0.05);
	sends_release(&s);
}

static void requests_in_flight_wait(void **state)
{
	struct sends s;

	(void)state;
	sends_init(&s, ARRIVAL_POISSON, 1000, NS_PER_S);
	for (uint64_t i = 1; i <= 900; i++)
		send_at(&s, i * 1000000, 0);
	gaps_keep_complete(&s.gaps, &s.queue, STARTED, STARTED);
	assert_int_equal(s.gaps.schedule.n, 0);
	assert_int_equal(s.queue.pending.len, 900);
	take_all(&s);
	assert_true(s.gaps.schedule.n >= 897); /* less one for each border of slots */
	assert_int_equal(s.queue.pending.len, 0);
	sends_release(&s);
}

static void memory_is_bounded(void **state)
{
	struct sends s;

	(void)state;
	/* All at once, as after a stop of minutes. */
	sends_init(&s, ARRIVAL_POISSON, 1e6, NS_PER_S / 100);
	for (uint64_t i = 0; i < GAPS_PENDING + 1000; i++)
		send_at(&s, i * 1000, 0);
	assert_int_equal(s.queue.pending.len, GAPS_PENDING);
	assert_int_equal(s.gaps.skipped, 1000);
	take_all(&s);
	assert_in_range(s.gaps.schedule.n, GAPS_KEPT / 2, GAPS_KEPT);
	assert_true(s.gaps.schedule.seen > GAPS_PENDING / 2);
	sends_release(&s);
}

static void fixed_schedule_is_exact_or_not(void **state)
{
	struct gap_fit schedule, sent;
	struct sends s;

	(void)state;
	sends_init(&s, ARRIVAL_FIXED, 1000, NS_PER_S);
	for (uint64_t i = 0; i < 1000; i++)
		send_at(&s, i * 1000000, i % 10 ? 0 : 400000);
	take_all(&s);
	assert_int_equal(gaps_fit(&s.gaps, &s.gaps.schedule, &schedule), 0);
	assert_int_equal(gaps_fit(&s.gaps, &s.gaps.sent, &sent), 0);
	assert_true(schedule.p == 1 && schedule.effect == 0);
	assert_true(sent.p == 0 && sent.effect > 0.15 && sent.effect < 0.25);
	sends_release(&s);
}

/* ---- connections and the host ---- */

static void connections_are_compared(void **state)
{
	struct balance b;

	(void)state;
	assert_int_equal(balance_init(&b), 0);
	assert_true(isnan(balance_ratio(&b)));
	for (uint32_t i = 0; i < 1000; i++)
		balance_add(&b, 1 + i % 10);
	balance_add(&b, 0); /* latency of no connection */
	assert_true(fabs(balance_ratio(&b) - 1) < 1e-9);
	for (uint32_t i = 0; i < 1000; i++)
		balance_add(&b, 7);
	assert_true(fabs(balance_ratio(&b) - 5.5) < 1e-9);
	for (uint32_t i = 0; i <= BALANCE_FLOWS; i++)
		balance_add(&b, 100 + i * 64);
	assert_true(b.overflow && isnan(balance_ratio(&b)));
	balance_release(&b);
}

static void interference_adds_up(void **state)
{
	struct event_noise gap = { .what = NOISE_GAP, .begin = 1000, .end = 1000 + 50000,
				   .amount = 50000 };
	struct event_noise steal = { .what = NOISE_STEAL, .amount = 777 };
	struct event_noise slow = { .what = NOISE_FREQUENCY, .amount = 1200000 };
	struct event_noise later = { .what = NOISE_MAX };
	struct interference_sum l;

	(void)state;
	interference_sum_init(&l);
	for (int i = 0; i < 10; i++)
		assert_int_equal(interference_sum_add(&l, &gap), 0);
	assert_int_equal(interference_sum_add(&l, &steal), 0);
	assert_int_equal(interference_sum_add(&l, &slow), 0);
	slow.amount = 2400000;
	assert_int_equal(interference_sum_add(&l, &slow), 0);
	assert_int_equal(interference_sum_add(&l, &later), 0); /* a kind from the future */
	assert_int_equal(l.amount[NOISE_GAP], 500000);
	assert_int_equal(l.amount[NOISE_STEAL], 777);
	assert_int_equal(l.lowest_khz, 1200000);
	assert_int_equal(l.highest_khz, 2400000);
	assert_true(interference_sum_gaps_above(&l, 100000) == 0);
	/* Upper edges of buckets: at most 9 % too much, never too little. */
	assert_true(interference_sum_gaps_above(&l, 20000) >= 500000);
	assert_true(interference_sum_gaps_above(&l, 20000) <= 546000);
	interference_sum_release(&l);
}

/* ---- steadiness ---- */

#define WINDOWS 200

static void fill(struct series *s, struct rng *rng, double (*level)(double at))
{
	assert_int_equal(series_init(s, 0), 0);
	for (uint32_t w = 0; w < WINDOWS; w++) {
		for (int i = 0; i < 400; i++) {
			const uint64_t at = (uint64_t)w << SERIES_SHIFT;
			const double mean = 100000 * level((double)w / WINDOWS);
			const struct event_sample sample = {
				.intended = at, .sent = at,
				.done = at + (uint64_t)rng_exponential(rng, mean) };

			assert_int_equal(series_add(s, &sample), 0);
		}
	}
}

static double flat(double at)
{
	(void)at;
	return 1;
}

static double warming(double at)
{
	return 1 + 3 * exp(-at * 40);
}

static double rising(double at)
{
	return 1 + 0.3 * at;
}

static double jumping(double at)
{
	return at < 0.6 ? 1 : 1.3;
}

static double swinging(double at)
{
	return fmod(at * 20, 1) < 0.1 ? 2 : 1;
}

static struct stationarity_tests test_of(double (*level)(double at), uint32_t *cut)
{
	struct stationarity_tests tests;
	struct series s;
	struct rng rng;

	rng_init(&rng, 12);
	fill(&s, &rng, level);
	assert_int_equal(stationarity_warmup(&s, s.n, cut), 0);
	assert_int_equal(stationarity_test(&s, *cut, s.n, 0.5, 1, &tests), 0);
	assert_true(tests.known);
	series_release(&s);
	return tests;
}

static void stationarity_is_reported(void **state)
{
	struct stationarity_tests t;
	uint32_t cut;

	(void)state;
	t = test_of(flat, &cut);
	assert_int_equal(cut, 0);
	assert_true(t.adf_p < 0.05 && t.kpss_p > 0.05 && t.trend_p > 0.01 && t.shift_p > 0.01);
	assert_true(t.swing_p > 0.01 && fabs(t.trend) < 0.1);
	t = test_of(warming, &cut);
	assert_in_range(cut, 10, 50);
	assert_true(t.trend_p > 0.01 && t.shift_p > 0.01);
	t = test_of(rising, &cut);
	assert_true(t.trend_p < 1e-6 && fabs(t.trend - 0.3) < 0.1 && t.kpss_p < 0.01);
	t = test_of(jumping, &cut);
	assert_true(t.shift_p < 0.001 && fabs(t.shift - 0.3) < 0.1);
	assert_true(fabs(t.shift_at - 0.6) < 0.05);
	t = test_of(swinging, &cut);
	assert_true(t.swing_p < 1e-6 && t.swing > 0.5);
	assert_true(fabs(t.period_ns / (10.0 * (1 << SERIES_SHIFT)) - 1) < 0.05);
}

/* A large change looks like long dependence, which must not hide it. */
static void dependence_leaves_blocks(void **state)
{
	struct stationarity_tests tests;
	struct series s;
	struct rng rng;

	(void)state;
	rng_init(&rng, 14);
	fill(&s, &rng, rising);
	assert_int_equal(stationarity_test(&s, 0, s.n, 0.5, s.n / 3.0, &tests), 0);
	assert_true(tests.known && tests.trend_p < 0.001);
	assert_in_range(tests.blocks, STATIONARITY_BLOCKS_MIN, STATIONARITY_BLOCKS_MIN + 2);
	series_release(&s);
}

static void few_samples_prove_nothing(void **state)
{
	struct stationarity_tests tests = { .known = true };
	struct series s;
	struct rng rng;
	uint32_t cut;

	(void)state;
	rng_init(&rng, 13);
	assert_int_equal(series_init(&s, 0), 0);
	assert_int_equal(stationarity_warmup(&s, 0, &cut), 0);
	assert_int_equal(cut, 0);
	assert_int_equal(stationarity_test(&s, 0, 0, 0.5, 1, &tests), 0);
	assert_false(tests.known);
	series_release(&s);
	fill(&s, &rng, flat);
	assert_int_equal(stationarity_test(&s, 0, STATIONARITY_BLOCKS_MIN - 1, 0.5, 1, &tests), 0);
	assert_false(tests.known);
	series_release(&s);
}

/* How far p is from its critical values in KPSS' table 1 (1992), between which ln p is straight. */
static double kpss_distance(const struct stationarity_tests *tests)
{
	const double at = tests->kpss;
	const double log_p = at < 0.463 ?
		log(0.1) + log(0.05 / 0.1) * (at - 0.347) / (0.463 - 0.347) :
		log(0.05) + log(0.01 / 0.05) * (at - 0.463) / (0.739 - 0.463);

	return fabs(tests->kpss_p / exp(log_p) - 1);
}

static void the_tail_of_kpss(void **state)
{
	struct stationarity_tests tests;
	struct series s;
	struct rng rng;
	int below = 0, between = 0, above = 0;

	(void)state;
	rng_init(&rng, 14);
	for (int i = 0; i <= 300; i++) {
		fill(&s, &rng, i < 300 ? flat : rising);
		assert_int_equal(stationarity_test(&s, 0, s.n, 0.5, 1, &tests), 0);
		series_release(&s);
		assert_true(tests.kpss_p > 0 && tests.kpss_p <= 1);
		if (tests.kpss < 0.347) {
			below++;
			assert_true(tests.kpss_p > 0.09);
		} else if (tests.kpss > 0.739) {
			above++;
			assert_true(tests.kpss_p < 0.011);
		} else {
			between++;
			assert_true(kpss_distance(&tests) < (tests.kpss < 0.463 ? 0.095 : 0.08));
		}
	}
	assert_true(tests.kpss > 0.739 && tests.kpss_p < 0.01); /* rising */
	assert_true(below > 3 && between > 3 && above > 1);
}

/* ---- the paper's procedure ---- */

/* `memory`: how much of a latency is the one before. */
static void offer(struct lancet *l, struct rng *rng, size_t n, double memory, uint64_t *at)
{
	double level = 100000;

	for (size_t i = 0; i < n; i++) {
		struct event_sample s = { .intended = *at, .sent = *at, .flow = 1 };

		level = memory * level + (1 - memory) * rng_exponential(rng, 100000);
		s.done = s.sent + (uint64_t)level + 1;
		*at += 1000;
		assert_int_equal(lancet_add(l, &s), 0);
	}
}

static void lancet_accepts_independent_samples(void **state)
{
	uint64_t at = 0, ns, lo, hi;
	struct lancet l;
	struct rng rng;

	(void)state;
	rng_init(&rng, 14);
	lancet_init(&l);
	offer(&l, &rng, 40000, 0, &at);
	assert_in_range(l.samples.len, 7600, 8400); /* one in 5 */
	assert_int_equal(lancet_try(&l, 0.99, 0.95, 0), 0);
	assert_int_equal(l.tries, 0);
	assert_int_equal(l.verdict, LANCET_MORE);
	offer(&l, &rng, 15000, 0, &at);
	assert_int_equal(lancet_try(&l, 0.99, 0.95, 0), 0);
	assert_int_equal(l.tries, 1);
	assert_int_equal(l.verdict, LANCET_DONE);
	assert_int_equal(l.lag, 1);
	assert_true(lancet_quantile(&l, 0.99, 0.95, &ns, &lo, &hi));
	assert_true(lo < ns && ns < hi && lo == l.lo_ns && hi == l.hi_ns);
	assert_true(fabs((double)ns / (100000 * -log(0.01)) - 1) < 0.1);
	assert_false(lancet_quantile(&l, 0.99999, 0.95, &ns, &lo, &hi));
	lancet_release(&l);
}

static void lancet_thins_dependent_samples(void **state)
{
	uint64_t at = 0;
	struct lancet l;
	struct rng rng;

	(void)state;
	rng_init(&rng, 15);
	lancet_init(&l);
	while (l.verdict != LANCET_DONE && at < 5000000000) {
		offer(&l, &rng, 5000, 0.3, &at);
		assert_int_equal(lancet_try(&l, 0.99, 0.95, 0), 0);
	}
	assert_int_equal(l.verdict, LANCET_DONE);
	assert_true(l.tries > 1 && l.sampling > LANCET_SAMPLING);
	assert_true(l.samples.len >= LANCET_STEP);
	lancet_release(&l);
}

static void lancet_gives_up(void **state)
{
	uint64_t at = 0;
	struct lancet l;
	struct rng rng;

	(void)state;
	rng_init(&rng, 16);
	lancet_init(&l);
	for (int i = 0; i < 150; i++) {
		offer(&l, &rng, 5000, 0, &at);
		assert_int_equal(lancet_try(&l, 0.99, 0.95, 1), 0); /* 1 ns wide */
	}
	assert_int_equal(l.tries, LANCET_TRIES);
	assert_int_equal(l.verdict, LANCET_TOO_WIDE);
	assert_true(l.samples.len <= LANCET_STORE);
	lancet_release(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poisson_fits_itself),
		cmocka_unit_test(requests_in_flight_wait),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(fixed_schedule_is_exact_or_not),
		cmocka_unit_test(connections_are_compared),
		cmocka_unit_test(interference_adds_up),
		cmocka_unit_test(stationarity_is_reported),
		cmocka_unit_test(dependence_leaves_blocks),
		cmocka_unit_test(few_samples_prove_nothing),
		cmocka_unit_test(the_tail_of_kpss),
		cmocka_unit_test(lancet_accepts_independent_samples),
		cmocka_unit_test(lancet_thins_dependent_samples),
		cmocka_unit_test(lancet_gives_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
