/* SPDX-License-Identifier: Apache-2.0 */
/* Ends that two hosts' recordings have: what fits, what must not be joined, on whose side it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/parse.h"
#include "conns/peer_match.h"
#include "conns/join.h"
#include "conns/select.h"
#include "conns/bottleneck.h"
#include "conns/state.h"
#include "conns/window.h"
#include "conns_rig.h"

/* ---- the window ---- */

static bool taken(const struct conns_window *w, uint64_t from, uint64_t to)
{
	__u64 a = from, b = to;

	return window_apply(w, &a, &b);
}

static void overlap_by_half_is_enough(void **state)
{
	const struct conns_window w = { .from = 100, .to = 200 }, none = { 0 };

	(void)state;
	assert_true(taken(&w, 100, 200));
	assert_true(taken(&w, 50, 150));
	assert_false(taken(&w, 49, 150));
	assert_true(taken(&w, 150, 250));
	assert_false(taken(&w, 150, 251));
	assert_false(taken(&w, 0, 100));
	assert_false(taken(&w, 200, 300));
	assert_true(taken(&w, 0, 200));   /* half of it */
	assert_false(taken(&w, 0, 1000)); /* all of the window, but little of it */
	assert_true(taken(&w, 150, 150)); /* a connection without duration */
	assert_true(taken(&none, 0, 1000));
	assert_true(taken(&w, 7, 3));     /* left to who refuses it */
	assert_true(taken(&w, 150, UINT64_MAX));
}

static void times_are_moved(void **state)
{
	const struct conns_window later = { .shift_ns = 1000, .from = 1000, .to = 2000 };
	const struct conns_window earlier = { .shift_ns = -1000, .from = 0, .to = 500 };
	const struct conns_window most = { .shift_ns = INT64_MAX, .from = 0, .to = 500 };
	struct event_conn e = { .from = 100, .to = 200, .loss_first = 150 };

	(void)state;
	assert_true(window_apply_conn(&later, &e));
	assert_int_equal(e.from, 1100);
	assert_int_equal(e.to, 1200);
	assert_int_equal(e.loss_first, 1150);
	assert_int_equal(e.loss_last, 0); /* none is none */
	assert_true(window_apply_conn(&earlier, &e));
	assert_int_equal(e.from, 100);
	assert_int_equal(e.loss_first, 150);
	assert_false(window_apply_conn(&earlier, &e)); /* before that clock began */
	assert_false(window_apply_conn(&most, &e));
}

/* ---- sequence numbers at the begin ---- */

static void bytes_are_the_same_at_both_ends(void **state)
{
	struct event_conn a = { .known = CONN_KNOWS_GAUGES, .to = NS_PER_S,
				.snd_una = 5, .write_seq = 5, .bytes_acked = 1000000 };
	struct event_conn b = { .known = CONN_KNOWS_GAUGES, .to = NS_PER_S, .rcv_nxt = 5,
				.bytes_received = 1000000 };

	(void)state;
	assert_int_equal(join_fit_end(&a, &b, 0), JOIN_FITS);
	assert_int_equal(join_fit_begin(&a, &b, 0), JOIN_FITS);
	b.bytes_received += 70000;
	assert_int_equal(join_fit_begin(&a, &b, 0), JOIN_CONTRADICTS);
	a.sndbuf = 10000; /* which may have been under way */
	assert_int_equal(join_fit_begin(&a, &b, 0), JOIN_FITS);
	a.sndbuf = 0;
	a.from = NS_PER_S / 10; /* it was told of later, at 1 MB/s */
	assert_int_equal(join_fit_begin(&a, &b, 0), JOIN_FITS);
	a.flags = b.flags = CONN_BEGAN; /* no: nothing was before */
	assert_int_equal(join_fit_begin(&a, &b, 0), JOIN_CONTRADICTS);
	a.flags = 0;
	assert_int_equal(join_fit_begin(&a, &b, 3600 * NS_PER_S), JOIN_UNKNOWN);
}

static void final_counters_of_ends_agree(void **state)
{
	struct event_conn a = { .known = CONN_KNOWS_GAUGES, .to = NS_PER_S, .snd_una = 70000,
				.write_seq = 70000, .delivery_rate = 100000 };
	struct event_conn b = { .known = CONN_KNOWS_GAUGES };

	(void)state;
	/* within one second, the ends may differ this much */
	assert_int_equal(join_fit_end(&a, &b, 0), JOIN_FITS);
	a.flags = b.flags = CONN_CLOSED;
	assert_int_equal(join_fit_end(&a, &b, 0), JOIN_CONTRADICTS);
	a.delivery_rate = UINT64_MAX;
	b.rcv_nxt = 70000;
	assert_int_equal(join_fit_end(&a, &b, 3600 * NS_PER_S), JOIN_FITS);
	b.flags = 0;
	assert_int_equal(join_fit_end(&a, &b, 0), JOIN_UNKNOWN);
}

