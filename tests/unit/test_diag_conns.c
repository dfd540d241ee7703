/* SPDX-License-Identifier: Apache-2.0 */
/* Several dumps of a connection together become one EV_CONN. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>

#include "event/dict.h"
#include "event/memsource.h"
#include "probe/connection/diag_conns.h"

#define MS 1000000ULL
#define EVENTS 16

/* One namespace; each pass is 10 ms after the last one. */
struct rig {
	struct conn_delta delta;
	struct diag_conns conns;
	struct diag_ns ns;
	struct event_memsource *queue;
	struct event_conn got[EVENTS];
	size_t n;
	uint64_t now;
};

static void rig_open(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	assert_int_equal(conn_delta_init(&r->delta), 0);
	assert_int_equal(event_memsource_new(&r->queue, 1 << 20), 0);
	r->delta.sink = event_memsource_sink(r->queue);
	r->delta.dict = event_dict_new();
	assert_non_null(r->delta.dict);
	r->delta.tick_ns = 1000;
	r->ns.inode = 4026531840;
	r->now = 1000 * MS;
	diag_conns_init(&r->conns, &r->delta);
}

static void rig_close(struct rig *r)
{
	event_dict_free(r->delta.dict);
	event_memsource_free(r->queue);
	diag_conns_release(&r->conns);
	conn_delta_release(&r->delta);
}

/* A dump that has `n` sockets. */
static bool pass(struct rig *r, const struct diag_sock *socks, size_t n, uint32_t sample_us)
{
	r->now += 10 * MS;
	diag_ns_begin(&r->ns, r->now);
	r->ns.time = r->now + MS;
	for (size_t i = 0; i < n; i++)
		diag_conns_update(&r->conns, &r->ns, &socks[i], sample_us);
	r->ns.complete = true;
	return diag_conns_settle(&r->conns);
}

/* The events since the last time. */
static void collect(struct rig *r)
{
	struct event_block block;

	r->n = 0;
	assert_int_equal(r->delta.err, 0);
	while (conn_delta_block(&r->delta, &block))
		for (uint32_t i = 0; i < block.count; i++) {
			assert_true(r->n < EVENTS);
			event_block_copy(&block, i, &r->got[r->n++], sizeof(r->got[0]));
		}
}

static void tell(struct rig *r)
{
	diag_conns_report(&r->conns);
	collect(r);
}

static struct diag_sock sock(uint64_t cookie)
{
	return (struct diag_sock){
		.cookie = cookie, .family = AF_INET, .state = TCP_ESTABLISHED, .inode = 1,
		.local_port = 1000, .remote_port = 2000, .has = DIAG_MEMORY, .sndbuf = 87040,
		.rcvbuf = 131072, .info_size = sizeof(struct diag_info),
		.info = { .snd_mss = 1000, .snd_cwnd = 10, .snd_wnd = 65536, .min_rtt = ~0U },
	};
}

static void under_way(struct diag_sock *s, uint32_t unsent, uint32_t out)
{
	s->info.notsent_bytes = unsent;
	s->info.unacked = out;
	s->wqueue = unsent + 1000 * out;
}

/*
 * A namespace that is gone is freed by its owner: no connection may refer to it any more, even if
 * there is no memory to note which ones have ended.
 */
static void test_namespace_gone_without_memory(void **state)
{
	const size_t n = 9;

	(void)state;
	for (size_t memory = 0; memory <= n; memory++) {
		struct diag_sock socks[9];
		struct rig r;

		rig_open(&r);
		for (size_t i = 0; i < n; i++) {
			socks[i] = sock(i + 1);
			socks[i].info.bytes_sent = 1000;
		}
		pass(&r, socks, n, 0);
		pass(&r, socks, n, 0);
		assert_int_equal(r.conns.table.n, n);
		r.conns.gone.max = memory;
		r.ns.gone = true;
		diag_conns_settle(&r.conns);
		assert_int_equal(r.conns.table.n, 0);
		assert_int_equal(r.conns.gone.len, 0);
		rig_close(&r);
	}
}

/* The same of connections of a namespace that stays. */
static void test_ended_without_memory(void **state)
{
	struct diag_sock socks[4];
	struct rig r;

	(void)state;
	rig_open(&r);
	for (size_t i = 0; i < 4; i++)
		socks[i] = sock(i + 1);
	pass(&r, socks, 4, 0);
	r.conns.gone.max = 1;
	assert_true(pass(&r, socks, 1, 0));
	assert_int_equal(r.conns.table.n, 4);
	assert_false(pass(&r, socks, 1, 0));
	assert_int_equal(r.conns.table.n, 1);
	rig_close(&r);
}

/* Traffic from before the start is not reported; an idle socket is reported once, without any. */
static void test_socket_from_before(void **state)
{
	struct diag_sock s = sock(1);
	struct rig r;

	(void)state;
	rig_open(&r);
	s.info.bytes_sent = 5000;
	s.info.busy_time = 7000;
	s.info.total_rto = 2;
	pass(&r, &s, 1, 0);
	pass(&r, &s, 1, 0);
	pass(&r, &s, 1, 100);
	tell(&r);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.got[0].bytes_sent, 0);
	assert_int_equal(r.got[0].sender_app_ns, r.got[0].to - r.got[0].from);
	pass(&r, &s, 1, 100);
	tell(&r);
	assert_int_equal(r.n, 0);
	s.info.bytes_sent = 6000;
	s.info.busy_time = 9000;
	s.info.total_rto = 3;
	pass(&r, &s, 1, 0);
	tell(&r);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.got[0].bytes_sent, 1000);
	assert_int_equal(r.got[0].busy_ns, 2 * MS);
	assert_int_equal(r.got[0].rto, 1);
	assert_int_equal(r.got[0].from, 1031 * MS);
	assert_int_equal(r.got[0].to, 1051 * MS);
	assert_int_equal(r.got[0].flags, CONN_FROM_DIAG);
	assert_int_equal(r.got[0].samples, 0);
	assert_int_equal(r.got[0].min_rtt_us, 0);
	assert_int_equal(r.got[0].known, CONN_KNOWS_TIMES | CONN_KNOWS_GAUGES | CONN_KNOWS_CHRONO |
					 CONN_KNOWS_SPURIOUS | CONN_KNOWS_RCV_WND |
					 CONN_KNOWS_RTO);
	tell(&r);
	assert_int_equal(r.n, 0); /* nothing new */
	rig_close(&r);
}

