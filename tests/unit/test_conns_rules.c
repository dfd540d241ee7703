/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule by itself: where it holds, where it does not, and what it does with the unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/parse.h"
#include "conns/rules.h"

#define ALL 0x7ffu

/* One of a second, of which the application has what is not set otherwise. */
static struct event_conn plain(void)
{
	return (struct event_conn){ .known = ALL, .to = NS_PER_S, .cwnd = 10, .mss = 1448,
				    .sndbuf = 87040, .rcvbuf = 131072, .snd_wnd = 65536,
				    .min_rtt_us = 20000, .rto_us = 220000, .samples = 100 };
}

static void fit(struct event_conn *e)
{
	e->sender_app_ns = e->to - e->from - e->send_buffer_ns - e->congestion_ns -
			   e->receiver_window_ns - e->delayed_ack_ns - e->unknown_ns;
}

/* NULL: it does not hold. */
static const struct conn_problem *find(const struct event_conn *e, const struct event_conn *peer,
				       enum conn_class class, bool ours)
{
	static struct conn_problem problems[RULES_MAX];
	struct conn_view view = { .c = e, .peer = peer, .joined = peer };

	rules_judge(&view, problems);
	for (uint32_t i = 0; i < view.judged.n; i++)
		if (problems[i].class == class && problems[i].ours == ours)
			return &problems[i];
	return NULL;
}

/* A case: what differs from a plain connection, and what is to come of it. */
struct rule_case {
	enum conn_class class;
	bool ours;
	uint32_t needs;            /* without any one of these the rule is silent */
	int holds;                 /* -1: not, else enum conn_harm */
	enum conn_confidence confidence;
	void (*make)(struct event_conn *e);
};

#define MAKE(name, ...)                                                                            \
	static void name(struct event_conn *e)                                                     \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}

MAKE(nothing, (void)e)
MAKE(send_buffer, e->send_buffer_ns = 900 * NS_PER_MS; e->sampled[CONN_AT_SEND_BUFFER] = 90)
MAKE(send_buffer_sizing, send_buffer(e); e->flags = CONN_SNDBUF_GROWS)
MAKE(send_buffer_paced, send_buffer(e); e->pacing_rate = 1000000; e->bytes_acked = 800000;
     e->flags |= CONN_PACING_CAPPED)
MAKE(send_buffer_uncapped, send_buffer(e); e->pacing_rate = 1000000; e->bytes_acked = 800000)
MAKE(send_buffer_slower, send_buffer(e); e->pacing_rate = 1000000; e->bytes_acked = 799000;
     e->flags |= CONN_PACING_CAPPED)
MAKE(send_buffer_unpaced, send_buffer(e); e->pacing_rate = UINT64_MAX; e->bytes_acked = 800000)
MAKE(send_buffer_set, send_buffer_paced(e); e->flags = CONN_SNDBUF_SET) /* may set the rate */
MAKE(send_buffer_queue, send_buffer(e); e->rtt_samples = 10; e->rtt_sum_us = 410000)
MAKE(send_buffer_no_queue, send_buffer(e); e->rtt_samples = 10; e->rtt_sum_us = 390000)
MAKE(tiny_unheld, e->flags = CONN_SNDBUF_SET; e->sndbuf = 4608; e->bytes_sent = 1000)
MAKE(tiny, tiny_unheld(e); e->send_buffer_ns = 60 * NS_PER_MS)
MAKE(tiny_nagle, tiny_unheld(e); e->delayed_ack_ns = 400 * NS_PER_MS)
MAKE(tiny_unsampled, tiny(e); e->samples = 9)
MAKE(tiny_auto, tiny(e); e->flags = 0)
MAKE(tiny_silent, tiny(e); e->bytes_sent = 0)
MAKE(tiny_diag, tiny(e); e->flags |= CONN_FROM_DIAG)
MAKE(tiny_not, tiny(e); e->sndbuf = 16384)
MAKE(send_buffer_some, e->send_buffer_ns = 40 * NS_PER_MS; e->sampled[CONN_AT_SEND_BUFFER] = 4)
MAKE(send_buffer_few, e->send_buffer_ns = 900 * NS_PER_MS; e->samples = 9;
     e->sampled[CONN_AT_SEND_BUFFER] = 9)
