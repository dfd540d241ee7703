/* SPDX-License-Identifier: Apache-2.0 */
/* When a host's threads did not run: nothing of a gap is lost, however long the run is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "load/gap_series.h"

#define MS 1000000ULL
#define WINDOW (1ULL << GAP_SERIES_SHIFT)

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * fmax(1, fmax(fabs(a), fabs(b)))))
		fail_msg("%.17g is not %.17g", a, b);
}

static void gaps_are_where_they_were(void **state)
{
	struct gap_series gaps = { 0 };

	(void)state;
	assert_near(gap_series_between(&gaps, 0, UINT64_MAX, 0), 0);
	gap_series_add(&gaps, 10 * WINDOW, 12 * WINDOW - 1, 2 * WINDOW);
	assert_near(gap_series_between(&gaps, 10 * WINDOW, 11 * WINDOW, 0), WINDOW);
	assert_near(gap_series_between(&gaps, 11 * WINDOW, 20 * WINDOW, 0), WINDOW);
	assert_near(gap_series_between(&gaps, 0, 10 * WINDOW, 0), 0);
	assert_near(gap_series_between(&gaps, 12 * WINDOW, 20 * WINDOW, 0), 0);
	/* An earlier one, and a second thread's. */
	gap_series_add(&gaps, 3 * WINDOW, 3 * WINDOW + 99, 100);
	gap_series_add(&gaps, 10 * WINDOW, 12 * WINDOW - 1, 2 * WINDOW);
	assert_near(gap_series_between(&gaps, 3 * WINDOW, 4 * WINDOW, 0), 100);
	assert_near(gap_series_between(&gaps, 10 * WINDOW, 11 * WINDOW, 0), 2 * WINDOW);
	/* The machine slept: the monotonic clock did not run meanwhile. */
	gap_series_add(&gaps, 30 * WINDOW, 30 * WINDOW + 9, 1000);
	assert_near(gap_series_between(&gaps, 30 * WINDOW, 31 * WINDOW, 0), 1000);
}

static void long_runs_have_wider_windows(void **state)
{
	struct gap_series gaps = { 0 };
	double sum = 0;

	(void)state;
	for (uint64_t i = 0; i < 3600; i++)
		gap_series_add(&gaps, i * 1000 * MS, i * 1000 * MS + MS - 1, MS);
	assert_true(gaps.n <= GAP_SERIES_WINDOWS && gaps.n > GAP_SERIES_WINDOWS / 4);
	assert_near(gap_series_between(&gaps, 0, UINT64_MAX, 0), 3600.0 * MS);
	for (uint32_t i = 0; i < gaps.n; i++)
		sum += gap_series_between(&gaps, (gaps.first + i) << gaps.shift,
					  (gaps.first + i + 1) << gaps.shift, 0);
	assert_near(sum, 3600.0 * MS);
}

/* The length that is asked for is met to a factor of two; widening keeps lengths apart. */
static void short_gaps_are_told_apart(void **state)
{
	struct gap_series gaps = { 0 };

	(void)state;
	gap_series_add(&gaps, 0, 99, 100);
	gap_series_add(&gaps, 5000, 5000 + 100000, 100000);
	gap_series_add(&gaps, 3 * MS, 5 * MS, 2 * MS);
	gap_series_add(&gaps, 10000 * MS, 10600 * MS, 600 * MS);
	assert_near(gap_series_between(&gaps, 0, UINT64_MAX, 0), 602 * MS + 100100.0);
	assert_near(gap_series_between(&gaps, 0, UINT64_MAX, 20000), 602 * MS + 100000.0);
	assert_near(gap_series_between(&gaps, 0, UINT64_MAX, 100000), 602 * MS + 100000.0);
	assert_near(gap_series_between(&gaps, 0, UINT64_MAX, 200000), 602.0 * MS);
	assert_near(gap_series_between(&gaps, 0, UINT64_MAX, 5 * MS), 600.0 * MS);
	assert_near(gap_series_between(&gaps, 0, UINT64_MAX, UINT64_MAX), 600.0 * MS);
}

static void contradictory_times(void **state)
{
	struct gap_series gaps = { 0 };

	(void)state;
	gap_series_add(&gaps, 2, 1, 5);
	assert_int_equal(gaps.n, 0);
	gap_series_add(&gaps, 0, UINT64_MAX, 1000);
	gap_series_add(&gaps, UINT64_MAX, UINT64_MAX, 1);
	gap_series_add(&gaps, 0, 0, 1);
	assert_true(gaps.n <= GAP_SERIES_WINDOWS);
	assert_near(gap_series_between(&gaps, 0, UINT64_MAX, 0), 1002);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_are_where_they_were),
		cmocka_unit_test(long_runs_have_wider_windows),
		cmocka_unit_test(short_gaps_are_told_apart),
		cmocka_unit_test(contradictory_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
