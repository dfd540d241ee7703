/* SPDX-License-Identifier: Apache-2.0 */
/* A CPU's events become spans that nest, go on where their task does, and end at a loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "event/dict.h"
#include "event/reader.h"
#include "event/spans.h"
#include "probe/cpu/timeline.h"
#include "probe/cpu/timeline_queue.h"
#include "../sim/event_words.h"

#define START 1000
#define TEXT 8192

static int fd;
static struct event_writer *writer;
static struct timeline *timeline;
static uint32_t lost;

static int proc_name(uint32_t tid, char *comm, uint32_t *tgid)
{
	if (tid != 7)
		return -ESRCH;
	snprintf(comm, EVENT_COMM_LEN, "older");
	*tgid = 6;
	return 0;
}

static void begin(void)
{
	const struct timeline_lookup lookup = { .name = proc_name };
	const struct event_writer_options options = { .stream = 1 };

	lost = 0;
	fd = memfd_create("timeline", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(event_writer_new(&writer, fd, &options), 0);
	assert_int_equal(timeline_new(&timeline, 2, START, &lookup), 0);
}

static void put(uint32_t core, uint64_t time, uint8_t type, uint32_t a, uint32_t b, uint16_t arg)
{
	const struct act act = {
		.time = time, .type = type, .a = a, .b = b, .arg = arg, .lost = lost,
	};

	assert_int_equal(timeline_put(timeline, writer, core, &act), 0);
}

static void name(uint32_t tid, uint32_t tgid, const char *comm)
{
	struct act act = { .tgid = tgid, .type = ACT_NAME, .a = tid };

	snprintf(act.comm, sizeof(act.comm), "%s", comm);
	assert_int_equal(timeline_put(timeline, writer, 0, &act), 0);
}

static void show(char *text, const struct event_dict *dict, uint32_t core,
		 const struct event_span *s)
{
	size_t len = strlen(text);

	snprintf(text + len, TEXT - len, "%u %*s%s %s%u %d-%d%s%s\n", core, 2 * s->depth, "",
		 span_type_name(s->type),
		 s->type == SPAN_TASK ? event_dict_get(dict, DICT_TASK, s->what) : "",
		 s->type == SPAN_TASK ? s->arg : s->what, (int)s->begin, (int)s->end,
		 s->resumed ? " resumed" : "", s->cut ? " cut" : "");
}

/* Spans as they end, inner ones first, and wakings, by core. A task's number: how it had left. */
static void finish(char *text)
{
	struct event_dict *dict = event_dict_new();
	struct event_reader *reader;
	struct event_block block;
	struct event_span span;
	struct event_wake wake;
	size_t len;

	assert_non_null(dict);
	assert_int_equal(timeline_end(timeline, writer, 9000), 0);
	assert_int_equal(event_writer_close(writer), 0);
	assert_int_equal(event_reader_new(&reader, fd), 0);
	assert_int_equal(event_reader_names(reader, dict), 0);
	text[0] = '\0';
	while (event_source_next(event_reader_source(reader), &block) > 0) {
		struct event_walk walk = { 0 };

		for (uint32_t i = 0; block.kind == EV_WAKE && i < block.count; i++) {
			event_block_copy(&block, i, &wake, sizeof(wake));
			len = strlen(text);
			snprintf(text + len, TEXT - len, "%u wake %d %s by %s%s\n", block.core,
				 (int)wake.time, event_dict_get(dict, DICT_TASK, wake.task),
				 wake.waker ? event_dict_get(dict, DICT_TASK, wake.waker) :
				 "nobody",
				 wake.flags & WAKE_INTERRUPT ? " in interrupt" : "");
		}
		if (block.kind != EV_EDGE)
			continue;
		event_walk_block(&walk, &block);
		while (event_walk_next(&walk, &span))
			show(text, dict, block.core, &span);
	}
	event_reader_free(reader);
	event_dict_free(dict);
	timeline_free(timeline);
	close(fd);
}