MAKE(send_buffer_chance, e->send_buffer_ns = 100 * NS_PER_MS; e->samples = 20;
     e->sampled[CONN_AT_SEND_BUFFER] = 2)
MAKE(bulk, e->congestion_ns = 990 * NS_PER_MS; e->sampled[CONN_AT_CWND] = 99)
MAKE(fast, e->fast_retransmit = 3; e->bytes_retransmitted = 3 * 1448; e->rtt_us = 20000;
     e->busy_ns = NS_PER_S; e->stall_ns = 25 * NS_PER_MS)
MAKE(fast_no_stall, fast(e); e->stall_ns = 0)
MAKE(fast_short, fast(e); e->stall_ns = 19 * NS_PER_MS) /* less than a round trip */
MAKE(fast_rare, fast(e); e->stall_ns = 9 * NS_PER_MS; e->rtt_us = 100) /* in a busy second */
MAKE(fast_dear, fast_rare(e); e->busy_ns = 500 * NS_PER_MS)
MAKE(fast_spurious, e->fast_retransmit = 3; e->bytes_retransmitted = 3 * 1448; e->spurious = 3)
MAKE(fast_reordered, fast(e); e->fast_retransmit = 123; e->tlp = 2; e->spurious = 123;
     e->recoveries = 100; e->bytes_retransmitted = 122 * 1448 + 400) /* probes with new data */
MAKE(fast_late_news, fast(e); e->fast_retransmit = 40; e->recoveries = 20; e->spurious = 38;
     e->bytes_retransmitted = 40 * 1448; e->loss_last = NS_PER_S - 100 * NS_PER_MS)
MAKE(fast_old_news, fast_late_news(e); e->loss_last = NS_PER_S - 300 * NS_PER_MS;
     e->stall_ns = 500 * NS_PER_MS)
MAKE(fast_half_news, fast_late_news(e); e->spurious = 20; e->stall_ns = 500 * NS_PER_MS)
MAKE(probe_small_part, e->fast_retransmit = 100; e->recoveries = 100; e->tlp = 1; e->rtt_us = 20000;
     e->stall_ns = 200 * NS_PER_MS; e->busy_ns = NS_PER_S; e->bytes_retransmitted = 101 * 1448)
MAKE(fast_great_part, probe_small_part(e))
MAKE(timeout, e->rto = 1; e->stall_ns = 200 * NS_PER_MS)
MAKE(timeout_rare, e->rto = 1; e->stall_ns = 200 * NS_PER_MS; e->busy_ns = 30 * NS_PER_S)
MAKE(timeout_unseen, e->rto = 1; e->known &= ~(uint32_t)CONN_KNOWS_LOSSES)
MAKE(timeout_spurious, e->rto = 1; e->spurious = 1)
MAKE(probe, e->tlp = 1; e->stall_ns = 200 * NS_PER_MS; e->bytes_retransmitted = 1448)
MAKE(probe_idle, e->tlp = 1)
MAKE(half_spurious, e->fast_retransmit = 4; e->spurious = 2; e->bytes_retransmitted = 4 * 1448)
MAKE(less_spurious, e->fast_retransmit = 5; e->spurious = 2; e->bytes_retransmitted = 5 * 1448)
MAKE(many_bytes, e->rto = 1; e->spurious = 1; e->bytes_retransmitted = 10 * 1448)
MAKE(window, e->receiver_window_ns = 500 * NS_PER_MS)
MAKE(window_little, e->receiver_window_ns = 40 * NS_PER_MS)
MAKE(window_growing, e->receiver_window_ns = 150 * NS_PER_MS; e->rtt_us = 20000;
     e->flags = CONN_BEGAN)
MAKE(window_grown, window_growing(e); e->receiver_window_ns = 161 * NS_PER_MS)
MAKE(window_long_path, e->receiver_window_ns = 600 * NS_PER_MS; e->rtt_us = 200000)
MAKE(window_tick, e->to = 100 * NS_PER_MS; e->receiver_window_ns = 10 * NS_PER_MS)
MAKE(window_sampled, e->receiver_window_ns = 500 * NS_PER_MS; e->sampled[CONN_AT_WINDOW] = 50;
     e->known &= ~(uint32_t)CONN_KNOWS_CHRONO)
