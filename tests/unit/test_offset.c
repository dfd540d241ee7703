/* SPDX-License-Identifier: Apache-2.0 */
/* How far two clocks are apart: the bound must hold, whatever the way there and back is like. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "load/offset.h"

#define T0 1000000000000ULL

/* Asks at `at` a clock that is `by` ahead; the answer takes so long there and back. */
static int ask(struct offset *o, uint64_t at, int64_t by, uint64_t there, uint64_t back)
{
	return offset_add(o, at, at + there + (uint64_t)by, at + there + back);
}

static uint64_t distance(int64_t a, int64_t b)
{
	return (uint64_t)(a > b ? a - b : b - a);
}

static void test_bound(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int run = 0; run < 2000; run++) {
		int64_t by = (int64_t)rng_below(&rng, 1ULL << 50) - (1LL << 39);
		struct offset o = { 0 };
		uint64_t quickest = UINT64_MAX;

		for (uint64_t i = 0; i < 16; i++) {
			uint64_t there = rng_below(&rng, 1000000), back = rng_below(&rng, 50000);

			quickest = there + back < quickest ? there + back : quickest;
			assert_int_equal(ask(&o, T0 + i, by, there, back), 0);
		}
		assert_true(o.known);
		assert_true(distance(o.ns, by) <= o.error_ns);
		assert_true(o.error_ns <= quickest / 2 + 1);
		assert_int_equal(o.rtt_ns, quickest);
	}
}

/* The bound of half a round trip is reached, and not exceeded, if one way takes all of it. */
static void test_one_way_takes_the_whole_round_trip(void **state)
{
	struct offset o = { 0 };

	(void)state;
	assert_int_equal(ask(&o, T0, 500, 1001, 0), 0);
	assert_int_equal(o.ns, 500 + 500);
	assert_int_equal(o.error_ns, 501);
	assert_true(distance(o.ns, 500) <= o.error_ns);
}

static void test_drift(void **state)
{
	struct offset o = { 0 };

	(void)state;
	assert_int_equal(ask(&o, T0, 700, 100, 100), 0);
	offset_settle(&o);
	assert_int_equal(o.error_ns, 100);
	/* Slow answers don't widen it: the best of each group counts. */
	for (int i = 0; i < OFFSET_GROUP; i++)
		assert_int_equal(ask(&o, T0, 700, i == 3 ? 40 : 90000, 40), 0);
	assert_int_equal(o.ns, 700);
	assert_int_equal(o.error_ns, 100);
	/* Clocks that went apart do, and the offset stays. */
	for (int i = 0; i < OFFSET_GROUP; i++)
		assert_int_equal(ask(&o, T0, 5700, 40, 40), 0);
	assert_int_equal(o.ns, 700);
	assert_in_range(o.error_ns, 5000, 5080);
}

static void test_refused(void **state)
{
	struct offset o = { 0 };
	uint64_t at;

	(void)state;
	assert_int_equal(offset_add(&o, 5, 5, 4), -EINVAL);
	assert_int_equal(offset_add(&o, 4, UINT64_MAX, 5), -EINVAL);
	assert_false(o.known);
	assert_int_equal(ask(&o, T0, 1000, 0, 0), 0);
	assert_true(offset_to_ours(&o, 1000, &at));
	assert_int_equal(at, 0);
	assert_false(offset_to_ours(&o, 999, &at));
	assert_false(offset_to_ours(&o, UINT64_MAX, &at));
	assert_true(offset_to_theirs(&o, 999, &at));
	assert_int_equal(at, 1999);
	assert_false(offset_to_theirs(&o, 1ULL << 62, &at));
}

/* An agent may send any number: -fsanitize=undefined watches the arithmetic. */
static void test_extremes(void **state)
{
	const uint64_t extremes[] = { 0, 1, (1ULL << 62) - 1, 1ULL << 62, INT64_MAX,
				      1ULL << 63, UINT64_MAX };
	const size_t n = sizeof(extremes) / sizeof(extremes[0]);
	uint64_t at;

	(void)state;
	for (size_t i = 0; i < n * n * n; i++) {
		const uint64_t sent = extremes[i % n], received = extremes[i / n % n];
		const uint64_t theirs = extremes[i / n / n];
		struct offset o = { 0 };

		if (offset_add(&o, sent, theirs, received)) {
			assert_false(o.known);
			continue;
		}
		assert_true(o.error_ns <= (received - sent) / 2 + 1);
		for (size_t k = 0; k < n; k++) {
			if (offset_to_ours(&o, extremes[k], &at))
				assert_true(at < 1ULL << 62);
			if (offset_to_theirs(&o, extremes[k], &at))
				assert_true(at < 1ULL << 62);
		}
	}
}

static void test_same(void **state)
{
	struct offset o;
	uint64_t at;

	(void)state;
	offset_init_same(&o);
	assert_true(offset_to_ours(&o, T0, &at));
	assert_int_equal(at, T0);
	assert_int_equal(o.error_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_one_way_takes_the_whole_round_trip),
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
