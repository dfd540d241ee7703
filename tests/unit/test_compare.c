/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares recordings of a server with a known law: it waits for its CPU, which another task has,
 * for an exponential time. Over many seeds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <math.h>

#include "base/rng.h"
#include "base/strbuf.h"
#include "binomial.h"
#include "brief.h"
#include "diagnose/compare.h"
#include "diagnose/compare_state.h"
#include "event/writer.h"
#include "event_file.h"
#include "output/json.h"
#include "stats/special.h"

/* Numbers of x86_64. */
enum { CALL_RECVFROM = 45, CALL_EPOLL_WAIT = 232, SOFTIRQ_RX = 3 };

#define RECEIVE_NS 2000u  /* from the arrival to the socket's queue */
#define OWN_NS 3000u      /* from having a CPU to the read */

/* ---- recordings ---- */

struct law {
	unsigned int messages;
	double hold_ns;        /* mean of the wait for the CPU; 0: nobody has it */
	double burst;          /* each hundred messages' mean differs by this, in log */
	const char *holder;
};

struct tape {
	struct event_writer *writer;
	uint32_t server, holder;
	uint64_t now, id;
};

static void edge(struct tape *t, uint32_t core, uint64_t time, unsigned int type, uint32_t what,
		 unsigned int arg)
{
	const struct event_edge e = { .type = (__u8)type, .what = what, .arg = (__u16)arg };

	assert_int_equal(event_writer_edge(t->writer, core, EVENT_DOMAIN_MONOTONIC, time, &e), 0);
}

static void put_message(struct tape *t, uint64_t arrival, uint64_t read)
{
	const struct event_message m = {
		.id = ++t->id, .flow = 1, .tid = 101, .bytes = 100, .first = arrival,
		.last = arrival, .direction = DIR_INGRESS, .protocol = PROTO_TCP, .n = 2 };
	const struct event_piece pieces[2] = {
		{ arrival, arrival + RECEIVE_NS, 1, PIECE_RECEIVE, 0 },
		{ arrival + RECEIVE_NS, read, 0, PIECE_APPLICATION, 0 } };
	const struct event event = { .kind = EV_MESSAGE, .core = 0, .time = read };
	const struct iovec payload[2] = { { (void *)&m, sizeof(m) },
					  { (void *)pieces, sizeof(pieces) } };

	assert_int_equal(event_writer_record(t->writer, EVENT_DOMAIN_MONOTONIC, arrival, &event,
					     payload, 2), 0);
}

/* The core 0 is left by whoever has it between messages, and comes back to him. */
static void others(struct tape *t, uint64_t time, bool begin)
{
	const unsigned int end = begin ? 0 : SPAN_END;

	edge(t, 0, time, (t->holder ? SPAN_TASK : SPAN_IDLE) | end, t->holder, LEFT_RUNNABLE);
}

static void put_one(struct tape *t, uint64_t wait)
{
	const uint64_t arrival = t->now, queued = arrival + RECEIVE_NS, runs = queued + 1 + wait;
	const uint64_t read = runs + OWN_NS;
	const struct event_wake wake = { .time = queued, .task = t->server,
					 .flags = WAKE_INTERRUPT };

	edge(t, 1, arrival, SPAN_SOFTIRQ, SOFTIRQ_RX, 0);
	assert_int_equal(event_writer_span(t->writer, 1, EVENT_DOMAIN_MONOTONIC, EV_WAKE, queued,
					   queued, &wake), 0);
	edge(t, 1, queued + 1, SPAN_SOFTIRQ | SPAN_END, SOFTIRQ_RX, 0);
	others(t, runs, false);
	edge(t, 0, runs, SPAN_TASK, t->server, LEFT_ASLEEP);
	edge(t, 0, runs, SPAN_SYSCALL | SPAN_CONT, CALL_EPOLL_WAIT, 0);
	edge(t, 0, runs + 500, SPAN_SYSCALL | SPAN_END, CALL_EPOLL_WAIT, 0);
	edge(t, 0, runs + 700, SPAN_SYSCALL, CALL_RECVFROM, 0);
	put_message(t, arrival, read);
	edge(t, 0, read + 1, SPAN_SYSCALL | SPAN_END, CALL_RECVFROM, 0);
	edge(t, 0, read + 500, SPAN_SYSCALL, CALL_EPOLL_WAIT, 0);
	edge(t, 0, read + 1000, SPAN_SYSCALL | SPAN_END | SPAN_CONT, CALL_EPOLL_WAIT, 0);
	edge(t, 0, read + 1000, SPAN_TASK | SPAN_END, t->server, LEFT_ASLEEP);
	others(t, read + 1000, true);
	t->now = read + 20000;
}