MAKE(window_guess, e->receiver_window_ns = 500 * NS_PER_MS; e->samples = 5;
     e->sampled[CONN_AT_WINDOW] = 5; e->known &= ~(uint32_t)CONN_KNOWS_CHRONO)
MAKE(zero, e->zero_windows = 30; e->receiver_window_ns = 300 * NS_PER_MS)
MAKE(zero_harmless, e->zero_windows = 30)
MAKE(zero_once, e->zero_windows = 1)
MAKE(unread, e->unread = 60)
MAKE(unread_little, e->unread = 6)
MAKE(held, e->delayed_acks_harmful = 5; e->peer_delayed_acks = 5;
     e->delayed_ack_ns = 200 * NS_PER_MS)
MAKE(held_once, e->delayed_acks_harmful = 1; e->peer_delayed_acks = 1)
MAKE(held_sampled, e->delayed_ack_ns = 500 * NS_PER_MS; e->sampled[CONN_AT_DELAYED_ACK] = 50;
     e->known &= ~(uint32_t)CONN_KNOWS_PEER_DELACKS)
MAKE(held_nodelay, held(e); e->flags = CONN_NODELAY)
MAKE(not_held, e->peer_delayed_acks = 5)
MAKE(own, e->delayed_acks = 3)
MAKE(repair, e->rto = 4; e->stall_ns = 960 * NS_PER_MS; e->rto_delacks = 2;
     e->rto_delack_us = 80000; e->known |= CONN_COUNTS_rto_delacks | CONN_COUNTS_rto_delack_us)
MAKE(small, e->send_calls = 100; e->send_small = 90; e->sampled[CONN_AT_NAGLE] = 5)
MAKE(small_unheld, e->send_calls = 100; e->send_small = 90)
MAKE(small_unsampled, e->send_calls = 100; e->send_small = 90; e->samples = 2)
MAKE(half_small, e->send_calls = 100; e->send_small = 50)
MAKE(small_few, e->send_calls = 19; e->send_small = 19)
MAKE(burst, e->idle_bursts = 2; e->idle_bursts_lost = 1; e->fast_retransmit = 2;
     e->stall_ns = 50 * NS_PER_MS)
MAKE(burst_no_stall, burst(e); e->stall_ns = 0)
MAKE(burst_fine, e->idle_bursts = 2)
MAKE(restart, e->idle_restarts = 2; e->rtt_us = 20000; e->congestion_ns = 300 * NS_PER_MS;
     e->sampled[CONN_AT_CWND] = 30)
MAKE(restart_unseen, restart(e); e->samples = 9)
MAKE(restart_rare, restart(e); e->idle_restarts = 1; e->rtt_us = 5000) /* and a full path */
MAKE(restart_unheld, restart(e); e->congestion_ns = 0)
MAKE(restart_repair, restart(e); e->recovery_ns = 290 * NS_PER_MS)
MAKE(restart_window, restart(e); e->receiver_window_ns = 400 * NS_PER_MS) /* the peer's pause */

#define T CONN_KNOWS_TIMES
#define L CONN_KNOWS_LOSSES

