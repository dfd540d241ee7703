/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deltas of a connection since its last report, compared with full counters: counters wrap, go
 * back, and begin again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/socket.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/rng.h"
#include "event/memsource.h"
#include "probe/connection/conn_delta.h"

struct rig {
	struct conn_delta delta;
	struct event_memsource *queue;
};

static void rig_open(struct rig *r)
{
	assert_int_equal(conn_delta_init(&r->delta), 0);
	assert_int_equal(event_memsource_new(&r->queue, 1 << 20), 0);
	r->delta.sink = event_memsource_sink(r->queue);
	r->delta.dict = event_dict_new();
	assert_non_null(r->delta.dict);
	r->delta.tick_ns = 1000;
}

static void rig_close(struct rig *r)
{
	event_dict_free(r->delta.dict);
	event_memsource_free(r->queue);
	conn_delta_release(&r->delta);
}

static struct conn_snapshot some_record(uint64_t cookie)
{
	return (struct conn_snapshot){
		.stats = { .idle = { .cookie = cookie, .netns = 1 },
			  .rtt_min_us = UINT32_MAX },
		.now = { .family = AF_INET },
	};
}

static struct event_conn tell(struct rig *r, struct conn_snapshot *record)
{
	struct event_block block;
	struct event_conn e;

	record->time += 1000;
	conn_delta_add(&r->delta, record, NULL);
	assert_int_equal(r->delta.err, 0);
	assert_true(conn_delta_block(&r->delta, &block));
	event_block_copy(&block, 0, &e, sizeof(e));
	assert_false(conn_delta_block(&r->delta, &block));
	return e;
}

/* ---- differences ---- */

/* Some of each width, where they are and where they go to. */
static const struct {
	uint16_t at, bits, event;
	bool begins_again;            /* the timers' map is cleared now and then */
} counters[] = {
#define STATS(member) offsetof(struct conn_snapshot, stats.member)
#define NOW(member) offsetof(struct conn_snapshot, now.member)
#define EVENT(member) offsetof(struct event_conn, member)
	{ NOW(bytes_sent), 64, EVENT(bytes_sent), false },
	{ NOW(bytes_acked), 64, EVENT(bytes_acked), false },
	{ STATS(send_bytes), 64, EVENT(send_bytes), false },
	{ STATS(stall_ns), 64, EVENT(stall_ns), false },
	{ STATS(send_calls), 32, EVENT(send_calls), false },
	{ STATS(recv_sizes[3]), 32, EVENT(recv_sizes[3]), false },
	{ STATS(fast_retransmit), 32, EVENT(fast_retransmit), false },
	{ NOW(delacks), 32, EVENT(delayed_acks), true },
	{ STATS(stalls), 16, EVENT(stalls), false },
	{ STATS(peer_delacks), 16, EVENT(peer_delayed_acks), false },
	{ STATS(sampled[5]), 16, EVENT(sampled[5]), false },
	{ STATS(rto_delacks), 16, EVENT(rto_delacks), false },
	{ STATS(rto_delack_us), 32, EVENT(rto_delack_us), false },
};

#define COUNTERS ARRAY_LEN(counters)

static uint64_t number_at(const void *of, size_t at, uint16_t bits)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)of + at, bits / 8);
	return value;
}

static void change(struct conn_snapshot *record, size_t i, struct rng *rng)
{
	static const uint64_t most[] = { 3, 300, 40000, 70000, 1ULL << 33 };
	const uint64_t step = rng_below(rng, most[rng_below(rng, ARRAY_LEN(most))]);
	uint64_t value = number_at(record, counters[i].at, counters[i].bits);

	switch (rng_below(rng, 8)) {
	case 0:
		value -= rng_below(rng, 5);
		break;
	case 1:
		value = counters[i].begins_again ? 0 : value;
		break;
	default:
		value += step;
	}
	memcpy((char *)record + counters[i].at, &value, counters[i].bits / 8);
}

