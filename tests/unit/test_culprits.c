/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Culprits of waits for a CPU: tasks by command, each with its own count, median and share. Scripts
 * have the CPU's tasks before a message's reader gets it: the truth is written beside them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose/culprits.h"
#include "diagnose_rig.h"

#define TASKS                                                                                      \
	"fact host.machine x86_64\nfact run.pid 90\n"                                              \
	"task app 10 11\ntask hog 20 20\ntask bash 40 40\ntask bash 50 50\ntask timeout 51 51\n"   \
	"task timeout 61 61\ntask hostlat 90 91\ntask hostlat 99 98\ntask hostlat 70 70\n"         \
	"task kworker/0:1 80 80\ntask kworker/0:2 81 81\n"                                         \
	"0 0 run app\n1us 0 call epoll_wait\n2us 0 run idle\n"

/* The reader of message 1 is woken at 100 us and runs from 400 us on, of message 2 1 ms later. */
#define MESSAGE_1                                                                                  \
	"100us 1 wake app 0\n400us 0 run app runnable\n401us 0 return\n402us 0 call recvfrom\n"    \
	"410us 0 return\n411us 0 call epoll_wait\n412us 0 run idle\n"                              \
	"message 1 app 99us 100us 409us 0 core=1\n"
#define MESSAGE_2                                                                                  \
	"1100us 1 wake app 0\n1400us 0 run app runnable\n1401us 0 return\n"                       \
	"1402us 0 call recvfrom\n"                                                                \
	"1410us 0 return\n1411us 0 call epoll_wait\n1412us 0 run idle\n"                           \
	"message 2 app 1099us 1100us 1409us 0 core=1\n"

struct found {
	struct rig rig;
	struct cause_culprits culprits;
	struct report report;
};

static void find(struct found *f, const char *script, uint64_t load)
{
	static const struct provenance nobody = { .version = "1", .command = "test" };
	const unsigned int place = CAUSE_PLACE(CAUSE_CPU_WAIT, WHERE_APPLICATION);
	const struct recorded *rec = &f->rig.rec;

	rig_read_of(&f->rig, rig_file(script), load);
	report_init(&f->report, &nobody);
	culprits_init(&f->culprits, rec, CAUSE_CPU_WAIT);
	for (uint32_t i = 0; i < rec->subjects.len; i++)
		assert_int_equal(culprits_add_message(&f->culprits, &rec->breakdowns[i], place, 1,
						      rec->breakdowns[i].ns[place]), 0);
	assert_int_equal(culprits_finish(&f->culprits), 0);
}

static void end(struct found *f)
{
	culprits_release(&f->culprits);
	report_release(&f->report);
	rig_release(&f->rig);
}

/* Checks all culprits, each as "PHRASE\n". */
static void expect_culprits(const char *script, const char *text)
{
	char got[1024] = "";
	struct found f;

	find(&f, script, 99);
	vec_for_each(&f.culprits.all, one) {
		const size_t len = strlen(got);

		snprintf(got + len, sizeof(got) - len, "%s\n",
			 culprit_phrase(&f.culprits, &f.report, one));
	}
	assert_string_equal(got, text);
	end(&f);
}

/* 300 us in both messages: its numbers are the cause's. */
static void test_one_process(void **state)
{
	(void)state;
	expect_culprits(TASKS "50us 0 run hog\n" MESSAGE_1 "1050us 0 run hog\n" MESSAGE_2,
			"hog (pid 20, 2 messages, 100 %, 300 µs at the median)\n");
}

/* 500 of 600 us: 300 and 200; the other one 100, in one message. */
static void test_own_numbers(void **state)
{
	(void)state;
	expect_culprits(TASKS "50us 0 run hog\n" MESSAGE_1
			"1050us 0 run 40\n1200us 0 run hog\n" MESSAGE_2,
			"hog (pid 20, 2 messages, 83 %, 200 µs at the median)\n"
			"bash (pid 40, 1 message, 17 %, 100 µs at the median)\n");
}

/* A process each has 300 us, and both have one command. */
static void test_processes_of_a_command(void **state)
{
	(void)state;
	expect_culprits(TASKS "50us 0 run 40\n" MESSAGE_1 "1050us 0 run 50\n" MESSAGE_2,
			"bash (2 processes, 2 messages, 100 %, 300 µs at the median)\n");
	expect_culprits(TASKS "50us 0 run kworker/0:1\n" MESSAGE_1
			"1050us 0 run kworker/0:2\n" MESSAGE_2,
			"kworker (2 processes, 2 messages, 100 %, 300 µs at the median)\n");
}

/* Two processes of one command in the same message: 200 and 100 us, one message. */
static void test_processes_in_a_message(void **state)
{
	(void)state;
	expect_culprits(TASKS "50us 0 run 40\n300us 0 run 50\n" MESSAGE_1,
			"bash (2 processes, 1 message, 100 %, 300 µs at the median)\n");
}

