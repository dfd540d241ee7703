/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/sort.h"

#define N 40

static int by_value(const void *a, const void *b)
{
	return sort_order(*(const uint64_t *)a, *(const uint64_t *)b);
}

static void test_order(void **state)
{
	(void)state;
	assert_int_equal(sort_order(1, 2), -1);
	assert_int_equal(sort_order(UINT64_MAX, 0), 1);
	assert_int_equal(sort_order(-0.0, 0.0), 0);
}

/* Against a search one by one, in arrays of all lengths and with values that repeat. */
static void test_first(void **state)
{
	uint64_t x[N];
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (size_t n = 0; n <= N; n++) {
		for (size_t i = 0; i < n; i++)
			x[i] = rng_below(&rng, N);
		qsort(x, n, sizeof(*x), by_value);
		for (uint64_t key = 0; key <= N; key++) {
			const size_t from = n ? rng_below(&rng, n) : 0;
			size_t expected = from;

			while (expected < n && x[expected] < key)
				expected++;
			assert_int_equal(sort_first(i, from, n, x[i] >= key), expected);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
