/* SPDX-License-Identifier: Apache-2.0 */
/* Agents that are pipes: what they say, cut anywhere, in another clock, wrong, or not at all. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent_rig.h"
#include "agent_stream.h"
#include "base/parse.h"
#include "brief.h"
#include "load/agent.h"
#include "load/polled.h"

/* ---- tests ---- */

/* One agent's run comes in two pieces; the other's comes whole. */
static off_t merge_cut(off_t cut, uint32_t second_role)
{
	const uint16_t flags = second_role == ROLE_LATENCY ? SAMPLE_PROBE : 0;
	off_t all;

	rig_open(true, true, second_role);
	rig_start();
	all = rig_unsent(&fars[0]);
	rig_send(&fars[0], cut < all ? cut : all);
	rig_turn(flags);
	rig_send(&fars[1], rig_unsent(&fars[1]));
	rig_turn(flags);
	assert_true(cut >= all || !seen.finals[0]);
	rig_send(&fars[0], rig_unsent(&fars[0]));
	rig_finish(flags);
	rig_check_whole(0);
	rig_check_whole(1);
	assert_int_equal(seen.noises, AGENTS * STREAM_TICKS);
	assert_int_equal(seen.flows, AGENTS);
	assert_int_equal(killed, 0);
	rig_close();
	return all;
}

static void test_merge_cut_anywhere(void **state)
{
	off_t all = 1;

	(void)state;
	for (off_t cut = 0; cut <= all; cut += brief_emulated() ? 3 : 1)
		all = merge_cut(cut, ROLE_SYMMETRIC);
	assert_true(all > 500);
}

/* The coordinator, not the agent, decides whose samples are probes: both agents claimed them. */
static void test_roles(void **state)
{
	(void)state;
	merge_cut(100, ROLE_LATENCY);
	assert_int_equal(seen.agents.n, AGENTS);
	assert_string_equal(seen.agents.agents[1].name, "two");
	assert_int_equal(seen.agents.agents[1].role, ROLE_LATENCY);
	assert_true(seen.agents.agents[1].clock_known);
	assert_int_equal(seen.agents.agents[1].error_ns, 0);
}

static const struct agent_list_entry *polled(const char *value)
{
	rig_open(true, true, ROLE_LATENCY);
	rig_begin();
	for (int i = 0; i < AGENTS; i++) {
		struct event_sink *sink = event_writer_sink(fars[i].writer);

		assert_int_equal(event_put_fact(sink, 1, LOAD_FACT_POLLED, value), 0);
		stream_run(fars[i].writer, seen.start[i]);
		rig_send(&fars[i], rig_unsent(&fars[i]));
	}
	rig_finish(SAMPLE_PROBE);
	rig_close();
	assert_false(seen.agents.agents[0].polled_known); /* no latency agent */
	return &seen.agents.agents[1];
}

static void test_polled_packets_are_reported(void **state)
{
	static const char *const wrong[] = { "", "-1", "7 8", "because", "no-queue\n" };
	const struct agent_list_entry *e = polled("17");

	(void)state;
	assert_true(e->polled_known);
	assert_int_equal(e->polled, 17);
	assert_null(e->not_polled);
	e = polled("not-permitted");
	assert_true(e->polled_known);
	assert_int_equal(e->polled, 0);
	assert_non_null(strstr(e->not_polled, "CAP_NET_ADMIN"));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(polled(wrong[i])->polled_known);
}

static const struct agent_list_entry *prioritized(const char *value)
{
	stream_priority = value;
	rig_open(true, true, ROLE_SYMMETRIC);
	rig_start();
	for (int i = 0; i < AGENTS; i++) {
		struct event_sink *sink = event_writer_sink(fars[i].writer);

		/* Too late: the priority comes before the engine is made. */
		assert_int_equal(event_put_fact(sink, 1, AGENT_PRIORITY, "high high"), 0);
		rig_send(&fars[i], rig_unsent(&fars[i]));
	}
	rig_finish(0);
	rig_close();
	stream_priority = NULL;
	return &seen.agents.agents[1];
}