/* ---- two hosts ---- */

struct two {
	struct conns_rig here, there;
	struct peer_recording *e;
};

static void two_init(struct two *t)
{
	*t = (struct two){ .e = NULL };
	rig_init(&t->here, NULL);
	rig_init(&t->there, NULL);
}

static void two_release(struct two *t)
{
	peer_match_free(t->e, t->here.c);
	rig_release(&t->here);
	rig_release(&t->there);
}

static void two_join(struct two *t)
{
	const struct peer_match_config config = { .here = { "a", 1 }, .there = { "b", 1 } };

	rig_interval(&t->here);
	rig_interval(&t->there);
	peer_match_free(t->e, t->here.c);
	assert_int_equal(peer_match_new(&t->e, t->here.c, t->there.c, &config), 0);
}

static void identity_is_unique_per_host(void **state)
{
	struct conn_view_buf room;
	struct two t;

	(void)state;
	two_init(&t);
	/* cookies, flows and namespaces are the same; and so are those of another connection */
	rig_flow(&t.here, 1, "10.0.0.1", 4000, "10.0.0.2", 80, 7);
	rig_flow(&t.here, 2, "10.0.0.1", 4001, "10.0.0.2", 80, 7);
	rig_flow(&t.there, 1, "10.0.0.2", 80, "10.0.0.1", 4001, 7);
	rig_flow(&t.there, 2, "10.0.0.2", 80, "10.0.0.1", 4000, 7);
	rig_put_end(&t.here, 1, 1, 1000, 5, 0);
	rig_put_end(&t.here, 2, 2, 900000000, 6, 0);
	rig_put_end(&t.there, 1, 1, 6, 900000000, 0);
	rig_put_end(&t.there, 2, 2, 5, 1000, 0);
	two_join(&t);
	assert_int_equal(t.e->joined, 2);
	assert_int_equal(t.e->other[0], 2);
	assert_int_equal(t.e->other[1], 1);
	assert_true(conns_view(t.here.c, CONNS_TOTAL, 0, &room));
	assert_string_equal(room.view.peer_host, "b");
	assert_false(room.view.joined); /* that is of one host */
	assert_int_equal(room.view.peer->cookie, 2);
	assert_int_equal(room.view.common_ns, NS_PER_S);
	assert_true(conns_view(t.here.c, CONNS_INTERVAL, 0, &room));
	assert_null(room.view.peer);
	assert_true(conns_view_peer(t.here.c, 0, &room));
	assert_string_equal(room.view.peer_host, "a");
	two_release(&t);
}

/* A single sender can't tell of incast; the receiver's recording can. */
static void the_other_end_has_problems_with_others(void **state)
{
	struct conn_selection shown;
	struct conn_view_buf room;
	char remote[16];
	struct two t;

	(void)state;
	two_init(&t);
	rig_flow(&t.here, 1, "10.0.0.11", 80, "10.0.0.2", 4001, 1);
	rig_put_end(&t.here, 1, 1, 1000, 5, 0);
	for (uint32_t i = 1; i <= 4; i++) {
		struct event_conn e = rig_conn(&t.there, i, i);

		snprintf(remote, sizeof(remote), "10.0.0.%u", 10 + i);
		rig_flow(&t.there, i, "10.0.0.2", (uint16_t)(4000 + i), remote, 80, 1);
		e.lost_reply = i < 4 ? t.there.now + i * 1000000 : 0;
		rig_put(&t.there, &e);
		rig_put_end(&t.there, i, i, 5, 1000 * i, 0);
	}
	two_join(&t);
	assert_int_equal(t.e->joined, 1);
	assert_int_equal(select_connections(t.here.c, CONNS_TOTAL, &shown), 0);
	assert_true(select_view_peer(t.here.c, &shown, &shown.items.items[0], &room));
	assert_true(room.view.judged.harmful >> CONN_INCAST & 1);
	assert_true(room.view.judged.problems >> CONN_INCAST & 1);
	select_release(&shown);
	two_release(&t);
}

