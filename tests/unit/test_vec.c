/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/vec.h"

struct pair {
	int left, right;
};

struct pair_vec VEC_OF(struct pair);

static void test_push_and_walk(void **state)
{
	struct pair_vec pairs;
	int sum = 0;

	(void)state;
	vec_init(&pairs, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(vec_push(&pairs, (struct pair){ .left = i, .right = -i }), 0);
	vec_for_each(&pairs, pair) {
		assert_int_equal(pair->left, -pair->right);
		sum += pair->left;
	}
	assert_int_equal(sum, 1000 * 999 / 2);
	assert_int_equal(vec_last(&pairs)->left, 999);
	assert_int_equal(vec_pop(&pairs).left, 999);
	assert_int_equal(vec_pop(&pairs).left, 998);
	assert_int_equal(pairs.len, 998);
	vec_clear(&pairs);
	assert_int_equal(pairs.len, 0);
	vec_release(&pairs);
	vec_for_each(&pairs, pair)
		fail();
}

static void test_maximum(void **state)
{
	(void)state;
	for (size_t max = 0; max < 70; max++) {
		struct VEC_OF(uint16_t) v;

		vec_init(&v, max);
		for (size_t i = 0; i < max; i++)
			assert_int_equal(vec_push(&v, (uint16_t)i), 0);
		assert_int_equal(vec_push(&v, 1), -E2BIG);
		assert_int_equal(v.len, max);
		assert_true(v.cap <= max);
		for (size_t i = 0; i < max; i++)
			assert_int_equal(v.items[i], i);
		vec_release(&v);
		assert_int_equal(vec_reserve(&v, max + 1), -E2BIG);
		assert_int_equal(vec_reserve(&v, max), 0);
		vec_release(&v);
	}
}

static void test_size_overflow(void **state)
{
	struct pair_vec pairs;

	(void)state;
	vec_init(&pairs, SIZE_MAX);
	assert_int_equal(vec_push(&pairs, (struct pair){ 1, 2 }), 0);
	assert_int_equal(vec_reserve(&pairs, SIZE_MAX / sizeof(struct pair) + 1), -ENOMEM);
	assert_int_equal(pairs.items[0].right, 2);
	vec_release(&pairs);
}

static void test_clear_most(void **state)
{
	struct VEC_OF(int) v;

	(void)state;
	vec_init(&v, 1000);
	for (int i = 0; i < 100; i++)
		assert_int_equal(vec_push(&v, i), 0);
	vec_clear_most(&v, 10); /* it was used */
	assert_true(v.cap >= 100 && !v.len);
	assert_int_equal(vec_push(&v, 1), 0);
	vec_clear_most(&v, 1000); /* it is little */
	assert_true(v.cap >= 100 && !v.len);
	vec_clear_most(&v, 10);
	assert_true(!v.cap && !v.items && !v.len);
	assert_int_equal(vec_push(&v, 1), 0);
	vec_release(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_and_walk),
		cmocka_unit_test(test_maximum),
		cmocka_unit_test(test_clear_most),
		cmocka_unit_test(test_size_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
