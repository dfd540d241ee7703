/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of --max-overhead, by itself and against a model of what measuring costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probe/packet/shed.h"

#define LIMIT 0.01

static void one_step(void **state)
{
	(void)state;
	assert_int_equal(shed_next(1, 1, 0.009, LIMIT), 1);
	assert_int_equal(shed_next(1, 1, 0.01, LIMIT), 1);	/* the limit itself is allowed */
	assert_int_equal(shed_next(1, 1, 0.011, LIMIT), 2);
	assert_int_equal(shed_next(1, 1, 0.05, LIMIT), 8);	/* at once as much as is needed */
	assert_int_equal(shed_next(64, 64, 0.05, LIMIT), 512);
	assert_int_equal(shed_next(64, 1, 0.004, LIMIT), 64);	/* twice that might be too much */
	assert_int_equal(shed_next(64, 1, 0.003, LIMIT), 32);
	assert_int_equal(shed_next(64, 64, 0.0001, LIMIT), 64);	/* never more than is asked for */
	assert_int_equal(shed_next(96, 64, 0.0001, LIMIT), 64);
	assert_int_equal(shed_next(40000, 1, 0.02, LIMIT), SHED_MAX);
	assert_int_equal(shed_next(SHED_MAX, 1, 0.02, LIMIT), 0);
	assert_int_equal(shed_next(SHED_MAX, 1, 0.01, LIMIT), SHED_MAX);
}

/* Each packet costs `passed`, and what is drawn `measured` more, over a fixed part. */
static double cost(uint32_t one_in, double fixed, double passed, double measured)
{
	return fixed + passed + measured / one_in;
}

/* The cost falls below the limit, stays there, and returns after the load ends. */
static void settles_below_the_limit(void **state)
{
	(void)state;
	for (double load = 0.001; load < 4; load *= 1.7) {
		uint32_t n = 1, changes = 0;

		for (int i = 0; i < 40; i++) {
			uint32_t next = shed_next(n, 1, cost(n, 0.001, 0.001, load), LIMIT);

			assert_true(next);
			changes += i >= 20 && next != n;
			n = next;
		}
		assert_true(cost(n, 0.001, 0.001, load) <= LIMIT);
		assert_int_equal(changes, 0);
		for (int i = 0; i < 20; i++)
			n = shed_next(n, 1, 0.001, LIMIT);
		assert_int_equal(n, 1);
	}
}

static void gives_up(void **state)
{
	uint32_t n = 1;
	int i = 0;

	(void)state;
	while (n && i++ < 40)
		n = shed_next(n, 1, cost(n, 0.02, 0, 0.1), LIMIT);
	assert_int_equal(n, 0);
	assert_true(i <= 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_step),
		cmocka_unit_test(settles_below_the_limit),
		cmocka_unit_test(gives_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