#define expect(text)                                                                               \
	do {                                                                                       \
		char seen_[TEXT];                                                                  \
		finish(seen_);                                                                     \
		assert_string_equal(seen_, text);                                                  \
	} while (0)

/* Nothing is known before the first event; a task that was there before is asked for. */
static void test_first_switch(void **state)
{
	(void)state;
	begin();
	put(0, 1100, ACT_IRQ, 5, 7, 0);
	put(0, 1200, ACT_IRQ_END, 5, 7, 0);
	name(20, 20, "next");
	put(0, 1300, ACT_SWITCH, 7, 20, 1);
	put(0, 1400, ACT_SWITCH, 20, 7, 0);
	put(0, 1500, ACT_SWITCH, 7, 0, 2);
	expect("0 blind 0 1000-1300\n"
	       "0 task older (6/7)0 1300-1300 resumed\n"
	       "0 task next (20/20)0 1300-1400\n"
	       "0 task older (6/7)2 1400-1500\n"
	       "0 idle 0 1500-9000 cut\n");
}

static void test_nesting(void **state)
{
	(void)state;
	begin();
	name(20, 20, "app");
	put(0, 1100, ACT_SWITCH, 0, 20, 0);
	put(0, 1200, ACT_SYSCALL, 232, 20, 0);
	put(0, 1300, ACT_IRQ, 9, 20, 0);
	put(0, 1350, ACT_WAKE, 20, 20, 1);
	put(0, 1400, ACT_IRQ_END, 9, 20, 0);
	put(0, 1400, ACT_SOFTIRQ, 3, 20, 0);
	put(0, 1450, ACT_VECTOR, VECTOR_TIMER, 20, 0);
	put(0, 1470, ACT_VECTOR_END, VECTOR_TIMER, 20, 0);
	put(0, 1500, ACT_SOFTIRQ_END, 3, 20, 0);
	put(0, 1600, ACT_SYSCALL_END, 0, 20, 0);
	put(0, 1650, ACT_WAKE, 20, 20, 1);
	put(0, 1700, ACT_SWITCH, 20, 0, 1);
	put(0, 1750, ACT_IDLE, 1, 0, 0);
	put(0, 1800, ACT_IDLE_END, 1, 0, 0);
	expect("0 blind 0 1000-1100\n"
	       "0 idle 0 1100-1100 resumed\n"
	       "0     hardirq 9 1300-1400\n"
	       "0       hardirq 65536 1450-1470\n"
	       "0     softirq 3 1400-1500\n"
	       "0   syscall 232 1200-1600\n"
	       "0 task app (20/20)0 1100-1700\n"
	       "0   idle 2 1750-1800\n"
	       "0 idle 0 1700-9000 cut\n"
	       "0 wake 1350 app (20/20) by app (20/20) in interrupt\n"
	       "0 wake 1650 app (20/20) by app (20/20)\n");
}

/* A system call goes on where its task does, on another core, too. */
static void test_call_goes_on(void **state)
{
	(void)state;
	begin();
	name(20, 20, "app");
	put(0, 1100, ACT_SWITCH, 0, 20, 0);
	put(1, 1100, ACT_SWITCH, 21, 0, 1);
	put(0, 1200, ACT_SYSCALL, 202, 20, 0);
	put(0, 1300, ACT_SWITCH, 20, 0, 1);
	put(1, 1500, ACT_SWITCH, 0, 20, 0);
	put(1, 1600, ACT_SYSCALL_END, 0, 20, 0);
	put(1, 1700, ACT_SWITCH, 20, 0, ACT_PREEMPTED);
	expect("0 blind 0 1000-1100\n"
	       "0 idle 0 1100-1100 resumed\n"
	       "0   syscall 202 1200-1300 cut\n"
	       "0 task app (20/20)0 1100-1300\n"
	       "0 idle 0 1300-9000 cut\n"
	       "1 blind 0 1000-1100\n"
	       "1 task ? (0/21)0 1100-1100 resumed\n"
	       "1 idle 0 1100-1500\n"
	       "1   syscall 202 1500-1600 resumed\n"
	       "1 task app (20/20)2 1500-1700\n"
	       "1 idle 0 1700-9000 cut\n");
}

