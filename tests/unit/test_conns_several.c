/* SPDX-License-Identifier: Apache-2.0 */
/* Problems that connections have together: incast, a proxy that waits, spread writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/parse.h"
#include "base/rng.h"
#include "conns/state.h"
#include "conns_rig.h"

static void put_loser(struct conns_rig *rig, uint32_t i, uint64_t write_ms, uint64_t loss_ms)
{
	struct event_conn e = rig_conn(rig, i, i);

	e.rto = 1;
	e.write_first = rig->now + write_ms * NS_PER_MS;
	e.loss_first = rig->now + loss_ms * NS_PER_MS;
	rig_put(rig, &e);
}

/* `addresses` receivers in `hosts` namespaces; 127.0.1.x is each namespace's own. */
static unsigned int incasts_in(const uint64_t (*times)[2], uint32_t n, uint32_t addresses,
			       const char *network, uint32_t hosts)
{
	struct conns_rig rig;
	unsigned int found = 0;
	char remote[16];

	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= n; i++) {
		snprintf(remote, sizeof(remote), "%s.0.1.%u", network, i % addresses);
		rig_flow(&rig, i, "10.0.0.1", (uint16_t)i, remote, 80, 1 + i % hosts);
		put_loser(&rig, i, times[i - 1][0], times[i - 1][1]);
	}
	rig_interval(&rig);
	for (uint32_t i = 1; i <= n; i++) {
		const bool has = rig_has(&rig, CONNS_INTERVAL, i, CONN_INCAST);

		assert_int_equal(has, rig_has(&rig, CONNS_TOTAL, i, CONN_INCAST));
		found += has;
	}
	rig_interval(&rig);
	assert_false(rig_has(&rig, CONNS_INTERVAL, 1, CONN_INCAST));
	rig_release(&rig);
	return found;
}

static unsigned int incasts(const uint64_t (*times)[2], uint32_t n, uint32_t addresses)
{
	return incasts_in(times, n, addresses, "10", 1);
}

/* Each record has a burst: those of one connection don't make it several. */
static void incast_is_of_several_connections(void **state)
{
	struct conns_rig rig;

	(void)state;
	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= 2; i++) {
		rig_flow(&rig, i, "10.0.0.1", (uint16_t)i, "10.0.1.1", 80, 1);
		put_loser(&rig, i, 10 + i, 220 + i);
		put_loser(&rig, i, 12 + i, 222 + i);
	}
	rig_interval(&rig);
	assert_false(rig_has(&rig, CONNS_INTERVAL, 1, CONN_INCAST));
	for (uint32_t i = 1; i <= 4; i++) { /* the second burst of each, behind others */
		rig_flow(&rig, i, "10.0.0.1", (uint16_t)i, "10.0.1.1", 80, 1);
		put_loser(&rig, i, 10 + 50 * i, 90 + 50 * i);
		put_loser(&rig, i, 500 + i, 720 + i);
	}
	rig_interval(&rig);
	assert_true(rig_has(&rig, CONNS_INTERVAL, 1, CONN_INCAST));
	rig_release(&rig);
}

static void incast_is_many_to_one_at_once(void **state)
{
	static const uint64_t together[][2] = {
		{ 10, 220 }, { 12, 231 }, { 15, 239 }, { 11, 300 },
	};
	static const uint64_t written_apart[][2] = { { 10, 220 }, { 30, 221 }, { 50, 222 } };
	static const uint64_t lost_apart[][2] = { { 10, 20 }, { 11, 60 }, { 12, 100 } };
	static const uint64_t lost_before[][2] = { { 10, 5 }, { 11, 6 }, { 12, 7 } };
	static const uint64_t long_before[][2] = { { 10, 1020 }, { 11, 1021 }, { 12, 1022 } };

	(void)state;
	assert_int_equal(incasts(together, 4, 1), 3);
	assert_int_equal(incasts(together, 2, 1), 0);
	assert_int_equal(incasts(together, 4, 2), 0);
	assert_int_equal(incasts_in(together, 4, 1, "10", 4), 3);
	assert_int_equal(incasts_in(together, 4, 1, "127", 1), 3);
	assert_int_equal(incasts_in(together, 4, 1, "127", 4), 0);
	assert_int_equal(incasts(written_apart, 3, 1), 0);
	assert_int_equal(incasts(lost_apart, 3, 1), 0);
	assert_int_equal(incasts(lost_before, 3, 1), 0);
	assert_int_equal(incasts(long_before, 3, 1), 0);
}

