/* SPDX-License-Identifier: Apache-2.0 */
/* The share of late passes, judged anew after every 20. */
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
		lateness_note(l, DUE, (uint64_t)(DUE + late_ns));
}

static void test_share(void **state)
{
	struct lateness l = { 0 };

	(void)state;
	pass_by(&l, 19, 2 * LATENESS_NS);
	assert_false(l.is_late); /* too few to judge */
	pass_by(&l, 1, 0);
	assert_true(l.is_late);
	pass_by(&l, 19, 0);
	assert_true(l.is_late); /* until the next judgement */
	pass_by(&l, 1, 2 * LATENESS_NS);
	assert_false(l.is_late); /* one of 20 is allowed */
	pass_by(&l, 2, 2 * LATENESS_NS);
	pass_by(&l, 18, 0);
	assert_true(l.is_late);
}

/* Earlier than due, as clocks of two CPUs may show it, is not late. */
static void test_in_time(void **state)
{
	struct lateness l = { 0 };

	(void)state;
	pass_by(&l, 20, LATENESS_NS);
	assert_false(l.is_late);
	pass_by(&l, 20, -5);
	assert_false(l.is_late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share), cmocka_unit_test(test_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
