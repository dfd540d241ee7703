/* SPDX-License-Identifier: Apache-2.0 */
/* A load's requests beside what the server recorded: what their latency is charged to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "brief.h"
#include "diagnose/requests.h"
#include "event/writer.h"
#include "event_file.h"

#define PORT 11211
#define FLOWS 3
#define SAMPLES_MAX 4096

/* One run: the client's samples, and the server's messages. */
struct rig {
	struct event_sample samples[SAMPLES_MAX];
	struct message messages[SAMPLES_MAX];
	struct sent sends[SAMPLES_MAX];
	size_t n;
	const char *connections;
	uint64_t from_ns;
	struct requests out;
};

static struct event_flow flow(uint32_t number, bool servers)
{
	const uint16_t port = (uint16_t)(40000 + number);

	return (struct event_flow){
		.id = number + (servers ? 100 : 0), .family = 2, .protocol = PROTO_TCP,
		.local = { 10, 0, 0, servers ? 1 : 2 }, .remote = { 10, 0, 0, servers ? 2 : 1 },
		.local_port = servers ? PORT : port, .remote_port = servers ? port : PORT,
	};
}

/* A request: it is on its way for 10 in each direction, and is read 5 after it came back. */
static void add(struct rig *rig, uint32_t on, uint64_t intended, uint64_t sent, uint64_t served)
{
	const uint64_t first = sent + 3 + 10, reply = first + served, done = reply + 10 + 5;
	const size_t i = rig->n++;

	assert_true(i < SAMPLES_MAX);
	rig->samples[i] = (struct event_sample){
		.intended = intended, .sent = sent, .done = done, .flow = on, .snd_ns = 3,
		.rx_ns = 5,
	};
	rig->messages[i] = (struct message){ .id = i + 1, .first = first, .read = first + 1,
					     .flow = 100 + on };
	rig->sends[i] = (struct sent){ .at = reply, .flow = 100 + on };
}

static struct event_reader *client(const struct rig *rig, int *fd)
{
	const struct event_writer_options options = { .stream = 1 };
	struct event_writer *w;
	struct event_reader *reader;

	*fd = memory_file("", 0);
	assert_int_equal(event_writer_new(&w, *fd, &options), 0);
	if (rig->connections) {
		struct event_sink *sink = event_writer_sink(w);

		assert_int_equal(event_put_fact(sink, 1, "load.connections", rig->connections), 0);
		assert_int_equal(event_put_fact(sink, 1, "load.outstanding", "1"), 0);
	}
	for (uint32_t i = 1; i <= FLOWS; i++) {
		const struct event_flow it = flow(i, false);

		assert_int_equal(event_writer_put(w, EVENT_CORE_NONE, EV_FLOW, 1, &it, sizeof(it)),
				 0);
	}
	for (size_t i = 0; i < rig->n; i++)
		assert_int_equal(event_writer_span(w, 0, 0, EV_SAMPLE, rig->samples[i].intended,
						   rig->samples[i].done, &rig->samples[i]), 0);
	assert_int_equal(event_writer_close(w), 0);
	assert_int_equal(event_reader_new(&reader, *fd), 0);
	return reader;
}

static void join(struct rig *rig)
{
	struct recorded server = { 0 };
	struct diagnose_load load = { .share = 1, .from_ns = rig->from_ns, .to_ns = UINT64_MAX };
	struct event_reader *reader;
	int fd;

	vec_init(&server.flows, FLOWS);
	for (uint32_t i = FLOWS; i > 0; i--)
		assert_int_equal(vec_push(&server.flows, flow(i, true)), 0);
	server.messages.all.items = rig->messages;
	server.messages.sends.items = rig->sends;
	server.messages.all.len = server.messages.sends.len = rig->n;
	reader = client(rig, &fd);
	load.reader = reader;
	assert_int_equal(requests_join(&rig->out, &load, &server), 0);
	for (size_t i = 0; i < rig->out.chosen.len; i++) {
		const struct slow_request *q = &rig->out.chosen.items[i];
		uint64_t sum = 0;

		for (int part = 0; part < REQUEST_PARTS; part++)
			sum += q->parts[part];
		assert_int_equal(sum, q->latency);
	}
	event_reader_free(reader);
	close(fd);
	vec_release(&server.flows);
}

