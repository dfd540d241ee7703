/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines to draw: whatever is merged, they span all slices, and the longest stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "diagnose/drawn.h"

#define BEGIN 1000000u

static void add(struct drawn *drawn, uint64_t *at, uint64_t ns, enum cause cause, uint32_t core)
{
	const struct slice s = {
		.begin = *at, .end = *at + ns, .cause = (uint8_t)cause, .core = core,
	};

	assert_int_equal(drawn_add(drawn, &s), 0);
	*at += ns;
}

/* Each begins where the last one ended, has a time of its own, and `n` slices are in all. */
static void check(const struct drawn *drawn, uint64_t end, uint64_t n)
{
	uint64_t at = BEGIN, slices = 0;

	assert_in_range(drawn->len, 1, DRAWN_MAX);
	vec_for_each(drawn, d) {
		assert_int_equal(d->slice.begin, at);
		assert_true(d->own_ns > 0 && d->own_ns <= d->slice.end - d->slice.begin);
		assert_int_equal(d->merged == 0, d->own_ns == d->slice.end - d->slice.begin);
		at = d->slice.end;
		slices += 1 + d->merged;
	}
	assert_int_equal(at, end);
	if (n)
		assert_int_equal(slices, n);
}

static void test_few_stay(void **state)
{
	struct drawn drawn;
	uint64_t at = BEGIN;

	(void)state;
	drawn_init(&drawn);
	for (unsigned int i = 0; i < DRAWN_MAX; i++)
		add(&drawn, &at, 1 + i % 7, i % 2 ? CAUSE_LOCK : CAUSE_CPU_WAIT, i);
	drawn_finish(&drawn);
	assert_int_equal(drawn.len, DRAWN_MAX);
	check(&drawn, at, DRAWN_MAX);
	vec_for_each(&drawn, d)
		assert_int_equal(d->merged, 0);
	drawn_release(&drawn);
}

/* One slice in 1000 is longer than all that is between it and the next: none of them is lost. */
static void test_longest_stay(void **state)
{
	struct rng rng;
	struct drawn drawn;
	uint64_t at = BEGIN, begins[100];
	unsigned int n = 0, found = 0;

	(void)state;
	rng_init(&rng, 7);
	drawn_init(&drawn);
	for (unsigned int i = 0; i < 100000; i++) {
		const bool is_long = i % 1000 == 500;

		if (is_long)
			begins[n++] = at;
		add(&drawn, &at, is_long ? 10000000 : 1 + rng_below(&rng, 5000),
		    is_long ? CAUSE_CPU_WAIT : CAUSE_SOFTIRQ + i % 2, i);
	}
	drawn_finish(&drawn);
	check(&drawn, at, 100000);
	vec_for_each(&drawn, d) {
		if (d->slice.cause != CAUSE_CPU_WAIT)
			continue;
		/* Only shorter ones beside it may have joined it. */
		assert_true(d->slice.begin <= begins[found] &&
			    d->slice.end >= begins[found] + 10000000);
		assert_int_equal(d->own_ns, 10000000);
		assert_in_range(d->slice.end - d->slice.begin, 10000000, 10000000 + 5000000);
		found++;
	}
	assert_int_equal(found, n);
	drawn_release(&drawn);
}

/* Where neighbors are alike, merging them hides nothing. */
static void test_alike_are_first(void **state)
{
	struct drawn drawn;
	uint64_t at = BEGIN;

	(void)state;
	drawn_init(&drawn);
	for (unsigned int i = 0; i < 50000; i++)
		add(&drawn, &at, i % 500 ? 1000 : 10, CAUSE_LOCK, i / 500);
	drawn_finish(&drawn);
	check(&drawn, at, 0);
	vec_for_each(&drawn, d)
		assert_int_equal(d->merged, 0);
	drawn_release(&drawn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_stay), cmocka_unit_test(test_longest_stay),
		cmocka_unit_test(test_alike_are_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