static void test_priorities_are_reported(void **state)
{
	static const char *const wrong[] = {
		NULL, "", "normal", "real-time normal", "normal unknown", "normal normal normal",
		"realtimerealtimerealtime high",
	};
	const struct agent_list_entry *e = prioritized("normal realtime");

	(void)state;
	assert_true(e->priority_known);
	assert_int_equal(e->priority, PRIORITY_NORMAL);
	assert_int_equal(e->priority_asked, PRIORITY_REALTIME);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_false(prioritized(wrong[i])->priority_known);
}

static off_t lose_at(off_t cut)
{
	off_t all;

	rig_open(true, true, ROLE_SYMMETRIC);
	rig_start();
	all = rig_unsent(&fars[0]);
	cut = cut < all ? cut : all;
	rig_send(&fars[0], cut);
	assert_int_equal(write(fars[0].err, "first\nit hurt\x1b[2J\n", 18), 18);
	rig_hang_up(&fars[0]);
	rig_send(&fars[1], rig_unsent(&fars[1]));
	rig_finish(0);
	rig_check_whole(1);
	assert_int_equal(seen.samples[0] % STREAM_PER_TICK, 0);
	assert_true(seen.samples[0] >= seen.loads[0] * STREAM_PER_TICK);
	if (cut < all) {
		assert_string_equal(seen.lost[0], "0: one: the agent ended before the run ended: "
						  "it hurt?[2J");
		assert_int_equal(killed, 1);
		assert_int_equal(seen.finals[0], 0);
	} else {
		rig_check_whole(0);
	}
	rig_close();
	return all;
}

/* An agent's earlier messages count after its loss, and no other agent is affected. */
static void test_lost_anywhere(void **state)
{
	off_t all = 1;

	(void)state;
	for (off_t cut = 0; cut <= all; cut += 7)
		all = lose_at(cut);
	lose_at(1 << 20);
}

/* Agents in a clock of their own, which answer as a real one does. */
#define SHIFT 1000000000000000LL

static void answer(struct far *far, char *line, uint64_t *start)
{
	struct event_sink *sink = event_writer_sink(far->writer);

	if (!strncmp(line, "clock ", 6)) {
		event_put_fact(sink, rig_now() + SHIFT, AGENT_CLOCK, line + 6);
	} else if (!strcmp(line, "make")) {
		event_put_fact(sink, rig_now() + SHIFT, AGENT_STATE, AGENT_MADE);
	} else if (!strcmp(line, "connect")) {
		event_put_fact(sink, rig_now() + SHIFT, AGENT_STATE, AGENT_CONNECTED);
	} else if (!strncmp(line, "start ", 6)) {
		*start = strtoull(line + 6, NULL, 10);
		stream_run(far->writer, *start);
	}
	event_writer_flush(far->writer);
}

static void *live(void *ctx)
{
	struct far *far = ctx;
	uint64_t start = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	FILE *in = fdopen(dup(far->in), "r");

	while ((n = getline(&line, &room, in)) > 0) {
		line[n - 1] = '\0';
		answer(far, line, &start);
	}
	free(line);
	fclose(in);
	return (void *)start;
}

static bool is_final(const struct event *event)
{
	struct event_load load;

	event_copy(event, &load, sizeof(load));
	return load.flags & LOAD_FINAL;
}