static const struct rule_case cases[] = {
	{ CONN_SEND_BUFFER, false, T, CONN_HARMFUL, CONN_SAMPLED, send_buffer },
	{ CONN_SEND_BUFFER, false, T, CONN_HARMLESS, CONN_SAMPLED, send_buffer_sizing },
	{ CONN_SEND_BUFFER, false, T, CONN_HARMLESS, CONN_SAMPLED, send_buffer_paced },
	{ CONN_SEND_BUFFER, false, T, CONN_HARMFUL, CONN_SAMPLED, send_buffer_slower },
	{ CONN_SEND_BUFFER, false, T, CONN_HARMFUL, CONN_SAMPLED, send_buffer_uncapped },
	{ CONN_SEND_BUFFER, false, T, CONN_HARMFUL, CONN_SAMPLED, send_buffer_unpaced },
	{ CONN_SEND_BUFFER, false, T, CONN_HARMFUL, CONN_SAMPLED, send_buffer_set },
	{ CONN_SEND_BUFFER, false, T, CONN_HARMLESS, CONN_SAMPLED, send_buffer_queue },
	{ CONN_SEND_BUFFER, false, T, CONN_HARMFUL, CONN_SAMPLED, send_buffer_no_queue },
	{ CONN_SEND_BUFFER, false, 0, -1, 0, send_buffer_some },
	{ CONN_SEND_BUFFER, false, 0, -1, 0, send_buffer_few },
	{ CONN_SEND_BUFFER, false, 0, -1, 0, send_buffer_chance },
	{ CONN_SEND_BUFFER, false, 0, -1, 0, bulk },
	{ CONN_FAST_RETRANSMIT, false, L, CONN_HARMFUL, CONN_OBSERVED, fast },
	{ CONN_FAST_RETRANSMIT, false, L, CONN_HARMLESS, CONN_OBSERVED, fast_no_stall },
	{ CONN_FAST_RETRANSMIT, false, L, CONN_HARMLESS, CONN_OBSERVED, fast_short },
	{ CONN_FAST_RETRANSMIT, false, L, CONN_HARMLESS, CONN_OBSERVED, fast_rare },
	{ CONN_FAST_RETRANSMIT, false, L, CONN_HARMFUL, CONN_OBSERVED, fast_dear },
	{ CONN_FAST_RETRANSMIT, false, 0, -1, 0, fast_spurious },
	{ CONN_FAST_RETRANSMIT, false, 0, -1, 0, fast_reordered },
	{ CONN_TAIL_LOSS_PROBE, false, 0, -1, 0, fast_reordered },
	{ CONN_FAST_RETRANSMIT, false, 0, -1, 0, fast_late_news },
	{ CONN_FAST_RETRANSMIT, false, L, CONN_HARMFUL, CONN_OBSERVED, fast_old_news },
	{ CONN_FAST_RETRANSMIT, false, L, CONN_HARMFUL, CONN_OBSERVED, fast_half_news },
	{ CONN_FAST_RETRANSMIT, false, L, CONN_HARMFUL, CONN_OBSERVED, fast_great_part },
	{ CONN_TAIL_LOSS_PROBE, false, L, CONN_HARMLESS, CONN_OBSERVED, probe_small_part },
	{ CONN_TIMEOUT, false, CONN_KNOWS_RTO, CONN_HARMFUL, CONN_OBSERVED, timeout },
	{ CONN_TIMEOUT, false, 0, -1, 0, timeout_spurious },
	{ CONN_TIMEOUT, false, 0, CONN_HARMLESS, CONN_OBSERVED, many_bytes },
	{ CONN_TIMEOUT, false, CONN_KNOWS_RTO, CONN_HARMLESS, CONN_OBSERVED, timeout_rare },
	{ CONN_TIMEOUT, false, CONN_KNOWS_RTO, CONN_HARMFUL, CONN_OBSERVED, timeout_unseen },
	{ CONN_TAIL_LOSS_PROBE, false, L, CONN_HARMFUL, CONN_OBSERVED, probe },
	{ CONN_TAIL_LOSS_PROBE, false, L, CONN_HARMLESS, CONN_OBSERVED, probe_idle },
	{ CONN_SPURIOUS, false, CONN_KNOWS_SPURIOUS, CONN_HARMLESS, CONN_OBSERVED, half_spurious },
	{ CONN_SPURIOUS, false, 0, -1, 0, less_spurious },
	{ CONN_SPURIOUS, false, 0, -1, 0, many_bytes },
	{ CONN_RECEIVER_WINDOW, false, T, CONN_HARMFUL, CONN_OBSERVED, window },
	{ CONN_RECEIVER_WINDOW, false, T, CONN_HARMLESS, CONN_OBSERVED, window_growing },
	{ CONN_RECEIVER_WINDOW, false, T, CONN_HARMFUL, CONN_OBSERVED, window_grown },
	{ CONN_RECEIVER_WINDOW, false, T, CONN_HARMFUL, CONN_OBSERVED, window_long_path },
	{ CONN_RECEIVER_WINDOW, false, 0, -1, 0, window_little },
	{ CONN_RECEIVER_WINDOW, false, 0, -1, 0, window_tick },
	{ CONN_RECEIVER_WINDOW, false, T, CONN_HARMFUL, CONN_SAMPLED, window_sampled },
	{ CONN_RECEIVER_WINDOW, false, 0, -1, 0, window_guess },
	{ CONN_ZERO_WINDOW, false, T, CONN_HARMFUL, CONN_SAMPLED, zero },
	{ CONN_ZERO_WINDOW, false, T, CONN_HARMLESS, CONN_SAMPLED, zero_harmless },
	{ CONN_ZERO_WINDOW, false, 0, -1, 0, zero_once },
	{ CONN_RECEIVER_NOT_READING, false, T, CONN_HARMFUL, CONN_SAMPLED, unread },
	{ CONN_RECEIVER_NOT_READING, false, 0, -1, 0, unread_little },
	{ CONN_DELAYED_ACK, false, CONN_KNOWS_PEER_DELACKS, CONN_HARMFUL, CONN_INFERRED, held },
	{ CONN_DELAYED_ACK, false, 0, -1, 0, held_once },
	{ CONN_DELAYED_ACK, false, T, CONN_HARMFUL, CONN_SAMPLED, held_sampled },
	{ CONN_DELAYED_ACK, false, 0, CONN_HARMLESS, CONN_INFERRED, not_held },
	{ CONN_DELAYED_ACK, true, CONN_KNOWS_DELACKS, CONN_HARM_UNKNOWN, CONN_OBSERVED, own },
	{ CONN_DELAYED_REPAIR, false, 0, -1, 0, held }, /* no timeout */
	{ CONN_DELAYED_REPAIR, false, 0, -1, 0, timeout },
	{ CONN_DELAYED_REPAIR, false, L, CONN_HARMFUL, CONN_INFERRED, repair },
	{ CONN_DELAYED_ACK, false, 0, -1, 0, repair },
	{ CONN_NAGLE, false, CONN_KNOWS_PEER_DELACKS, CONN_HARMFUL, CONN_INFERRED, held },
	{ CONN_NAGLE, false, 0, -1, 0, held_nodelay },
	{ CONN_NAGLE, false, 0, -1, 0, not_held },
	{ CONN_SMALL_WRITES, false, CONN_KNOWS_CALLS, CONN_HARMFUL, CONN_OBSERVED, small },
	{ CONN_SMALL_WRITES, false, 0, CONN_HARMLESS, CONN_OBSERVED, small_unheld },
	{ CONN_SMALL_WRITES, false, 0, CONN_HARM_UNKNOWN, CONN_OBSERVED, small_unsampled },
	{ CONN_SMALL_WRITES, false, 0, -1, 0, half_small },
	{ CONN_SMALL_WRITES, false, 0, -1, 0, small_few },
	{ CONN_TINY_SEND_BUFFER, false, CONN_KNOWS_GAUGES, CONN_HARMFUL, CONN_OBSERVED, tiny },
	{ CONN_TINY_SEND_BUFFER, false, 0, CONN_HARMLESS, CONN_OBSERVED, tiny_nagle },
	{ CONN_TINY_SEND_BUFFER, false, 0, CONN_HARMLESS, CONN_OBSERVED, tiny_unheld },
	{ CONN_TINY_SEND_BUFFER, false, 0, CONN_HARM_UNKNOWN, CONN_OBSERVED, tiny_unsampled },
	{ CONN_TINY_SEND_BUFFER, false, 0, -1, 0, tiny_auto },
	{ CONN_TINY_SEND_BUFFER, false, 0, -1, 0, tiny_silent },
	{ CONN_TINY_SEND_BUFFER, false, 0, -1, 0, tiny_diag },
	{ CONN_TINY_SEND_BUFFER, false, 0, -1, 0, tiny_not },
	{ CONN_BURST_AFTER_IDLE, false, L, CONN_HARMFUL, CONN_OBSERVED, burst },
	{ CONN_BURST_AFTER_IDLE, false, L, CONN_HARMLESS, CONN_OBSERVED, burst_no_stall },
	{ CONN_BURST_AFTER_IDLE, false, 0, -1, 0, burst_fine },
	{ CONN_SLOW_START_AFTER_IDLE, false, 0, CONN_HARMFUL, CONN_OBSERVED, restart },
	{ CONN_SLOW_START_AFTER_IDLE, false, 0, CONN_HARM_UNKNOWN, CONN_OBSERVED, restart_unseen },
	{ CONN_SLOW_START_AFTER_IDLE, false, 0, CONN_HARMLESS, CONN_OBSERVED, restart_rare },
	{ CONN_SLOW_START_AFTER_IDLE, false, 0, CONN_HARMLESS, CONN_OBSERVED, restart_unheld },
	{ CONN_SLOW_START_AFTER_IDLE, false, 0, CONN_HARMLESS, CONN_OBSERVED, restart_repair },
	{ CONN_SLOW_START_AFTER_IDLE, false, 0, CONN_HARMLESS, CONN_OBSERVED, restart_window },
};

