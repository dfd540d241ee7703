/* SPDX-License-Identifier: Apache-2.0 */
/* Commands at the period of the latency: bursts by the recorded activity, and the report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "../sim/trace.h"
#include "base/parse.h"
#include "diagnose/bursts.h"
#include "diagnose/period_commands.h"
#include "diagnose_rig.h"
#include "event/writer.h"
#include "event_file.h"
#include "output/json.h"

#define MS NS_PER_MS

/* ---- bursts ---- */

/* Checks the bursts after 10 ms off the CPU, each as "COMM AT NS\n" in us; `room` at most. */
static void expect_bursts(const char *script, size_t room, const char *text, uint64_t beyond)
{
	char seen[RIG_TEXT] = "";
	struct burst_list bursts;
	struct rig rig;
	uint64_t left;

	vec_init(&bursts, room);
	rig_read(&rig, rig_file(script));
	assert_int_equal(bursts_read(&rig.rec, TRACE_START + 20 * MS, TRACE_START + 400 * MS,
				     10 * MS, &bursts, &left), 0);
	vec_for_each(&bursts, b) {
		const size_t len = strlen(seen);

		snprintf(seen + len, sizeof(seen) - len, "%s %llu %llu\n",
			 tasks_get(&rig.rec.tasks, b->task)->comm,
			 (unsigned long long)(b->at - TRACE_START) / 1000,
			 (unsigned long long)b->ns / 1000);
		assert_int_equal(b->command, commands_find(&rig.rec.commands, b->task));
	}
	assert_string_equal(seen, text);
	assert_int_equal(left, beyond);
	vec_release(&bursts);
	rig_release(&rig);
}

#define BEGINS WAITS COMES READS MESSAGE
#define ENDS "until 500ms\n"

/* The burst begins with the waking, although the CPU is free only 1 ms later. */
static void test_waking(void **state)
{
	(void)state;
	expect_bursts(BEGINS "30ms 1 wake hog 0\n31ms 0 run hog\n40ms 0 run idle\n" ENDS,
		      BURSTS_MAX, "hog 30000 9000\n", 0);
	expect_bursts(BEGINS "31ms 0 run hog\n40ms 0 run idle\n" ENDS, BURSTS_MAX,
		      "hog 31000 9000\n", 0);
}

/* 5 ms asleep: the same burst. 15 ms: another one. */
static void test_sleeps(void **state)
{
	(void)state;
	expect_bursts(BEGINS "30ms 0 run hog\n40ms 0 run idle\n45ms 0 run hog\n46ms 0 run idle\n"
		      "61ms 0 run hog\n63ms 0 run idle\n" ENDS, BURSTS_MAX,
		      "hog 30000 11000\nhog 61000 2000\n", 0);
}

/* Waiting for a CPU is not sleep, whether after a preemption or after a waking. */
static void test_waits(void **state)
{
	(void)state;
	expect_bursts(BEGINS "30ms 0 run hog\n32ms 0 run peer runnable\n52ms 0 run hog\n"
		      "53ms 0 run idle\n" ENDS, BURSTS_MAX,
		      "hog 30000 3000\npeer 32000 20000\n", 0);
	expect_bursts(BEGINS "30ms 0 run hog\n32ms 0 run peer\n34ms 1 wake hog 0\n52ms 0 run hog\n"
		      "53ms 0 run idle\n" ENDS, BURSTS_MAX,
		      "hog 30000 3000\npeer 32000 20000\n", 0);
}

/* Bursts and stretches across the steps of reading, and across cores. */
static void test_long(void **state)
{
	(void)state;
	expect_bursts(BEGINS "95ms 0 run hog\n325ms 0 run idle\n330ms 1 run hog\n331ms 1 run idle\n"
		      "350ms 1 wake hog 1\n350ms 1 run hog\n352ms 1 run idle\n" ENDS, BURSTS_MAX,
		      "hog 95000 231000\nhog 350000 2000\n", 0);
}

/*
 * Nothing before the begin, of hostlat, behind the end, or after a time that was not recorded; but
 * a thread that is first seen then is new.
 */
static void test_no_bursts(void **state)
{
	(void)state;
	expect_bursts(BEGINS "12ms 0 run hog\n13ms 0 run idle\n" ENDS, BURSTS_MAX, "", 0);
	expect_bursts(BEGINS "30ms 0 run hostlat\n31ms 0 run idle\n" ENDS, BURSTS_MAX, "", 0);
	expect_bursts(BEGINS "410ms 0 run hog\n411ms 0 run idle\n" ENDS, BURSTS_MAX, "", 0);
	expect_bursts(BEGINS "30ms 0 run hog\n31ms 0 run idle\n50ms 1 irq 30\n50ms 1 irq-end\n"
		      "51ms 1 flush\n61ms 1 lose\n62ms 1 irq 30\n62ms 1 irq-end\n"
		      "65ms 0 run hog\n66ms 0 run peer\n68ms 0 run idle\n" ENDS, BURSTS_MAX,
		      "hog 30000 1000\npeer 66000 2000\n", 0);
}