/* The task sleeps without a call: in a page fault. */
static void test_sleep_in_a_page_fault(void **state)
{
	(void)state;
	begin();
	name(20, 20, "app");
	put(0, 1100, ACT_SWITCH, 0, 20, 0);
	put(0, 1200, ACT_FAULT, 0, 20, 0);
	put(0, 1210, ACT_SWITCH, 20, 0, 2 | ACT_IOWAIT);
	put(0, 1300, ACT_SWITCH, 0, 20, 0);
	put(0, 1310, ACT_FAULT, 0, 20, 0);
	put(0, 1400, ACT_SYSCALL, 35, 20, 0);
	put(0, 1410, ACT_SWITCH, 20, 0, 1);
	expect("0 blind 0 1000-1100\n"
	       "0 idle 0 1100-1100 resumed\n"
	       "0   fault 0 1200-1200\n"
	       "0   fault 0 1210-1210 resumed cut\n"
	       "0 task app (20/20)0 1100-1210\n"
	       "0 idle 0 1210-1300\n"
	       "0   fault 0 1300-1300 resumed\n"
	       "0   fault 0 1310-1310\n"
	       "0   syscall 35 1400-1410 cut\n"
	       "0 task app (20/20)4 1300-1410\n"
	       "0 idle 0 1410-9000 cut\n");
}

/*
 * A loss hides the time from the last event before it to the next event outside of interrupts: the
 * interrupts' begin may be missing. A call may have returned meanwhile.
 */
static void test_loss_hides_until_next_event(void **state)
{
	(void)state;
	begin();
	name(20, 20, "app");
	put(0, 1100, ACT_SWITCH, 0, 20, 0);
	put(0, 1200, ACT_SYSCALL, 1, 20, 0);
	put(0, 1300, ACT_SWITCH, 20, 0, 1);
	lost = 3;
	put(0, 1500, ACT_IRQ, 5, 0, 0);
	put(0, 1600, ACT_IRQ_END, 5, 0, 0);
	put(0, 1800, ACT_SWITCH, 0, 20, 0);
	expect("0 blind 0 1000-1100\n"
	       "0 idle 0 1100-1100 resumed\n"
	       "0   syscall 1 1200-1300 cut\n"
	       "0 task app (20/20)0 1100-1300\n"
	       "0 idle 0 1300-1300 cut\n"
	       "0 blind 0 1300-1800\n"
	       "0 idle 0 1800-1800 resumed\n"
	       "0 task app (20/20)0 1800-9000 cut\n"); /* it may have run and left otherwise */
}

/* The interrupted activity is unknown until the interrupt ends; it may be a softirq. */
static void test_loss_in_interrupt(void **state)
{
	(void)state;
	begin();
	name(20, 20, "app");
	put(0, 1100, ACT_SWITCH, 0, 20, 0);
	lost = 2;
	put(0, 1200, ACT_WAKE, 7, 20, 0);
	put(0, 1300, ACT_IRQ, 5, 20, 0);
	put(0, 1310, ACT_IRQ_END, 5, 20, 0);
	put(0, 1400, ACT_SOFTIRQ_END, 3, 20, 0);
	put(0, 1500, ACT_WAKE, 7, 20, 0);
	put(0, 1600, ACT_SWITCH, 20, 0, 1);
	expect("0 blind 0 1000-1100\n"
	       "0 idle 0 1100-1100 resumed\n"
	       "0 task app (20/20)0 1100-1100 cut\n"
	       "0 blind 0 1100-1400\n"
	       "0 task app (20/20)0 1400-1600 resumed\n"
	       "0 idle 0 1600-9000 cut\n"
	       "0 wake 1500 older (6/7) by app (20/20)\n");
}

