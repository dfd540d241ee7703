/* SPDX-License-Identifier: Apache-2.0 */
/* Slow requests by cause: of the client's thread, of the server's message, and after its read. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bug.h"
#include "diagnose/request_causes.h"
#include "diagnose/requests.h"
#include "diagnose/without.h"
#include "diagnose_rig.h"
#include "event/writer.h"
#include "event_file.h"
#include "../sim/trace.h"

#define US 1000ULL
#define STEP_US 1000u
#define REQUESTS 400u
#define SHARE 0.05
/* Time by which a job delays a slow request. */
#define HELD_US 300u

enum slow_at { USUAL, SLOW_CLIENT, SLOW_READ, SLOW_SERVER };

/* Every 20th request is slow, one after the other in each way; 20 of 400, so 1 in 60 per way. */
static enum slow_at slow_at(unsigned int i)
{
	return i % 20 == 10 ? (enum slow_at)(1 + i / 20 % 3) : USUAL;
}

struct run {
	FILE *script;
	char *text;
	size_t size;
	struct event_sample samples[REQUESTS];
	const char *thread;     /* fact of the load's thread; NULL: none */
};

/*
 * A request is due at 90, sent at 95, at the server at 100, read at 120, answered at 130, and its
 * reply is read at 150. A job holds up the load's thread before it sends, the server's before it
 * reads, or after that.
 */
static void add(struct run *r, unsigned int i)
{
	const unsigned int t = STEP_US * (1 + i);
	const enum slow_at at = slow_at(i);
	const unsigned int sends = t + (at == SLOW_CLIENT ? HELD_US : 0);
	const unsigned int reads = sends + (at == SLOW_READ ? HELD_US : 0);
	const unsigned int replies = reads + (at == SLOW_SERVER ? HELD_US : 0);
	FILE *f = r->script;

	if (at == SLOW_CLIENT)
		fprintf(f, "%uus 1 run job\n", t + 80);
	fprintf(f, "%uus 1 wake load 1\n", t + 85);
	fprintf(f, "%uus 1 run load%s\n%uus 1 run idle\n", sends + 90,
		at == SLOW_CLIENT ? " runnable" : "", replies + 155);
	if (at == SLOW_READ)
		fprintf(f, "%uus 0 run job\n", sends + 96);
	fprintf(f, "%uus 0 softirq 3\n%uus 0 wake app 0\n%uus 0 softirq-end\n", sends + 99,
		sends + 105, sends + 106);
	fprintf(f, "%uus 0 run app%s\n%uus 0 return\n%uus 0 call recvfrom\n%uus 0 return\n",
		reads + 110, at == SLOW_READ ? " runnable" : "", reads + 112, reads + 115,
		reads + 121);
	if (at == SLOW_SERVER)
		fprintf(f, "%uus 0 run job runnable\n%uus 0 run app runnable\n", reads + 125,
			replies + 125);
	fprintf(f, "%uus 0 call epoll_wait\n%uus 0 run idle\n", replies + 140, replies + 145);
	fprintf(f, "message %u app %uus %uus %uus 0 flow=1\n", i + 1, sends + 100, sends + 104,
		reads + 120);
	fprintf(f, "sent %u app %uus %uus 0 flow=1 segment %uus qdisc %uus driver %uus\n",
		REQUESTS + i + 1, replies + 130, replies + 138, replies + 132, replies + 133,
		replies + 134);
	r->samples[i] = (struct event_sample){
		.intended = TRACE_START + (t + 90) * US, .sent = TRACE_START + (sends + 95) * US,
		.done = TRACE_START + (replies + 150) * US, .flow = 1, .snd_ns = 2 * US,
		.rx_ns = 10 * US,
	};
}

static struct event_reader *client(const struct run *r, int *fd)
{
	const struct event_writer_options options = { .stream = 1 };
	const struct event_flow flow = {
		.id = 1, .family = 2, .protocol = PROTO_TCP, .local = { 10, 0, 0, 2 },
		.remote = { 10, 0, 0, 1 }, .local_port = 40000, .remote_port = 11211,
	};
	struct event_reader *reader;
	struct event_writer *w;

	*fd = memory_file("", 0);
	assert_int_equal(event_writer_new(&w, *fd, &options), 0);
	if (r->thread)
		assert_int_equal(event_put_fact(event_writer_sink(w), 1, "load.thread", r->thread),
				 0);
	assert_int_equal(event_writer_put(w, EVENT_CORE_NONE, EV_FLOW, 1, &flow, sizeof(flow)),
			 0);
	for (size_t i = 0; i < REQUESTS; i++)
		assert_int_equal(event_writer_span(w, 3, 0, EV_SAMPLE, r->samples[i].intended,
						   r->samples[i].done, &r->samples[i]), 0);
	assert_int_equal(event_writer_close(w), 0);
	assert_int_equal(event_reader_new(&reader, *fd), 0);
	return reader;
}

