/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's formula, stretches of time, and those that are made from pairs of readings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>

#include "base/rng.h"
#include "clock/pairs.h"
#include "clock/timekeeper.h"
#include "clock_log.h"

#define NS_PER_S 1000000000LL
#define SHIFT 24

static const struct clock_timekeeper some = {
	.mono = { .mult = 6990507, .shift = SHIFT },
};

/* ---- the kernel's own formula ---- */

static void test_timekeeper(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < 100000; i++) {
		struct clock_timekeeper tk = {
			.mono = { rng_u64(&rng) >> 8, rng_below(&rng, 1 << 24),
				  (int64_t)(rng_u64(&rng) >> 4),
				  1 + (uint32_t)rng_below(&rng, 1 << 30), SHIFT },
			.real_ns = (int64_t)(rng_u64(&rng) >> 4),
		};
		const uint64_t ticks = tk.mono.cycle_last + (rng_u64(&rng) >> (4 + i % 60));
		const unsigned __int128 q = (unsigned __int128)(ticks - tk.mono.cycle_last) *
					    tk.mono.mult + tk.mono.fraction;
		const __int128 wanted = (__int128)(q >> SHIFT) + tk.mono.base_ns + tk.real_ns;
		uint64_t back;
		int64_t ns, shown;

		assert_int_equal(timekeeper_ns(&tk, DOMAIN_REALTIME, ticks, &ns),
				 wanted > CONVERT_TIME_MAX ? -ERANGE : 0);
		if (wanted > CONVERT_TIME_MAX)
			continue;
		assert_true(ns == wanted);
		assert_int_equal(timekeeper_ticks(&tk, DOMAIN_REALTIME, ns, &back), 0);
		assert_true(back <= ticks); /* the first that shows it */
		assert_int_equal(timekeeper_ns(&tk, DOMAIN_REALTIME, back, &shown), 0);
		assert_int_equal(shown, ns);
		assert_int_equal(timekeeper_ns(&tk, DOMAIN_REALTIME, back - 1, &shown), 0);
		assert_true(shown < ns);
	}
}

static void test_timekeeper_without_clock(void **state)
{
	struct clock_timekeeper tk = some;
	uint64_t ticks;
	int64_t ns;

	(void)state;
	assert_int_equal(timekeeper_ns(&tk, DOMAIN_TSC, 1, &ns), -EOPNOTSUPP);
	assert_int_equal(timekeeper_ticks(&tk, DOMAIN_NIC, 1, &ticks), -EOPNOTSUPP);
	assert_int_equal(timekeeper_ticks(&tk, DOMAIN_MONO, -CONVERT_TIME_MAX, &ticks), -ERANGE);
	assert_true(timekeeper_is_valid(&tk));
	tk.mono.shift = 33;
	assert_false(timekeeper_is_valid(&tk));
	tk = some;
	tk.mono.mult = 0;
	assert_false(timekeeper_is_valid(&tk));
}

/* ---- unknown times ---- */

static void test_unknown_times(void **state)
{
	struct clock_reconcile r;
	struct clock_time t;
	const struct clock_stretch s = { .from = 1000, .mono_ns = 500, .mult = 1, .shift = 1 };
	struct clock_stretch end = s;

	(void)state;
	clock_reconcile_init(&r);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_TSC, DOMAIN_MONO, 1000, &t), -ERANGE);
	end.flags = STRETCH_HOLDS;
	assert_int_equal(clock_reconcile_add(&r, DOMAIN_TSC, &end), -EINVAL); /* holds what? */
	assert_int_equal(clock_reconcile_add(&r, DOMAIN_TSC, &s), 0);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_TSC, DOMAIN_MONO, 1001, &t), -ERANGE);
	end.from = 1100;
	assert_int_equal(clock_reconcile_add(&r, DOMAIN_TSC, &end), 0);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_TSC, DOMAIN_MONO, 1100, &t), 0);
	assert_int_equal(t.value, 550);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_TSC, DOMAIN_MONO, 999, &t), -ERANGE);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_TSC, DOMAIN_MONO, 1101, &t), -ERANGE);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_TSC, DOMAIN_MONO, -1, &t), -ERANGE);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_MONO, DOMAIN_TSC, 551, &t), -ERANGE);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_MONO, DOMAIN_TSC, 525, &t), 0);
	assert_int_equal(t.value, 1050);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_TSC, DOMAIN_NIC, 1050, &t), -ERANGE);
	end.from = 1099;
	assert_int_equal(clock_reconcile_add(&r, DOMAIN_TSC, &end), -EINVAL);
	end = (struct clock_stretch){ .from = 2000, .mono_ns = 1000, .mult = 1 << 20, .shift = 20,
				      .flags = STRETCH_LOST };
	assert_int_equal(clock_reconcile_add(&r, DOMAIN_TSC, &end), 0);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_TSC, DOMAIN_MONO, 1500, &t), -ERANGE);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_TSC, DOMAIN_MONO, 2000, &t), 0);
	end.mult = 0;
	end.from = 3000;
	assert_int_equal(clock_reconcile_add(&r, DOMAIN_TSC, &end), -EINVAL);
	clock_reconcile_release(&r);
}

