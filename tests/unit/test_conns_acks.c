/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delayed acknowledgements of peers, by round trips whose truth is drawn: paths of any length and
 * jitter without delays, timers of any length on quiet paths, and where both look alike.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/bug.h"
#include "base/rng.h"
#include "brief.h"
#include "bpf/conn_acks.h"

#define MS 1000
#define SEEDS (brief_emulated() ? 100 : 500)

/* Connections of so many round trips; of `late` percent the timer makes them longer. */
struct path {
	double base_ms;
	double (*jitter_ms)(struct rng *rng, double scale);
	double scale;
	double timer_ms;
	unsigned int late;
};

struct outcome {
	uint32_t told, truth;  /* delayed acknowledgements */
	bool unclear, delays;  /* at the end */
	uint32_t late_ms;
};

static double steady(struct rng *rng, double scale)
{
	return scale * rng_uniform(rng);
}

/* Both sides of the middle, as netem's `delay BASE SCALE`. */
static double uniform(struct rng *rng, double scale)
{
	return scale * (2 * rng_uniform(rng) - 1);
}

static double normal(struct rng *rng, double scale)
{
	return scale * sqrt(-2 * log(1 - rng_uniform(rng))) * cos(2 * acos(-1) * rng_uniform(rng));
}

static double tail(struct rng *rng, double scale)
{
	return rng_exponential(rng, scale);
}

static double pareto(struct rng *rng, double scale)
{
	return scale * (pow(1 - rng_uniform(rng), -1 / 1.5) - 1);
}

/* One in a hundred is held up for any time: a peer that waits for its CPU. */
static double stalls(struct rng *rng, double scale)
{
	return rng_below(rng, 100) ? 0.5 * rng_uniform(rng) : scale * rng_uniform(rng);
}

static uint32_t draw(const struct path *path, struct rng *rng, bool late)
{
	const double ms = path->base_ms + path->jitter_ms(rng, path->scale) +
			  (late ? path->timer_ms : 0);

	return ms > 0.02 ? (uint32_t)(ms * MS) : 20;
}

/* Every other one was there before, so that TCP knows a lower least. */
static struct outcome run(const struct path *path, uint64_t seed, uint32_t samples)
{
	struct conn_acks acks = { 0 };
	struct outcome o = { 0 };
	uint32_t least = UINT32_MAX;
	struct rng rng;

	rng_init(&rng, seed);
	for (uint32_t i = 0; i < (seed % 2 ? 1000 : 1); i++) {
		const uint32_t us = draw(path, &rng, false);

		least = us < least ? us : least;
	}
	for (uint32_t i = 0; i < samples; i++) {
		const bool late = rng_below(&rng, 100) < path->late;
		const uint32_t us = draw(path, &rng, late);

		least = us < least ? us : least;
		o.truth += late;
		o.told += acks_add(&acks, us, least, true, false, false).delayed;
	}
	o.unclear = acks_are_unclear(&acks, least);
	o.delays = acks_are_delayed(&acks);
	o.late_ms = acks.late;
	return o;
}

/* How many of SEEDS connections report delayed acknowledgements. */
static unsigned int told_of(const struct path *path, unsigned int *unclear)
{
	unsigned int told = 0;

	*unclear = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct outcome o = run(path, seed, 2000);

		told += o.told > 0;
		*unclear += o.unclear;
	}
	return told;
}