static int make_recording(const struct law *law, uint64_t seed)
{
	const struct event_writer_options options = { .raw = true, .stream = 1 };
	int fd = memory_file("", 0);
	struct tape t = { .now = 1000000000 };
	double mean = law->hold_ns;
	struct rng rng;

	rng_init(&rng, seed);
	assert_int_equal(event_writer_new(&t.writer, fd, &options), 0);
	assert_int_equal(event_put_fact(event_writer_sink(t.writer), 1, "host.machine", "x86_64"),
			 0);
	t.server = event_writer_intern(t.writer, DICT_TASK, "server (100/101)");
	if (law->holder)
		t.holder = event_writer_intern(t.writer, DICT_TASK, law->holder);
	edge(&t, 0, t.now - 5000, t.holder ? SPAN_TASK : SPAN_IDLE, t.holder, 0);
	edge(&t, 1, t.now - 5000, SPAN_IDLE, 0, 0);
	for (unsigned int i = 0; i < law->messages; i++) {
		if (law->burst > 0 && i % 100 == 0)
			mean = law->hold_ns * exp(law->burst * normal_quantile(
				(double)(rng_below(&rng, 1000) * 2 + 1) / 2000));
		put_one(&t, (uint64_t)rng_exponential(&rng, mean));
	}
	assert_int_equal(event_writer_close(t.writer), 0);
	return fd;
}

/* ---- comparing ---- */

struct pair {
	int fd[2];
	struct event_reader *readers[2];
	struct comparison *c;
};

static void compare(struct pair *p, const struct law *a, const struct law *b, uint64_t seed,
		    double from, double to)
{
	const struct message_selection selection = { .from = from, .to = to, .against_from = 0.5,
					     .against_to = 0.5 };

	assert_int_equal(comparison_new(&p->c, &selection), 0);
	for (int i = 0; i < 2; i++) {
		p->fd[i] = make_recording(i ? b : a, rng_derive(seed, (uint64_t)i));
		assert_int_equal(event_reader_new(&p->readers[i], p->fd[i]), 0);
		assert_int_equal(comparison_add(p->c, i, p->readers[i], NULL), 0);
	}
	assert_int_equal(comparison_evaluate(p->c), 0);
	for (int i = 0; i < 2; i++) {
		const struct compared_side *s = &p->c->sides[i];
		int64_t sum = 0;

		assert_int_equal(s->error, 0);
		for (unsigned int place = 0; place < CAUSE_PLACES; place++)
			sum += s->mean[place];
		assert_int_equal(sum, s->mean[COMPARE_LATENCY]);
	}
}

static void end(struct pair *p)
{
	comparison_free(p->c);
	for (int i = 0; i < 2; i++) {
		event_reader_free(p->readers[i]);
		close(p->fd[i]);
	}
}

/* To be freed. */
static char *as_json(const struct comparison *c, bool *partial)
{
	static const struct provenance nobody = { .version = "1", .command = "compare" };
	struct difference_tally tally = { 0 };
	struct strbuf text = STRBUF_INIT(1 << 22);
	struct report r;
	char *copy;

	report_init(&r, &nobody);
	assert_int_equal(comparison_report(c, &r, &tally), 0);
	report_place_findings(&r);
	report_place_verdict(&r);
	json_report(&r, JSON_LINE, &text);
	assert_int_equal(text.error, 0);
	*partial = r.partial;
	copy = strdup(strbuf_str(&text));
	strbuf_release(&text);
	report_release(&r);
	return copy;
}

#define CPU_WAIT CAUSE_PLACE(CAUSE_CPU_WAIT, WHERE_APPLICATION)

static const struct law held = { 3000, 300000, 0, "nginx (200/200)" };
static const struct law less = { 3000, 100000, 0, "nginx (300/300)" };
static const struct law bursty = { 3000, 300000, 0.5, "nginx (200/200)" };
static const struct law alone = { 3000, 1000, 0, NULL };

/* ---- over many seeds ---- */

/* Student's interval of the slice's latencies, as if where it begins were known. */
static bool naive_misses(const struct comparison *c, double truth)
{
	double mean[2] = { 0 }, error = 0;

	for (int i = 0; i < 2; i++) {
		const struct recorded *rec = &c->sides[i].recordings[0]->rec;
		double n = 0, squares = 0;

		for (uint32_t k = 0; k < rec->subjects.len; k++) {
			const double x = (double)message_latency(subject_message(rec, k));

			if (!rec->subjects.items[k].target)
				continue;
			n++;
			mean[i] += x;
			squares += x * x;
		}
		mean[i] /= n;
		error += (squares / n - mean[i] * mean[i]) / n;
	}
	return fabs(mean[1] - mean[0] - truth) > 1.96 * sqrt(error);
}

struct tally {
	unsigned int n, unknown, p99, wait, wait_missed, latency_missed, naive, other;
};

/* The mean of an exponential law beyond its 90th percentile is its mean times 1 + ln 10. */
static struct tally play(const struct law *a, const struct law *b)
{
	const double truth = (b->hold_ns - a->hold_ns) * (1 + log(10));
	struct tally t = { .n = brief() ? 2 : 50 };