/* A time that may have been before or after the clock was set has no conversion. */
static void test_error_over_a_step(void **state)
{
	struct clock_reconcile r;
	struct clock_time t;
	const struct clock_stretch tsc = { .from = 0, .mono_ns = 0, .mult = 1, .error_ns = 10 };
	const struct clock_stretch tsc_end = { .from = 1000, .mono_ns = 1000, .mult = 1,
					       .flags = STRETCH_HOLDS };
	struct clock_stretch real = { .from = 5000, .mono_ns = 0, .mult = 1 };

	(void)state;
	clock_reconcile_init(&r);
	assert_int_equal(clock_reconcile_add(&r, DOMAIN_TSC, &tsc), 0);
	assert_int_equal(clock_reconcile_add(&r, DOMAIN_TSC, &tsc_end), 0);
	assert_int_equal(clock_reconcile_add(&r, DOMAIN_REALTIME, &real), 0);
	real = (struct clock_stretch){ .from = 9500, .mono_ns = 500, .mult = 1,
				       .flags = STRETCH_STEP };
	assert_int_equal(clock_reconcile_add(&r, DOMAIN_REALTIME, &real), 0);
	real = (struct clock_stretch){ .from = 10000, .mono_ns = 1000, .mult = 1,
				       .flags = STRETCH_HOLDS };
	assert_int_equal(clock_reconcile_add(&r, DOMAIN_REALTIME, &real), 0);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_TSC, DOMAIN_REALTIME, 400, &t), 0);
	assert_int_equal(t.value, 5400);
	assert_true(t.error_ns >= 10);
	for (int64_t at = 495; at <= 505; at += 10)
		assert_int_equal(clock_reconcile_convert(&r, DOMAIN_TSC, DOMAIN_REALTIME, at, &t),
				 -ERANGE);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_TSC, DOMAIN_REALTIME, 600, &t), 0);
	assert_int_equal(t.value, 9600);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_REALTIME, DOMAIN_MONO, 7000, &t),
			 -ERANGE); /* skipped */
	clock_reconcile_release(&r);
}

/* ---- pairs ---- */

/* Between the pairs, the clock drifts at random by up to 1000 ppm. */
static void test_pairs_bound_any_drift(void **state)
{
	struct rng rng;
	struct clock_reconcile r;
	struct clock_pairs pairs;
	static struct { int64_t mono; uint64_t ticks; } moments[20000];
	int64_t mono = 77 * NS_PER_S;
	unsigned __int128 ticks = 1ULL << 40;
	uint64_t wrong = 0, wrong_without = 0;
	size_t n = 0;

	(void)state;
	rng_init(&rng, 11);
	clock_reconcile_init(&r);
	clock_pairs_init(&pairs, DOMAIN_TSC, clock_log_taker(&r));
	for (int i = 0; i < 20000; i++) {
		const int64_t ppm = (int64_t)rng_below(&rng, 2001) - 1000;
		const int64_t step = 200000 + (int64_t)rng_below(&rng, 2000000);

		mono += step;
		ticks += (unsigned __int128)step * (3000000 + 3 * ppm) / 1000000;
		moments[n].mono = mono;
		moments[n++].ticks = (uint64_t)ticks;
		if (i % 12 == 0) {
			const uint64_t error = rng_below(&rng, 500);
			const int64_t off = (int64_t)rng_below(&rng, 2 * error + 1) -
					    (int64_t)error;

			assert_int_equal(clock_pairs_add(&pairs, &(struct clock_pair){
				.mono_ns = mono + off, .error_ns = error,
				.other = (uint64_t)ticks }), 0);
		}
	}
	assert_int_equal(clock_pairs_hold(&pairs), 0);
	assert_int_equal(pairs.losses, 0);
	for (size_t i = 0; i < n; i++) {
		struct clock_time t;

		if (clock_reconcile_convert(&r, DOMAIN_TSC, DOMAIN_MONO, (int64_t)moments[i].ticks,
					    &t))
			continue;
		wrong += llabs(t.value - moments[i].mono) > (int64_t)t.error_ns;
		wrong_without += llabs(t.value - moments[i].mono) > 501;
	}
	assert_int_equal(wrong, 0);
	assert_true(wrong_without > n / 10); /* the drift must be in the bound */
	clock_reconcile_release(&r);
}

static void test_pairs_that_contradict(void **state)
{
	struct clock_reconcile r;
	struct clock_pairs pairs;
	struct clock_time t;
	struct clock_pair pair = { .mono_ns = NS_PER_S, .error_ns = 50, .other = 3000 * NS_PER_S };

	(void)state;
	clock_reconcile_init(&r);
	clock_pairs_init(&pairs, DOMAIN_SCHED, clock_log_taker(&r));
	for (int i = 0; i < 10; i++) {
		assert_int_equal(clock_pairs_add(&pairs, &pair), 0);
		pair.mono_ns += 20000000;
		pair.other += i == 5 ? 21000000 : 20000000; /* 5 % */
	}
	assert_int_equal(clock_pairs_hold(&pairs), 0);
	assert_int_equal(pairs.losses, 1);
	assert_int_equal(clock_log_breaks(&r, DOMAIN_SCHED), 1);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_MONO, DOMAIN_SCHED,
						 NS_PER_S + 110000000, &t), -ERANGE);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_MONO, DOMAIN_SCHED,
						 NS_PER_S + 90000000, &t), 0);
	assert_int_equal(clock_reconcile_convert(&r, DOMAIN_MONO, DOMAIN_SCHED,
						 NS_PER_S + 150000000, &t), 0);
	clock_reconcile_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timekeeper),
		cmocka_unit_test(test_timekeeper_without_clock),
		cmocka_unit_test(test_unknown_times),
		cmocka_unit_test(test_error_over_a_step),
		cmocka_unit_test(test_pairs_bound_any_drift),
		cmocka_unit_test(test_pairs_that_contradict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