static void check_case(const struct rule_case *k, size_t at)
{
	struct event_conn e = plain();
	const struct conn_problem *p;

	k->make(&e);
	fit(&e);
	p = find(&e, NULL, k->class, k->ours);
	if (!p != (k->holds < 0))
		fail_msg("case %zu, %s", at, conn_class_name(k->class));
	if (!p)
		return;
	if ((int)p->harm != k->holds || p->confidence != k->confidence)
		fail_msg("case %zu, %s: harm %d, confidence %d", at, conn_class_name(k->class),
			 p->harm, p->confidence);
	for (uint32_t bit = 1; bit <= k->needs; bit <<= 1) {
		struct event_conn blind = e;

		blind.known &= ~bit;
		if (k->needs & bit && find(&blind, NULL, k->class, k->ours))
			fail_msg("case %zu, %s without %x", at, conn_class_name(k->class), bit);
	}
}

static void each_rule_holds_where_it_should(void **state)
{
	uint32_t seen = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		check_case(&cases[i], i);
		if (cases[i].holds >= 0)
			seen |= 1U << cases[i].class;
	}
	assert_int_equal(seen, (1U << CONN_INCAST) - 1); /* all but those of several */
}

static void no_rule_holds_for_an_idle_connection(void **state)
{
	struct conn_problem problems[RULES_MAX];
	struct event_conn e = plain(), blank = { 0 };
	struct conn_view view = { .c = &e }, unknown = { .c = &blank };

	(void)state;
	nothing(&e);
	fit(&e);
	rules_judge(&view, problems);
	assert_int_equal(view.judged.n, 0);
	rules_judge(&unknown, problems);
	assert_int_equal(unknown.judged.n, 0);
}