static void test_agent_with_another_clock(void **state)
{
	struct strbuf why = STRBUF_INIT(4096);
	const struct agent_list_entry *one = &seen.agents.agents[0];
	pthread_t threads[AGENTS];
	struct event_block block;
	struct event_sample first = { 0 }, meant;
	uint32_t finals = 0;
	const uint64_t until = rig_now() + 30 * NS_PER_S;
	void *theirs;

	(void)state;
	rig_open(false, false, ROLE_SYMMETRIC);
	for (int i = 0; i < AGENTS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, live, &fars[i]), 0);
	assert_int_equal(coordinator_connect(c, -1, &why), 0);
	assert_int_equal(coordinator_start(c), 0);
	while (finals < AGENTS) {
		assert_true(rig_now() < until);
		assert_true(coordinator_wait(c, -1, NS_PER_MS) >= 0);
		while (event_source_next(coordinator_source(c), &block) > 0) {
			struct event event;

			if (block.kind == EV_SAMPLE && block.core < LOAD_THREADS_MAX && !first.done)
				event_block_copy(&block, 0, &first, sizeof(first));
			for (size_t at = 0;
			     !block.record_size && event_block_next(&block, &at, &event);) {
				if (event.kind == EV_FACT)
					rig_see_fact(&event);
				if (event.kind == EV_LOAD)
					finals += is_final(&event);
			}
		}
	}
	coordinator_free(c);
	c = NULL;
	for (int i = AGENTS - 1; i >= 0; i--)
		assert_int_equal(pthread_join(threads[i], &theirs), 0);
	meant = stream_sample((uint64_t)theirs - (uint64_t)one->offset_ns, 0);
	assert_int_equal(first.intended, meant.intended);
	assert_int_equal(first.sent, meant.sent);
	assert_int_equal(first.done, meant.done);
	assert_true(one->clock_known);
	assert_in_range(one->offset_ns, SHIFT - one->error_ns, SHIFT + one->error_ns);
	assert_in_range(one->error_ns, 1, NS_PER_S);
	rig_close();
	strbuf_release(&why);
}

static void test_no_agent_is_ready(void **state)
{
	struct strbuf why = STRBUF_INIT(4096);

	(void)state;
	rig_open(true, true, ROLE_SYMMETRIC);
	assert_int_equal(write(fars[0].err, "no route", 8), 8);
	assert_int_equal(write(fars[1].out, "Welcome!\n", 9), 9);
	rig_hang_up(&fars[0]);
	assert_int_equal(coordinator_connect(c, -1, &why), -ECONNREFUSED);
	assert_non_null(strstr(strbuf_str(&why), "one: the agent ended before the run began: no "
						 "route; "
						 "two: the agent's output is not hostlat's event "
						 "stream"));
	assert_int_equal(killed, 3);
	rig_close();
	strbuf_release(&why);
}

/* An agent reports what it cannot do, another version included. No byte commands a terminal. */
static void test_refusal(void **state)
{
	struct strbuf why = STRBUF_INIT(4096);

	(void)state;
	rig_open(true, true, ROLE_SYMMETRIC);
	for (int i = 0; i < AGENTS; i++) {
		struct event_sink *sink = event_writer_sink(fars[i].writer);

		event_put_fact(sink, 1, AGENT_VERSION, "9.9\x1b[2J\x9b");
		event_put_fact(sink, 1, AGENT_ERROR, "there is no option\r'--new\x9b'");
		event_writer_flush(fars[i].writer);
		rig_send(&fars[i], rig_unsent(&fars[i]));
	}
	assert_int_equal(coordinator_connect(c, -1, &why), -ECONNREFUSED);
	assert_non_null(strstr(strbuf_str(&why), "one: there is no option?'--new?' (agent: hostlat "
						 "9.9?[2J?, this host: "));
	rig_close();
	strbuf_release(&why);
}

/* ---- wrong ones ---- */

static struct event_sample bad_sample(int how, uint64_t start)
{
	struct event_sample s = stream_sample(start, 0);

	if (how == 0)
		s.intended = start - 1; /* before the schedule began */
	if (how == 1)
		s.sent = s.intended - 1;
	if (how == 2)
		s.sent = s.done + 1;
	if (how == 3)
		s.flow = LOAD_FLOW(1, 1); /* another agent's */
	if (how == 4)
		s.done = start + 2 * NS_PER_DAY;
	return s;
}