/* The first one is what a band of 35 to 60 ms above the least took for delayed ones. */
static void jitter_is_no_delay(void **state)
{
	static const struct path paths[] = {
		{ 50, uniform, 30, 0, 0 }, { 50, uniform, 20, 0, 0 }, { 50, uniform, 45, 0, 0 },
		{ 50, normal, 10, 0, 0 }, { 60, normal, 15, 0, 0 }, { 90, normal, 25, 0, 0 },
		{ 40, tail, 10, 0, 0 }, { 20, tail, 20, 0, 0 }, { 10, tail, 50, 0, 0 },
		{ 50, pareto, 5, 0, 0 }, { 20, pareto, 20, 0, 0 }, { 50, steady, 2, 0, 0 },
		{ 1, stalls, 300, 0, 0 }, { 200, uniform, 60, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		unsigned int unclear;
		const unsigned int told = told_of(&paths[i], &unclear);

		assert_in_range(told, 0, SEEDS / 50);
	}
}

static void delayed_ack_timers_of_any_length_are_found(void **state)
{
	static const double bases[] = { 0.1, 10, 50 }, timers[] = { 25, 40, 50, 100, 200 };
	static const unsigned int shares[] = { 20, 50, 80 };

	(void)state;
	for (size_t b = 0; b < ARRAY_LEN(bases); b++)
		for (size_t t = 0; t < ARRAY_LEN(timers); t++)
			for (size_t s = 0; s < ARRAY_LEN(shares); s++) {
				const struct path path = { bases[b], steady, 4, timers[t],
							   shares[s] };
				const struct outcome o = run(&path, 7, 2000);
				/* A run of late ones is as well a longer path. */
				const double least = shares[s] > 50 ? 0.5 : 0.97;

				assert_in_range(o.told, (uint32_t)(least * o.truth), o.truth);
				if (shares[s] > 50)
					continue;
				assert_true(o.delays && !o.unclear);
				assert_in_range(o.late_ms, timers[t] - 3, timers[t] + 5);
			}
}

static uint32_t take(struct conn_acks *a, uint32_t ms, uint32_t n, bool lone)
{
	uint32_t told = 0;

	while (n--)
		told += acks_add(a, ms * MS, 2 * MS, lone, false, false).delayed;
	return told;
}

/* Short ones and late ones in turn. */
static uint32_t in_turn(struct conn_acks *a, uint32_t ms, uint32_t n, bool lone)
{
	uint32_t told = 0;

	while (n--)
		told += take(a, 2, 1, true) + take(a, ms, 1, lone);
	return told;
}

/* Those that led to it are counted with it, and none twice. */
static void seven_late_acks_are_enough(void **state)
{
	struct conn_acks a = { 0 };

	(void)state;
	assert_int_equal(in_turn(&a, 42, 6, true), 0);
	assert_false(acks_are_delayed(&a));
	assert_int_equal(in_turn(&a, 42, 1, true), 7);
	assert_true(acks_are_delayed(&a));
	assert_int_equal(in_turn(&a, 42, 100, true), 100);
}

/* Seven late ones; data is held for those whose bit is set, the first one's is the lowest. */
static uint32_t held_of_seven(unsigned int bits)
{
	struct conn_acks a = { 0 };
	uint32_t held = 0;

	for (int i = 0; i < 7; i++) {
		take(&a, 2, 1, true);
		held += acks_add(&a, 42 * MS, 2 * MS, true, false, bits >> i & 1).held;
	}
	assert_true(acks_are_delayed(&a));
	return held;
}

static void acks_that_held_data_are_counted(void **state)
{
	(void)state;
	assert_int_equal(held_of_seven(0), 0);
	assert_int_equal(held_of_seven(0x40), 1);
	assert_int_equal(held_of_seven(0x01), 1);
	assert_int_equal(held_of_seven(0x3f), 6);
	assert_int_equal(held_of_seven(0x7f), 7);
}

/* Doubted once it is sure, it needs six more, and these are counted. */
static void unclear_acks_are_not_counted(void **state)
{
	struct conn_acks a = { 0 };

	(void)state;
	assert_int_equal(in_turn(&a, 42, 7, true), 7);
	in_turn(&a, 102, 2, true);
	assert_false(acks_are_delayed(&a));
	assert_int_equal(in_turn(&a, 42, 5, true), 0);
	assert_int_equal(in_turn(&a, 42, 1, true), 6);
	assert_int_equal(in_turn(&a, 42, 10, true), 10);
}

static uint32_t after_a_while(uint32_t late_ms, bool lone)
{
	struct conn_acks a = { 0 };

	return in_turn(&a, late_ms, 50, lone);
}

static void timers_are_20_to_250_ms_long(void **state)
{
	(void)state;
	assert_int_equal(after_a_while(2 + 19, true), 0);
	assert_int_equal(after_a_while(2 + 21, true), 50);
	assert_int_equal(after_a_while(2 + 249, true), 50);
	assert_int_equal(after_a_while(2 + 251, true), 0);
}

/* A packet that queues behind its own flight is as late as the flight is long. */
static void acks_within_a_flight_prove_nothing(void **state)
{
	(void)state;
	assert_int_equal(after_a_while(42, false), 0);
}

/* A reply that takes long acknowledges its request late, and is no timer; nor is it the path. */
static void acks_on_replies_prove_nothing(void **state)
{
	struct conn_acks a = { 0 };

	(void)state;
	take(&a, 2, 1, true);
	for (int i = 0; i < 2000; i++)
		assert_int_equal(acks_add(&a, 42 * MS, 2 * MS, true, true, false).delayed, 0);
	assert_false(acks_are_unclear(&a, 2 * MS));
	assert_int_equal(in_turn(&a, 42, 50, true), 50);
}

/* A path that is longer from now on is not a timer; one that was short at times is no control. */
static void longer_path_is_no_timer(void **state)
{
	struct conn_acks a = { 0 };

	(void)state;
	take(&a, 2, 100, true);
	assert_int_equal(take(&a, 42, 1000, true), 0);
	assert_false(acks_are_unclear(&a, 42 * MS)); /* TCP has forgotten the other one, too */
	take(&a, 62, 1, true);
	assert_int_equal(take(&a, 42, 1000, true), 0);
}

/* All are late, and the handshake was not: a longer path, or a timer that is never spared. */
static void all_acks_late_is_unclear(void **state)
{
	struct conn_acks a = { 0 };

	(void)state;
	assert_int_equal(take(&a, 202, 1000, true), 0);
	assert_true(acks_are_unclear(&a, 2 * MS)); /* TCP keeps the handshake for five minutes */
	assert_false(acks_are_unclear(&a, 202 * MS));
	assert_true(acks_are_unclear(&a, 182 * MS));
	assert_false(acks_are_unclear(&a, 183 * MS));
	assert_int_equal(in_turn(&a, 202, 50, true) >= 40, true);
	assert_false(acks_are_unclear(&a, 2 * MS));
}

/* A path that varies as much hides a timer, until it is quiet again. */
static void jitter_makes_it_unclear(void **state)
{
	static const struct path wide = { 100, uniform, 45, 40, 50 };
	struct conn_acks a = { 0 };
	struct rng rng;
	unsigned int unclear;
	const unsigned int told = told_of(&wide, &unclear);

	(void)state;
	assert_in_range(told, 0, SEEDS / 50);
	assert_in_range(unclear, SEEDS * 9 / 10, SEEDS);
	rng_init(&rng, 3);
	for (int i = 0; i < 500; i++)
		acks_add(&a, 20 * MS + (uint32_t)rng_below(&rng, 100 * MS), 20 * MS, true, false,
			 false);
	assert_true(acks_are_unclear(&a, 20 * MS));
	for (int i = 0; i < 500; i++)
		acks_add(&a, 20 * MS + (uint32_t)rng_below(&rng, 2 * MS), 20 * MS, true, false,
			 false);
	assert_false(acks_are_unclear(&a, 20 * MS));
	assert_int_equal(acks_score(&a), ACKS_START);
}

/* A peer whose timer is another one now: learnt anew, not told meanwhile. */
static void a_timer_may_change(void **state)
{
	struct conn_acks a = { 0 };

	(void)state;
	assert_int_equal(in_turn(&a, 42, 50, true), 50);
	assert_in_range(in_turn(&a, 202, 50, true), 35, 50);
	assert_in_range(a.late, 195, 205);
}

/* Extreme values overflow nothing. */
static void extreme_values_do_not_overflow(void **state)
{
	static const uint32_t values[] = { 0, 1, 31, 32, 20000, 250000, 2097120, 3000000,
					   UINT32_MAX };
	struct conn_acks a = { 0 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int i = 0; i < 100000; i++) {
		const uint32_t rtt = values[rng_below(&rng, ARRAY_LEN(values))];
		const struct acks_found found = acks_add(&a, rtt, rtt / 2, rng_below(&rng, 2),
							 rng_below(&rng, 2), rng_below(&rng, 2));

		assert_in_range(found.delayed, 0, 255);
		assert_in_range(found.held, 0, found.delayed);
		assert_in_range(acks_score(&a), 0, ACKS_MAX);
		assert_int_not_equal(a.base, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jitter_is_no_delay),
		cmocka_unit_test(delayed_ack_timers_of_any_length_are_found),
		cmocka_unit_test(seven_late_acks_are_enough),
		cmocka_unit_test(acks_that_held_data_are_counted),
		cmocka_unit_test(unclear_acks_are_not_counted),
		cmocka_unit_test(timers_are_20_to_250_ms_long),
		cmocka_unit_test(acks_within_a_flight_prove_nothing),
		cmocka_unit_test(acks_on_replies_prove_nothing),
		cmocka_unit_test(longer_path_is_no_timer),
		cmocka_unit_test(all_acks_late_is_unclear),
		cmocka_unit_test(jitter_makes_it_unclear),
		cmocka_unit_test(a_timer_may_change),
		cmocka_unit_test(extreme_values_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
