/* SPDX-License-Identifier: Apache-2.0 */
/* The share of late passes, judged anew after every 60. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conns/lateness.h"

#define DUE 1000000000u

static void pass_by(struct lateness *l, uint32_t passes, int64_t late_ns)
{
	for (uint32_t i = 0; i < passes; i++)
		lateness_note(l, DUE, 0, (uint64_t)(DUE + late_ns));
}

static void test_share(void **state)
{
	struct lateness l = { 0 };

	(void)state;
	pass_by(&l, 59, 2 * LATENESS_NS);
	assert_false(l.is_late); /* too few to judge */
	pass_by(&l, 1, 0);
	assert_true(l.is_late);
	pass_by(&l, 54, 0);
	assert_true(l.is_late); /* until the next judgement */
	pass_by(&l, 6, 2 * LATENESS_NS);
	assert_false(l.is_late); /* a tenth is allowed */
	pass_by(&l, 7, 2 * LATENESS_NS);
	pass_by(&l, 53, 0);
	assert_true(l.is_late);
}

/* Earlier than due, as clocks of two CPUs may show it, is not late. */
static void test_in_time(void **state)
{
	struct lateness l = { 0 };

	(void)state;
	pass_by(&l, 60, LATENESS_NS);
	assert_false(l.is_late);
	pass_by(&l, 60, -5);
	assert_false(l.is_late);
}

/* Own work meanwhile is no wait for a CPU; the wait behind it is. */
static void test_own_work(void **state)
{
	struct lateness l = { 0 };

	(void)state;
	for (uint32_t i = 0; i < LATENESS_PASSES; i++)
		lateness_note(&l, DUE, DUE + 9 * LATENESS_NS, DUE + 10 * LATENESS_NS);
	assert_false(l.is_late);
	for (uint32_t i = 0; i < LATENESS_PASSES; i++)
		lateness_note(&l, DUE, DUE + 9 * LATENESS_NS, DUE + 11 * LATENESS_NS);
	assert_true(l.is_late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share), cmocka_unit_test(test_in_time),
		cmocka_unit_test(test_own_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
