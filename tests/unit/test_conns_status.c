/* SPDX-License-Identifier: Apache-2.0 */
/* A connection's state: its limit or, if its application gives no more data, whose turn it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/parse.h"
#include "bpf/abi_conns.h"
#include "conns/status.h"

#define ALL 0x7ffu

/* A second of requests and replies, with nothing under way at its end. */
static struct event_conn asks(uint32_t flags)
{
	return (struct event_conn){ .known = ALL, .to = NS_PER_S, .samples = 100, .flags = flags,
				    .sampled = { [CONN_AT_IDLE] = 99, [CONN_AT_FLIGHT] = 1 },
				    .bytes_sent = 100, .bytes_acked = 100, .bytes_received = 100,
				    .busy_ns = NS_PER_S / 100, .sender_app_ns = NS_PER_S };
}

static void expect(struct event_conn e, const char *state)
{
	assert_string_equal(conn_status_name(conn_status_of(&e)), state);
}

static void test_whose_turn_it_is(void **state)
{
	const uint32_t both = CONN_SENT_LAST | CONN_RECEIVED_LAST;

	(void)state;
	expect(asks(CONN_SENT_LAST), "awaiting-reply");
	expect(asks(CONN_SENT_LAST | CONN_ACCEPTED), "awaiting-request");
	expect(asks(both | CONN_ACCEPTED), "awaiting-request");
	/* controls: the application's turn, or not known whose */
	expect(asks(CONN_RECEIVED_LAST), "sender-app");
	expect(asks(CONN_RECEIVED_LAST | CONN_ACCEPTED), "sender-app");
	expect(asks(both), "sender-app");
	expect(asks(0), "sender-app");
}

/* A stream awaits no reply, nor does what has something to send, or to read first. */
static void test_not_the_peers_turn(void **state)
{
	struct event_conn e = asks(CONN_SENT_LAST);

	(void)state;
	e.bytes_received = 0;
	expect(e, "sender-app");
	e = asks(CONN_SENT_LAST);
	e.unsent = 1;
	expect(e, "sender-app");
	e = asks(CONN_SENT_LAST | CONN_ACCEPTED);
	e.rcv_queue = 1;
	expect(e, "sender-app");
}

/* Congestion by its greatest part, if the parts are known. */
static void test_congestion_is_divided(void **state)
{
	struct event_conn e = asks(CONN_SENT_LAST);

	(void)state;
	e.congestion_ns = 900000000;
	e.sender_app_ns = 100000000;
	e.sampled[CONN_AT_CWND] = 90;
	e.cwnd_paced = 40;
	e.cwnd_queued = 1;
	expect(e, "congestion");
	e.known |= CONN_COUNTS_cwnd_paced | CONN_COUNTS_cwnd_queued;
	expect(e, "congestion"); /* 49 of 90 are the window's */
	e.cwnd_paced = 50;
	expect(e, "pacing");
	assert_true(conn_status_is_limit(conn_status_of(&e)));
	e.recovery_ns = 500000000; /* losses were repaired for most of it */
	expect(e, "congestion");
	e.recovery_ns = 0;
	e.cwnd_paced = 10;
	e.cwnd_queued = 60;
	expect(e, "local-queue");
	e.cwnd_queued = 91; /* no record of ours */
	expect(e, "congestion");
	e.cwnd_queued = 60;
	e.known &= ~(uint32_t)CONN_COUNTS_cwnd_queued;
	expect(e, "congestion");
}

static void test_limits_come_first(void **state)
{
	struct event_conn e = asks(CONN_SENT_LAST);

	(void)state;
	e.receiver_window_ns = 600000000;
	e.sender_app_ns = 400000000;
	expect(e, "receiver-window");
	assert_true(conn_status_is_limit(conn_status_of(&e)));
	e.unknown_ns = 300000000;
	e.sender_app_ns = 100000000;
	expect(e, "receiver-window");
	e.receiver_window_ns = 300000000;
	e.delayed_ack_ns = 300000000;
	expect(e, "unknown");
	e = asks(CONN_SENT_LAST);
	e.known &= ~(uint32_t)CONN_KNOWS_TIMES;
	expect(e, "unknown");
}

static void test_idle(void **state)
{
	struct event_conn idle = { .known = ALL, .to = NS_PER_S, .sender_app_ns = NS_PER_S,
				   .flags = CONN_SENT_LAST, .samples = 9,
				   .sampled = { [CONN_AT_IDLE] = 9 } }, e;

	(void)state;
	expect(idle, "idle");
	assert_false(conn_status_is_limit(STATUS_IDLE));
	e = idle;
	e.bytes_received = 1;
	expect(e, "sender-app");
	e = idle;
	e.unacked = 1;
	expect(e, "sender-app");
	e = idle;
	e.sampled[CONN_AT_FLIGHT] = 1;
	expect(e, "sender-app");
	e = idle;
	e.unread = 1;
	expect(e, "sender-app");
}

static void test_last_data(void **state)
{
	(void)state;
	assert_int_equal(conn_last_data(1, 1, 4), CONN_LAST_SENT);
	assert_int_equal(conn_last_data(1, 1, -4), CONN_LAST_RECEIVED);
	assert_int_equal(conn_last_data(1, 1, 0), CONN_LAST_SENT | CONN_LAST_RECEIVED);
	assert_int_equal(conn_last_data(0, 1, 4), 0);
	assert_int_equal(conn_last_data(1, 0, 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whose_turn_it_is), cmocka_unit_test(test_not_the_peers_turn),
		cmocka_unit_test(test_limits_come_first), cmocka_unit_test(test_idle),
		cmocka_unit_test(test_last_data), cmocka_unit_test(test_congestion_is_divided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
