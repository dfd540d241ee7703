/* SPDX-License-Identifier: Apache-2.0 */
/* The analysis behind `hostlat conns`: sums, identity, the two ends, what is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/parse.h"
#include "base/rng.h"
#include "conns/join.h"
#include "conns/select.h"
#include "conns/state.h"
#include "conns/conn_accumulate.h"
#include "conns_rig.h"

/* ---- sums ---- */

static uint64_t cell_u64(const struct report *r, uint64_t cookie, const char *object,
			 const char *name)
{
	const struct table *t = rig_table(r, "connections");
	const struct table_row *row = rig_connection(r, cookie);
	const struct value *v;

	assert_non_null(row);
	v = rig_cell(t, row, object);
	assert_int_equal(v->type, VALUE_OBJECT);
	v = rig_field(v->object, name);
	assert_true(v->type == VALUE_U64 || v->type == VALUE_NS);
	return v->u64;
}

static bool is_null(const struct report *r, uint64_t cookie, const char *object, const char *name)
{
	const struct value *v = rig_cell(rig_table(r, "connections"), rig_connection(r, cookie),
					 object);

	return v->type == VALUE_NULL || rig_field(v->object, name)->type == VALUE_NULL;
}

static struct event_conn some_conn(struct conns_rig *rig, struct rng *rng, uint64_t cookie)
{
	struct event_conn e = rig_conn(rig, cookie, 0);

	e.send_buffer_ns = rng_below(rng, 1 << 20);
	e.congestion_ns = rng_below(rng, 1 << 20);
	e.delayed_ack_ns = rng_below(rng, 1 << 20);
	e.bytes_sent = rng_below(rng, 1 << 20);
	e.fast_retransmit = (uint32_t)rng_below(rng, 10);
	e.rto = (uint32_t)rng_below(rng, 10);
	e.delayed_acks = (uint32_t)rng_below(rng, 10);
	e.send_calls = (uint32_t)rng_below(rng, 10);
	e.send_sizes[rng_below(rng, CONN_SIZES)] = e.send_calls;
	e.sampled[CONN_AT_FLIGHT] = e.samples = (uint32_t)rng_below(rng, 10);
	return e;
}

static void totals_are_the_sums_of_intervals(void **state)
{
	enum { CONNS = 7, SUMS = 7, ROUNDS = 20 };
	static const char *const names[SUMS][2] = {
		{ "time_ns", "send-buffer" }, { "time_ns", "sender-app" }, { "bytes", "sent" },
		{ "events", "fast_retransmit" }, { "events", "delayed_acks" }, { "calls", "send" },
		{ "samples", "flight" },
	};
	uint64_t sums[CONNS][SUMS] = { { 0 } };
	struct conns_rig rig;
	struct report r;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	rig_init(&rig, NULL);
	for (int round = 0; round < ROUNDS; round++) {
		bool told[CONNS] = { false };

		for (int i = 0; i < 10; i++) {
			const uint64_t cookie = rng_below(&rng, CONNS);

			told[cookie] = true;
			rig_put_fitted(&rig, some_conn(&rig, &rng, cookie));
		}
		rig_interval(&rig);
		rig_report(&rig, CONNS_INTERVAL, &r);
		for (uint64_t i = 0; i < CONNS; i++) {
			assert_int_equal(told[i], rig_connection(&r, i) != NULL);
			for (int k = 0; told[i] && k < SUMS; k++)
				sums[i][k] += cell_u64(&r, i, names[k][0], names[k][1]);
		}
		report_release(&r);
	}
	rig_report(&rig, CONNS_TOTAL, &r);
	for (uint64_t i = 0; i < CONNS; i++)
		for (int k = 0; k < SUMS; k++)
			assert_int_equal(sums[i][k], cell_u64(&r, i, names[k][0], names[k][1]));
	assert_true(sums[0][0] && sums[0][4]);
	report_release(&r);
	rig_release(&rig);
}

