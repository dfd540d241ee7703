/* SPDX-License-Identifier: Apache-2.0 */
/* Latency by outcome, and the times of connects through facts and back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "event/memsource.h"
#include "load/dial_times.h"
#include "load/outcomes.h"
#include "output/json.h"

static const struct provenance nobody = { .version = "1", .command = "load", .schema = 1 };

static void render(struct report *r, struct strbuf *json)
{
	strbuf_reset(json);
	json_report(r, JSON_LINE, json);
	assert_int_equal(report_error(r), 0);
	report_release(r);
}

static void test_ids(void **state)
{
	(void)state;
	/* Recordings hold these numbers. */
	assert_int_equal(outcome_of_cause(CAUSE_REQUEST, "HTTP 503"), 0x8237b8b1);
	assert_int_equal(outcome_of_cause(CAUSE_REPLY, "HTTP 404"), 0xd3cd36a5);
	assert_int_not_equal(outcome_of_cause(CAUSE_REQUEST, "HTTP 404"),
			     outcome_of_cause(CAUSE_REPLY, "HTTP 404"));
	assert_true(outcome_of_cause(CAUSE_REQUEST, "") > OUTCOME_MISS);
}

#define ROW(name, count, ns)                                                                       \
	"{\"outcome\": \"" name "\", \"count\": " count ", \"p50_ns\": " ns                      \
	", \"p99_ns\": " ns "}"

static void test_table(void **state)
{
	struct strbuf json = STRBUF_INIT(1 << 16);
	struct outcomes o = { 0 };
	struct causes causes = { 0 };
	struct report r;

	(void)state;
	causes_note(&causes, CAUSE_REQUEST, "NOAUTH", "", 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(outcomes_add(&o, OUTCOME_NONE, 1000), 0);
	report_init(&r, &nobody);
	outcomes_report(&o, &causes, &r);
	render(&r, &json);
	assert_null(strstr(strbuf_str(&json), "outcomes"));
	for (int i = 0; i < 4; i++)
		assert_int_equal(outcomes_add(&o, outcome_of_cause(CAUSE_REQUEST, "NOAUTH"), 5), 0);
	assert_int_equal(outcomes_add(&o, OUTCOME_MISS, 7), 0);
	/* A number without a cause: the table of causes was full. */
	assert_int_equal(outcomes_add(&o, 12345, 9), 0);
	report_init(&r, &nobody);
	outcomes_report(&o, &causes, &r);
	render(&r, &json);
	assert_non_null(strstr(strbuf_str(&json),
		"\"outcomes\": [" ROW("NOAUTH", "4", "5") ", "
		ROW("completed", "3", "1000") ", "
		ROW("miss", "1", "7") ", "
		ROW("other", "1", "9") "]"));
	/* More outcomes than fit lose no reply. */
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(outcomes_add(&o, 1000000 + i, i), 0);
	assert_int_equal(o.n, OUTCOMES_MAX);
	outcomes_release(&o);
	strbuf_release(&json);
}

/* Passes the facts of `from` to `to`; returns their number. */
static int pass(const struct dial_times *from, struct dial_times *to)
{
	struct event_memsource *queue;
	struct event_block block;
	struct event event;
	int n = 0;

	assert_int_equal(event_memsource_new(&queue, 1 << 20), 0);
	assert_int_equal(dial_times_put(from, event_memsource_sink(queue), 1), 0);
	while (event_source_next(event_memsource_source(queue), &block) > 0) {
		for (size_t at = 0; event_block_next(&block, &at, &event); n++) {
			const char *key, *value;

			event_fact_get(&event, &key, &value);
			assert_string_equal(key, LOAD_FACT_DIAL);
			assert_int_equal(dial_times_add_fact(to, value), 0);
		}
	}
	event_memsource_free(queue);
	return n;
}

static void test_facts(void **state)
{
	struct strbuf json = STRBUF_INIT(1 << 16);
	struct dial_times from, to;
	struct report r;

	(void)state;
	assert_int_equal(dial_times_init(&from), 0);
	assert_int_equal(dial_times_init(&to), 0);
	assert_int_equal(pass(&from, &to), 0);
	for (uint64_t ns = 1; ns < BUCKET_LIMIT; ns = ns * 17 / 16 + 1)
		dial_times_note(&from, DIAL_CONNECT, ns);
	dial_times_note(&from, DIAL_RECONNECT, 123456);
	/* Twice, as of two agents. */
	assert_int_equal(pass(&from, &to), 2);
	assert_int_equal(pass(&from, &to), 2);
	assert_int_equal(to.of[DIAL_CONNECT].count, 2 * from.of[DIAL_CONNECT].count);
	assert_int_equal(to.of[DIAL_CONNECT].max, from.of[DIAL_CONNECT].max);
	assert_int_equal(to.of[DIAL_CONNECT].min, 1);
	assert_int_equal(to.of[DIAL_HANDSHAKE].count, 0);
	report_init(&r, &nobody);
	dial_times_report(&to, &r);
	render(&r, &json);
	assert_non_null(strstr(strbuf_str(&json),
		"{\"of\": \"reconnect\", \"count\": 2, \"p50_ns\": 123456, "
		"\"p99_ns\": 123456, \"max_ns\": 123456}]"));
	assert_null(strstr(strbuf_str(&json), "handshake"));
	dial_times_release(&from);
	dial_times_release(&to);
	strbuf_release(&json);
}

static void test_malformed_facts(void **state)
{
	static const char *const malformed[] = {
		"", "connect", "connect ", "connect 1", "connect 1 2", "connect 1 2 ",
		"bind 1 2 80:4", "connect 2 1 80:4", "connect 1 2 80", "connect 1 2 80:",
		"connect 1 2 80:0", "connect 1 2 80:-4", "connect 1 2 x:4", "connect 1 2 80:4x",
		"connect -1 2 80:4", "connect 1 2 99999:1", "connect 1 2 -99999:1",
		"connect 1 2 80:99999999999", "connect 1 99999999999999999999 80:4",
		"connect 1 2 80:4  81:6", "connect 1 2 --80:4", "connect 1 2 3:4",
	};
	struct dial_times times;

	(void)state;
	assert_int_equal(dial_times_init(&times), 0);
	assert_int_equal(dial_times_add_fact(&times, "connect 1 2 80:4 81:6"), 0);
	assert_int_equal(times.of[DIAL_CONNECT].count, 10);
	for (size_t i = 0; i < ARRAY_LEN(malformed); i++) {
		if (dial_times_add_fact(&times, malformed[i]) != -EBADMSG)
			fail_msg("'%s' was taken", malformed[i]);
	}
	assert_int_equal(times.of[DIAL_CONNECT].count, 10);
	dial_times_release(&times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids), cmocka_unit_test(test_table),
		cmocka_unit_test(test_facts), cmocka_unit_test(test_malformed_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