/* No problem is found if nothing is known, whatever the fields hold. */
static void unknown_fields_are_no_problem(void **state)
{
	struct conn_problem problems[RULES_MAX];
	struct event_conn e;
	struct conn_view view = { .c = &e };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (!cases[i].needs)
			continue;
		e = plain();
		cases[i].make(&e);
		e.known = 0;
		rules_judge(&view, problems);
		assert_int_equal(view.judged.n, 0);
	}
}

/* ---- the other end ---- */

static void peer_shows_whether_it_delayed_acks(void **state)
{
	struct event_conn e = plain(), peer = plain();
	const struct conn_problem *p;

	(void)state;
	held(&e);
	fit(&e);
	assert_null(find(&e, &peer, CONN_DELAYED_ACK, false));
	assert_null(find(&e, &peer, CONN_NAGLE, false));
	peer.known &= ~(uint32_t)CONN_KNOWS_DELACKS;
	p = find(&e, &peer, CONN_DELAYED_ACK, false);
	assert_non_null(p);
	assert_int_equal(p->confidence, CONN_INFERRED);
	peer = plain();
	peer.delayed_acks = 5;
	p = find(&e, &peer, CONN_DELAYED_ACK, false);
	assert_non_null(p);
	assert_int_equal(p->confidence, CONN_OBSERVED);
}

/* The data waited, whoever delayed the ACKs: a host on the path may have. */
static void late_acks_of_the_path_hold_data(void **state)
{
	struct event_conn e = plain(), peer = plain();
	const struct conn_problem *p;

	(void)state;
	held_sampled(&e);
	e.known = ALL;
	e.delayed_acks_harmful = 5;
	fit(&e);
	p = find(&e, &peer, CONN_DELAYED_ACK, false);
	assert_non_null(p);
	assert_int_equal(p->harm, CONN_HARMFUL);
	assert_int_equal(p->confidence, CONN_SAMPLED);
	assert_true(p->elsewhere);
	assert_non_null(find(&e, &peer, CONN_NAGLE, false));
	e.delayed_acks_harmful = 1;
	assert_null(find(&e, &peer, CONN_DELAYED_ACK, false));
	e.delayed_acks_harmful = 5;
	e.sampled[CONN_AT_DELAYED_ACK] = 4;
	assert_null(find(&e, &peer, CONN_DELAYED_ACK, false));
}