/* One connection that has ever more, and then less: of its bytes one in `one_in` is not 0. */
static void packing_changes_nothing(void **state)
{
	static const uint64_t one_in[] = { 1000, 100, 10, 2, 1, 3, 50, 5000 };
	unsigned char bytes[sizeof(struct event_conn)];
	struct conn conn = { .used = true };
	struct event_conn in, out;
	struct rng rng;

	(void)state;
	rng_init(&rng, 2);
	memset(&out, 1, sizeof(out));
	conn_unpack(&conn, &out);
	memset(&in, 0, sizeof(in));
	assert_memory_equal(&in, &out, sizeof(in));
	for (size_t i = 0; i < 40 * ARRAY_LEN(one_in); i++) {
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = rng_below(&rng, one_in[i / 40]) ? 0 :
				(unsigned char)rng_below(&rng, 256);
		memcpy(&in, bytes, sizeof(in));
		assert_int_equal(conn_pack(&conn, &in), 0);
		conn_unpack(&conn, &out);
		assert_memory_equal(&in, &out, sizeof(in));
		assert_int_equal(conn.cookie, in.cookie);
	}
	assert_true(conn.room <= 56);
	free(conn.packed);
}

/* A connection that waits for its application; and one with traffic and many counters. */
static void idle_connections_pack_into_few_bytes(void **state)
{
	const uint64_t from = 1790000000123456789, to = from + 60000000000;
	struct event_conn e = {
		.cookie = 123456789, .from = from, .to = to, .flow = 100000, .app = 50,
		.pid = 123456, .flags = CONN_ACCEPTED | CONN_NODELAY, .sender_app_ns = to - from,
		.rtt_us = 20000, .cwnd = 10, .known = 4095, .poll_mhz = 100000,
		.congestion_control = 4, .cgroup = 50, .unit = 51, .comm = 52, .thinned_one_in = 1,
		.min_rtt_us = 15000, .rto_us = 204000, .mss = 1448, .snd_wnd = 65536,
		.rcv_wnd = 65536, .sndbuf = 87040, .rcvbuf = 131072, .ssthresh = 0x7fffffff,
		.delivery_rate = 5000000, .pacing_rate = 14480000, .write_seq = 3456789012,
		.snd_una = 3456789012, .rcv_nxt = 2987654321, .tcp_state = 1, .samples = 300,
		.sampled = { 300 }, .sampled_ns = { 60000000000 }, .squares = 3000000,
	};
	struct conn conn = { .used = true };

	(void)state;
	assert_int_equal(conn_pack(&conn, &e), 0);
	assert_true(sizeof(conn) + conn.room <= 200);
	for (__u64 *at = &e.sender_app_ns; at <= &e.bytes_received; at++)
		*at = 1 << 30;
	for (__u64 *at = &e.unknown_ns; at <= &e.rtt_sum_us; at++)
		*at = 1 << 30;
	for (__u32 *at = &e.rtt_samples; at < e.send_sizes + CONN_SIZES; at++)
		*at = 1 << 15;
	for (int i = 0; i < 12; i++)
		e.rtts[20 + i] = 1000;
	assert_int_equal(conn_pack(&conn, &e), 0);
	assert_true(sizeof(conn) + conn.room <= 480);
	free(conn.packed);
}

/* A counter that ran over or was not known all the time is unknown, and not wrong. */
static void total_is_known_if_every_interval_is(void **state)
{
	struct conns_rig rig;
	struct event_conn e;
	struct report r;

	(void)state;
	rig_init(&rig, NULL);
	e = rig_conn(&rig, 1, 0);
	e.fast_retransmit = UINT32_MAX;
	e.rto = 1;
	rig_put(&rig, &e);
	e.fast_retransmit = 1;
	e.rto = 0;
	e.known &= ~(uint32_t)(CONN_KNOWS_RTO | CONN_KNOWS_GAUGES);
	rig_put(&rig, &e);
	e.known |= CONN_KNOWS_GAUGES;
	e.mss = 1000;
	rig_put(&rig, &e);
	rig_interval(&rig);
	rig_report(&rig, CONNS_TOTAL, &r);
	assert_true(is_null(&r, 1, "events", "fast_retransmit"));
	assert_true(is_null(&r, 1, "events", "rto"));
	assert_false(is_null(&r, 1, "events", "spurious"));
	assert_int_equal(cell_u64(&r, 1, "tcp_info", "mss"), 1000);
	report_release(&r);
	rig_release(&rig);
}