static void test_room(void **state)
{
	(void)state;
	expect_bursts(BEGINS "30ms 0 run hog\n31ms 0 run idle\n60ms 0 run hog\n61ms 0 run idle\n"
		      "90ms 0 run hog\n95ms 0 run idle\n" ENDS, 2,
		      "hog 30000 1000\nhog 60000 1000\n", 1);
}

/* ---- the report ---- */

#define PERIODS 15
#define EVERY (20 * MS)

/* A request each 0.1 ms takes 50 us; those due in 5 ms to 8 ms of a period wait for 8 ms. */
static struct event_reader *load_of(int *fd)
{
	static const struct event_writer_options options = { .raw = true, .stream = 1 };
	struct event_reader *reader;
	struct event_writer *w;

	*fd = memory_file("", 0);
	assert_int_equal(event_writer_new(&w, *fd, &options), 0);
	for (uint64_t at = 0; at < PERIODS * EVERY; at += MS / 10) {
		const uint64_t in = at % EVERY;
		struct event_sample s = { .intended = TRACE_START + 10 * MS + at, .flow = 1 };

		s.sent = s.intended;
		s.done = s.sent + (in >= 5 * MS && in < 8 * MS ? 8 * MS - in : 0) + 50000;
		assert_int_equal(event_writer_span(w, 0, 0, EV_SAMPLE, s.intended, s.done, &s), 0);
	}
	assert_int_equal(event_writer_close(w), 0);
	assert_int_equal(event_reader_new(&reader, *fd), 0);
	return reader;
}

/* Checks the finding (NULL: none), and that the document has each of the texts. */
static void expect_report(const char *script, double period, const char *finding,
			  const char *const *texts)
{
	static const struct provenance nobody = { .version = "1", .command = "test" };
	const struct diagnose_options options = { .selection = { .to = 1, .against_to = 1 } };
	const struct latency_period asked = { .ns = period, .from = TRACE_START + 10 * MS,
					      .to = TRACE_START + 10 * MS + PERIODS * EVERY };
	const int fd = rig_file(script);
	struct strbuf json = STRBUF_INIT(1 << 16);
	struct event_reader *reader, *load;
	struct period_commands *found;
	struct diagnosis *d;
	struct report r;
	int load_fd;

	load = load_of(&load_fd);
	assert_int_equal(event_reader_new(&reader, fd), 0);
	assert_int_equal(diagnosis_new(&d, &options), 0);
	assert_int_equal(diagnosis_run(d, reader, NULL), 0);
	assert_int_equal(period_commands_new(&found, d, load, &asked), 0);
	report_init(&r, &nobody);
	assert_int_equal(period_commands_report(found, &r), 0);
	assert_int_equal(r.findings.count, finding != NULL);
	if (finding)
		assert_string_equal(r.findings.first->string, finding);
	json_report(&r, JSON_DOCUMENT, &json);
	for (; *texts; texts++)
		if (!strstr(strbuf_str(&json), *texts))
			fail_msg("%s is not in %s", *texts, strbuf_str(&json));
	strbuf_release(&json);
	report_release(&r);
	period_commands_free(found);
	diagnosis_free(d);
	event_reader_free(reader);
	event_reader_free(load);
	close(load_fd);
	close(fd);
}

#define TASK "task backup 30 31 /cron backup.service\n"
#define RUNS "repeat 15 20ms\n15ms 1 wake backup 1\n15ms 1 run backup\n18ms 1 run idle\nend\n"

static void test_named(void **state)
{
	(void)state;
	expect_report(TASK BEGINS RUNS ENDS, 20e6 * 1.03,
		      "The latency peaks every 20 ms: backup (thread 31, backup.service) ran in "
		      "15 of 15 periods, 15 of its 15 bursts within the same tenth of the "
		      "period, 3.0 ms on a CPU each.", (const char *const[]){
		"\"periods\": 15", "\"why\": null", "\"bursts_beyond\": 0",
		"\"command\": \"backup\"", "\"pid\": 30", "\"bursts\": 15", "\"same\": 15",
		"\"ns\": 3000000", "\"unit\": \"backup.service\"", NULL });
}

static void test_none(void **state)
{
	(void)state;
	expect_report(TASK BEGINS "repeat 9 33ms\n15ms 1 run backup\n18ms 1 run idle\nend\n" ENDS,
		      20e6,
		      "The latency peaks every 20 ms, but no command on this host starts to run at "
		      "this period: look for a timer within the server, and at the network and the "
		      "hypervisor.", (const char *const[]){ "\"commands\": []", NULL });
}

static void test_not_known(void **state)
{
	(void)state;
	expect_report(TASK BEGINS RUNS ENDS, 100e6,
		      "The latency may peak every 100 ms, but no command is named for it: the run "
		      "has too few periods: run longer (--for).",
		      (const char *const[]){ "\"why\": \"the run has too few", NULL });
	expect_report(TASK BEGINS RUNS ENDS, 0, NULL,
		      (const char *const[]){ "\"period\": null", NULL });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waking),
		cmocka_unit_test(test_sleeps),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_no_bursts),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