static void peer_shows_whether_it_waited(void **state)
{
	struct event_conn e = plain(), peer = plain();

	(void)state;
	own(&e);
	fit(&e);
	assert_int_equal(find(&e, &peer, CONN_DELAYED_ACK, true)->harm, CONN_HARMLESS);
	peer.delayed_acks_harmful = 1;
	assert_int_equal(find(&e, &peer, CONN_DELAYED_ACK, true)->harm, CONN_HARMFUL);
	peer.known &= ~(uint32_t)CONN_KNOWS_PEER_DELACKS;
	assert_int_equal(find(&e, &peer, CONN_DELAYED_ACK, true)->harm, CONN_HARM_UNKNOWN);
}

static enum window_limit limit(const struct event_conn *peer)
{
	struct event_conn e = plain();

	window(&e);
	fit(&e);
	return find(&e, peer, CONN_RECEIVER_WINDOW, false)->limit;
}

static void peer_shows_why_its_window_is_small(void **state)
{
	struct event_conn peer = plain();

	(void)state;
	assert_int_equal(limit(NULL), WINDOW_UNKNOWN);
	assert_int_equal(limit(&peer), WINDOW_GROWING);
	peer.flags = CONN_RCVBUF_SET;
	assert_int_equal(limit(&peer), WINDOW_SET);
	peer.rmem = peer.rcvbuf;
	assert_int_equal(limit(&peer), WINDOW_SET); /* full of nothing to read: not the reader */
	peer.rcv_queue = 1000;
	assert_int_equal(limit(&peer), WINDOW_NOT_READ);
	peer = plain();
	peer.unread = 2;
	assert_int_equal(limit(&peer), WINDOW_NOT_READ);
	peer.known = 0;
	assert_int_equal(limit(&peer), WINDOW_UNKNOWN);
}

/* Unread data fill a window that is closed most of the time, however large the buffer is. */
static void closed_window_is_the_readers(void **state)
{
	struct event_conn e = plain(), peer = plain();

	(void)state;
	window(&e);
	e.samples = 60;
	e.sampled[CONN_AT_WINDOW] = 60;
	e.zero_windows = 31;
	fit(&e);
	peer.rcv_queue = peer.rcvbuf / 2;
	peer.rmem = peer.rcvbuf / 2;
	assert_int_equal(find(&e, &peer, CONN_RECEIVER_WINDOW, false)->limit, WINDOW_NOT_READ);
	assert_int_equal(find(&e, &peer, CONN_ZERO_WINDOW, false)->limit, WINDOW_NOT_READ);
	e.zero_windows = 30; /* data were on their way as often: the window is too small for them */
	assert_int_equal(find(&e, &peer, CONN_RECEIVER_WINDOW, false)->limit, WINDOW_GROWING);
	e.zero_windows = 60;
	peer.rcv_queue = 0; /* nothing to read: the reader does not hold it closed */
	assert_int_equal(find(&e, &peer, CONN_RECEIVER_WINDOW, false)->limit, WINDOW_GROWING);
}

/* ---- sums ---- */

static void lost_time_is_counted_once(void **state)
{
	struct event_conn e = plain();
	struct conn_problem problems[RULES_MAX];
	struct conn_view view = { .c = &e };

	(void)state;
	held(&e);
	burst(&e);
	e.rto = 2;
	e.stall_ns = 70 * NS_PER_MS;
	fit(&e);
	rules_judge(&view, problems);
	assert_int_equal(view.judged.lost_ns, 270 * NS_PER_MS);
	assert_int_equal(view.judged.harmful, 1U << CONN_DELAYED_ACK | 1U << CONN_NAGLE |
			 1U << CONN_FAST_RETRANSMIT | 1U << CONN_TIMEOUT |
			 1U << CONN_BURST_AFTER_IDLE);
}

