/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time that a recording does not cover is "not recorded", and no other time is. Each case has its
 * control: the same recording with the missing part.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "diagnose_rig.h"
#include "event/format.h"

#define ARRIVES "message 1\n0-4000 function receive on 0\n"
#define WOKEN "4000-5000 function receive\n5000-6000 other-receive on 0\n"
#define QUIET_UNTIL_RUN ARRIVES WOKEN "6000-10000 idle-exit on 0\n"
#define QUIET QUIET_UNTIL_RUN "10000-20000 application on 0\n"

static void test_no_waking(void **state)
{
	(void)state;
	expect(WAITS COMES READS MESSAGE, QUIET);
	expect(WAITS "100us 0 softirq 3\n106us 0 softirq-end\n" READS MESSAGE,
	       ARRIVES "4000-10000 blind on 0\n10000-20000 application on 0\n");
	/* a waking from before the sleep, by more than can be */
	expect(HOST "2us 0 run app\n3us 1 wake app 0\n104us 0 run idle\n200us 0 run app\n"
	       "message 1 app 100us 104us 220us 0\n",
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-100000 blind on 0\n"
	       "100000-120000 application on 0\n");
}

/* The waking that it ran for is not the one of the sleep after it. */
static void test_waking_before_an_earlier_run(void **state)
{
	static const char script[] =
		WAITS COMES "110us 0 run app\n111us 0 run hog\n150us 0 run idle\n"
		"%s165us 0 run app\n170us 0 return\n"
		"message 1 app 100us 104us 169us 0\n";
	char text[1024];

	(void)state;
	snprintf(text, sizeof(text), script, "160us 0 wake app 0\n");
	expect(text, QUIET_UNTIL_RUN "10000-11000 application on 0\n"
				     "11000-60000 application\n"
				     "60000-65000 idle-exit on 0\n65000-69000 application on 0\n");
	snprintf(text, sizeof(text), script, "");
	expect(text, QUIET_UNTIL_RUN "10000-11000 application on 0\n"
				     "11000-65000 blind on 0\n65000-69000 application on 0\n");
}

/* Two wakings for one sleep: the task ran between them, unrecorded. */
static void test_two_wakings_for_one_sleep(void **state)
{
	(void)state;
	expect(WAITS "50us 1 wake app 0\n" COMES READS MESSAGE,
	       ARRIVES "4000-10000 blind on 0\n10000-20000 application on 0\n");
}

/* The task left asleep, and comes back as one that was preempted: a contradiction. */
static void test_asleep_but_preempted(void **state)
{
	(void)state;
	/* the run in between was in what core 1 lost */
	expect(WAITS COMES READS MESSAGE
	       "20us 1 run hog\n30us 1 lose\n90us 1 run idle\n",
	       ARRIVES "4000-15000 blind on 0\n15000-20000 application on 0\n");
	/* lost before it slept: it did sleep, but the call may have been over */
	expect(WAITS COMES READS MESSAGE
	       "3us 1 run hog\n4us 1 lose\n5500ns 1 run idle\n",
	       ARRIVES "4000-5000 unexplained\n5000-6000 other-receive on 0\n"
	       "6000-10000 idle-exit on 0\n10000-15000 blind on 0\n"
	       "15000-20000 application on 0\n");
}

/* Asleep from 10 us on, woken at 145 us; core 1 is out of sight for some of it: no loss. */
#define STOPS(left)                                                                                \
	HOST "2us 0 run app\n5us 0 call epoll_wait\n10us 0 run idle " left "\n"                    \
	"100us 0 softirq 3\n104us 0 softirq-end\n"                                                \
	"144us 1 run peer\n145us 1 wake app 0\n146us 1 run idle\n"                                \
	"150us 0 run app\n151us 0 return\n155us 0 call recvfrom\n161us 0 return\n"                \
	"message 1 app 100us 104us 160us 0\n"
#define HIDDEN(from, to)                                                                           \
	from " 1 irq 1\n" from " 1 irq-end\n" from " 1 hidden hog\n" to " 1 run idle\n"
#define RUNS_AND_READS "45000-50000 idle-exit on 0\n50000-60000 application on 0\n"

static void test_not_recorded_while_asleep(void **state)
{
	(void)state;
	expect(STOPS("stopped"), ARRIVES "4000-45000 stopped\n" RUNS_AND_READS);
	expect(STOPS("stopped") HIDDEN("110us", "120us"),
	       ARRIVES "4000-10000 stopped\n10000-20001 blind on 0\n20001-45000 stopped\n"
	       RUNS_AND_READS);
	expect(STOPS("stopped") HIDDEN("30us", "90us"),
	       ARRIVES "4000-45000 stopped\n" RUNS_AND_READS);
	/* The task may have left its earlier sleep meanwhile. */
	expect(STOPS("asleep") HIDDEN("110us", "120us") HIDDEN("130us", "135us"),
	       ARRIVES "4000-35001 blind on 0\n35001-45000 application\n" RUNS_AND_READS);
}

