/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of sent messages, as test_diagnose_parts.c has those of received ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "diagnose_rig.h"

#undef expect
#define expect(script, text)                                                                       \
	do {                                                                                       \
		char seen_[RIG_TEXT];                                                              \
		rig_charge_sent(script, seen_);                                                    \
		assert_string_equal(seen_, text);                                                  \
	} while (0)

/* The sender has core 0, and is in its call from 100 us to 120 us. */
#define SENDS HOST "2us 0 run app\n99us 0 call sendto\n121us 0 return\n200us 0 run idle\n"
/* A message that is sent at once: its last byte leaves while the call goes on. */
#define AT_ONCE "segment 110us qdisc 112us driver 113us\n"

static void test_control_nothing_delays(void **state)
{
	(void)state;
	expect(SENDS "sent 1 app 100us 120us 0 " AT_ONCE,
	       "message 1\n"
	       "0-12000 function transmit on 0\n"
	       "12000-13000 qdisc transmit\n");
}

/* Its completion is no part of it, nor are messages that were received. */
static void test_ends_at_driver(void **state)
{
	(void)state;
	expect(SENDS "sent 1 app 100us 120us 0 segment 110us qdisc 112us driver 113us sent 150us\n"
	       "message 2 app 100us 104us 118us 0\n",
	       "message 1\n"
	       "0-12000 function transmit on 0\n"
	       "12000-13000 qdisc transmit\n");
}

static void test_in_call(void **state)
{
	(void)state;
	expect(SENDS "sent 1 app 100us 120us 0 " AT_ONCE
	       "101us 0 irq 30\n102us 0 irq-end\n103us 0 softirq 1\n104us 0 softirq-end\n"
	       "105us 0 run hog runnable\n107us 0 run app runnable\n",
	       "message 1\n"
	       "0-1000 function transmit on 0\n"
	       "1000-2000 interrupt transmit on 0\n"
	       "2000-3000 function transmit on 0\n"
	       "3000-4000 softirq transmit on 0\n"
	       "4000-5000 function transmit on 0\n"
	       "5000-7000 cpu-wait transmit on 0 by hog\n"
	       "7000-12000 function transmit on 0\n"
	       "12000-13000 qdisc transmit\n");
}

/* It sleeps up to 115 us, how is the rule's. */
#define SLEEPS(how)                                                                                \
	HOST "2us 0 run app\n99us 0 call sendto\n105us 0 run idle " how "\n"                       \
	"114us 1 run peer\n114us 1 wake app 0\n115us 0 run app\n121us 0 return\n"                  \
	"200us 0 run idle\n"                                                                       \
	"sent 1 app 100us 120us 0 segment 117us qdisc 118us driver 119us\n"
#define SLEPT(as)                                                                                  \
	"message 1\n"                                                                              \
	"0-5000 function transmit on 0\n"                                                          \
	"5000-14000 " as "\n"                                                                      \
	"14000-15000 idle-exit transmit on 0\n"                                                    \
	"15000-18000 function transmit on 0\n"                                                     \
	"18000-19000 qdisc transmit\n"

static void test_asleep(void **state)
{
	(void)state;
	expect(SLEEPS("asleep"), SLEPT("window transmit"));
	expect(SLEEPS("blocked"), SLEPT("lock transmit by peer"));
	expect(SLEEPS("io"), SLEPT("io-wait transmit"));
	expect(SLEEPS("stopped"), SLEPT("stopped transmit"));
}

/* A task that never reads has no system calls in a recording. */
static void test_asleep_in_unknown_call(void **state)
{
	(void)state;
	expect(HOST "2us 0 run app\n105us 0 run idle asleep\n"
	       "114us 1 run peer\n114us 1 wake app 0\n115us 0 run app\n200us 0 run idle\n"
	       "sent 1 app 100us 120us 0 segment 117us qdisc 118us driver 119us\n",
	       SLEPT("window transmit"));
}