/* A gain of more than half of the counter's range is a loss. */
static uint64_t gained(uint64_t *seen, uint64_t value, size_t i)
{
	const unsigned int rest = 64 - counters[i].bits;
	int64_t more;

	if (counters[i].begins_again && value < *seen)
		*seen = value;
	more = (int64_t)((value - *seen) << rest);
	if (more <= 0)
		return 0;
	*seen += (uint64_t)more >> rest;
	if (counters[i].bits < 64)
		*seen = (uint32_t)*seen;
	return (uint64_t)more >> rest;
}

static void test_deltas_match_full_counters(void **state)
{
	enum { CONNS = 20, ROUNDS = 20000 };
	static uint64_t seen[CONNS][COUNTERS];
	static struct conn_snapshot records[CONNS];
	struct rng rng;
	struct rig r;

	(void)state;
	rng_init(&rng, 21);
	rig_open(&r);
	for (int i = 0; i < CONNS; i++)
		records[i] = some_record((uint64_t)i);
	for (int round = 0; round < ROUNDS; round++) {
		const uint64_t which = rng_below(&rng, CONNS);
		struct conn_snapshot *record = &records[which];
		struct event_conn e;

		for (size_t i = 0; i < COUNTERS; i++)
			if (!rng_below(&rng, 3))
				change(record, i, &rng);
		record->closed = !rng_below(&rng, 200);
		e = tell(&r, record);
		for (size_t i = 0; i < COUNTERS; i++)
			assert_int_equal(number_at(&e, counters[i].event,
						   counters[i].bits == 64 ? 64 : 32),
					 gained(&seen[which][i],
						number_at(record, counters[i].at, counters[i].bits),
						i));
		if (!record->closed)
			continue;
		memset(seen[which], 0, sizeof(seen[which]));
		*record = some_record(which);
	}
	rig_close(&r);
}

/* ---- remembered connections ---- */

static void test_owner_stays(void **state)
{
	struct conn_snapshot record = some_record(1);
	struct event_conn first, e;
	struct rig r;

	(void)state;
	rig_open(&r);
	record.stats.idle.pid = 1u << 30; /* nobody */
	memcpy(record.stats.idle.comm, "somebody", sizeof("somebody"));
	first = tell(&r, &record);
	assert_true(first.app && first.comm);
	record.stats.idle.pid = 0;
	record.stats.send_calls = 100000;
	e = tell(&r, &record);
	assert_int_equal(e.pid, 1u << 30);
	assert_int_equal(e.app, first.app);
	assert_int_equal(e.comm, first.comm);
	rig_close(&r);
}

/* Memory use follows the number of remembered connections, and is counted. */
static void test_memory_follows_remembered_connections(void **state)
{
	struct conn_snapshot record = some_record(1);
	uint64_t silent, few;
	struct rig r;

	(void)state;
	rig_open(&r);
	tell(&r, &record);
	silent = sizeof(struct conn_seen) + r.delta.counted_bytes;
	assert_true(silent <= 88);
	record.stats.idle.pid = 100000;
	record.stats.send_calls = record.stats.recv_calls = 100;
	record.stats.send_sizes[0] = record.stats.recv_sizes[0] = 100;
	record.stats.send_bytes = record.stats.recv_bytes = 100000;
	record.now.bytes_sent = record.now.bytes_acked = record.now.bytes_received = 100000;
	record.stats.rtt_samples = 100;
	record.stats.rtt_sum_us = 20000;
	tell(&r, &record);
	few = sizeof(struct conn_seen) + r.delta.counted_bytes;
	assert_true(few >= silent && few <= 88);
	memset(&record.stats.send_bytes, 0x55, 8 * sizeof(uint64_t));
	memset(record.stats.sampled_us, 0x55, 20 * sizeof(uint32_t));
	tell(&r, &record);
	assert_true(sizeof(struct conn_seen) + r.delta.counted_bytes > few + 100);
	record.closed = 1;
	tell(&r, &record);
	assert_int_equal(r.delta.counted_bytes, 0);
	rig_close(&r);
}