static const struct slow_request *due_at(const struct rig *rig, uint64_t intended)
{
	vec_for_each(&rig->out.chosen, q)
		if (q->intended == intended)
			return q;
	fail();
	return NULL;
}

static void parts_are(const struct slow_request *q, uint64_t client, uint64_t network,
		      uint64_t server, uint64_t unexplained)
{
	assert_int_equal(q->parts[REQUEST_CLIENT], client);
	assert_int_equal(q->parts[REQUEST_NETWORK], network);
	assert_int_equal(q->parts[REQUEST_SERVER], server);
	assert_int_equal(q->parts[REQUEST_UNEXPLAINED], unexplained);
}

static struct rig *rig_new(const char *connections)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	rig->connections = connections;
	return rig;
}

static void rig_free(struct rig *rig)
{
	requests_release(&rig->out);
	free(rig);
}

static void test_parts(void **state)
{
	struct rig *rig = rig_new("3");

	(void)state;
	add(rig, 1, 100, 107, 50);
	join(rig);
	assert_int_equal(rig->out.count, 1);
	assert_int_equal(rig->out.chosen.items[0].message, 1);
	parts_are(due_at(rig, 100), 7 + 3 + 5, 20, 50, 0);
	rig_free(rig);
}

/* The warm-up does not count. */
static void test_from(void **state)
{
	struct rig *rig = rig_new("3");

	(void)state;
	add(rig, 1, 100, 107, 50);
	add(rig, 2, 101, 107, 50);
	rig->from_ns = 101;
	join(rig);
	assert_int_equal(rig->out.count, 1);
	assert_int_equal(rig->out.targets, 1);
	assert_int_equal(rig->out.chosen.items[0].intended, 101);
	rig_free(rig);
}

/* Time that no stamp divides belongs to no part. */
static void test_unknown(void **state)
{
	struct rig *rig = rig_new("3");

	(void)state;
	add(rig, 1, 100, 107, 50);
	add(rig, 2, 101, 107, 50);
	add(rig, 3, 102, 107, 50);
	rig->samples[0].snd_ns = 0;
	rig->samples[1].rx_ns = 0;
	rig->sends[2].flow = 999;
	join(rig);
	parts_are(due_at(rig, 100), 7 + 5, 10, 50, 13);
	parts_are(due_at(rig, 101), 6 + 3, 10, 50, 15);
	parts_are(due_at(rig, 102), 5 + 3 + 5, 10, 0, 60);
	rig_free(rig);
}

static void test_not_joined(void **state)
{
	struct rig *rig = rig_new("3");

	(void)state;
	add(rig, 1, 100, 107, 50);
	add(rig, 2, 101, 107, 50);
	rig->messages[0].flow = rig->sends[0].flow = 999;
	rig->messages[1].first = 1000;
	join(rig);
	parts_are(due_at(rig, 100), 7 + 3 + 5, 0, 0, 70);
	assert_string_equal(due_at(rig, 101)->why,
			    "no message arrived on the connection while the request was "
			    "outstanding");
	rig_free(rig);
}

/* Two requests at a time on one connection: nobody can tell whose message and reply is whose. */
static void test_several_at_once_on_a_connection(void **state)
{
	struct rig *rig = rig_new("1");

	(void)state;
	add(rig, 1, 100, 107, 50);
	add(rig, 1, 101, 170, 10);
	rig->samples[0].done = 400;
	join(rig);
	assert_string_equal(due_at(rig, 100)->why,
			    "several messages arrived on the connection while the request was "
			    "outstanding");
	assert_int_equal(due_at(rig, 100)->message, 0);
	parts_are(due_at(rig, 100), 7 + 3 + 5, 0, 0, 285);
	rig_free(rig);
}

/* Two that were due while the only connection was taken. */
static void queue(struct rig *rig)
{
	add(rig, 1, 100, 100, 50);  /* handed 103, there 113, sent back 163, here 173, done 178 */
	/* handed over 183, there 193, sent back 223, here 233, done 238 */
	add(rig, 1, 140, 180, 30);
	add(rig, 1, 179, 240, 30);  /* due in the moment in which the connection was nobody's */
	join(rig);
}