#define SERVES_1                                                                                   \
	WAITS COMES "110us 0 run app\n112us 0 return\n115us 0 call recvfrom\n121us 0 return\n"     \
	"199us 1 softirq 3\n202us 1 softirq-end\n" HIDDEN("300us", "400us")                        \
	"1ms 0 call recvfrom\n1010us 0 return\n1020us 0 call epoll_wait\n1025us 0 run idle\n"      \
	MESSAGE "message 2 app 199us 200us 1009us 0 core=1 flow=2\n"
#define SERVED_1 QUIET "message 2\n0-1000 function receive on 1\n"

/* A gap of core 1 hides nothing of a reader on core 0, but may hide a read while it is off-CPU. */
static void test_not_recorded_while_serving(void **state)
{
	(void)state;
	expect(SERVES_1, SERVED_1 "1000-801000 head-of-line on 0 by app behind 1\n"
				  "801000-810000 application on 0\n");
	expect(SERVES_1 "250us 0 run hog runnable\n500us 0 run app\n",
	       SERVED_1 "1000-51000 head-of-line on 0 by app behind 1\n"
			"51000-101000 cpu-wait on 0 by hog behind 1\n"
			"101000-201001 blind on 0\n201001-301000 cpu-wait on 0 by hog\n"
			"301000-801000 blind on 0\n801000-810000 application on 0\n");
}

/* Losses on the core of the receive side, of the reader, and where it waits for a CPU. */
static void test_loss_on_each_core(void **state)
{
	(void)state;
	expect(WAITS COMES READS MESSAGE "101us 0 lose\n",
	       "message 1\n0-4000 blind receive on 0\n" /* up to its next call that is known */
	       "4000-15000 blind on 0\n15000-20000 application on 0\n");
	expect(WAITS COMES READS MESSAGE "114us 0 lose\n",
	       QUIET_UNTIL_RUN
	       "10000-12000 application on 0\n12000-15000 blind on 0\n"
	       "15000-20000 application on 0\n");
}

static void test_reader_without_events(void **state)
{
	(void)state;
	/* it never runs */
	expect(HOST "100us 0 softirq 3\n104us 0 softirq-end\n" MESSAGE,
	       ARRIVES "4000-20000 blind\n");
	/* it leaves before the read */
	expect(WAITS COMES "110us 0 run app\n115us 0 run idle\n" MESSAGE,
	       QUIET_UNTIL_RUN "10000-15000 application on 0\n15000-20000 blind\n");
}

static void test_unknown_reader(void **state)
{
	(void)state;
	expect(WAITS COMES READS "message 1 0 100us 104us 120us 0\n",
	       ARRIVES "4000-20000 blind\n");
	expect(WAITS COMES READS "message 1 4711 100us 104us 120us 0\n",
	       ARRIVES "4000-20000 blind\n");
}

static void test_message_without_pieces(void **state)
{
	(void)state;
	expect(WAITS COMES READS "message 1 app 100us 104us 120us 0 no-pieces\n",
	       "message 1\n0-20000 blind receive\n");
	expect(WAITS COMES READS "message 1 app 100us 104us 120us 0 core=4294967295\n",
	       "message 1\n"
	       "0-4000 blind receive\n" WOKEN
	       "6000-10000 idle-exit on 0\n10000-20000 application on 0\n");
}

/* ---- where the recording begins and ends ---- */

