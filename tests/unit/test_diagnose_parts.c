/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rule of docs/design/diagnose.md by itself: what a CPU did in, what a message's time is
 * charged to out, exact to the ns. What the reader and the host do is the same in all of them, but
 * for what the rule is about.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose_rig.h"

/* Control: nothing delays the message. */
static void test_control_nothing_delays(void **state)
{
	(void)state;
	expect(WAITS COMES READS MESSAGE,
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-10000 idle-exit on 0\n"
	       "10000-20000 application on 0\n");
}

#define OTHERS "1us 1 run peer\n3us 1 run hog\n"

/* Another reader's message, which came first, is handled first in the same softirq. */
static void test_behind_another_message_in_softirq(void **state)
{
	(void)state;
	expect(WAITS COMES READS MESSAGE "message 2 hog 99500ns 102us 140us 0\n" OTHERS,
	       "message 1\n"
	       "0-2000 kernel-queue receive on 0 by hog behind 2\n"
	       "2000-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-10000 idle-exit on 0\n"
	       "10000-20000 application on 0\n"
	       "message 2\n"
	       "0-500 interrupt receive on 0\n"
	       "500-2500 function receive on 0\n"
	       "2500-40500 application on 1\n");
}

/* An interrupt divides the softirq: the packet ahead is handled on both sides of it. */
static void test_divided_kernel_queue(void **state)
{
	(void)state;
	expect(WAITS "100us 0 softirq 3\n101us 0 irq 30\n101500ns 0 irq-end\n105us 0 wake app 0\n"
	       "106us 0 softirq-end\n" READS MESSAGE "message 2 hog 99500ns 102us 140us 0\n" OTHERS,
	       "message 1\n"
	       "0-1000 kernel-queue receive on 0 by hog behind 2\n"
	       "1000-1500 interrupt receive on 0\n"
	       "1500-2000 kernel-queue receive on 0 by hog behind 2\n"
	       "2000-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-10000 idle-exit on 0\n"
	       "10000-20000 application on 0\n"
	       "message 2\n"
	       "0-500 idle-exit receive on 0\n"
	       "500-1500 function receive on 0\n"
	       "1500-2000 interrupt receive on 0\n"
	       "2000-2500 function receive on 0\n"
	       "2500-40500 application on 1\n");
}

/* Controls: it was handled on another core; it came later, though it was handled before. */
static void test_no_kernel_queue(void **state)
{
	static const char quiet[] = "message 1\n0-4000 function receive on 0\n";
	char seen[RIG_TEXT];

	(void)state;
	rig_charge(WAITS COMES READS MESSAGE "message 2 hog 99500ns 102us 140us 1\n", seen);
	assert_memory_equal(seen, quiet, strlen(quiet));
	rig_charge(WAITS COMES READS MESSAGE "message 2 hog 101us 102us 140us 0\n", seen);
	assert_memory_equal(seen, quiet, strlen(quiet));
}

/* Other packets on the reader's core are named, if the recording has their messages. */
static void test_other_receive(void **state)
{
	(void)state;
	expect(WAITS COMES READS MESSAGE "113us 0 softirq 3\n118us 0 softirq-end\n"
	       "message 2 hog 114us 116us 140us 0\nmessage 3 peer 117us 119us 141us 0\n" OTHERS,
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-10000 idle-exit on 0\n"
	       "10000-13000 application on 0\n"
	       "13000-14000 other-receive on 0\n"
	       "14000-16000 other-receive on 0 by hog behind 2\n"
	       "16000-17000 other-receive on 0\n"
	       "17000-18000 other-receive on 0 by peer behind 3\n"
	       "18000-20000 application on 0\n"
	       "message 2\n"
	       "0-2000 function receive on 0\n"
	       "2000-26000 application on 1\n"
	       "message 3\n"
	       "0-1000 function receive on 0\n"
	       "1000-2000 cpu-wait receive on 0 by app\n"
	       "2000-24000 blind\n");
}

static void test_cpu_wait(void **state)
{
	(void)state;
	/* the hog has the core when it is woken */
	expect(WAITS COMES READS MESSAGE "50us 0 run hog\n110us 0 run app runnable\n",
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-10000 cpu-wait on 0 by hog\n"
	       "10000-20000 application on 0\n");
}