/* A queue that grew made senders probe for what had arrived. */
static void without_losses_there_is_no_incast(void **state)
{
	struct conns_rig rig;

	(void)state;
	for (uint32_t arrived = 0; arrived <= 1; arrived++) {
		rig_init(&rig, NULL);
		for (uint32_t i = 1; i <= 3; i++) {
			struct event_conn e = rig_conn(&rig, i, i);

			rig_flow(&rig, i, "10.0.0.1", (uint16_t)i, "10.0.1.1", 80, 1);
			e.tlp = 1;
			e.spurious = i == 3 ? arrived : 0;
			e.write_first = rig.now + 10 * NS_PER_MS;
			e.loss_first = rig.now + 20 * NS_PER_MS;
			rig_put(&rig, &e);
		}
		rig_interval(&rig);
		assert_int_equal(rig_has(&rig, CONNS_INTERVAL, 1, CONN_INCAST), !arrived);
		rig_release(&rig);
	}
}

/* Late answers of so many peers to `local`, which asked for them at these times. */
static unsigned int asked(const uint64_t *times_ms, uint32_t n, const char *local, uint32_t hosts,
			  uint32_t peers)
{
	struct conns_rig rig;
	unsigned int found = 0;
	char remote[16], own[16];

	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= n; i++) {
		struct event_conn e = rig_conn(&rig, i, i);

		snprintf(remote, sizeof(remote), "10.0.1.%u", 1 + i % peers % 100);
		snprintf(own, sizeof(own), local, i);
		rig_flow(&rig, i, own, (uint16_t)i, remote, 80, 1 + i % hosts);
		e.lost_reply = rig.now + times_ms[i - 1] * NS_PER_MS;
		rig_put(&rig, &e);
	}
	rig_interval(&rig);
	for (uint32_t i = 1; i <= n; i++)
		found += rig_has(&rig, CONNS_INTERVAL, i, CONN_INCAST);
	rig_release(&rig);
	return found;
}

static void client_sees_incast_of_replies(void **state)
{
	static const uint64_t together[] = { 10, 15, 20 }, apart[] = { 10, 15, 21 };
	static const uint64_t more[] = { 10, 15, 20, 300 };

	(void)state;
	assert_int_equal(asked(together, 3, "10.0.0.1", 1, 3), 3);
	assert_int_equal(asked(together, 2, "10.0.0.1", 1, 3), 0);
	assert_int_equal(asked(apart, 3, "10.0.0.1", 1, 3), 0);
	assert_int_equal(asked(more, 4, "10.0.0.1", 1, 4), 3);
	assert_int_equal(asked(together, 3, "10.0.0.1", 3, 3), 0);
	assert_int_equal(asked(together, 3, "10.0.0.%u", 1, 3), 0);
}

/* Many connections to one database, or to two, stand still with it. */
static void few_peers_are_no_incast(void **state)
{
	static const uint64_t together[] = { 10, 11, 12, 13, 14, 15 };

	(void)state;
	assert_int_equal(asked(together, 6, "10.0.0.1", 1, 1), 0);
	assert_int_equal(asked(together, 6, "10.0.0.1", 1, 2), 0);
	assert_int_equal(asked(together, 6, "10.0.0.1", 1, 3), 6);
}

/* A connection that loses what it sends and what it asked for has two problems. */
static void sides_are_not_added_up(void **state)
{
	struct conns_rig rig;
	uint32_t sides[2] = { 0 };
	char remote[16];

	(void)state;
	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= 6; i++) {
		struct event_conn e = rig_conn(&rig, i, i);

		snprintf(remote, sizeof(remote), "10.0.1.%u", i > 3 ? i : 1);
		rig_flow(&rig, i, "10.0.0.1", (uint16_t)i, remote, 80, 1);
		if (i <= 3) {
			e.write_first = rig.now + 10 * NS_PER_MS;
			e.loss_first = rig.now + 20 * NS_PER_MS;
			e.tlp = 1;
		}
		if (i == 1 || i > 3)
			e.lost_reply = rig.now + 30 * NS_PER_MS;
		rig_put(&rig, &e);
	}
	rig_interval(&rig);
	vec_for_each(&rig.c->crosses[CONNS_TOTAL], cross) {
		if (rig.c->all.items[cross->conn].cookie != 1)
			continue;
		assert_int_equal(cross->episodes, 1);
		assert_int_equal(cross->members, cross->at_receiver ? 4 : 3);
		sides[cross->at_receiver]++;
	}
	assert_int_equal(sides[false], 1);
	assert_int_equal(sides[true], 1);
	rig_release(&rig);
}

/* Losses of what this host sends to an address, and of what it receives there, are two things. */
static void incast_is_of_one_side(void **state)
{
	struct conns_rig rig;

	(void)state;
	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= 4; i++) {
		struct event_conn e = rig_conn(&rig, i, i);

		rig_flow(&rig, i, "10.0.0.1", (uint16_t)i, "10.0.0.1", 80, 1);
		if (i > 2)
			e.lost_reply = rig.now + 10 * NS_PER_MS;
		else
			put_loser(&rig, i, 10, 12);
		if (i > 2)
			rig_put(&rig, &e);
	}
	rig_interval(&rig);
	for (uint32_t i = 1; i <= 4; i++)
		assert_false(rig_has(&rig, CONNS_INTERVAL, i, CONN_INCAST));
	rig_release(&rig);
}