/* Others send it while the sender, in its call, has no core: how it left says the next run. */
static void test_leaves_while_away(void **state)
{
	(void)state;
	expect(SENDS "sent 1 app 100us 120us 0 segment 106us qdisc 107us driver 108us\n"
	       "105us 0 run hog runnable\n115us 0 run app runnable\n",
	       "message 1\n"
	       "0-5000 function transmit on 0\n"
	       "5000-7000 cpu-wait transmit on 0 by hog\n"
	       "7000-8000 qdisc transmit\n");
}

static void test_window(void **state)
{
	(void)state;
	/* behind the call it waits in the socket; a softirq sends it then */
	expect(SENDS "sent 1 app 100us 120us 1 segment 190us qdisc 194us driver 195us\n"
	       "189us 1 softirq 3\n192us 1 irq 4\n193us 1 irq-end\n196us 1 softirq-end\n",
	       "message 1\n"
	       "0-20000 function transmit on 0\n"
	       "20000-90000 window transmit\n"
	       "90000-92000 function transmit on 1\n"
	       "92000-93000 interrupt transmit on 1\n"
	       "93000-94000 function transmit on 1\n"
	       "94000-95000 qdisc transmit\n");
}

/* Nobody brings it to the queue: it waits for something that isn't recorded. */
static void test_window_then_idle(void **state)
{
	(void)state;
	expect(SENDS "sent 1 app 100us 120us 1 segment 190us qdisc 194us driver 195us\n",
	       "message 1\n"
	       "0-20000 function transmit on 0\n"
	       "20000-90000 window transmit\n"
	       "90000-94000 unexplained transmit on 1\n"
	       "94000-95000 qdisc transmit\n");
}

static void test_qdisc(void **state)
{
	(void)state;
	expect(SENDS "sent 1 app 100us 120us 0 segment 110us qdisc 112us driver 250us\n",
	       "message 1\n"
	       "0-12000 function transmit on 0\n"
	       "12000-150000 qdisc transmit\n");
}

/* Its timer, due at 150 us, did its work at 190 us: what core 1 did meanwhile held it up. */
#define LATE                                                                                       \
	SENDS "sent 1 app 100us 120us 1 paced 122us late 150us segment 190us qdisc 191us "         \
	      "driver 192us\n188us 1 softirq 8\n192us 1 softirq-end\n"
#define LATE_BY(what)                                                                              \
	"message 1\n"                                                                              \
	"0-20000 function transmit on 0\n"                                                         \
	"20000-22000 window transmit\n"                                                            \
	"22000-50000 pacing transmit\n" what                                                       \
	"88000-91000 function transmit on 1\n"                                                     \
	"91000-92000 qdisc transmit\n"

static void test_late_timer(void **state)
{
	(void)state;
	expect(LATE, LATE_BY("50000-88000 idle-exit transmit on 1\n"));
	expect(LATE "140us 1 run hog\n", LATE_BY("50000-88000 cpu-wait transmit on 1 by hog\n"));
	expect(LATE "140us 1 softirq 3\n187us 1 softirq-end\n",
	       LATE_BY("50000-87000 other-receive transmit on 1\n"
		       "87000-88000 idle-exit transmit on 1\n"));
	expect(LATE "140us 1 run hog\n155us 1 irq 30\n180us 1 irq-end\n",
	       LATE_BY("50000-55000 cpu-wait transmit on 1 by hog\n"
		       "55000-80000 interrupt transmit on 1\n"
		       "80000-88000 cpu-wait transmit on 1 by hog\n"));
	expect(LATE "140us 1 run hog\n155us 1 lose\n170us 1 run idle\n",
	       LATE_BY("50000-70000 blind transmit on 1\n"
		       "70000-88000 idle-exit transmit on 1\n"));
}

