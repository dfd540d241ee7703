/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that wait behind others, and the way from a socket's queue to its reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "diagnose_rig.h"

/* Message 1 is read at 120 us, and served until 1 ms; message 2 is queued at 200 us. */
#define SERVES                                                                                     \
	WAITS COMES                                                                                \
	"110us 0 run app\n112us 0 return\n115us 0 call recvfrom\n121us 0 return\n"                 \
	"199us 1 softirq 3\n202us 1 softirq-end\n"                                                 \
	"message 1 app 100us 104us 120us 0 flow=1\n"
#define FIRST                                                                                      \
	"message 1\n"                                                                              \
	"0-4000 function receive on 0\n"                                                           \
	"4000-5000 function receive\n"                                                             \
	"5000-6000 other-receive on 0\n"                                                           \
	"6000-10000 idle-exit on 0\n"                                                              \
	"10000-20000 application on 0\n"

/* The reader goes from one message to the next without waiting. */
static void test_reader_never_waits(void **state)
{
	(void)state;
	expect(SERVES "1ms 0 call recvfrom\n1010us 0 return\n1020us 0 call epoll_wait\n"
	       "1025us 0 run idle\n"
	       "message 2 app 199us 200us 1009us 0 core=1 flow=1\n",
	       FIRST "message 2\n"
	       "0-1000 function receive on 1\n"
	       "1000-801000 head-of-line on 0 by app behind 1\n"
	       "801000-810000 application on 0\n");
}

/* The reader calls epoll_wait before it comes to this message, and returns at once. */
static void test_epoll_returns_at_once(void **state)
{
	(void)state;
	expect(SERVES "900us 0 call epoll_wait\n905us 0 return\n"
	       "1ms 0 call recvfrom\n1010us 0 return\n1020us 0 call epoll_wait\n1025us 0 run idle\n"
	       "message 2 app 199us 200us 1009us 0 core=1 flow=2\n",
	       FIRST "message 2\n"
	       "0-1000 function receive on 1\n"
	       "1000-701000 head-of-line on 0 by app behind 1\n"
	       "701000-810000 application on 0\n");
}

/* Three messages in a row: each is behind those that were read before it. */
static void test_three_in_a_row(void **state)
{
	(void)state;
	expect(SERVES "300us 0 call recvfrom\n310us 0 return\n"
	       "400us 0 call recvfrom\n410us 0 return\n"
	       "430us 0 call epoll_wait\n435us 0 run idle\n"
	       "message 2 app 199us 200us 309us 0 core=1 flow=2\n"
	       "message 3 app 199us 201us 409us 0 core=1 flow=3\n",
	       FIRST "message 2\n"
	       "0-1000 function receive on 1\n"
	       "1000-101000 head-of-line on 0 by app behind 1\n"
	       "101000-110000 application on 0\n"
	       "message 3\n"
	       "0-1000 kernel-queue receive on 1 by app behind 2\n"
	       "1000-2000 function receive on 1\n"
	       "2000-101000 head-of-line on 0 by app behind 1\n"
	       "101000-201000 head-of-line on 0 by app behind 2\n"
	       "201000-210000 application on 0\n");
}

/* Behind whom one waits is not why: the cause is what held that one up. */
static void test_held_up_by_lock(void **state)
{
	(void)state;
	expect(SERVES "300us 0 call futex\n305us 0 run idle\n"
	       "690us 1 run peer\n700us 1 wake app 0\n710us 1 run idle\n"
	       "704us 0 run app\n705us 0 return\n"
	       "1ms 0 call recvfrom\n1010us 0 return\n"
	       "message 2 app 199us 200us 1009us 0 core=1 flow=2\n",
	       FIRST "message 2\n"
	       "0-1000 function receive on 1\n"
	       "1000-106000 head-of-line on 0 by app behind 1\n"
	       "106000-501000 lock by peer behind 1\n"
	       "501000-505000 idle-exit on 0 behind 1\n"
	       "505000-801000 head-of-line on 0 by app behind 1\n"
	       "801000-810000 application on 0\n");
}

static void test_held_up_by_cpu_wait(void **state)
{
	(void)state;
	expect(SERVES "300us 0 run hog runnable\n700us 0 run app runnable\n"
	       "1ms 0 call recvfrom\n1010us 0 return\n"
	       "message 2 app 199us 200us 1009us 0 core=1 flow=2\n",
	       FIRST "message 2\n"
	       "0-1000 function receive on 1\n"
	       "1000-101000 head-of-line on 0 by app behind 1\n"
	       "101000-501000 cpu-wait on 0 by hog behind 1\n"
	       "501000-801000 head-of-line on 0 by app behind 1\n"
	       "801000-810000 application on 0\n");
}

/* Its hold-up was over before this one came: it is not this one's. */
static void test_held_up_before(void **state)
{
	(void)state;
	expect(SERVES "130us 0 run hog runnable\n190us 0 run app runnable\n"
	       "1ms 0 call recvfrom\n1010us 0 return\n"
	       "message 2 app 199us 200us 1009us 0 core=1 flow=2\n",
	       FIRST "message 2\n"
	       "0-1000 function receive on 1\n"
	       "1000-801000 head-of-line on 0 by app behind 1\n"
	       "801000-810000 application on 0\n");
}