/*
 * Everything that a new socket did since the last dump without it is reported. If its port is
 * a listener's, it was accepted.
 */
static void test_new_socket(void **state)
{
	struct diag_sock s[2] = { sock(1), sock(2) };
	struct rig r;

	(void)state;
	rig_open(&r);
	pass(&r, s, 0, 0);
	pass(&r, s, 0, 0);
	s[0].info.bytes_received = 300;
	s[1].state = TCP_LISTEN;
	pass(&r, s, 2, 100);
	tell(&r);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.got[0].bytes_received, 300);
	assert_int_equal(r.got[0].from, 1020 * MS);
	assert_int_equal(r.got[0].flags, CONN_BEGAN | CONN_ACCEPTED | CONN_FROM_DIAG);
	rig_close(&r);
}

/* One dump without a socket proves nothing; its end is the time at which it was last seen. */
static void test_closed_socket(void **state)
{
	struct diag_sock s = sock(1);
	struct rig r;

	(void)state;
	rig_open(&r);
	pass(&r, &s, 1, 0);
	pass(&r, &s, 1, 0);
	assert_true(pass(&r, &s, 0, 0));
	assert_false(pass(&r, &s, 1, 0));
	collect(&r);
	assert_int_equal(r.n, 0);
	pass(&r, &s, 0, 0);
	pass(&r, &s, 0, 0);
	collect(&r);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.got[0].flags & CONN_CLOSED, CONN_CLOSED);
	assert_int_equal(r.got[0].to, 1041 * MS);
	assert_int_equal(r.conns.table.n, 0);

	pass(&r, &s, 1, 0);
	r.ns.complete = false; /* a dump that broke off */
	for (int i = 0; i < 3; i++) {
		diag_ns_begin(&r.ns, r.now += 10 * MS);
		diag_conns_settle(&r.conns);
	}
	assert_int_equal(r.conns.table.n, 1);
	r.ns.gone = true;
	diag_conns_settle(&r.conns);
	assert_int_equal(r.conns.table.n, 0);
	rig_close(&r);
}

/* A socket that is connected again is another connection with the same cookie. */
static void test_reused_socket(void **state)
{
	struct diag_sock s = sock(1);
	struct rig r;

	(void)state;
	rig_open(&r);
	s.info.bytes_sent = 900;
	for (int i = 0; i < 3; i++)
		pass(&r, &s, 1, 0);
	s.info.bytes_sent = 20;
	pass(&r, &s, 1, 0);
	tell(&r);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.got[0].flags & CONN_CLOSED, CONN_CLOSED);
	assert_int_equal(r.got[0].bytes_sent, 0);
	assert_int_equal(r.got[1].flags & CONN_BEGAN, CONN_BEGAN);
	assert_int_equal(r.got[1].bytes_sent, 20);
	rig_close(&r);
}

/* Ten samples of 1 ms each, of 10 busy ms: recovery is congestion, unclear states are unknown. */
static void test_samples_become_time(void **state)
{
	struct diag_sock s = sock(1);
	struct rig r;

	(void)state;
	rig_open(&r);
	pass(&r, &s, 1, 0);
	pass(&r, &s, 1, 0);
	for (int i = 0; i < 10; i++) {
		under_way(&s, i < 4 ? 500 : 0, 3);
		s.info.retrans = i == 9;
		s.info.snd_wnd = i == 8 ? 0 : 65536;
		s.wmem_queued = i == 7 ? 87040 : 1000;
		pass(&r, &s, 1, 1000);
	}
	s = sock(1);
	s.info.busy_time = 10000;
	pass(&r, &s, 1, 1000); /* idle: counted, as there is something to tell */
	tell(&r);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.got[0].samples, 11);
	assert_int_equal(r.got[0].sampled[CONN_AT_FLIGHT], 4);
	assert_int_equal(r.got[0].sampled[CONN_AT_RECOVERY], 1);
	assert_int_equal(r.got[0].sampled[CONN_AT_SEND_BUFFER], 1);
	assert_int_equal(r.got[0].sampled[CONN_AT_IDLE], 1);
	assert_int_equal(r.got[0].sampled_ns[CONN_AT_FLIGHT], 4 * MS);
	assert_int_equal(r.got[0].unclear_ns, 4 * MS);
	assert_int_equal(r.got[0].zero_windows, 1);
	assert_int_equal(r.got[0].zero_window_ns, MS);
	assert_int_equal(r.got[0].unknown_ns, 4 * MS);
	assert_int_equal(r.got[0].congestion_ns, MS);
	assert_int_equal(r.got[0].send_buffer_ns, MS);
	assert_int_equal(r.got[0].sender_app_ns, (120 - 10 + 4) * MS);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_namespace_gone_without_memory),
		cmocka_unit_test(test_ended_without_memory),
		cmocka_unit_test(test_socket_from_before),
		cmocka_unit_test(test_new_socket),
		cmocka_unit_test(test_closed_socket),
		cmocka_unit_test(test_reused_socket),
		cmocka_unit_test(test_samples_become_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