/* An idle core needs no millisecond to wake. */
static void test_timer_of_stalled_core(void **state)
{
	(void)state;
	expect(SENDS "sent 1 app 100us 120us 1 paced 120us late 150us segment 1.3ms qdisc 1301us "
	       "driver 1302us\n1299us 1 softirq 8\n1303us 1 softirq-end\n",
	       "message 1\n"
	       "0-20000 function transmit on 0\n"
	       "20000-50000 pacing transmit\n"
	       "50000-1199000 core-stall transmit on 1\n"
	       "1199000-1201000 function transmit on 1\n"
	       "1201000-1202000 qdisc transmit\n");
}

/* Recordings tell by how much the timers of earlier packets were late, but not when and why. */
static void test_earlier_timers_were_late(void **state)
{
	(void)state;
	expect(SENDS "sent 1 app 100us 120us 1 late 125us paced 145us segment 190us qdisc 191us "
	       "driver 192us\n188us 1 softirq 8\n192us 1 softirq-end\n",
	       "message 1\n"
	       "0-20000 function transmit on 0\n"
	       "20000-25000 window transmit\n"
	       "25000-45000 unexplained transmit\n"
	       "45000-90000 pacing transmit\n"
	       "90000-91000 function transmit on 1\n"
	       "91000-92000 qdisc transmit\n");
}

/* One that waits behind it was held up by the same. */
static void test_behind_late_timer(void **state)
{
	(void)state;
	expect(HOST "2us 0 run app\n60us 0 call sendto\n81us 0 return\n99us 0 call sendto\n"
	       "121us 0 return\n200us 0 run idle\n140us 1 run hog\n"
	       "sent 1 app 61us 80us 1 flow=1 paced 80us late 150us segment 190us qdisc 191us "
	       "driver 192us\n188us 1 softirq 8\n192us 1 softirq-end\n"
	       "sent 2 app 100us 120us 1 flow=1 paced 120us segment 230us qdisc 231us "
	       "driver 232us\n229us 1 softirq 8\n233us 1 softirq-end\n",
	       "message 1\n"
	       "0-19000 function transmit on 0\n"
	       "19000-89000 pacing transmit\n"
	       "89000-127000 cpu-wait transmit on 1 by hog\n"
	       "127000-130000 function transmit on 1\n"
	       "130000-131000 qdisc transmit\n"
	       "message 2\n"
	       "0-20000 function transmit on 0\n"
	       "20000-50000 pacing transmit behind 1\n"
	       "50000-88000 cpu-wait transmit on 1 by hog\n"
	       "88000-90000 function transmit on 1\n"
	       "90000-91000 pacing transmit behind 1\n"
	       "91000-92000 qdisc transmit behind 1\n"
	       "92000-130000 pacing transmit\n"
	       "130000-131000 function transmit on 1\n"
	       "131000-132000 qdisc transmit\n");
}

/* A shaper has cut the packet: nothing says when it came into the queue. */
static void test_packet_cut_by_a_shaper(void **state)
{
	(void)state;
	expect(SENDS "sent 1 app 100us 120us 0 segment 110us driver 250us\n",
	       "message 1\n"
	       "0-20000 function transmit on 0\n"
	       "20000-150000 qdisc transmit\n");
}

/* The planned departure is later than the packet's entry into the queue. */
static void test_departure_after_queue_begin(void **state)
{
	(void)state;
	expect(SENDS "sent 1 app 100us 120us 0 qdisc 112us segment 200us driver 210us\n",
	       "message 1\n"
	       "0-12000 function transmit on 0\n"
	       "12000-100000 pacing transmit\n"
	       "100000-110000 qdisc transmit\n");
}