static void put_bad(int how, struct event_writer *w, uint64_t start)
{
	struct event_load load = { .scheduled = 1, .oldest_ns = start };

	if (how <= 5) {
		const struct event_sample s = bad_sample(how, start);

		event_writer_span(w, how == 5 ? LOAD_THREADS_MAX : 0, 0, EV_SAMPLE, s.intended,
				  s.done, &s);
	} else {
		if (how == 7)
			load = (struct event_load){
				.flags = LOAD_STARTED, .oldest_ns = start, .started_ns = 5,
			};
		if (how == 8)
			load = (struct event_load){ .oldest_ns = start, .misses = 1 };
		if (how == 9) /* its sum is 0 if it may wrap */
			load = (struct event_load){
				.oldest_ns = start, .completed = 1ULL << 63, .failed = 1ULL << 63,
			};
		event_put(event_writer_sink(w), EV_LOAD, start, &load, sizeof(load));
	}
	event_writer_flush(w);
}

static void test_wrong_agents(void **state)
{
	(void)state;
	for (int how = 0; how < 10; how++) {
		rig_open(true, true, ROLE_SYMMETRIC);
		rig_begin();
		put_bad(how, fars[0].writer, seen.start[0]);
		stream_run(fars[1].writer, seen.start[1]);
		for (int i = 0; i < AGENTS; i++)
			rig_send(&fars[i], rig_unsent(&fars[i]));
		rig_finish(0);
		if (strcmp(seen.lost[0], "0: one: the agent's output is damaged"))
			fail_msg("wrong one %d: %s", how, seen.lost[0]);
		assert_int_equal(seen.samples[0], 0);
		rig_check_whole(1);
		rig_close();
	}
}

/* An agent that does not end is not waited for; the other one's run is whole. */
static void test_agent_that_never_ends(void **state)
{
	uint64_t begin;

	(void)state;
	rig_open(true, true, ROLE_SYMMETRIC);
	rig_start();
	rig_send(&fars[1], rig_unsent(&fars[1]));
	begin = rig_now();
	coordinator_stop(c);
	rig_finish(0);
	assert_string_equal(seen.lost[0], "0: one: the agent did not end in time");
	assert_true(rig_now() >= begin + 2 * NS_PER_S);
	assert_int_equal(killed, 1);
	rig_check_whole(1);
	rig_close();
}

/* Each broken connection is reported, and messages before the break count. */
static void test_connections_that_break_off(void **state)
{
	char said[1024];
	ssize_t n;

	(void)state;
	rig_open(true, true, ROLE_SYMMETRIC);
	rig_start();
	coordinator_stop(c);
	coordinator_cut(c);
	for (int i = 0; i < AGENTS; i++) {
		n = read(fars[i].in, said, sizeof(said) - 1);
		assert_true(n > 0);
		said[n] = '\0';
		assert_non_null(strstr(said, "stop\ncut\n"));
		rig_send(&fars[i], rig_unsent(&fars[i]));
	}
	rig_finish(0);
	rig_check_whole(0);
	rig_check_whole(1);
	assert_int_equal(killed, 0);
	rig_close();
}

static void test_stopped_at_start(void **state)
{
	struct strbuf why = STRBUF_INIT(4096);
	int stop[2];

	(void)state;
	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	rig_open(true, true, ROLE_SYMMETRIC);
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(coordinator_connect(c, stop[0], &why), -EINTR);
	rig_close();
	close(stop[0]);
	close(stop[1]);
	strbuf_release(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge_cut_anywhere),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_polled_packets_are_reported),
		cmocka_unit_test(test_priorities_are_reported),
		cmocka_unit_test(test_lost_anywhere),
		cmocka_unit_test(test_agent_with_another_clock),
		cmocka_unit_test(test_no_agent_is_ready),
		cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_wrong_agents),
		cmocka_unit_test(test_agent_that_never_ends),
		cmocka_unit_test(test_connections_that_break_off),
		cmocka_unit_test(test_stopped_at_start),
	};

	signal(SIGPIPE, SIG_IGN); /* an agent may still talk when nobody listens */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
