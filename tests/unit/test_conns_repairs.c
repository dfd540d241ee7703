/* SPDX-License-Identifier: Apache-2.0 */
/* The time that losses cost, by kind of repair, and what delayed ACKs add after timeouts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/parse.h"
#include "conns/rules.h"

/* A second of a connection of which all is known but what CONN_COUNTERS_ADDED has. */
static struct event_conn second(void)
{
	return (struct event_conn){ .known = 0x7ff, .to = NS_PER_S, .cwnd = 10, .mss = 1448,
				    .sender_app_ns = NS_PER_S, .samples = 100 };
}

/* Four timeouts, after two of which the peer delayed the ACK for 40 ms. */
static struct event_conn delayed(void)
{
	struct event_conn e = second();

	e.known |= CONN_COUNTS_rto_delacks | CONN_COUNTS_rto_delack_us;
	e.rto = 4;
	e.stall_ns = 960 * NS_PER_MS;
	e.rto_delacks = 2;
	e.rto_delack_us = 80000;
	return e;
}

/* Returns the problem of that class; its class is CONN_CLASSES if there is none. */
static struct conn_problem judged(const struct event_conn *e, const struct event_conn *peer,
				  enum conn_class class)
{
	struct conn_view view = { .c = e, .peer = peer, .joined = peer };
	struct conn_problem problems[RULES_MAX];

	rules_judge(&view, problems);
	for (uint32_t i = 0; i < view.judged.n; i++)
		if (problems[i].class == class && !problems[i].ours)
			return problems[i];
	return (struct conn_problem){ .class = CONN_CLASSES };
}

static uint64_t lost(const struct event_conn *e, enum conn_class class)
{
	return judged(e, NULL, class).lost_ns;
}

static uint64_t lost_to_all(const struct event_conn *e)
{
	struct conn_problem problems[RULES_MAX];
	struct conn_view view = { .c = e };

	rules_judge(&view, problems);
	return view.judged.lost_ns;
}

/* Each repair has its part of the stalls, by what it usually takes; spurious ones have none. */
static void stalls_are_divided(void **state)
{
	struct event_conn e = second();

	(void)state;
	e.rtt_us = 20000;
	e.rto_us = 200000;
	e.fast_retransmit = e.recoveries = 6;
	e.tlp = 2;
	e.rto = 1;
	e.busy_ns = NS_PER_S;
	e.stall_ns = 400 * NS_PER_MS;
	assert_int_equal(lost(&e, CONN_FAST_RETRANSMIT), 120 * NS_PER_MS);
	assert_int_equal(lost(&e, CONN_TAIL_LOSS_PROBE), 80 * NS_PER_MS);
	assert_int_equal(lost(&e, CONN_TIMEOUT), 200 * NS_PER_MS);
	assert_int_equal(lost_to_all(&e), 400 * NS_PER_MS);
	e.spurious = 3;
	assert_in_range(lost_to_all(&e), 266 * NS_PER_MS, 267 * NS_PER_MS);
}

/* The peer's delays are no part of the timeouts' time. */
static void delays_are_set_apart(void **state)
{
	struct event_conn e = delayed();

	(void)state;
	assert_int_equal(lost(&e, CONN_TIMEOUT), 880 * NS_PER_MS);
	assert_int_equal(lost(&e, CONN_DELAYED_REPAIR), 80 * NS_PER_MS);
	assert_int_equal(lost_to_all(&e), 960 * NS_PER_MS);
	e.rto_delacks = 1; /* it is not certain */
	assert_int_equal(lost(&e, CONN_TIMEOUT), 960 * NS_PER_MS);
	assert_int_equal(lost_to_all(&e), 960 * NS_PER_MS);
	e = delayed();
	e.rto_delack_us = 2000000; /* counters that do not fit together */
	assert_int_equal(lost(&e, CONN_DELAYED_REPAIR), 960 * NS_PER_MS);
	assert_int_equal(lost_to_all(&e), 960 * NS_PER_MS);
}

static void several_delays_are_inferred(void **state)
{
	struct event_conn e = delayed();

	(void)state;
	assert_int_equal(judged(&e, NULL, CONN_DELAYED_REPAIR).confidence, CONN_INFERRED);
	assert_int_equal(judged(&e, NULL, CONN_DELAYED_REPAIR).harm, CONN_HARMFUL);
	assert_int_equal(judged(&e, NULL, CONN_DELAYED_ACK).class, CONN_CLASSES);
	e.rto = 8; /* after a quarter of the timeouts */
	assert_int_equal(judged(&e, NULL, CONN_DELAYED_REPAIR).class, CONN_DELAYED_REPAIR);
	e.rto = 9;
	assert_int_equal(judged(&e, NULL, CONN_DELAYED_REPAIR).class, CONN_CLASSES);
	e = delayed();
	e.to = 100 * NS_PER_S;
	e.busy_ns = 97 * NS_PER_S;
	assert_int_equal(judged(&e, NULL, CONN_DELAYED_REPAIR).harm, CONN_HARMLESS);
}

static void other_timeouts_have_no_delays(void **state)
{
	struct event_conn e = delayed();

	(void)state;
	e.rto_delacks = e.rto_delack_us = 0;
	assert_int_equal(judged(&e, NULL, CONN_TIMEOUT).class, CONN_TIMEOUT);
	assert_int_equal(judged(&e, NULL, CONN_DELAYED_REPAIR).class, CONN_CLASSES);
	e = delayed();
	e.spurious = 4; /* nothing was lost */
	assert_int_equal(judged(&e, NULL, CONN_DELAYED_REPAIR).class, CONN_CLASSES);
	e = delayed();
	e.known &= ~(uint32_t)CONN_COUNTS_rto_delacks; /* an older recording */
	assert_int_equal(judged(&e, NULL, CONN_DELAYED_REPAIR).class, CONN_CLASSES);
}

/* The peer's record confirms even a single one, or denies all. */
static void the_peer_knows(void **state)
{
	struct event_conn e = delayed(), peer = second();

	(void)state;
	peer.delayed_acks = 3;
	e.rto_delacks = 1;
	assert_int_equal(judged(&e, &peer, CONN_DELAYED_REPAIR).confidence, CONN_OBSERVED);
	assert_int_equal(judged(&e, &peer, CONN_DELAYED_REPAIR).harm, CONN_HARMFUL);
	e.rto_delacks = 0; /* delays of other ACKs */
	assert_int_equal(judged(&e, &peer, CONN_DELAYED_REPAIR).class, CONN_CLASSES);
	e = delayed();
	peer.delayed_acks = 0;
	assert_int_equal(judged(&e, &peer, CONN_DELAYED_REPAIR).class, CONN_CLASSES);
	peer.known &= ~(uint32_t)CONN_KNOWS_DELACKS;
	assert_int_equal(judged(&e, &peer, CONN_DELAYED_REPAIR).confidence, CONN_INFERRED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stalls_are_divided), cmocka_unit_test(delays_are_set_apart),
		cmocka_unit_test(several_delays_are_inferred),
		cmocka_unit_test(other_timeouts_have_no_delays), cmocka_unit_test(the_peer_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
