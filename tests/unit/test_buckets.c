/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bucket index of every edge, and of the integers beside it, in all schemas. The edges
 * themselves are checked by their definition in whole numbers: e <= 2^63 * 2^(j / n) if and only if
 * e^n <= 2^(63 * n + j).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/bucket_edges.h"

/* A natural number of up to 2^16448. */
#define LIMBS 257

struct natural {
	uint64_t limb[LIMBS]; /* least significant first */
	int len;
};

static void natural_square(struct natural *x)
{
	struct natural y = { .len = 2 * x->len };

	assert_true(y.len < LIMBS);
	for (int i = 0; i < x->len; i++) {
		unsigned __int128 carry = 0;

		for (int j = 0; j < x->len; j++) {
			carry += (unsigned __int128)x->limb[i] * x->limb[j] + y.limb[i + j];
			y.limb[i + j] = carry;
			carry >>= 64;
		}
		y.limb[i + x->len] = carry;
	}
	*x = y;
}

/* Whether value^(2^schema) <= 2^exponent, that is, whether value^(2^schema) - 1 < 2^exponent. */
static bool power_at_most(uint64_t value, int schema, int exponent)
{
	struct natural x = { .limb = { value }, .len = 1 };

	for (int i = 0; i < schema; i++)
		natural_square(&x);
	for (int i = 0; i < x.len && x.limb[i]-- == 0; i++)
		;
	for (int i = exponent / 64; i < x.len; i++) {
		if (i == exponent / 64 ? x.limb[i] >> exponent % 64 : x.limb[i])
			return false;
	}
	return true;
}

static void test_edges_by_definition(void **state)
{
	(void)state;
	for (int schema = 0; schema <= BUCKET_SCHEMA_MAX; schema++) {
		int n = 1 << schema;

		for (int j = 0; j < n; j++) {
			uint64_t edge = bucket_edges_floor(schema, 63 * n + j);

			assert_true(power_at_most(edge, schema, 63 * n + j));
			assert_false(power_at_most(edge + 1, schema, 63 * n + j));
		}
	}
}

/* Every edge of every octave is a mantissa shifted down; small ones can be checked directly. */
static void test_small_edges_by_definition(void **state)
{
	(void)state;
	for (int schema = 0; schema <= 4; schema++) {
		for (int i = 0; i <= BUCKET_LIMIT_LOG2 << schema; i++) {
			uint64_t edge = bucket_edges_floor(schema, i);

			assert_true(power_at_most(edge, schema, i));
			assert_false(power_at_most(edge + 1, schema, i));
		}
	}
	assert_int_equal(bucket_edges_floor(3, -1), 0);
	assert_int_equal(bucket_edges_floor(0, 63), 1ULL << 63);
	assert_true(bucket_edges_floor(0, 64) == UINT64_MAX);
	assert_int_equal(bucket_edges_floor(-4, 2), 1ULL << 32);
	assert_true(bucket_edges_floor(-4, INT32_MAX) == UINT64_MAX);
	assert_true(bucket_edges_double(1, 3) > 2.8284271247461898);
	assert_true(bucket_edges_double(1, 3) < 2.8284271247461907);
	assert_true(bucket_edges_double(-1, -3) == 1.0 / 64);
}

/* The smallest index whose upper edge is not below the value, by looking at all of them. */
static uint32_t index_by_search(uint64_t value, int schema)
{
	uint32_t low = 0, high = 64U << 8;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (bucket_edges_floor(schema, (int32_t)mid) >= value)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static void check_around(uint64_t value, int schema)
{
	const __u64 *steps = bucket_edges_steps(schema);

	for (uint64_t v = value - 1; v != value + 2; v++) {
		uint32_t expected;

		if (!v)
			continue;
		expected = index_by_search(v, schema);
		assert_int_equal(bucket_index_any(v, schema, steps), expected);
		assert_int_equal(bucket_edges_index(schema, v), expected);
		if (schema == BUCKET_SCHEMA_DEFAULT)
			assert_int_equal(bucket_index(v), expected);
	}
}

static void test_index_at_edges(void **state)
{
	(void)state;
	for (int schema = BUCKET_SCHEMA_MIN; schema <= BUCKET_SCHEMA_MAX; schema++) {
		int32_t last = schema < 0 ? 64 >> -schema : 64 << schema;

		for (int32_t i = 0; i <= last; i++)
			check_around(bucket_edges_floor(schema, i), schema);
	}
}

/* Where one constant of the table ends and the next begins. */
static void test_index_at_segments(void **state)
{
	(void)state;
	for (int schema = 0; schema <= BUCKET_SCHEMA_MAX; schema++) {
		for (int k = 0; k < 64; k++) {
			for (uint64_t i = 2ULL << schema; i < 4ULL << schema; i++)
				check_around(i << (62 - schema) >> (63 - k), schema);
		}
	}
}

static void test_index_of_random_values(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int schema = BUCKET_SCHEMA_MIN; schema <= BUCKET_SCHEMA_MAX; schema++) {
		for (int i = 0; i < 20000; i++)
			check_around(rng_u64(&rng) >> rng_below(&rng, 64), schema);
	}
}

static void test_default_steps(void **state)
{
	(void)state;
	assert_memory_equal(bucket_edges_steps(BUCKET_SCHEMA_DEFAULT), bucket_steps_default,
			    sizeof(bucket_steps_default));
	assert_int_equal(bucket_edges_last(BUCKET_SCHEMA_DEFAULT) + 1, BUCKET_COUNT_DEFAULT);
}

/* At most one edge in a segment, on which the whole method rests. */
static void test_one_edge_per_segment(void **state)
{
	(void)state;
	for (int schema = 0; schema <= BUCKET_SCHEMA_MAX; schema++) {
		uint64_t width = 1ULL << (62 - schema);

		for (int32_t i = 63 << schema; i < (64 << schema) - 1; i++)
			assert_true(bucket_edges_floor(schema, i + 1) -
				    bucket_edges_floor(schema, i) > width);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges_by_definition),
		cmocka_unit_test(test_small_edges_by_definition),
		cmocka_unit_test(test_index_at_edges),
		cmocka_unit_test(test_index_at_segments),
		cmocka_unit_test(test_index_of_random_values),
		cmocka_unit_test(test_default_steps),
		cmocka_unit_test(test_one_edge_per_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