	for (unsigned int i = 0; i < t.n; i++) {
		const struct difference *wait, *latency;
		struct pair p;

		compare(&p, a, b, 1000 + i, 0.9, 1);
		wait = &p.c->places[CPU_WAIT];
		latency = &p.c->places[COMPARE_LATENCY];
		t.unknown += !wait->c.tested;
		t.p99 += p.c->quantiles[REPORT_P99].d.significant;
		t.wait += wait->significant;
		t.wait_missed += wait->c.bounded && (wait->c.lo > truth || wait->c.hi < truth);
		t.latency_missed += latency->c.bounded &&
				    (latency->c.lo > truth || latency->c.hi < truth);
		t.naive += naive_misses(p.c, truth);
		for (unsigned int place = 0; place < CAUSE_PLACES; place++)
			t.other += place != CPU_WAIT && p.c->places[place].significant;
		end(&p);
	}
	print_message("of %u: unknown %u, p99 %u, cpu-wait %u, misses %u, latency misses %u, "
		      "naive misses %u, others %u\n", t.n, t.unknown, t.p99, t.wait, t.wait_missed,
		      t.latency_missed, t.naive, t.other);
	return t;
}

static void test_no_difference(void **state)
{
	struct tally t = play(&held, &held);

	(void)state;
	assert_true(t.unknown <= t.n / 5);
	assert_true(t.p99 <= at_most(t.n, 0.06) && t.wait <= at_most(t.n, 0.06));
	assert_true(t.other <= at_most(t.n, 0.06));
	assert_true(t.wait_missed <= at_most(t.n, 0.07));
	assert_true(t.latency_missed <= at_most(t.n, 0.07));
	/* The control: without the error of the slice's edge it would be out too often. */
	assert_true(t.n < 50 || t.naive > at_most(t.n, 0.07));
	t = play(&bursty, &bursty);
	assert_true(t.p99 <= at_most(t.n, 0.08) && t.wait <= at_most(t.n, 0.08));
}

static void test_difference(void **state)
{
	struct tally t = play(&held, &less);

	(void)state;
	assert_true(t.p99 >= t.n - t.unknown - at_most(t.n, 0.02));
	assert_true(t.wait >= t.n - t.unknown - at_most(t.n, 0.02));
	assert_true(t.wait_missed <= at_most(t.n, 0.07));
	assert_true(t.other <= at_most(t.n, 0.06));
}

/* ---- one pair ---- */

static void must_have(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void test_cause_that_disappears(void **state)
{
	bool partial, again;
	struct pair p, back;
	char *text, *same;

	(void)state;
	compare(&p, &held, &alone, 5, 0.9, 1);
	text = as_json(p.c, &partial);
	assert_false(partial);
	must_have(text, "cpu-wait (nginx) is gone: ");
	must_have(text, " to 0 ns per message.");
	must_have(text, "fell from ");
	must_have(text, "\"culprits_a\": [{\"pid\": 200, \"tid\": 200, \"comm\": \"nginx\"");
	must_have(text, "\"applications\": [{\"comm\": \"server\", \"messages_a\": 3000, "
			"\"messages_b\": 3000}]");
	assert_null(strstr(text, "Only "));
	same = as_json(p.c, &again);
	assert_string_equal(text, same);
	free(same);
	free(text);
	/* The other way round everything is the same with the other sign. */
	compare(&back, &alone, &held, 5, 0.9, 1);
	text = as_json(back.c, &partial);
	must_have(text, "cpu-wait (nginx) is new: from 0 ns to ");
	free(text);
	assert_true(p.c->places[CPU_WAIT].c.difference < 0);
	assert_true(back.c->places[CPU_WAIT].c.difference > 0);
	assert_true(back.c->quantiles[REPORT_P99].d.c.lo > 0);
	end(&back);
	end(&p);
}

/* The paper's study: causes of messages that are not slow. */
static void test_causes_of_fast_messages(void **state)
{
	struct pair p;

	(void)state;
	compare(&p, &held, &less, 9, 0.2, 0.3);
	for (int i = 0; i < 2; i++) {
		/* From 20 % to 30 % of an exponential law its mean is 0.2877 of the whole one's. */
		const double hold = i ? less.hold_ns : held.hold_ns;
		const double mean = (double)p.c->sides[i].mean[CPU_WAIT];

		assert_int_equal(p.c->sides[i].targets, 300);
		assert_true(fabs(mean / hold - 0.288) < 0.03);
	}
	assert_true(p.c->places[CPU_WAIT].significant);
	assert_true(p.c->places[CPU_WAIT].c.hi < 0);
	end(&p);
}

static void test_too_few_messages(void **state)
{
	const struct law few = { 60, 300000, 0, "nginx (200/200)" };
	struct pair p;
	bool partial;
	char *text;

	(void)state;
	compare(&p, &few, &held, 5, 0.999, 1);
	assert_false(p.c->quantiles[REPORT_P50].d.c.tested);
	assert_false(p.c->places[CPU_WAIT].c.tested || p.c->places[CPU_WAIT].c.bounded);
	text = as_json(p.c, &partial);
	assert_true(partial);
	must_have(text, "too-few-messages");
	must_have(text, "slice-too-small");
	assert_null(strstr(text, "is gone"));
	assert_null(strstr(text, "by more than chance"));
	free(text);
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_difference),
		cmocka_unit_test(test_difference),
		cmocka_unit_test(test_cause_that_disappears),
		cmocka_unit_test(test_causes_of_fast_messages),
		cmocka_unit_test(test_too_few_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