static bool is_first(const struct conn_view *v, void *ctx)
{
	(void)ctx;
	return v->c->cookie == 1;
}

/* Those that are not shown are members all the same. */
static void a_filter_hides_no_member(void **state)
{
	const struct conns_options options = { .select = is_first };
	const struct table_row *problem;
	const struct value *evidence;
	struct conns_rig rig;
	struct report r;

	(void)state;
	rig_init(&rig, &options);
	for (uint32_t i = 1; i <= 3; i++) {
		rig_flow(&rig, i, "10.0.0.1", (uint16_t)i, "10.0.1.1", 80, 1);
		put_loser(&rig, i, 10, 220);
	}
	rig_interval(&rig);
	rig_report(&rig, CONNS_TOTAL, &r);
	problem = rig_problem(&r, 1, CONN_INCAST);
	assert_non_null(problem);
	assert_null(rig_problem(&r, 2, CONN_INCAST));
	evidence = rig_cell(rig_table(&r, "problems"), problem, "evidence");
	assert_int_equal(rig_field(evidence->object, "connections")->u64, 3);
	report_release(&r);
	rig_release(&rig);
}

static void put_task(struct conns_rig *rig, uint64_t cookie, uint32_t pid, bool held, bool starved)
{
	struct event_conn e = rig_conn(rig, cookie, 0);

	e.pid = pid;
	e.delayed_ack_ns = held ? 700 * NS_PER_MS : 20 * NS_PER_MS;
	e.congestion_ns = starved ? 0 : 200 * NS_PER_MS;
	rig_put_fitted(rig, e);
}

/*
 * Two tasks with two connections each. While 1, of task 5, is held, 2 starves in so many percent
 * of the intervals, and does not otherwise: 50 is chance.
 */
static bool proxy_after(uint32_t intervals, uint32_t percent, uint32_t other_pid)
{
	struct conns_rig rig;
	struct rng rng;
	bool found;

	rng_init(&rng, 3);
	rig_init(&rig, NULL);
	for (uint32_t i = 0; i < intervals; i++) {
		const bool held = rng_below(&rng, 2), agree = rng_below(&rng, 100) < percent;

		put_task(&rig, 1, 5, held, true);
		put_task(&rig, 2, other_pid, false, agree ? held : !held);
		put_task(&rig, 3, 5, false, false);
		put_task(&rig, 4, 6, rng_below(&rng, 2), false);
		rig_interval(&rig);
	}
	found = rig_has(&rig, CONNS_TOTAL, 1, CONN_PIPELINE_PROXY);
	assert_false(rig_has(&rig, CONNS_TOTAL, 2, CONN_PIPELINE_PROXY));
	rig_release(&rig);
	return found;
}

static void a_proxy_starves_one_while_another_waits(void **state)
{
	(void)state;
	assert_true(proxy_after(60, 100, 5));
	assert_true(proxy_after(400, 95, 5));
	assert_false(proxy_after(60, 50, 5));
	assert_false(proxy_after(400, 50, 5));
	assert_false(proxy_after(400, 72, 5));  /* surely not chance, but little */
	assert_false(proxy_after(60, 100, 6));  /* another task */
	assert_false(proxy_after(49, 100, 5));  /* too few */
	/* among so many pairs, one is like that by chance */
	assert_false(proxy_after(55, 74, 5));
}

/* An idle connection has no records, and gets no share. */
static void idle_connection_starves(void **state)
{
	struct conns_rig rig;
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	rig_init(&rig, NULL);
	for (uint32_t i = 0; i < 3 * 120; i++) { /* more than are kept */
		const bool held = rng_below(&rng, 2);

		put_task(&rig, 1, 5, held, true);
		if (!held)
			put_task(&rig, 2, 5, false, false);
		rig_interval(&rig);
	}
	assert_true(rig_has(&rig, CONNS_TOTAL, 1, CONN_PIPELINE_PROXY));
	rig_release(&rig);
}

static void put_unknown(struct conns_rig *rig, uint64_t cookie, uint32_t pid)
{
	struct event_conn e = rig_conn(rig, cookie, 0);

	e.pid = pid;
	e.unknown_ns = NS_PER_S;
	rig_put_fitted(rig, e);
}