/* No event follows the loss. */
static void test_loss_without_later_event(void **state)
{
	(void)state;
	begin();
	name(20, 20, "app");
	put(0, 1100, ACT_SWITCH, 0, 20, 0);
	put(1, 1100, ACT_SWITCH, 0, 7, 0);
	put(1, 1200, ACT_SWITCH, 7, 0, 1);
	assert_int_equal(timeline_settle(timeline, writer, UINT64_MAX), 0);
	timeline_lost(timeline, 0, 1);
	timeline_lost(timeline, 1, 0);
	expect("0 blind 0 1000-1100\n"
	       "0 idle 0 1100-1100 resumed\n"
	       "0 task app (20/20)0 1100-1100 cut\n"
	       "0 blind 0 1100-9000 cut\n"
	       "1 blind 0 1000-1100\n"
	       "1 idle 0 1100-1100 resumed\n"
	       "1 task older (6/7)0 1100-1200\n"
	       "1 idle 0 1200-9000 cut\n");
}

/* An event that arrives when later ones are already written is a loss. */
static void test_event_after_later_ones_is_lost(void **state)
{
	(void)state;
	begin();
	name(20, 20, "app");
	put(0, 1100, ACT_SWITCH, 0, 20, 0);
	put(0, 1200, ACT_IRQ, 5, 20, 0);
	put(0, 1210, ACT_IRQ_END, 5, 20, 0);
	assert_int_equal(timeline_settle(timeline, writer, 1300), 0);
	assert_int_equal(timeline_too_late(timeline), 0);
	put(0, 1299, ACT_SWITCH, 20, 0, 1);
	assert_int_equal(timeline_too_late(timeline), 1);
	put(0, 1400, ACT_SWITCH, 0, 20, 0);
	expect("0 blind 0 1000-1100\n"
	       "0 idle 0 1100-1100 resumed\n"
	       "0   hardirq 5 1200-1210\n"
	       "0 task app (20/20)0 1100-1210 cut\n"
	       "0 blind 0 1210-1400\n"
	       "0 idle 0 1400-1400 resumed\n"
	       "0 task app (20/20)0 1400-9000 cut\n");
}

/*
 * Cores are read one after the other: the core that a task moves to knows how the task left the
 * other one.
 */
static void test_task_moves_between_cores(void **state)
{
	(void)state;
	begin();
	name(20, 20, "app");
	put(0, 1100, ACT_SWITCH, 7, 0, 1);
	put(1, 1100, ACT_SWITCH, 0, 20, 0);
	put(0, 1400, ACT_SWITCH, 0, 20, 0);
	put(0, 1500, ACT_SWITCH, 20, 0, 1);
	put(1, 1200, ACT_SYSCALL, 232, 20, 0);
	put(1, 1300, ACT_SWITCH, 20, 0, ACT_PREEMPTED);
	expect("0 blind 0 1000-1100\n"
	       "0 task older (6/7)0 1100-1100 resumed\n"
	       "0 idle 0 1100-1400\n"
	       "0   syscall 232 1400-1500 resumed cut\n"
	       "0 task app (20/20)1 1400-1500\n"
	       "0 idle 0 1500-9000 cut\n"
	       "1 blind 0 1000-1100\n"
	       "1 idle 0 1100-1100 resumed\n"
	       "1   syscall 232 1200-1300 cut\n"
	       "1 task app (20/20)0 1100-1300\n"
	       "1 idle 0 1300-9000 cut\n");
}

/* A core that is never settled writes half of its events when full. */
static void test_unsettled_core_writes_half(void **state)
{
	(void)state;
	begin();
	put(0, 1100, ACT_SWITCH, 7, 0, 1);
	for (uint32_t i = 0; i < TIMELINE_QUEUE_MAX; i++)
		put(0, 1200 + i, ACT_IDLE_END, 0, 0, 0);
	assert_int_equal(timeline_too_late(timeline), 0);
	put(0, 1200 + TIMELINE_QUEUE_MAX / 2 + 1, ACT_IDLE_END, 0, 0, 0);
	assert_int_equal(timeline_too_late(timeline), 0);
	put(0, 1200 + TIMELINE_QUEUE_MAX / 2 - 2, ACT_IDLE_END, 0, 0, 0);
	assert_int_equal(timeline_too_late(timeline), 1);
	expect("0 blind 0 1000-1100\n"
	       "0 task older (6/7)0 1100-1100 resumed\n"
	       "0 idle 0 1100-132271 cut\n"
	       "0 blind 0 132271-132272\n"
	       "0 idle 0 132272-263343 resumed cut\n");
}