/* A thread is one command, by its last name, however short it had that. */
static void test_exec(void **state)
{
	(void)state;
	expect_culprits(TASKS "50us 0 run 51\n150us 0 run hog runnable\n150us 0 rename 51 gzip\n"
			"160us 0 run 51\n" MESSAGE_1,
			"gzip (pid 51, 1 message, 97 %, 290 µs at the median)\n"
			"hog (pid 20, 1 message, 3 %, 10 µs at the median)\n");
	expect_culprits(TASKS "50us 0 run 51\n350us 0 run hog runnable\n350us 0 rename 51 gzip\n"
			"360us 0 run 51\n" MESSAGE_1,
			"gzip (pid 51, 1 message, 97 %, 290 µs at the median)\n"
			"hog (pid 20, 1 message, 3 %, 10 µs at the median)\n");
}

/* It ends in the stretch in which exec gave it its name: no other event has that name. */
static void test_exec_in_the_last_stretch(void **state)
{
	(void)state;
	expect_culprits(TASKS "50us 0 run 51\n390us 0 rename 51 gzip\n" MESSAGE_1,
			"gzip (pid 51, 1 message, 100 %, 300 µs at the median)\n");
}

/* The names that two threads end with are one command, in spite of their first names. */
static void test_exec_of_several(void **state)
{
	(void)state;
	expect_culprits(TASKS "50us 0 run 51\n60us 0 run idle\n60us 0 rename 51 gzip\n"
			"70us 0 run 51\n" MESSAGE_1 "1050us 0 run 61\n1060us 0 run idle\n"
			"1060us 0 rename 61 gzip\n1070us 0 run 61\n" MESSAGE_2,
			"gzip (2 processes, 2 messages, 100 %, 300 µs at the median)\n");
}

/* The load is known by its pid; what the recorder takes is a cause of its own. */
static void test_hostlat(void **state)
{
	const char *script = TASKS "50us 0 run 98\n" MESSAGE_1 "500us 0 run 91\n"
			     "600us 0 run idle\n1050us 0 run 70\n" MESSAGE_2;
	struct found f;

	(void)state;
	expect_culprits(script,
			"hostlat's load generator (1 message, 50 %, 300 µs at the median)\n"
			"another hostlat process (pid 70, 1 message, 50 %, 300 µs at the "
			"median)\n");
	find(&f, script, 0);
	assert_int_equal(f.culprits.all.len, 1);
	assert_string_equal(culprit_name(&f.culprits, &f.report, f.culprits.all.items),
			    "another hostlat process (2 processes)");
	assert_string_equal(culprit_task_name(&f.rig.rec, &f.report,
					      tasks_by_tid(&f.rig.rec.tasks, 91)),
			    "hostlat's recorder");
	end(&f);
}

#define CRON "/system.slice/cron.service cron.service"
#define DOCKER "/system.slice/docker-1.scope \"docker 0123456789ab\""
/* Tasks of one command; the first two run in the places given. */
#define PLACED(first, second)                                                                      \
	"fact host.machine x86_64\ntask app 10 11\ntask job 40 40" first "\ntask job 50 50" second \
	"\n0 0 run app\n1us 0 call epoll_wait\n2us 0 run idle\n"
/* 300 us each; and 300 and 50 us */
#define BOTH "50us 0 run 40\n" MESSAGE_1 "1050us 0 run 50\n" MESSAGE_2
#define FIRST "50us 0 run 40\n" MESSAGE_1 "1050us 0 run 40\n1350us 0 run 50\n" MESSAGE_2

/* Where all tasks of a command ran, or most by time. */
static void test_places(void **state)
{
	(void)state;
	expect_culprits(PLACED(" " CRON, " " CRON) BOTH,
			"job (2 processes, cron.service, 2 messages, 100 %, 300 µs at the "
			"median)\n");
	expect_culprits(PLACED(" " DOCKER, " " DOCKER) "50us 0 run 40\n" MESSAGE_1,
			"job (pid 40, docker 0123456789ab, 1 message, 100 %, 300 µs at the "
			"median)\n");
	expect_culprits(PLACED(" /batch/job", " /batch/job") BOTH,
			"job (2 processes, /batch/job, 2 messages, 100 %, 300 µs at the "
			"median)\n");
	expect_culprits(PLACED(" " CRON, " /batch/job") FIRST,
			"job (2 processes, cron.service, 2 messages, 100 %, 300 µs at the "
			"median)\n");
	expect_culprits(PLACED(" " CRON, " /batch/job") "50us 0 run 40\n300us 0 run 50\n" MESSAGE_1,
			"job (2 processes, mostly cron.service, 1 message, 100 %, 300 µs at the "
			"median)\n");
}

/* No place is told: half of the time each, none known, the root, and in part unknown. */
static void test_no_place(void **state)
{
	const char *without = "job (2 processes, 2 messages, 100 %, 300 µs at the median)\n";

	(void)state;
	expect_culprits(PLACED(" " CRON, " /batch/job") BOTH, without);
	expect_culprits(PLACED("", "") BOTH, without);
	expect_culprits(PLACED(" /", " /") BOTH, without);
	expect_culprits(PLACED(" " CRON, "") BOTH, without);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_process),
		cmocka_unit_test(test_own_numbers),
		cmocka_unit_test(test_processes_of_a_command),
		cmocka_unit_test(test_processes_in_a_message),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_exec_in_the_last_stretch),
		cmocka_unit_test(test_exec_of_several),
		cmocka_unit_test(test_hostlat),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