/* 2 starves while 1 is held; of some intervals it is unknown, by chance or whenever it starves. */
static bool proxy_unknown(uint32_t intervals, uint32_t percent, bool if_starved)
{
	struct conns_rig rig;
	struct rng rng;
	bool found;

	rng_init(&rng, 5);
	rig_init(&rig, NULL);
	for (uint32_t i = 0; i < intervals; i++) {
		const bool held = rng_below(&rng, 2);
		const bool unknown = if_starved ? held : rng_below(&rng, 100) < percent;

		put_task(&rig, 1, 5, held, true);
		if (unknown)
			put_unknown(&rig, 2, 5);
		else
			put_task(&rig, 2, 5, false, held);
		rig_interval(&rig);
	}
	found = rig_has(&rig, CONNS_TOTAL, 1, CONN_PIPELINE_PROXY);
	rig_release(&rig);
	return found;
}

static void unknown_time_starves_nobody(void **state)
{
	(void)state;
	assert_true(proxy_unknown(60, 0, false));
	assert_true(proxy_unknown(110, 30, false));
	assert_false(proxy_unknown(60, 30, false)); /* too few are known */
	assert_false(proxy_unknown(110, 0, true));
}

static void put_small(struct conns_rig *rig, uint32_t i, uint32_t tlp, uint32_t fast)
{
	struct event_conn e = rig_conn(rig, i, i);

	e.send_calls = 50;
	e.send_small = 49;
	e.tlp = tlp;
	e.fast_retransmit = fast;
	e.stall_ns = NS_PER_MS;
	rig_put(rig, &e);
}

static void spreading_needs_several_timeouts(void **state)
{
	struct conns_rig rig;

	(void)state;
	rig_init(&rig, NULL);
	rig_flow(&rig, 1, "10.0.0.1", 1, "10.0.0.2", 80, 1);
	rig_flow(&rig, 2, "10.0.0.1", 2, "10.0.0.2", 80, 1);
	rig_flow(&rig, 3, "10.0.0.1", 3, "10.0.0.2", 81, 1); /* another service */
	rig_flow(&rig, 4, "10.0.0.1", 4, "10.0.0.2", 80, 1);
	put_small(&rig, 1, 1, 0);
	put_small(&rig, 2, 2, 1);
	put_small(&rig, 3, 2, 0);
	put_small(&rig, 4, 1, 9); /* its losses are found by what follows them */
	rig_interval(&rig);
	assert_true(rig_has(&rig, CONNS_INTERVAL, 1, CONN_SPREAD_WRITES));
	assert_true(rig_has(&rig, CONNS_TOTAL, 2, CONN_SPREAD_WRITES));
	assert_false(rig_has(&rig, CONNS_TOTAL, 3, CONN_SPREAD_WRITES));
	assert_false(rig_has(&rig, CONNS_TOTAL, 4, CONN_SPREAD_WRITES));
	rig_release(&rig);
}

/* 50 messages of so many bytes by each of two, a probe and `spurious` of what they sent again. */
static bool lone_messages_spread(uint32_t bytes, uint32_t calls, uint32_t spurious)
{
	struct conns_rig rig;
	bool found;

	rig_init(&rig, NULL);
	for (uint32_t i = 1; i <= 2; i++) {
		struct event_conn e = rig_conn(&rig, i, i);

		rig_flow(&rig, i, "10.0.0.1", (uint16_t)i, "10.0.0.2", 80, 1);
		e.send_calls = calls;
		e.send_bytes = (uint64_t)bytes * calls;
		e.mss = 1448;
		e.tlp = 1;
		e.stall_ns = NS_PER_MS;
		e.bytes_retransmitted = bytes;
		e.spurious = spurious;
		rig_put(&rig, &e);
	}
	rig_interval(&rig);
	found = rig_has(&rig, CONNS_TOTAL, 1, CONN_SPREAD_WRITES);
	assert_int_equal(found, rig_has(&rig, CONNS_INTERVAL, 2, CONN_SPREAD_WRITES));
	rig_release(&rig);
	return found;
}

/* A request at a time is spread as well; what was sent again for nothing was no loss. */
static void spreading_includes_lone_messages(void **state)
{
	(void)state;
	assert_true(lone_messages_spread(100, 50, 0));
	assert_false(lone_messages_spread(800, 50, 0));
	assert_false(lone_messages_spread(100, 19, 0));
	assert_false(lone_messages_spread(100, 50, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(incast_is_many_to_one_at_once),
		cmocka_unit_test(incast_is_of_several_connections),
		cmocka_unit_test(without_losses_there_is_no_incast),
		cmocka_unit_test(client_sees_incast_of_replies),
		cmocka_unit_test(few_peers_are_no_incast),
		cmocka_unit_test(sides_are_not_added_up),
		cmocka_unit_test(incast_is_of_one_side),
		cmocka_unit_test(a_filter_hides_no_member),
		cmocka_unit_test(a_proxy_starves_one_while_another_waits),
		cmocka_unit_test(idle_connection_starves),
		cmocka_unit_test(unknown_time_starves_nobody),
		cmocka_unit_test(spreading_needs_several_timeouts),
		cmocka_unit_test(spreading_includes_lone_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