/* TCP's own timer held the message in its socket; and another one, behind it. */
static void test_pacing_in_the_socket(void **state)
{
	(void)state;
	expect(SENDS
	       "sent 1 app 100us 110us 0 flow=1 paced 130us segment 170us qdisc 171us "
	       "driver 172us\n"
	       "sent 2 app 112us 120us 0 flow=1 segment 180us qdisc 181us driver 182us\n",
	       "message 1\n"
	       "0-10000 function transmit on 0\n"
	       "10000-30000 window transmit\n"
	       "30000-70000 pacing transmit\n"
	       "70000-71000 function transmit on 0\n"
	       "71000-72000 qdisc transmit\n"
	       "message 2\n"
	       "0-8000 function transmit on 0\n"
	       "8000-18000 window transmit\n"
	       "18000-59000 pacing transmit behind 1\n"
	       "59000-60000 qdisc transmit behind 1\n"
	       "60000-68000 window transmit\n"
	       "68000-69000 function transmit on 0\n"
	       "69000-70000 qdisc transmit\n");
}

/* The same, asleep in its call for room. */
static void test_pacing_in_the_socket_during_call(void **state)
{
	(void)state;
	expect(HOST "2us 0 run app\n105us 0 run idle asleep\n"
	       "114us 1 run peer\n114us 1 wake app 0\n115us 0 run app\n200us 0 run idle\n"
	       "sent 1 app 100us 120us 0 flow=1 paced 108us segment 150us qdisc 150us "
	       "driver 151us\n",
	       "message 1\n"
	       "0-5000 function transmit on 0\n"
	       "5000-8000 window transmit\n"
	       "8000-14000 pacing transmit\n"
	       "14000-15000 idle-exit transmit on 0\n"
	       "15000-20000 function transmit on 0\n"
	       "20000-50000 pacing transmit\n"
	       "50000-51000 qdisc transmit\n");
}

/* Others of the connection are being sent: the message waits for what holds them. */
static void test_behind_others_of_the_connection(void **state)
{
	(void)state;
	expect(SENDS
	       "sent 1 app 100us 105us 0 flow=1 segment 102us qdisc 103us driver 130us\n"
	       "sent 2 app 105us 110us 0 flow=1 qdisc 107us segment 140us driver 150us\n"
	       "sent 3 app 110us 120us 0 flow=1 segment 170us qdisc 171us driver 172us\n"
	       "sent 4 app 105us 106us 0 flow=2 segment 106us qdisc 106us driver 160us\n",
	       "message 1\n"
	       "0-3000 function transmit on 0\n"
	       "3000-30000 qdisc transmit\n"
	       "message 2\n"
	       "0-2000 function transmit on 0\n"
	       "2000-35000 pacing transmit\n"
	       "35000-45000 qdisc transmit\n"
	       "message 4\n"
	       "0-1000 function transmit on 0\n"
	       "1000-55000 qdisc transmit\n"
	       "message 3\n"
	       "0-10000 function transmit on 0\n"
	       "10000-20000 qdisc transmit behind 1\n"
	       "20000-30000 pacing transmit behind 2\n"
	       "30000-40000 qdisc transmit behind 2\n"
	       "40000-60000 window transmit\n"
	       "60000-61000 function transmit on 0\n"
	       "61000-62000 qdisc transmit\n");
}

/* The same, asleep in the call for room. */
static void test_room_behind_others(void **state)
{
	(void)state;
	expect(HOST "2us 0 run app\n105us 0 run idle asleep\n"
	       "114us 1 run peer\n114us 1 wake app 0\n115us 0 run app\n200us 0 run idle\n"
	       "sent 1 app 90us 95us 0 flow=1 segment 92us qdisc 93us driver 110us\n"
	       "sent 2 app 100us 120us 0 flow=1 segment 117us qdisc 118us driver 119us\n",
	       "message 1\n"
	       "0-3000 function transmit on 0\n"
	       "3000-20000 qdisc transmit\n"
	       "message 2\n"
	       "0-5000 function transmit on 0\n"
	       "5000-10000 qdisc transmit behind 1\n"
	       "10000-14000 window transmit\n"
	       "14000-15000 idle-exit transmit on 0\n"
	       "15000-18000 function transmit on 0\n"
	       "18000-19000 qdisc transmit\n");
}