/* An event of a task that did not have the core: a switch is missing, whatever the counter says. */
static void test_event_reveals_missing_switch(void **state)
{
	(void)state;
	begin();
	name(20, 20, "app");
	put(0, 1100, ACT_SWITCH, 0, 20, 0);
	put(0, 1200, ACT_SYSCALL, 1, 20, 0);
	put(0, 1300, ACT_IRQ, 5, 7, 0);
	put(0, 1310, ACT_IRQ_END, 5, 7, 0);
	put(0, 1400, ACT_SWITCH, 7, 20, 1);
	put(0, 1500, ACT_SWITCH, 20, 0, 1);
	expect("0 blind 0 1000-1100\n"
	       "0 idle 0 1100-1100 resumed\n"
	       "0   syscall 1 1200-1200 cut\n"
	       "0 task app (20/20)0 1100-1200 cut\n"
	       "0 blind 0 1200-1400\n"
	       "0 task older (6/7)0 1400-1400 resumed\n"
	       "0 task app (20/20)0 1400-1500\n"
	       "0 idle 0 1500-9000 cut\n");
}

/*
 * An interrupt recorded its event after the interrupted program took its place, but before it read
 * the clock.
 */
static void test_interrupt_between_clock_and_record(void **state)
{
	(void)state;
	begin();
	name(20, 20, "app");
	put(0, 1100, ACT_SWITCH, 0, 20, 0);
	put(0, 1230, ACT_SYSCALL, 0, 20, 0);
	put(0, 1210, ACT_IRQ, 5, 20, 0);
	put(0, 1220, ACT_IRQ_END, 5, 20, 0);
	put(0, 1300, ACT_SYSCALL_END, 0, 20, 0);
	put(0, 1400, ACT_SWITCH, 20, 0, 1);
	expect("0 blind 0 1000-1100\n"
	       "0 idle 0 1100-1100 resumed\n"
	       "0   hardirq 5 1210-1220\n"
	       "0   syscall 0 1230-1300\n"
	       "0 task app (20/20)0 1100-1400\n"
	       "0 idle 0 1400-9000 cut\n");
}

/* A number that goes to another process inherits nothing from the first one. */
static void test_reused_task_number(void **state)
{
	char seen[TEXT];

	(void)state;
	begin();
	name(20, 20, "first");
	put(0, 1100, ACT_SWITCH, 0, 20, 0);
	put(0, 1200, ACT_SYSCALL, 60, 20, 0);
	put(0, 1300, ACT_SWITCH, 20, 0, 0x80);
	put(0, 1310, ACT_SWITCH, 0, 7, 0);
	put(0, 1320, ACT_WAKE, 7, 7, 0);
	name(20, 30, "other");
	put(0, 1400, ACT_SWITCH, 7, 20, 1);
	put(0, 1500, ACT_SWITCH, 20, 0, 1);
	finish(seen);
	assert_non_null(strstr(seen, "0   syscall 60 1200-1300 cut\n"
				     "0 task first (20/20)0 1100-1300\n"));
	assert_non_null(strstr(seen, "0 task older (6/7)0 1310-1400\n"
				     "0 task other (30/20)0 1400-1500\n"));
}

static void function(uint32_t core, uint64_t time, enum timeline_call_what what, uint32_t symbol)
{
	const struct timeline_call call = { .time = time, .what = what, .symbol = symbol };

	assert_int_equal(timeline_call(timeline, core, &call), 0);
}

