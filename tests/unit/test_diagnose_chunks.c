/* SPDX-License-Identifier: Apache-2.0 */
/* A diagnosis does not depend on how its recording is cut into chunks: byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "diagnose/diagnose.h"
#include "diagnose_rig.h"
#include "output/json.h"

#define MESSAGES 400
#define STEP_US 1000
#define TEXT_MAX (64u << 20)

/* Every tenth message waits for a CPU, more or less long. */
static void host(struct strbuf *script, uint32_t slow)
{
	strbuf_printf(script, HOST "repeat %u %uus\n", MESSAGES, STEP_US);
	strbuf_printf(script, "2us 0 run app\n5us 0 call epoll_wait\n10us 0 run idle\n"
		      COMES READS MESSAGE "end\n");
	for (uint32_t i = 5; i < MESSAGES; i += 10)
		strbuf_printf(script, "%uus 0 run hog\n%uus 0 run app runnable\n",
			      i * STEP_US + 50 + i % 30, i * STEP_US + 107 + (i + slow) % 4);
}

static void diagnose(const char *script, struct strbuf *json)
{
	const struct diagnose_options options = {
		.selection = { .from = 0.9, .to = 1, .against_from = 0.1, .against_to = 0.6 },
	};
	const int fd = rig_file(script);
	struct event_reader *reader;
	struct diagnosis *d;
	const struct provenance who = { .command = "diagnose" };
	struct report report;

	assert_int_equal(event_reader_new(&reader, fd), 0);
	assert_int_equal(diagnosis_new(&d, &options), 0);
	assert_int_equal(diagnosis_run(d, reader, NULL), 0);
	report_init(&report, &who);
	assert_int_equal(diagnosis_report(d, &report), 0);
	json_report(&report, JSON_DOCUMENT, json);
	report_release(&report);
	diagnosis_free(d);
	event_reader_free(reader);
	close(fd);
}

/* All blocks end every `every_us`; 0: never. */
static void cut_into(uint32_t every_us, uint32_t slow, struct strbuf *json)
{
	struct strbuf script;

	strbuf_init(&script, TEXT_MAX);
	host(&script, slow);
	for (uint32_t at = every_us; every_us && at < MESSAGES * STEP_US; at += every_us)
		strbuf_printf(&script, "%uus %u flush\n", at, at % 2);
	strbuf_init(json, TEXT_MAX);
	diagnose(strbuf_str(&script), json);
	strbuf_release(&script);
}

static void test_same_report_for_any_chunks(void **state)
{
	static const uint32_t every_us[] = { 10, 107, 1000, 17001, 150000 };
	struct strbuf whole, cut;

	(void)state;
	cut_into(0, 0, &whole);
	assert_non_null(strstr(strbuf_str(&whole), "cpu-wait"));
	for (size_t i = 0; i < sizeof(every_us) / sizeof(every_us[0]); i++) {
		cut_into(every_us[i], 0, &cut);
		assert_string_equal(strbuf_str(&cut), strbuf_str(&whole));
		strbuf_release(&cut);
	}
	strbuf_release(&whole);
}

/* Control: another host, by 1 us, changes the report. */
static void test_control_changed_host_differs(void **state)
{
	struct strbuf one, other;

	(void)state;
	cut_into(0, 0, &one);
	cut_into(0, 1, &other);
	assert_string_not_equal(strbuf_str(&one), strbuf_str(&other));
	strbuf_release(&one);
	strbuf_release(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_report_for_any_chunks),
		cmocka_unit_test(test_control_changed_host_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
