/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics as OpenMetrics, and as the older text of Prometheus. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bug.h"
#include "output/openmetrics.h"

static const struct metric_family waits = {
	.name = "x_wait_seconds", .unit = METRIC_IN_SECONDS, .help = "Time of waits",
	.labels = { "app", "class" },
};
static const struct metric_family open_now = {
	.name = "x_open", .type = METRIC_GAUGE, .help = "Open ones",
};
static const struct metric_family info = {
	.name = "x_app", .type = METRIC_INFO, .help = "Facts", .labels = { "app", "unit", "more" },
};

static void add(struct metrics *m, const struct metric_family *family, const char *a, const char *b,
		uint64_t value)
{
	metrics_add(m, &(struct metric_sample){ .family = family, .labels = { a, b },
						.value = value });
}

static void expect(const struct metrics *m, enum openmetrics_form form, const char *text)
{
	struct strbuf out = STRBUF_INIT(4096);

	openmetrics_put(m, form, &out);
	assert_int_equal(out.error, 0);
	assert_string_equal(strbuf_str(&out), text);
	strbuf_release(&out);
}

static void test_forms(void **state)
{
	struct metrics m;

	(void)state;
	metrics_init(&m);
	expect(&m, OPENMETRICS_1_0, "# EOF\n");
	expect(&m, OPENMETRICS_PROMETHEUS, "");
	add(&m, &waits, "web", "late", 1500000001);
	add(&m, &waits, "web", NULL, 0);
	add(&m, &open_now, NULL, NULL, 7);
	add(&m, &info, "web", "web.service", 1);
	expect(&m, OPENMETRICS_1_0,
	       "# TYPE x_wait_seconds counter\n"
	       "# UNIT x_wait_seconds seconds\n"
	       "# HELP x_wait_seconds Time of waits.\n"
	       "x_wait_seconds_total{app=\"web\",class=\"late\"} 1.500000001\n"
	       "x_wait_seconds_total{app=\"web\"} 0.000000000\n"
	       "# TYPE x_open gauge\n"
	       "# HELP x_open Open ones.\n"
	       "x_open 7\n"
	       "# TYPE x_app info\n"
	       "# HELP x_app Facts.\n"
	       "x_app_info{app=\"web\",unit=\"web.service\"} 1\n"
	       "# EOF\n");
	expect(&m, OPENMETRICS_PROMETHEUS,
	       "# TYPE x_wait_seconds_total counter\n"
	       "# HELP x_wait_seconds_total Time of waits.\n"
	       "x_wait_seconds_total{app=\"web\",class=\"late\"} 1.500000001\n"
	       "x_wait_seconds_total{app=\"web\"} 0.000000000\n"
	       "# TYPE x_open gauge\n"
	       "# HELP x_open Open ones.\n"
	       "x_open 7\n"
	       "# TYPE x_app_info gauge\n"
	       "# HELP x_app_info Facts.\n"
	       "x_app_info{app=\"web\",unit=\"web.service\"} 1\n");
	metrics_release(&m);
}

/* A program may call itself anything; a scraper refuses the whole page for one bad byte. */
static void test_hostile_labels(void **state)
{
	struct metrics m;

	(void)state;
	metrics_init(&m);
	add(&m, &waits, "a\"} 1\nb\\", "\xff\xc3\xa9\xc3", 0);
	expect(&m, OPENMETRICS_1_0,
	       "# TYPE x_wait_seconds counter\n"
	       "# UNIT x_wait_seconds seconds\n"
	       "# HELP x_wait_seconds Time of waits.\n"
	       "x_wait_seconds_total{app=\"a\\\"} 1\\nb\\\\\",class=\"\xef\xbf\xbd\xc3\xa9\xef\xbf"
	       "\xbd\"} 0.000000000\n"
	       "# EOF\n");
	metrics_release(&m);
}

/* A second sample with the same labels would make the page invalid. */
static void test_one_sample_for_labels(void **state)
{
	struct metrics m;

	(void)state;
	metrics_init(&m);
	add(&m, &waits, "a", "b", 1);
	add(&m, &waits, "b", "a", 2);
	add(&m, &waits, "a", "b", 4);
	add(&m, &waits, "a", NULL, 8);
	add(&m, &waits, "a", "", 16);
	add(&m, &open_now, NULL, NULL, 32);
	add(&m, &open_now, NULL, NULL, 64);
	assert_int_equal(m.samples.len, 4);
	assert_int_equal(m.samples.items[0].value, 5);
	assert_int_equal(m.samples.items[1].value, 2);
	assert_int_equal(m.samples.items[2].value, 24);
	assert_int_equal(m.samples.items[3].value, 96);
	metrics_release(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_hostile_labels),
		cmocka_unit_test(test_one_sample_for_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