static void test_before_activity(void **state)
{
	(void)state;
	expect(HOST "early\n" COMES READS MESSAGE,
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-10000 blind on 0\n10000-20000 application on 0\n");
	expect(HOST "early\n" "110us 0 run app\n130us 0 run idle\n" MESSAGE,
	       "message 1\n"
	       "0-4000 blind receive on 0\n"
	       "4000-10000 blind on 0\n10000-20000 application on 0\n");
}

static void test_after_activity(void **state)
{
	static const char late[] = WAITS COMES READS MESSAGE "message 2 app 200us 204us 250us 0\n";
	struct rig rig;
	char text[RIG_TEXT];
	int fd;

	(void)state;
	/* the recorder said when it ended, and the message came after */
	expect(WAITS COMES "110us 0 run app\n" MESSAGE, QUIET);
	/* nothing says that it ended; of the other core all is known */
	expect(WAITS COMES "110us 0 run app\n112us 0 return\n130us 1 vector 0\n"
	       MESSAGE "open\n",
	       QUIET_UNTIL_RUN "10000-12000 application on 0\n12000-20000 blind\n");
	fd = rig_file(late);
	rig_read(&rig, fd);
	rig_show(&rig, text);
	assert_string_equal(text, QUIET "message 2\n0-4000 idle-exit receive on 0\n"
					"4000-50000 blind\n");
	rig_release(&rig);
}

/* ---- unreadable parts of the file ---- */

/* Damages the n-th chunk of a kind and core. */
static void damage(int fd, uint16_t kind, uint32_t core, uint32_t n)
{
	off_t at = sizeof(struct event_file_header);
	struct event_chunk chunk;

	while (pread(fd, &chunk, sizeof(chunk), at) == sizeof(chunk) &&
	       chunk.magic == EVENT_CHUNK_MAGIC) {
		if (chunk.kind == kind && chunk.core == core && !n--) {
			assert_int_equal(pwrite(fd, "\xff\xff\xff", 3, at + sizeof(chunk) + 5), 3);
			return;
		}
		at += sizeof(chunk) + chunk.stored_size;
	}
	fail();
}

static void charge_damaged(const char *script, uint16_t kind, uint32_t core, uint32_t n,
			   char text[RIG_TEXT])
{
	const int fd = rig_file(script);
	struct rig rig;

	damage(fd, kind, core, n);
	rig_read(&rig, fd);
	assert_true(rig.rec.damage.reasons);
	rig_show(&rig, text);
	rig_release(&rig);
}

#define CUT(time) time " 1 flush\n"
/* Three blocks of core 0; the middle one holds the message, and the end of the reader's sleep. */
#define BLOCKS WAITS CUT("60us") COMES READS CUT("140us") "150us 0 run app\n160us 0 run idle\n"    \
	"155us 1 irq 1\n156us 1 irq-end\n" MESSAGE
/* The spans open at the begin of the third block are those open at the end of the first. */
#define ALIKE HOST "2us 0 run app\n50us 0 call futex\n55us 0 return\n" CUT("60us")                \
	"70us 0 call fsync\n98us 0 return\n100us 0 softirq 3\n104us 0 softirq-end\n" CUT("140us") \
	"150us 0 call recvfrom\n160us 0 return\nmessage 1 app 65us 68us 159us 0\n"

static void test_lost_block(void **state)
{
	char text[RIG_TEXT];

	(void)state;
	expect(BLOCKS, QUIET);
	charge_damaged(BLOCKS, EV_EDGE, 0, 1, text);
	assert_string_equal(text, "message 1\n0-4000 blind receive on 0\n4000-20000 blind\n");
	expect(ALIKE, "message 1\n0-3000 function receive on 0\n3000-35000 application on 0\n"
		      "35000-39000 other-receive on 0\n39000-94000 application on 0\n");
	charge_damaged(ALIKE, EV_EDGE, 0, 1, text);
	assert_string_equal(text, "message 1\n0-3000 blind receive on 0\n"
				  "3000-85000 blind on 0\n85000-94000 application on 0\n");
}

static void test_lost_wakings(void **state)
{
	char text[RIG_TEXT];

	(void)state;
	charge_damaged(WAITS COMES READS MESSAGE, EV_WAKE, 0, 0, text);
	assert_string_equal(text, ARRIVES "4000-10000 blind on 0\n10000-20000 application on 0\n");
}

/* Unreadable messages are left out, and reported as lost. */
static void test_lost_messages_are_reported(void **state)
{
	char text[RIG_TEXT];

	(void)state;
	charge_damaged(WAITS COMES READS MESSAGE, EV_MESSAGE, 0, 0, text);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_waking),
		cmocka_unit_test(test_waking_before_an_earlier_run),
		cmocka_unit_test(test_two_wakings_for_one_sleep),
		cmocka_unit_test(test_asleep_but_preempted),
		cmocka_unit_test(test_not_recorded_while_asleep),
		cmocka_unit_test(test_not_recorded_while_serving),
		cmocka_unit_test(test_loss_on_each_core),
		cmocka_unit_test(test_reader_without_events),
		cmocka_unit_test(test_unknown_reader),
		cmocka_unit_test(test_message_without_pieces),
		cmocka_unit_test(test_before_activity),
		cmocka_unit_test(test_after_activity),
		cmocka_unit_test(test_lost_block),
		cmocka_unit_test(test_lost_wakings),
		cmocka_unit_test(test_lost_messages_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
