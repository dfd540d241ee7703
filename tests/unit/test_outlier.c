/* SPDX-License-Identifier: Apache-2.0 */
/* Outliers, against Student's t by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "stats/outlier.h"

/* 6 above 1, 0, -1: t = 6 / sqrt(1 + 1/3) = 5.19615, 2 degrees of freedom; scipy's t.sf. */
static void is_students_t(void **state)
{
	const double values[] = { 6, 1, 0, -1 };
	double p[4];

	(void)state;
	outlier_upper(values, 4, 0.1, p);
	assert_true(fabs(p[0] - 0.0175494) < 1e-6);
	assert_true(p[1] == 1 && p[2] == 1 && p[3] == 1);
	/* a deviation of at least 6 makes it a usual value */
	outlier_upper(values, 4, 6, p);
	assert_true(p[0] > 0.2);
}

/* Three equal outliers of ten: with the others in the deviation, none would be seen. */
static void outliers_do_not_hide_each_other(void **state)
{
	const double values[] = { 8, 8, 8, 1.2, 1, 0.6, 0.4, 0, -0.5, -1 };
	double p[10];

	(void)state;
	outlier_upper(values, 10, 0.1, p);
	assert_true(p[0] < 0.001 && p[1] < 0.001 && p[2] < 0.001);
	assert_true(p[3] == 1);
}

static void says_nothing_of_two(void **state)
{
	const double values[] = { 9, 0 };
	double p[2];

	(void)state;
	outlier_upper(values, 2, 0.1, p);
	assert_true(p[0] == 1 && p[1] == 1);
	outlier_upper(values, 0, 0.1, p);
	outlier_upper(values, 1, 0.1, p);
	assert_true(p[0] == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_students_t),
		cmocka_unit_test(outliers_do_not_hide_each_other),
		cmocka_unit_test(says_nothing_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