/* An interval is judged when it is closed, totals when a report begins, and never again. */
static void a_span_is_judged_once(void **state)
{
	struct conn_selection shown;
	struct conns_rig rig;
	struct conn_view_buf room;
	struct event_conn e;

	(void)state;
	rig_init(&rig, NULL);
	e = rig_conn(&rig, 1, 0);
	e.rto = 1;
	e.stall_ns = 200 * NS_PER_MS;
	rig_put(&rig, &e);
	rig_interval(&rig);
	rig.c->interval_records.items[0].c.rto = 0;
	assert_true(rig_has(&rig, CONNS_INTERVAL, 1, CONN_TIMEOUT));
	assert_int_equal(select_connections(rig.c, CONNS_TOTAL, &shown), 0);
	e.rto = 0;
	assert_int_equal(conn_pack(&rig.c->all.items[0], &e), 0);
	select_view(rig.c, &shown, &shown.items.items[0], &room);
	assert_int_equal(room.view.c->rto, 0);
	assert_int_equal(room.view.judged.harmful, 1U << CONN_TIMEOUT);
	assert_int_equal(room.view.judged.n, 1);
	assert_int_equal(room.view.found->class, CONN_TIMEOUT);
	select_release(&shown);
	rig_release(&rig);
}

static void nonsense_is_refused(void **state)
{
	struct event_conn good = { .to = 100, .sender_app_ns = 100, .known = CONN_KNOWS_TIMES };
	struct event_conn e = good;
	struct conns_rig rig;
	struct report r;

	(void)state;
	assert_true(conn_accumulate_accepts(&e));
	e.sender_app_ns = 99;
	assert_false(conn_accumulate_accepts(&e));
	e.known = 0;
	assert_true(conn_accumulate_accepts(&e));
	e = good;
	e.sampled[1] = 3;
	e.samples = 2;
	assert_false(conn_accumulate_accepts(&e));
	e = good;
	e.sender_app_ns = UINT64_MAX;
	e.unknown_ns = 101;
	assert_false(conn_accumulate_accepts(&e));
	e = good;
	e.rtt_samples = 1;
	e.rtt_min_us = 2;
	assert_false(conn_accumulate_accepts(&e));

	rig_init(&rig, NULL);
	e = rig_conn(&rig, 5, 0);
	e.congestion_ns = 1;
	rig_put(&rig, &e);
	rig_interval(&rig);
	rig_report(&rig, CONNS_TOTAL, &r);
	assert_null(rig_connection(&r, 5));
	assert_true(r.partial);
	report_release(&r);
	rig_release(&rig);
}

/* ---- identity and the two ends ---- */

static const char *peer_of(const struct report *r, uint64_t cookie)
{
	const struct value *v = rig_cell(rig_table(r, "connections"), rig_connection(r, cookie),
					 "peer_cookie");

	return v->type == VALUE_STRING ? v->string : "none";
}