/* Functions find their place among other spans in any order, and go on where their task does. */
static void test_functions_nest_in_activity(void **state)
{
	(void)state;
	begin();
	name(20, 20, "app");
	function(0, 1050, TIMELINE_CALL, 9);	/* nothing is known yet */
	function(0, 1150, TIMELINE_CALL, 8);	/* on the way to the system call */
	function(0, 1210, TIMELINE_RETURN, 8);
	function(0, 1220, TIMELINE_CALL, 1);
	function(0, 1230, TIMELINE_CALL, 2);
	function(0, 1260, TIMELINE_CALL, 3);
	function(0, 1270, TIMELINE_RETURN, 2);	/* not the interrupted one: it was never called */
	function(0, 1280, TIMELINE_RETURN, 3);
	put(0, 1100, ACT_SWITCH, 0, 20, 0);
	put(0, 1200, ACT_SYSCALL, 45, 20, 0);
	put(0, 1250, ACT_SOFTIRQ, 3, 20, 0);
	put(0, 1290, ACT_SOFTIRQ_END, 3, 20, 0);
	put(0, 1300, ACT_SWITCH, 20, 0, 1);
	assert_int_equal(timeline_settle(timeline, writer, 1350), 0);
	put(0, 1400, ACT_SWITCH, 0, 20, 0);
	function(0, 1410, TIMELINE_RETURN, 2);
	function(0, 1420, TIMELINE_RETURN, 1);
	put(0, 1430, ACT_SYSCALL_END, 0, 20, 0);
	put(0, 1500, ACT_SWITCH, 20, 0, 1);
	expect("0 blind 0 1000-1100\n"
	       "0 idle 0 1100-1100 resumed\n"
	       "0   function 8 1150-1200 cut\n"
	       "0           function 3 1260-1280\n"
	       "0         softirq 3 1250-1290\n"
	       "0       function 2 1230-1300 cut\n"
	       "0     function 1 1220-1300 cut\n"
	       "0   syscall 45 1200-1300 cut\n"
	       "0 task app (20/20)0 1100-1300\n"
	       "0 idle 0 1300-1400\n"
	       "0       function 2 1400-1410 resumed\n"
	       "0     function 1 1400-1420 resumed\n"
	       "0   syscall 45 1400-1430 resumed\n"
	       "0 task app (20/20)2 1400-1500\n"
	       "0 idle 0 1500-9000 cut\n");
}

/* Functions are missing: nothing is recorded from there to the next event. */
static void test_lost_functions(void **state)
{
	(void)state;
	begin();
	name(20, 20, "app");
	put(0, 1100, ACT_SWITCH, 0, 20, 0);
	function(0, 1200, TIMELINE_CALL, 1);
	function(0, 1210, TIMELINE_LOST, 0);
	put(0, 1300, ACT_SWITCH, 20, 0, 1);
	function(0, 1400, TIMELINE_AGAIN, 0);
	function(0, 1400, TIMELINE_RETURN, 1);
	put(0, 1450, ACT_SOFTIRQ, 5, 0, 0);
	function(0, 1460, TIMELINE_CALL, 4);
	function(0, 1470, TIMELINE_RETURN, 4);
	put(0, 1480, ACT_SOFTIRQ_END, 5, 0, 0);
	expect("0 blind 0 1000-1100\n"
	       "0 idle 0 1100-1100 resumed\n"
	       "0   function 1 1200-1200 cut\n"
	       "0 task app (20/20)0 1100-1200 cut\n"
	       "0 blind 0 1200-1450\n"
	       "0     function 4 1460-1470\n"
	       "0   softirq 5 1450-1480\n"
	       "0 idle 0 1450-9000 resumed cut\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_switch),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_call_goes_on),
		cmocka_unit_test(test_sleep_in_a_page_fault),
		cmocka_unit_test(test_loss_hides_until_next_event),
		cmocka_unit_test(test_loss_in_interrupt),
		cmocka_unit_test(test_loss_without_later_event),
		cmocka_unit_test(test_event_after_later_ones_is_lost),
		cmocka_unit_test(test_task_moves_between_cores),
		cmocka_unit_test(test_unsettled_core_writes_half),
		cmocka_unit_test(test_event_reveals_missing_switch),
		cmocka_unit_test(test_interrupt_between_clock_and_record),
		cmocka_unit_test(test_reused_task_number),
		cmocka_unit_test(test_functions_nest_in_activity),
		cmocka_unit_test(test_lost_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