static struct diagnosis *diagnose(struct run *r)
{
	struct diagnose_options options = {
		.selection = { .from = 0.95, .to = 1, .against = AGAINST_AUTO, .against_from = 0.4,
			       .against_to = 0.6, .wider = true },
		.load = { .share = SHARE, .to_ns = UINT64_MAX },
	};
	struct event_reader *server;
	struct diagnosis *d;
	int server_fd, client_fd;

	r->script = open_memstream(&r->text, &r->size);
	assert_non_null(r->script);
	fputs("fact host.machine x86_64\nfact run.pid 90\n"
	      "task app 10 11\ntask load 30 31\ntask job 20 21\n"
	      "flow 1 10.0.0.1 11211 10.0.0.2 40000\n"
	      "2us 0 run app\n5us 0 call epoll_wait\n10us 0 run idle\n"
	      "2us 1 run load\n10us 1 run idle\n", r->script);
	for (unsigned int i = 0; i < REQUESTS; i++)
		add(r, i);
	fclose(r->script);
	server_fd = rig_file(r->text);
	free(r->text);
	assert_int_equal(event_reader_new(&server, server_fd), 0);
	options.load.reader = client(r, &client_fd);
	assert_int_equal(diagnosis_new(&d, &options), 0);
	assert_int_equal(diagnosis_run(d, server, NULL), 0);
	event_reader_free(options.load.reader);
	event_reader_free(server);
	close(client_fd);
	close(server_fd);
	return d;
}

static uint64_t total(const struct request_causes *c, enum cause cause, enum where where)
{
	uint64_t sum = 0;

	vec_for_each(&c->targets, e)
		sum += e->ns[CAUSE_PLACE(cause, where)];
	return sum;
}

/* Number of slow requests of a kind. */
static unsigned int count(enum slow_at at)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < REQUESTS; i++)
		n += slow_at(i) == at;
	return n;
}

static void assert_about(uint64_t ns, uint64_t expected)
{
	assert_in_range(ns, expected * 97 / 100, expected * 103 / 100);
}

static void assert_all_divided(const struct diagnosis *d)
{
	const struct request_causes *c = d->request_causes;

	assert_int_equal(c->n, d->requests->chosen.len);
	for (size_t i = 0; i < c->n; i++)
		assert_int_equal(breakdown_sum(&c->breakdowns[i]),
				 d->requests->chosen.items[i].latency);
}

/* Each wait is found on its side, with the job as its culprit. */
static void test_both_sides(void **state)
{
	static struct run run = { .thread = "3 31" };
	struct diagnosis *d = diagnose(&run);
	const struct request_causes *c = d->request_causes;
	const uint64_t held = HELD_US * US;
	uint32_t job;

	(void)state;
	assert_non_null(c);
	assert_int_equal(d->requests->targets, 20);
	assert_all_divided(d);
	job = tasks_by_tid(&d->own.tasks, 21);
	assert_about(total(c, CAUSE_CPU_WAIT, WHERE_CLIENT), count(SLOW_CLIENT) * held);
	assert_about(total(c, CAUSE_CPU_WAIT, WHERE_APPLICATION),
		     (count(SLOW_READ) + count(SLOW_SERVER)) * held);
	for (uint32_t i = 0; i < d->requests->targets; i++)
		vec_for_each(&c->breakdowns[i].shares, s)
			if (s->place / WHERE_MAX == CAUSE_CPU_WAIT && s->ns > held / 2)
				assert_int_equal(s->culprit, job);
	assert_non_null(without_single(c->without, EXCESS_KEY(CAUSE_CPU_WAIT, WHERE_CLIENT)));
	assert_non_null(without_single(c->without,
				       EXCESS_KEY(CAUSE_CPU_WAIT, WHERE_APPLICATION)));
	diagnosis_free(d);
}

/* The client's thread is unknown: its time is not recorded, and no cause is invented. */
static void test_unknown_thread(void **state)
{
	static struct run run;
	struct diagnosis *d = diagnose(&run);
	const struct request_causes *c = d->request_causes;

	(void)state;
	assert_all_divided(d);
	assert_int_equal(total(c, CAUSE_CPU_WAIT, WHERE_CLIENT), 0);
	assert_about(total(c, CAUSE_NOT_RECORDED, WHERE_CLIENT),
		     count(SLOW_CLIENT) * HELD_US * US);
	assert_about(total(c, CAUSE_CPU_WAIT, WHERE_APPLICATION),
		     (count(SLOW_READ) + count(SLOW_SERVER)) * HELD_US * US);
	diagnosis_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_sides),
		cmocka_unit_test(test_unknown_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