static void test_preempted(void **state)
{
	(void)state;
	expect(WAITS COMES READS MESSAGE "113us 0 run hog runnable\n114us 0 run app runnable\n",
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-10000 idle-exit on 0\n"
	       "10000-13000 application on 0\n"
	       "13000-14000 cpu-wait on 0 by hog\n"
	       "14000-20000 application on 0\n");
}

static void test_hostlat(void **state)
{
	(void)state;
	expect(WAITS COMES READS MESSAGE
	       "113us 0 run hostlat runnable\n114us 0 run app runnable\n",
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-10000 idle-exit on 0\n"
	       "10000-13000 application on 0\n"
	       "13000-14000 hostlat on 0 by hostlat\n"
	       "14000-20000 application on 0\n");
}

static void test_softirqd(void **state)
{
	(void)state;
	expect(WAITS COMES READS MESSAGE
	       "113us 0 run ksoftirqd/0 runnable\n114us 0 run napi/eth0-1\n"
	       "114500ns 0 run app runnable\n",
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-10000 idle-exit on 0\n"
	       "10000-13000 application on 0\n"
	       "13000-14000 softirq on 0 by ksoftirqd/0\n"
	       "14000-14500 softirq on 0 by napi/eth0-1\n"
	       "14500-20000 application on 0\n");
	/* Its activity there is known, and so is that ksoftirqd does it. */
	expect(WAITS COMES READS MESSAGE
	       "113us 0 run ksoftirqd/0 runnable\n114us 0 softirq 3\n116us 0 softirq-end\n"
	       "116us 0 softirq 1\n117us 0 softirq-end\n118us 0 run app runnable\n",
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-10000 idle-exit on 0\n"
	       "10000-13000 application on 0\n"
	       "13000-14000 softirq on 0 by ksoftirqd/0\n"
	       "14000-16000 other-receive on 0 by ksoftirqd/0\n"
	       "16000-18000 softirq on 0 by ksoftirqd/0\n"
	       "18000-20000 application on 0\n");
}

static void test_interrupts(void **state)
{
	(void)state;
	/* the innermost has the CPU: an interrupt in a softirq in an interrupt's wake */
	expect(WAITS COMES READS MESSAGE
	       "113us 0 irq 30\n113100ns 0 irq-end\n113100ns 0 softirq 1\n113300ns 0 vector 0\n"
	       "113400ns 0 vector-end\n113600ns 0 softirq-end\n"
	       "116us 0 softirq 3\n117us 0 softirq-end\n",
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-10000 idle-exit on 0\n"
	       "10000-13000 application on 0\n"
	       "13000-13100 interrupt on 0\n"
	       "13100-13300 softirq on 0\n"
	       "13300-13400 interrupt on 0\n"
	       "13400-13600 softirq on 0\n"
	       "13600-16000 application on 0\n"
	       "16000-17000 other-receive on 0\n"
	       "17000-20000 application on 0\n");
}

/* The core's activity between the arrival and the queue. */
static void test_receive_path(void **state)
{
	(void)state;
	expect(HOST "2us 0 run app\n5us 0 call epoll_wait\n10us 0 run idle\n"
	       "100us 1 softirq 3\n102us 1 irq 4\n103us 1 irq-end\n104us 1 softirq-end\n"
	       "106us 1 softirq 9\n107us 1 softirq-end\n107us 1 run hog\n109us 1 run ksoftirqd/0 "
	       "runnable\n111us 1 wake app 0\n112us 1 run idle\n"
	       "113us 0 run app\n114us 0 return\n"
	       "message 1 app 100us 110us 120us 0 core=1\n",
	       "message 1\n"
	       "0-2000 function receive on 1\n"
	       "2000-3000 interrupt receive on 1\n"
	       "3000-4000 function receive on 1\n"
	       "4000-6000 idle-exit receive on 1\n"
	       "6000-7000 softirq receive on 1\n"
	       "7000-9000 cpu-wait receive on 1 by hog\n"
	       "9000-10000 function receive on 1\n"
	       "10000-11000 application\n" /* woken by ksoftirqd, which is a task */
	       "11000-13000 idle-exit on 0\n"
	       "13000-20000 application on 0\n");
}

/* The owner of a socket handles the packets in its backlog itself. */
static void test_owner_handles_its_backlog(void **state)
{
	(void)state;
	expect(HOST "2us 0 run app\n5us 0 call recvfrom\n120us 0 return\n"
	       "message 1 app 100us 110us 120us 0\n",
	       "message 1\n"
	       "0-10000 function receive on 0\n"
	       "10000-20000 application on 0\n");
}

