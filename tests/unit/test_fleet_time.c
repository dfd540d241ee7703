/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time for --since and --until of hostlat fleet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/parse.h"
#include "cmd/fleet_time.h"

#define TODAY_NS (1700006400 * NS_PER_S) /* 2023-11-15T00:00:00Z */
#define AT_03_NS (TODAY_NS + 3 * 3600 * NS_PER_S)
#define NOW_NS (AT_03_NS + 7)
#define END_NS (AT_03_NS + 9)

static const struct {
	const char *text;
	uint64_t ns;
} times[] = {
	{ "2023-11-15 03:00Z", AT_03_NS },
	{ "2023-11-15T03:00:00Z", AT_03_NS },
	{ "2023-11-15 03:00 Z", AT_03_NS },
	{ "2023-11-15 05:00+02:00", AT_03_NS },
	{ "2023-11-15 05:00:00 +0200", AT_03_NS },
	{ "2023-11-15T05:00+02", AT_03_NS },
	{ "2023-11-14T21:30-05:30", AT_03_NS },
	{ "2023-11-15Z", TODAY_NS },
	/* local time, of test_times_of_people() */
	{ "2023-11-15 06:00", AT_03_NS },
	{ "2023-11-15", TODAY_NS - 3 * 3600 * NS_PER_S },
	{ "now", NOW_NS },
	{ "today", TODAY_NS },
	{ "yesterday", TODAY_NS - NS_PER_DAY },
	{ "1h", END_NS - 3600 * NS_PER_S },
	{ "100000d", 0 },
};

static const char *const wrong[] = {
	"", "x", "tomorrow", "Today", "2023-02-30", "2023-11-15 03", "2023-11-15 25:00",
	"2023-11-15 03:00X", "2023-11-15 03:00z", "2023-11-15 03:00+", "2023-11-15 03:00+2",
	"2023-11-15 03:00+02:", "2023-11-15 03:00+02:60", "2023-11-15 03:00+15:00",
	"2023-11-15 03:00+02:000", "2023-11-15 03:00+02:00Z", "1960-01-01Z", "now-1h",
};

static void test_times_of_people(void **state)
{
	(void)state;
	setenv("TZ", "ABC-03:00", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		uint64_t ns = 1;

		if (fleet_time_parse(times[i].text, NOW_NS, END_NS, &ns) || ns != times[i].ns)
			print_error("%s\n", times[i].text);
		assert_int_equal(ns, times[i].ns);
	}
}

static void test_no_times(void **state)
{
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		if (!fleet_time_parse(wrong[i], NOW_NS, END_NS, &ns))
			print_error("'%s' is taken\n", wrong[i]);
		assert_int_not_equal(fleet_time_parse(wrong[i], NOW_NS, END_NS, &ns), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_of_people),
		cmocka_unit_test(test_no_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