/* Namespaces with the same addresses, and ports that are used again, are told apart. */
static void ends_are_joined_by_addresses_and_sequence(void **state)
{
	struct conns_rig rig;
	struct report r;

	(void)state;
	rig_init(&rig, NULL);
	rig_flow(&rig, 1, "127.0.0.1", 5000, "127.0.0.1", 6000, 1);
	rig_flow(&rig, 2, "127.0.0.1", 6000, "127.0.0.1", 5000, 2);
	rig_flow(&rig, 3, "127.0.0.1", 5000, "127.0.0.1", 6000, 2);
	rig_flow(&rig, 4, "127.0.0.1", 6000, "127.0.0.1", 5000, 1);
	rig_flow(&rig, 5, "127.0.0.1", 6000, "127.0.0.1", 5001, 1);
	rig_put_end(&rig, 11, 1, 100000000, 200000000, CONN_CLOSED);
	rig_put_end(&rig, 12, 2, 400000000, 300000000, 0);
	rig_put_end(&rig, 13, 3, 300000000, 400000000, 0);
	rig_put_end(&rig, 14, 4, 200000000, 100000000, CONN_CLOSED);
	rig_put_end(&rig, 15, 5, 200000000, 100000000, 0);
	rig_flow(&rig, 6, "10.0.0.1", 5000, "10.0.0.2", 6000, 1);
	rig_flow(&rig, 7, "10.0.0.2", 6000, "10.0.0.1", 5000, 1);
	rig_put_end(&rig, 16, 6, 1000, 2000, CONN_CLOSED);
	rig_interval(&rig);
	rig_interval(&rig);
	/* the ports again, with sequence numbers that would fit the one that has closed */
	rig_put_end(&rig, 21, 1, 100000000, 200000000, 0);
	rig_put_end(&rig, 22, 7, 2000, 1000, 0);
	rig_interval(&rig);
	rig_report(&rig, CONNS_TOTAL, &r);
	assert_string_equal(peer_of(&r, 11), "14");
	assert_string_equal(peer_of(&r, 14), "11");
	assert_string_equal(peer_of(&r, 12), "13");
	assert_string_equal(peer_of(&r, 15), "none");
	assert_string_equal(peer_of(&r, 21), "none");
	assert_string_equal(peer_of(&r, 22), "none");
	report_release(&r);
	rig_release(&rig);
}

static void ambiguous_ends_are_not_joined(void **state)
{
	struct conns_rig rig;
	struct report r;

	(void)state;
	rig_init(&rig, NULL);
	rig_flow(&rig, 1, "10.0.0.1", 5000, "10.0.0.2", 6000, 1);
	rig_flow(&rig, 2, "10.0.0.2", 6000, "10.0.0.1", 5000, 2);
	rig_flow(&rig, 3, "10.0.0.2", 6000, "10.0.0.1", 5000, 3);
	rig_put_end(&rig, 1, 1, 1000, 2000, 0);
	rig_put_end(&rig, 2, 2, 2000, 1000, 0);
	rig_put_end(&rig, 3, 3, 2000, 1000, 0);
	rig_interval(&rig);
	rig_report(&rig, CONNS_INTERVAL, &r);
	assert_string_equal(peer_of(&r, 1), "none");
	report_release(&r);
	rig_release(&rig);
}

static bool sequences_fit(const struct event_conn *a, const struct event_conn *b)
{
	return join_fit_end(a, b, 0) == JOIN_FITS;
}

static void sequence_numbers_wrap_around(void **state)
{
	struct event_conn a = { .known = CONN_KNOWS_GAUGES }, b = a;

	(void)state;
	a.snd_una = 0xfffffff0;
	a.write_seq = 0x100;
	b.rcv_nxt = 0x10;
	assert_true(sequences_fit(&a, &b));
	b.rcv_nxt = 0x100 + 70000;
	assert_false(sequences_fit(&a, &b));
	b.rcv_nxt = 0xfffffff0 - 70000;
	assert_false(sequences_fit(&a, &b));
	a.to = NS_PER_S; /* read a second later, at 100 kB/s */
	a.delivery_rate = 100000;
	assert_true(sequences_fit(&a, &b));
	a.delivery_rate = UINT64_MAX; /* nothing can be told */
	assert_false(sequences_fit(&a, &b));
}

static void cookies_are_unique_per_namespace(void **state)
{
	struct conns_rig rig;
	struct report r;

	(void)state;
	rig_init(&rig, NULL);
	rig_flow(&rig, 1, "10.0.0.1", 1, "10.0.0.2", 2, 1);
	rig_flow(&rig, 2, "10.0.0.3", 3, "10.0.0.4", 4, 2);
	rig_put_end(&rig, 7, 1, 0, 0, 0);
	rig_put_end(&rig, 7, 2, 0, 0, 0);
	rig_put_end(&rig, 7, 2, 0, 0, 0);
	/* the number of a flow is used again: who had it keeps its addresses */
	rig_flow(&rig, 1, "10.0.0.9", 9, "10.0.0.2", 2, 1);
	rig_put_end(&rig, 8, 1, 0, 0, 0);
	rig_interval(&rig);
	rig_report(&rig, CONNS_TOTAL, &r);
	assert_int_equal(rig_table(&r, "connections")->nrows, 3);
	assert_string_equal(rig_cell(rig_table(&r, "connections"), rig_connection(&r, 7),
				     "local")->string, "10.0.0.1:1");
	assert_string_equal(rig_cell(rig_table(&r, "connections"), rig_connection(&r, 8),
				     "local")->string, "10.0.0.9:9");
	report_release(&r);
	rig_release(&rig);
}