/* A read of a file is not the read of the message, nor is a receive call for another one. */
static void test_file_is_no_receive(void **state)
{
	(void)state;
	expect(SERVES "300us 0 call read\n310us 0 run idle io\n"
	       "490us 1 irq 7\n500us 1 wake app 0\n501us 1 irq-end\n"
	       "504us 0 run app\n505us 0 return\n"
	       "600us 0 call recvfrom\n610us 0 return\n"
	       "1ms 0 call recvfrom\n1010us 0 return\n"
	       "message 2 app 199us 200us 1009us 0 core=1 flow=2\n",
	       FIRST "message 2\n"
	       "0-1000 function receive on 1\n"
	       "1000-111000 head-of-line on 0 by app behind 1\n"
	       "111000-301000 io-wait behind 1\n"
	       "301000-305000 idle-exit on 0 behind 1\n"
	       "305000-801000 head-of-line on 0 by app behind 1\n"
	       "801000-810000 application on 0\n");
}

/* ---- hand-off ---- */

/* The reader sleeps in a receive call until the interrupt that brought the message wakes it. */
static void test_interrupt_wakes_the_reader(void **state)
{
	(void)state;
	expect(HOST "2us 0 run app\n5us 0 call recvfrom\n10us 0 run idle\n"
	       "99us 1 softirq 3\n150us 1 wake app 0\n151us 1 softirq-end\n"
	       "155us 0 run app\n160us 0 return\n"
	       "message 1 app 100us 104us 159us 0 core=1\n",
	       "message 1\n"
	       "0-4000 function receive on 1\n"
	       "4000-50000 function receive\n"
	       "50000-55000 idle-exit on 0\n"
	       "55000-59000 application on 0\n");
}

/* Woken for something else, and asleep again: that wait is the application's own. */
static void test_woken_for_something_else(void **state)
{
	(void)state;
	expect(HOST "2us 0 run app\n5us 0 call futex\n10us 0 run idle\n"
	       "99us 1 softirq 3\n105us 1 softirq-end\n"
	       "190us 1 run peer\n200us 1 wake app 0\n201us 1 run idle\n"
	       "205us 0 run app\n210us 0 run idle\n"
	       "290us 1 run peer\n300us 1 wake app 0\n301us 1 run idle\n"
	       "305us 0 run app\n306us 0 return\n400us 0 call recvfrom\n410us 0 return\n"
	       "message 1 app 100us 104us 409us 0 core=1\n",
	       "message 1\n"
	       "0-4000 function receive on 1\n"
	       "4000-100000 lock by peer\n"
	       "100000-105000 idle-exit on 0\n"
	       "105000-110000 application on 0\n"
	       "110000-200000 lock by peer\n"
	       "200000-205000 idle-exit on 0\n"
	       "205000-309000 application on 0\n");
}

/* Woken before it has left its core: the task returns at once. */
static void test_woken_before_it_left_its_core(void **state)
{
	(void)state;
	expect(HOST "2us 0 run app\n5us 0 call recvfrom\n"
	       "99us 1 softirq 3\n105us 1 wake app 0\n106us 1 softirq-end\n"
	       "107us 0 run hog\n120us 0 run app runnable\n125us 0 return\n"
	       "message 1 app 100us 104us 124us 0 core=1\n",
	       "message 1\n"
	       "0-4000 function receive on 1\n"
	       "4000-7000 application on 0\n"
	       "7000-20000 cpu-wait on 0 by hog\n"
	       "20000-24000 application on 0\n");
}

/* A thread keeps its number, whatever its name and its core. */
static void test_renamed_thread(void **state)
{
	(void)state;
	expect(WAITS COMES READS MESSAGE
	       "113us 0 rename app worker\n113us 0 run hog runnable\n117us 1 run app\n",
	       "message 1\n"
	       "0-4000 function receive on 0\n"
	       "4000-5000 function receive\n"
	       "5000-6000 other-receive on 0\n"
	       "6000-10000 idle-exit on 0\n"
	       "10000-13000 application on 0\n"
	       "13000-17000 cpu-wait on 0 by hog\n"
	       "17000-20000 application on 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader_never_waits),
		cmocka_unit_test(test_epoll_returns_at_once),
		cmocka_unit_test(test_three_in_a_row),
		cmocka_unit_test(test_held_up_by_lock),
		cmocka_unit_test(test_held_up_by_cpu_wait),
		cmocka_unit_test(test_held_up_before),
		cmocka_unit_test(test_file_is_no_receive),
		cmocka_unit_test(test_interrupt_wakes_the_reader),
		cmocka_unit_test(test_woken_for_something_else),
		cmocka_unit_test(test_woken_before_it_left_its_core),
		cmocka_unit_test(test_renamed_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
