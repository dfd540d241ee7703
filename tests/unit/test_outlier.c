/* SPDX-License-Identifier: Apache-2.0 */
/* Outliers, against Student's t by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "stats/outlier.h"

static const struct outlier_prior none = { 0 };

/* 6 above 1, 0, -1: t = 6 / sqrt(1 + 1/3) = 5.19615, 2 degrees of freedom: p by its closed form. */
static void is_students_t(void **state)
{
	const double values[] = { 6, 1, 0, -1 };
	double p[4];

	(void)state;
	outlier_upper(values, 4, &none, p);
	assert_true(fabs(p[0] - 0.0175494) < 1e-6);
	assert_true(p[1] == 1 && p[2] == 1 && p[3] == 1);
	/* 2 more degrees of freedom, of variance 9: t^2 = 36 / ((18 + 2) / 4 * 4/3) = 5.4, df 4 */
	outlier_upper(values, 4, &(struct outlier_prior){ 3, 2 }, p);
	assert_true(fabs(p[0] - 0.0404001) < 1e-6);
}

/* Three equal outliers of ten: with the others in the deviation, none would be seen. */
static void outliers_do_not_hide_each_other(void **state)
{
	const double values[] = { 8, 8, 8, 1.2, 1, 0.6, 0.4, 0, -0.5, -1 };
	double p[10];

	(void)state;
	outlier_upper(values, 10, &none, p);
	assert_true(p[0] < 0.001 && p[1] < 0.001 && p[2] < 0.001);
	assert_true(p[3] == 1);
}

static void says_nothing_of_two(void **state)
{
	const double values[] = { 9, 0 };
	double p[2];

	(void)state;
	outlier_upper(values, 2, &none, p);
	assert_true(p[0] == 1 && p[1] == 1);
	outlier_upper(values, 0, &none, p);
	outlier_upper(values, 1, &none, p);
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