static void test_waits_for_a_free_connection(void **state)
{
	struct rig *rig = rig_new("1");

	(void)state;
	queue(rig);
	parts_are(due_at(rig, 100), 3 + 5, 20, 50, 0);
	parts_are(due_at(rig, 140), 3 + 5 + (5 + 2), 20 + 10, 30 + 23, 0);
	parts_are(due_at(rig, 179), 3 + 5 + (1 + 3 + 5 + 2), 20 + 20, 30 + 30, 0);
	rig_free(rig);
}

/* With a free connection, or if that is unknown, the client is the reason for the late send. */
static void test_late_without_a_queue(void **state)
{
	const char *const connections[] = { "2", NULL };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(connections); i++) {
		struct rig *rig = rig_new(connections[i]);

		queue(rig);
		parts_are(due_at(rig, 140), 3 + 5 + 40, 20, 30, 0);
		parts_are(due_at(rig, 179), 3 + 5 + 61, 20, 30, 0);
		rig_free(rig);
	}
}

/* Warm-up and failed requests occupy connections, too, but are not among the slowest. */
static void test_warmup_and_failures_are_not_slowest(void **state)
{
	struct rig *rig = rig_new("1");

	(void)state;
	add(rig, 1, 100, 100, 50);
	add(rig, 1, 140, 180, 30);
	rig->samples[0].flags = SAMPLE_WARMUP;
	join(rig);
	assert_int_equal(rig->out.count, 1);
	assert_int_equal(rig->out.targets, 1);
	parts_are(due_at(rig, 140), 3 + 5 + (5 + 2), 20 + 10, 30 + 23, 0);
	rig_free(rig);
}

/* Returns what one connection does at that time, for a comparison one ns at a time. */
static enum request_part part_at(const struct rig *rig, uint32_t on, uint64_t at)
{
	for (size_t i = 0; i < rig->n; i++) {
		const struct event_sample *s = &rig->samples[i];

		if (s->flow != on || at < s->sent || at >= s->done)
			continue;
		if (at < s->sent + 3 || at >= s->done - 5)
			return REQUEST_CLIENT;
		if (at < rig->messages[i].first || at >= rig->sends[i].at)
			return REQUEST_NETWORK;
		return REQUEST_SERVER;
	}
	return REQUEST_CLIENT;
}

/* More is due than three connections carry: everything that is late stood in line. */
static void overloaded(uint64_t seed)
{
	struct rig *rig = rig_new("3");
	uint64_t due = 100, free_at[FLOWS] = { 0 };
	struct rng rng;

	rng_init(&rng, seed);
	for (int i = 0; i < 400; i++) {
		uint32_t on = 0;

		for (uint32_t j = 1; j < FLOWS; j++)
			if (free_at[j] < free_at[on])
				on = j;
		due += rng_below(&rng, 30);
		add(rig, on + 1, due, due > free_at[on] ? due : free_at[on],
		    1 + rng_below(&rng, 100));
		free_at[on] = rig->samples[rig->n - 1].done;
	}
	join(rig);
	assert_int_equal(rig->out.targets, rig->n);
	for (size_t i = 0; i < rig->out.targets; i++) {
		const struct slow_request *q = &rig->out.chosen.items[i];
		const struct event_sample *s = &rig->samples[q->message - 1];
		uint64_t parts[REQUEST_PARTS] = { 0 };

		assert_int_equal(s->intended, q->intended);
		for (uint64_t at = s->intended; at < s->done; at++)
			parts[part_at(rig, s->flow, at)]++;
		assert_memory_equal(parts, q->parts, sizeof(parts));
	}
	rig_free(rig);
}

static void test_overload(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= (brief() ? 4 : 20); seed++)
		overloaded(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_from),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_not_joined),
		cmocka_unit_test(test_several_at_once_on_a_connection),
		cmocka_unit_test(test_waits_for_a_free_connection),
		cmocka_unit_test(test_late_without_a_queue),
		cmocka_unit_test(test_warmup_and_failures_are_not_slowest),
		cmocka_unit_test(test_overload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