static void ambiguous_peers_are_not_joined(void **state)
{
	struct two t;

	(void)state;
	two_init(&t);
	rig_flow(&t.here, 1, "10.0.0.1", 4000, "10.0.0.2", 80, 1);
	rig_flow(&t.here, 2, "10.0.0.1", 4000, "10.0.0.2", 80, 2);
	rig_flow(&t.there, 1, "10.0.0.2", 80, "10.0.0.1", 4000, 1);
	rig_put_end(&t.here, 1, 1, 1000, 5, 0);
	rig_put_end(&t.here, 2, 2, 800000000, 5, 0);
	rig_put_end(&t.there, 9, 1, 5, 1000, 0);
	two_join(&t); /* two namespaces with one address: sequence numbers tell them apart */
	assert_int_equal(t.e->other[0], 1);
	assert_int_equal(t.e->other[1], 0);
	assert_int_equal(t.e->not_joined[PEER_MATCH_SEQUENCES], 1);
	two_release(&t);

	two_init(&t);
	rig_flow(&t.here, 1, "10.0.0.1", 4000, "10.0.0.2", 80, 1);
	rig_flow(&t.here, 2, "10.0.0.1", 4000, "10.0.0.2", 80, 2);
	rig_flow(&t.there, 1, "10.0.0.2", 80, "10.0.0.1", 4000, 1);
	rig_put_end(&t.here, 1, 1, 1000, 5, 0);
	rig_put_end(&t.here, 2, 2, 2000, 5, 0);
	rig_put_end(&t.there, 9, 1, 5, 1000, 0);
	two_join(&t); /* seen from there, two fit */
	assert_int_equal(t.e->joined, 0);
	assert_int_equal(t.e->not_joined[PEER_MATCH_AMBIGUOUS], 2);
	two_release(&t);
}

static void ends_without_address_are_not_joined(void **state)
{
	struct two t;

	(void)state;
	two_init(&t);
	rig_put_end(&t.here, 1, 0, 0, 0, 0);
	rig_put_end(&t.there, 1, 0, 0, 0, 0);
	two_join(&t);
	assert_int_equal(t.e->joined, 0);
	assert_int_equal(t.e->not_joined[PEER_MATCH_NO_ADDRESS], 1);
	two_release(&t);
}

/* Lives of 10 ms, `apart_ns` apart by the clocks, with these flags. Returns what is common. */
static uint64_t common_of(uint64_t apart_ns, uint32_t flags, enum peer_match_why *why)
{
	struct event_conn e;
	struct conn_view_buf room;
	struct two t;
	uint64_t common = 0;

	two_init(&t);
	rig_flow(&t.here, 1, "10.0.0.1", 4000, "10.0.0.2", 80, 1);
	rig_flow(&t.there, 1, "10.0.0.2", 80, "10.0.0.1", 4000, 1);
	e = rig_conn(&t.here, 1, 1);
	e.flags = flags;
	e.to = e.from + 10 * NS_PER_MS;
	rig_put_fitted(&t.here, e);
	e.from += apart_ns;
	e.to += apart_ns;
	rig_put_fitted(&t.there, e);
	two_join(&t);
	*why = PEER_MATCH_WHYS;
	for (int i = 0; i < PEER_MATCH_WHYS; i++)
		if (t.e->not_joined[i])
			*why = i;
	if (t.e->joined) {
		assert_true(conns_view(t.here.c, CONNS_TOTAL, 0, &room));
		common = room.view.common_ns;
		assert_int_equal(room.view.peer != NULL, common >= 8 * NS_PER_MS);
	}
	two_release(&t);
	return common;
}

static void common_time_of_two_recordings(void **state)
{
	const uint32_t whole = CONN_BEGAN | CONN_CLOSED;
	enum peer_match_why why;

	(void)state;
	assert_int_equal(common_of(0, 0, &why), 10 * NS_PER_MS);
	assert_int_equal(common_of(2 * NS_PER_MS, 0, &why), 8 * NS_PER_MS);
	assert_int_equal(common_of(3 * NS_PER_MS, 0, &why), 7 * NS_PER_MS);
	assert_int_equal(common_of(50 * NS_PER_MS, 0, &why), 0);
	/* joined all the same: clocks may be that far apart */
	assert_int_equal(why, PEER_MATCH_WHYS);
	assert_int_equal(common_of(50 * NS_PER_MS, whole, &why), 10 * NS_PER_MS);
	assert_int_equal(common_of(200 * NS_PER_MS, whole, &why), 0);
	assert_int_equal(why, PEER_MATCH_OTHER_TIME);
}

/* ---- sides ---- */