/* ---- the view ---- */

static bool keep_odd(const struct conn_view *view, void *ctx)
{
	++*(int *)ctx;
	assert_int_equal(!!view->judged.harmful, view->c->cookie == 3);
	return view->c->cookie % 2;
}

static void filters_and_orders(void **state)
{
	int asked = 0;
	const struct conns_options odd = { .select = keep_odd, .ctx = &asked,
					   .sort = CONNS_SORT_BYTES };
	const struct conns_options problems = { .problems_only = true };
	const struct conns_options *const options[] = { &odd, &problems };
	struct conns_rig rig;
	struct report r;

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct table *t;

		rig_init(&rig, options[i]);
		for (uint64_t cookie = 1; cookie <= 5; cookie++) {
			struct event_conn e = rig_conn(&rig, cookie, 0);

			e.rto = cookie == 3;
			e.stall_ns = e.rto * 200 * NS_PER_MS;
			e.bytes_sent = 100 * cookie;
			rig_put(&rig, &e);
		}
		rig_interval(&rig);
		rig_report(&rig, CONNS_INTERVAL, &r);
		t = rig_table(&r, "connections");
		assert_int_equal(t->nrows, i ? 1 : 3);
		assert_string_equal(rig_cell(t, t->first, "cookie")->string, i ? "3" : "5");
		assert_int_equal(asked, 5);
		report_release(&r);
		rig_release(&rig);
	}
}

static void groups_add_up(void **state)
{
	const struct conns_options by_app = { .by = CONNS_BY_APP };
	struct conns_rig rig;
	const struct table *t;
	struct report r;

	(void)state;
	rig_init(&rig, &by_app);
	rig_name(&rig, 1, "nginx");
	rig_name(&rig, 2, "redis");
	for (uint64_t cookie = 1; cookie <= 6; cookie++) {
		struct event_conn e = rig_conn(&rig, cookie, 0);

		e.app = (uint32_t)(cookie % 3);
		e.congestion_ns = cookie * NS_PER_MS;
		e.send_calls = 10;
		e.thinned_one_in = 4;
		e.rto = cookie == 2;
		e.stall_ns = e.rto * 200 * NS_PER_MS;
		if (cookie == 5)
			e.known &= ~(uint32_t)CONN_KNOWS_CALLS; /* not followed */
		rig_put_fitted(&rig, e);
	}
	rig_interval(&rig);
	rig_report(&rig, CONNS_TOTAL, &r);
	t = rig_table(&r, "groups");
	assert_int_equal(t->nrows, 3);
	assert_string_equal(rig_cell(t, t->first, "key")->string, "redis");
	assert_int_equal(rig_cell(t, t->first, "with_problems")->u64, 1);
	assert_int_equal(rig_field(rig_cell(t, t->first, "time_ns")->object, "congestion")->u64,
			 7 * NS_PER_MS);
	assert_int_equal(rig_cell(t, t->first, "send_calls")->u64, 40);
	assert_true(rig_cell(t, t->first, "calls_estimated")->boolean);
	assert_string_equal(rig_cell(t, t->first->next, "key")->string, "nginx");
	assert_int_equal(rig_cell(t, t->first->next, "send_calls")->u64, 80);
	assert_int_equal(rig_cell(t, t->last, "key")->type, VALUE_NULL);
	report_release(&r);
	rig_release(&rig);
}