/* A longer path and a peer that delays all acknowledgements look alike: neither is known. */
static void test_longer_path_or_delayed_acks_is_unclear(void **state)
{
	struct conn_snapshot record = some_record(1);
	struct rig r;

	(void)state;
	rig_open(&r);
	r.delta.known = CONN_KNOWS_PEER_DELACKS | CONN_KNOWS_RTT | CONN_KNOWS_CALLS;
	record.stats.idle.flags = STATS_RTT;
	record.stats.acks = (struct conn_acks){ .votes = ACKS_START };
	record.now.min_rtt_us = 2000;
	assert_int_equal(tell(&r, &record).known & r.delta.known, r.delta.known);
	record.stats.acks.base = 21984 / ACKS_UNIT_US;
	assert_int_equal(tell(&r, &record).known & r.delta.known, r.delta.known);
	record.stats.acks.base = 22016 / ACKS_UNIT_US;
	assert_int_equal(tell(&r, &record).known & r.delta.known,
			 CONN_KNOWS_RTT | CONN_KNOWS_CALLS);
	record.stats.acks.votes = ACKS_SURE;
	assert_int_equal(tell(&r, &record).known & r.delta.known, r.delta.known);
	rig_close(&r);
}

/* Without send calls nothing tells whether data or a timer acknowledged what was sent. */
static void test_acks_need_calls(void **state)
{
	struct conn_snapshot record = some_record(1);
	struct rig r;

	(void)state;
	rig_open(&r);
	record.stats.idle.flags = STATS_RTT;
	record.stats.acks.votes = ACKS_SURE;
	record.time = 5000ULL * NS_PER_S;
	record.stats.lost_reply = (uint32_t)((record.time - NS_PER_S) >> CONN_TIME_SHIFT);
	r.delta.known = CONN_KNOWS_PEER_DELACKS | CONN_KNOWS_CALLS;
	assert_int_equal(tell(&r, &record).known & r.delta.known, r.delta.known);
	assert_int_not_equal(tell(&r, &record).lost_reply, 0);
	r.delta.known = CONN_KNOWS_PEER_DELACKS;
	assert_int_equal(tell(&r, &record).known & CONN_KNOWS_PEER_DELACKS, 0);
	assert_int_equal(tell(&r, &record).lost_reply, 0);
	rig_close(&r);
}

/* Times are stored in few bits; reports reach up to 1.2 hours back. */
static void test_age_of_a_lost_reply(void **state)
{
	static const uint64_t now = 5000ULL * NS_PER_S;
	/* the last one: noted on another CPU after the report's time was read */
	static const uint64_t ago[] = { 2000, NS_PER_S, 4000 * NS_PER_S, (uint64_t)-10000 };
	struct conn_snapshot record = some_record(1);
	struct event_conn e;
	struct rig r;

	(void)state;
	rig_open(&r);
	r.delta.known = CONN_KNOWS_CALLS;
	assert_int_equal(tell(&r, &record).lost_reply, 0);
	for (size_t i = 0; i < ARRAY_LEN(ago); i++) {
		record.time = now;
		record.stats.lost_reply = (uint32_t)((now - ago[i]) >> CONN_TIME_SHIFT);
		record.stats.loss_first = record.stats.loss_last = record.stats.lost_reply;
		e = tell(&r, &record);
		assert_in_range(e.lost_reply, now - ago[i] - 2048, now - ago[i] + 2048);
		assert_int_equal(e.loss_first, e.lost_reply);
		assert_int_equal(e.loss_last, e.lost_reply);
	}
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deltas_match_full_counters),
		cmocka_unit_test(test_owner_stays),
		cmocka_unit_test(test_memory_follows_remembered_connections),
		cmocka_unit_test(test_longer_path_or_delayed_acks_is_unclear),
		cmocka_unit_test(test_acks_need_calls),
		cmocka_unit_test(test_age_of_a_lost_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