static struct event_conn plain(void)
{
	return (struct event_conn){ .known = RIG_KNOWN, .to = NS_PER_S, .sender_app_ns = NS_PER_S,
				    .samples = 100, .cwnd = 10, .mss = 1448 };
}

static struct bottleneck side_of(struct event_conn e, const struct event_conn *peer)
{
	struct conn_view view = { .c = &e, .peer = peer };
	struct conn_problem problems[RULES_MAX];

	e.sender_app_ns = e.to - e.from - e.send_buffer_ns - e.congestion_ns -
			  e.receiver_window_ns - e.delayed_ack_ns - e.unknown_ns;
	rules_judge(&view, problems);
	return bottleneck_find(&view);
}

static void receiver_limits_by_its_window(void **state)
{
	struct event_conn e = plain(), peer = plain();

	(void)state;
	e.receiver_window_ns = NS_PER_S / 4;
	assert_int_equal(side_of(e, NULL).side, BOTTLENECK_UNKNOWN);
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_RECEIVER_WINDOW);
	assert_true(side_of(e, &peer).harmful);
	peer.flags = CONN_RCVBUF_SET;
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_RECEIVE_BUFFER);
	peer.unread = 9;
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_RECEIVER_APPLICATION);
	peer.known = 0;
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_RECEIVER);
	e.receiver_window_ns = NS_PER_S / 100; /* no problem: the rest counts */
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_SENDER_APPLICATION);
	assert_false(side_of(e, &peer).harmful);
}

/* Congestion is the network's, unless the sending host's own queue holds most of the data. */
static void a_full_local_queue_is_the_senders(void **state)
{
	struct event_conn e = plain(), peer = plain();

	(void)state;
	e.congestion_ns = NS_PER_S * 9 / 10;
	e.sampled[CONN_AT_CWND] = 90;
	e.cwnd_queued = 80;
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_NETWORK); /* the counters are unknown */
	e.known |= CONN_COUNTS_cwnd_paced | CONN_COUNTS_cwnd_queued;
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_LOCAL_QUEUE);
	e.cwnd_queued = 40;
	e.cwnd_paced = 45;
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_NETWORK);
}

static void receiver_limits_by_acks_it_delayed(void **state)
{
	struct event_conn e = plain(), peer = plain();

	(void)state;
	e.delayed_ack_ns = NS_PER_S * 3 / 4;
	e.delayed_acks_harmful = e.peer_delayed_acks = 9;
	peer.delayed_acks = 9;
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_DELAYED_ACK);
	peer.known &= ~(uint32_t)CONN_KNOWS_DELACKS;
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_UNKNOWN);
	peer = plain(); /* it has delayed none */
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_UNKNOWN);
}

static void sender_or_network_limits_the_rest(void **state)
{
	struct event_conn e = plain();
	const struct event_conn peer = plain();

	(void)state;
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_SENDER_APPLICATION);
	e.congestion_ns = NS_PER_S * 9 / 10; /* a path that is filled */
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_NETWORK);
	assert_false(side_of(e, &peer).harmful);
	e.congestion_ns = NS_PER_S / 4;
	e.rto = 1;
	e.stall_ns = NS_PER_S / 5;
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_NETWORK);
	assert_true(side_of(e, &peer).harmful);
	assert_true(side_of(e, &peer).share == 0.25);
	e.send_buffer_ns = NS_PER_S / 2; /* worse */
	e.sampled[CONN_AT_SEND_BUFFER] = 50;
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_SEND_BUFFER);
	e = plain();
	e.unknown_ns = NS_PER_S;
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_UNKNOWN);
	e.known = 0;
	assert_int_equal(side_of(e, &peer).side, BOTTLENECK_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overlap_by_half_is_enough),
		cmocka_unit_test(times_are_moved),
		cmocka_unit_test(bytes_are_the_same_at_both_ends),
		cmocka_unit_test(final_counters_of_ends_agree),
		cmocka_unit_test(identity_is_unique_per_host),
		cmocka_unit_test(the_other_end_has_problems_with_others),
		cmocka_unit_test(ambiguous_peers_are_not_joined),
		cmocka_unit_test(ends_without_address_are_not_joined),
		cmocka_unit_test(common_time_of_two_recordings),
		cmocka_unit_test(receiver_limits_by_its_window),
		cmocka_unit_test(a_full_local_queue_is_the_senders),
		cmocka_unit_test(receiver_limits_by_acks_it_delayed),
		cmocka_unit_test(sender_or_network_limits_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