/* ---- asleep ---- */

/* It has read message 1 and goes to sleep in CALL, for 50 us, while message 2 waits. */
#define SLEEPS(how, call)                                                                          \
	WAITS COMES                                                                                \
	"110us 0 run app\n112us 0 return\n115us 0 call recvfrom\n121us 0 return\n"                 \
	"140us 0 softirq 3\n142us 0 softirq-end\n"                                                 \
	"150us 0 " call "\n160us 0 run idle " how "\n"                                             \
	"202us 1 run peer\n210us 1 wake app 0\n212us 1 run idle\n"                                 \
	"215us 0 run app\n216us 0 return\n"                                                        \
	"230us 0 call recvfrom\n241us 0 return\n"                                                  \
	"message 1 app 100us 104us 120us 0\nmessage 2 app 140us 141us 240us 0\n"
#define BEFORE_SLEEP                                                                               \
	"message 1\n"                                                                              \
	"0-4000 function receive on 0\n"                                                           \
	"4000-5000 function receive\n"                                                             \
	"5000-6000 other-receive on 0\n"                                                           \
	"6000-10000 idle-exit on 0\n"                                                              \
	"10000-20000 application on 0\n"                                                           \
	"message 2\n"                                                                              \
	"0-1000 function receive on 0\n"                                                           \
	"1000-2000 other-receive on 0 behind 1\n"
#define BEFORE BEFORE_SLEEP "2000-20000 head-of-line on 0 by app behind 1\n"
/* It serves message 1 until it waits for any, or reads again. */
#define AFTER                                                                                      \
	"70000-75000 idle-exit on 0 behind 1\n"                                                    \
	"75000-90000 head-of-line on 0 by app behind 1\n"                                          \
	"90000-100000 application on 0\n"

static void test_lock(void **state)
{
	(void)state;
	expect(SLEEPS("asleep", "call futex"), BEFORE "20000-70000 lock by peer behind 1\n" AFTER);
	/* in the kernel: a mutex, say */
	expect(SLEEPS("blocked", "call mmap"), BEFORE "20000-70000 lock by peer behind 1\n" AFTER);
}

static void test_io(void **state)
{
	(void)state;
	expect(SLEEPS("io", "call mmap"), BEFORE "20000-70000 io-wait behind 1\n" AFTER);
	expect(SLEEPS("asleep", "call fsync"), BEFORE "20000-70000 io-wait behind 1\n" AFTER);
	expect(SLEEPS("blocked", "call read"), BEFORE "20000-70000 io-wait behind 1\n" AFTER);
}

static void test_stopped(void **state)
{
	(void)state;
	expect(SLEEPS("stopped", "call 999"), BEFORE "20000-70000 stopped behind 1\n" AFTER);
}

static void test_page_fault(void **state)
{
	(void)state;
	expect(SLEEPS("io", "fault"), BEFORE "20000-70000 page-fault behind 1\n" AFTER);
}

static void test_window(void **state)
{
	(void)state;
	expect(SLEEPS("asleep", "call sendto"), BEFORE "20000-70000 window behind 1\n" AFTER);
}

static void test_sleeps_itself(void **state)
{
	(void)state;
	expect(SLEEPS("asleep", "call nanosleep"),
	       BEFORE "20000-70000 application behind 1\n" AFTER);
	expect(SLEEPS("asleep", "call 999"), BEFORE "20000-70000 application behind 1\n" AFTER);
}

/* Asleep, and in no call that the recording knows: that it slept is all that is known. */
#define BEFORE_IRQ                                                                                 \
	BEFORE_SLEEP                                                                               \
	"2000-10000 head-of-line on 0 by app behind 1\n"                                           \
	"10000-11000 interrupt on 0 behind 1\n"                                                    \
	"11000-20000 head-of-line on 0 by app behind 1\n"

static void test_unexplained(void **state)
{
	(void)state;
	expect(SLEEPS("asleep", "irq 5\n151us 0 irq-end"),
	       BEFORE_IRQ "20000-70000 unexplained behind 1\n" AFTER);
	/* the reader is blocked, whatever by */
	expect(SLEEPS("blocked", "irq 5\n151us 0 irq-end"),
	       BEFORE_IRQ "20000-70000 unexplained behind 1\n" AFTER);
}

/* ---- runnable ---- */