static void words(const struct event_conn *e, enum conn_class class, const struct conn_sums *sums,
		  char *message, char *advice)
{
	static const struct provenance nobody = { .version = "1", .command = "conns" };
	const struct conn_view view = { .c = e };
	const struct conn_problem *p = find(e, NULL, class, false);
	struct conn_finding told;
	struct report r;

	assert_non_null(p);
	report_init(&r, &nobody);
	told = (struct conn_finding){ .r = &r, .view = &view, .problem = p, .sums = sums,
				   .evidence = object_new(&r), .message = STRBUF_INIT(4096),
				   .advice = STRBUF_INIT(4096) };
	rules_explain(&told);
	snprintf(message, 512, "%s", strbuf_str(&told.message));
	snprintf(advice, 512, "%s", strbuf_str(&told.advice));
	strbuf_release(&told.message);
	strbuf_release(&told.advice);
	report_release(&r);
}

/* Section 5.3: window times memory over all windows. */
static void advice_contains_its_figures(void **state)
{
	const struct conn_sums sums = { .sndbuf = 4000000, .window = 4 * 100 * 1000 };
	struct event_conn e = plain();
	char message[512], advice[512];

	(void)state;
	send_buffer(&e);
	fit(&e);
	e.cwnd = 100;
	e.mss = 1000;
	e.snd_wnd = 80000;
	words(&e, CONN_SEND_BUFFER, &sums, message, advice);
	assert_non_null(strstr(message, "90 % of the time (100 samples: 83 % to 94 %)"));
	assert_non_null(strstr(advice, "tcp_wmem to at least 160 000 bytes"));
	assert_non_null(strstr(advice, "memory is 1 000 000 bytes"));
	e.flags = CONN_SNDBUF_SET;
	words(&e, CONN_SEND_BUFFER, &sums, message, advice);
	assert_non_null(strstr(advice, "SO_SNDBUF disables"));
	e.known &= ~(uint32_t)CONN_KNOWS_GAUGES;
	words(&e, CONN_SEND_BUFFER, &sums, message, advice);
	assert_null(strstr(advice, "000"));
}

/* No advice asks for less than there is, or for a larger buffer where its size is no limit. */
static void advice_asks_for_more(void **state)
{
	const struct conn_sums sums = { 0 };
	struct event_conn e = plain();
	char message[512], advice[512];

	(void)state;
	send_buffer(&e);
	fit(&e);
	e.sndbuf = 400000;
	words(&e, CONN_SEND_BUFFER, &sums, message, advice);
	assert_non_null(strstr(advice, "at least 800 000 bytes (2 x the present size)"));
	e.flags = CONN_SNDBUF_GROWS;
	words(&e, CONN_SEND_BUFFER, &sums, message, advice);
	assert_string_equal(advice, "");
	assert_non_null(strstr(message, "twice the congestion window"));
	e.pacing_rate = e.bytes_acked = 1000000;
	e.flags |= CONN_PACING_CAPPED;
	words(&e, CONN_SEND_BUFFER, &sums, message, advice);
	assert_string_equal(advice, "");
	assert_non_null(strstr(message, "pacing (1 000 000 bytes/s) empties it"));
}

static void no_more_is_spurious_than_was_sent(void **state)
{
	const struct conn_sums sums = { 0 };
	struct event_conn e = plain();
	char message[512], advice[512];

	(void)state;
	e.fast_retransmit = 22;
	e.spurious = 23; /* one is of the record before */
	e.bytes_retransmitted = 22 * 1448;
	fit(&e);
	words(&e, CONN_SPURIOUS, &sums, message, advice);
	assert_non_null(strstr(message, "22 of 22"));
	e.spurious = 12;
	words(&e, CONN_SPURIOUS, &sums, message, advice);
	assert_non_null(strstr(message, "12 of 22"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_holds_where_it_should),
		cmocka_unit_test(no_rule_holds_for_an_idle_connection),
		cmocka_unit_test(unknown_fields_are_no_problem),
		cmocka_unit_test(peer_shows_whether_it_delayed_acks),
		cmocka_unit_test(peer_shows_whether_it_waited),
		cmocka_unit_test(peer_shows_why_its_window_is_small),
		cmocka_unit_test(closed_window_is_the_readers),
		cmocka_unit_test(lost_time_is_counted_once),
		cmocka_unit_test(advice_contains_its_figures),
		cmocka_unit_test(advice_asks_for_more),
		cmocka_unit_test(no_more_is_spurious_than_was_sent),
		cmocka_unit_test(late_acks_of_the_path_hold_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