static uint64_t last_blind(const char *script)
{
	struct rig rig;
	uint64_t ns;

	rig_read_sent(&rig, rig_file(script));
	ns = rig.rec.breakdowns[rig.rec.subjects.len - 1].ns[
		CAUSE_PLACE(CAUSE_NOT_RECORDED, WHERE_TRANSMIT)];
	rig_release(&rig);
	return ns;
}

/* Time before the most messages that can be looked at is not recorded. */
static void test_behind_more_than_can_be_seen(void **state)
{
	static const char first[] =
		"sent 9000 app 99us 100us 0 flow=1 segment 103us qdisc 103us driver 130us\n",
		many[] = SENDS
		"repeat 4095 1ns\n"
		"sent 1 app 99us 100us 0 flow=1 segment 150us qdisc 150us driver 160us\nend\n"
		"sent 9001 app 99us 100us 0 flow=1 segment 150us qdisc 150us driver 169us\n"
		"sent 9002 app 100us 101us 0 flow=1 segment 170us qdisc 170us driver 170us\n";
	char script[sizeof(first) + sizeof(many)];

	(void)state;
	snprintf(script, sizeof(script), "%s%s", many, first);
	assert_int_equal(last_blind(many), 0);
	assert_int_equal(last_blind(script), 49000);
}

/* A lost message may have been in transmission. */
static void test_lost_messages(void **state)
{
	(void)state;
	expect(SENDS "lost message 1\n"
	       "sent 1 app 100us 105us 0 flow=1 segment 102us qdisc 103us driver 130us\n"
	       "sent 2 app 110us 120us 0 flow=1 segment 170us qdisc 170us driver 171us\n",
	       "message 1\n"
	       "0-3000 function transmit on 0\n"
	       "3000-30000 qdisc transmit\n"
	       "message 2\n"
	       "0-10000 function transmit on 0\n"
	       "10000-20000 qdisc transmit behind 1\n"
	       "20000-60000 blind transmit\n"
	       "60000-61000 qdisc transmit\n");
}

/* Nothing says when which stage was reached, who sent the message, or what the cores did. */
static void test_unknown_stages_sender_and_cores(void **state)
{
	(void)state;
	expect(SENDS "sent 1 app 100us 120us 0 driver 150us\n",
	       "message 1\n"
	       "0-20000 function transmit on 0\n"
	       "20000-50000 blind transmit\n");
	expect(SENDS "sent 1 0 100us 120us 0 " AT_ONCE,
	       "message 1\n"
	       "0-12000 blind transmit\n"
	       "12000-13000 qdisc transmit\n");
	expect(HOST "fact a b\ntask other 30 31\n2us 0 run app\n200us 0 run idle\n"
	       "sent 1 other 100us 120us 0 " AT_ONCE,
	       "message 1\n"
	       "0-12000 blind transmit\n"
	       "12000-13000 qdisc transmit\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control_nothing_delays),
		cmocka_unit_test(test_ends_at_driver),
		cmocka_unit_test(test_in_call),
		cmocka_unit_test(test_asleep),
		cmocka_unit_test(test_asleep_in_unknown_call),
		cmocka_unit_test(test_leaves_while_away),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_window_then_idle),
		cmocka_unit_test(test_qdisc),
		cmocka_unit_test(test_late_timer),
		cmocka_unit_test(test_timer_of_stalled_core),
		cmocka_unit_test(test_earlier_timers_were_late),
		cmocka_unit_test(test_behind_late_timer),
		cmocka_unit_test(test_packet_cut_by_a_shaper),
		cmocka_unit_test(test_departure_after_queue_begin),
		cmocka_unit_test(test_pacing_in_the_socket),
		cmocka_unit_test(test_pacing_in_the_socket_during_call),
		cmocka_unit_test(test_behind_others_of_the_connection),
		cmocka_unit_test(test_room_behind_others),
		cmocka_unit_test(test_behind_more_than_can_be_seen),
		cmocka_unit_test(test_lost_messages),
		cmocka_unit_test(test_unknown_stages_sender_and_cores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