static void one_connection_is_followed(void **state)
{
	const struct conns_options options = { .follows = true, .follow = 2 };
	const uint64_t n = CONNS_FOLLOWED_MAX + 10;
	struct conns_rig rig;
	const struct table *t;
	struct report r;

	(void)state;
	rig_init(&rig, &options);
	for (uint64_t i = 0; i < n; i++) {
		struct event_conn e = rig_conn(&rig, 1 + i % 2, 0);

		rig_put(&rig, &e);
		e.cookie = 2;
		rig_put(&rig, &e);
		rig.now += NS_PER_S;
	}
	rig_interval(&rig);
	rig_report(&rig, CONNS_TOTAL, &r);
	t = rig_table(&r, "timeline");
	assert_int_equal(t->nrows + rig_field(&r.body, "timeline_left_out")->u64, n + n / 2);
	assert_int_equal(rig_cell(t, t->last, "to_ns")->u64, rig.now - NS_PER_S);
	assert_int_equal(rig_table(&r, "connections")->nrows, 1);
	report_release(&r);
	rig_release(&rig);
}

/* ---- limits ---- */

static void closed_connections_make_room(void **state)
{
	struct conns_rig rig;
	struct event_conn e;
	struct report r;

	(void)state;
	rig_init(&rig, NULL);
	rig_flow(&rig, 1, "10.0.0.1", 1, "10.0.0.2", 2, 1);
	rig_flow(&rig, 2, "10.0.0.2", 2, "10.0.0.1", 1, 1);
	for (uint64_t i = 0; i < CONNS_MAX; i++) {
		e = rig_conn(&rig, i, i == 1);
		e.flags = i % 2 ? CONN_CLOSED : 0;
		rig_put(&rig, &e);
	}
	e = rig_conn(&rig, CONNS_MAX, 0);
	rig_put(&rig, &e); /* all are of this interval: no room */
	assert_int_equal(rig.c->periods[CONNS_TOTAL].beyond, 1);
	assert_int_equal(rig.c->n, CONNS_MAX);
	rig_interval(&rig);
	e = rig_conn(&rig, CONNS_MAX, 0);
	rig_put(&rig, &e);
	assert_int_equal(rig.c->periods[CONNS_TOTAL].forgotten, CONNS_MAX / 2);
	assert_int_equal(rig.c->n, CONNS_MAX / 2 + 1);
	assert_false(rig.c->flows.items[0].used);
	e = rig_conn(&rig, 4, 2); /* those that are open are still known */
	rig_put(&rig, &e);
	assert_int_equal(rig.c->n, CONNS_MAX / 2 + 1);
	rig_interval(&rig);
	rig_report(&rig, CONNS_INTERVAL, &r);
	assert_int_equal(rig_table(&r, "connections")->nrows, 2);
	report_release(&r);
	rig_report(&rig, CONNS_TOTAL, &r);
	assert_true(r.partial);
	report_release(&r);
	rig_release(&rig);
}

static void own_cost_is_share_of_one_core(void **state)
{
	struct conns_rig rig;
	struct report r;

	(void)state;
	rig_init(&rig, NULL);
	rig_interval(&rig);
	rig_report(&rig, CONNS_TOTAL, &r);
	assert_true(rig_field(rig_field(&r.body, "budget")->object, "used")->number == 0.015);
	assert_false(r.partial);
	report_release(&r);
	rig_release(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_are_the_sums_of_intervals),
		cmocka_unit_test(packing_changes_nothing),
		cmocka_unit_test(idle_connections_pack_into_few_bytes),
		cmocka_unit_test(total_is_known_if_every_interval_is),
		cmocka_unit_test(a_span_is_judged_once),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(ends_are_joined_by_addresses_and_sequence),
		cmocka_unit_test(ambiguous_ends_are_not_joined),
		cmocka_unit_test(sequence_numbers_wrap_around),
		cmocka_unit_test(cookies_are_unique_per_namespace),
		cmocka_unit_test(filters_and_orders),
		cmocka_unit_test(groups_add_up),
		cmocka_unit_test(one_connection_is_followed),
		cmocka_unit_test(closed_connections_make_room),
		cmocka_unit_test(own_cost_is_share_of_one_core),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