/* From 105 us on it could run on core 0, which is idle; it does from `at` on. */
#define QUOTA "fact activity.throttled 1\n"
#define IDLE_UNTIL(at, read)                                                                       \
	WAITS COMES at " 0 run app\n" read " 0 return\nmessage 1 app 100us 104us " read " 0\n"

static void test_idle_exit_boundary(void **state)
{
	(void)state;
	expect(IDLE_UNTIL("1106us", "1110us"),
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-1006000 idle-exit on 0\n"
	       "1006000-1010000 application on 0\n");
	expect(QUOTA IDLE_UNTIL("1106us", "1110us"),
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-1006000 idle-exit on 0\n"
	       "1006000-1010000 application on 0\n");
	expect(QUOTA IDLE_UNTIL("1106001ns", "1110us"),
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-1006001 throttled on 0\n"
	       "1006001-1010000 application on 0\n");
}

/* A quota counts as the cause only where one was at work. */
static void test_core_stall(void **state)
{
	(void)state;
	expect(IDLE_UNTIL("1106001ns", "1110us"),
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-1006001 core-stall on 0\n"
	       "1006001-1010000 application on 0\n");
	expect("fact activity.throttled 0\n" IDLE_UNTIL("1106001ns", "1110us"),
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-1006001 core-stall on 0\n"
	       "1006001-1010000 application on 0\n");
}

/* A wait's length counts from its begin, not from the arrival of a message during it. */
static void test_throttled_before_arrival(void **state)
{
	static const char text[] =
		QUOTA HOST "2us 0 run app\n50us 0 run idle runnable\n"
		"700us 0 softirq 3\n706us 0 softirq-end\n%s 0 run app\n"
		"1110us 0 run idle\nmessage 1 app 700us 704us 1105us 0\n";
	char script[1024];

	(void)state;
	snprintf(script, sizeof(script), text, "1100us");
	expect(script, "message 1\n0-4000 function receive on 0\n4000-6000 other-receive on 0\n"
		       "6000-400000 throttled on 0\n400000-405000 application on 0\n");
	snprintf(script, sizeof(script), text, "1055us");
	expect(script, "message 1\n0-4000 function receive on 0\n4000-6000 other-receive on 0\n"
		       "6000-355000 idle-exit on 0\n355000-405000 application on 0\n");
}

/* Interrupts of the idle core don't make it a short one. */
static void test_throttled_between_interrupts(void **state)
{
	(void)state;
	expect(QUOTA IDLE_UNTIL("1400us", "1410us") "700us 0 vector 0\n701us 0 vector-end\n",
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-600000 throttled on 0\n"
	       "600000-601000 interrupt on 0\n"
	       "601000-1300000 throttled on 0\n"
	       "1300000-1310000 application on 0\n");
}

/*
 * The reader is queued on core 0, behind the hog, and a balancer moves it to core 1, which was
 * idle.
 */
static void test_moved_to_another_run_queue(void **state)
{
	(void)state;
	expect(WAITS COMES MESSAGE "50us 0 run hog\n115us 1 run app\n116us 1 return\n",
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-15000 cpu-wait on 0 by hog\n"
	       "15000-20000 application on 1\n");
	/* the one where it runs next goes first */
	expect(WAITS COMES MESSAGE "50us 0 run hog\n107us 1 run peer\n115us 1 run app\n"
	       "116us 1 return\n",
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-7000 cpu-wait on 0 by hog\n"
	       "7000-15000 cpu-wait on 1 by peer\n"
	       "15000-20000 application on 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control_nothing_delays),
		cmocka_unit_test(test_behind_another_message_in_softirq),
		cmocka_unit_test(test_divided_kernel_queue),
		cmocka_unit_test(test_no_kernel_queue),
		cmocka_unit_test(test_other_receive),
		cmocka_unit_test(test_cpu_wait),
		cmocka_unit_test(test_preempted),
		cmocka_unit_test(test_hostlat),
		cmocka_unit_test(test_softirqd),
		cmocka_unit_test(test_interrupts),
		cmocka_unit_test(test_receive_path),
		cmocka_unit_test(test_owner_handles_its_backlog),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_io),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_page_fault),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_sleeps_itself),
		cmocka_unit_test(test_unexplained),
		cmocka_unit_test(test_idle_exit_boundary),
		cmocka_unit_test(test_core_stall),
		cmocka_unit_test(test_throttled_before_arrival),
		cmocka_unit_test(test_throttled_between_interrupts),
		cmocka_unit_test(test_moved_to_another_run_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
