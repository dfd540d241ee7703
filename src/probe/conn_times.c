/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/conn_times.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t share(uint64_t ns, uint64_t n, uint64_t of)
{
	return (uint64_t)((unsigned __int128)ns * n / of);
}

void conn_times(struct event_conn *c)
{
	const uint64_t all = c->to - c->from, busy = least(c->busy_ns, all);
	const uint64_t window = least(c->kernel_rwnd_ns, busy);
	const uint64_t repair = least(c->recovery_ns, busy - window);
	const uint64_t rest = busy - window - repair;
	const uint32_t *n = c->sampled;
	const uint64_t samples = (uint64_t)n[CONN_AT_SEND_BUFFER] + n[CONN_AT_CWND] +
				 n[CONN_AT_DELAYED_ACK] + n[CONN_AT_NAGLE] + n[CONN_AT_FLIGHT];

	c->receiver_window_ns = window;
	c->congestion_ns = repair;
	c->sender_app_ns = all - busy;
	c->send_buffer_ns = c->delayed_ack_ns = c->unknown_ns = 0;
	if (!samples) {
		c->unknown_ns = rest;
		return;
	}
	c->send_buffer_ns = share(rest, n[CONN_AT_SEND_BUFFER], samples);
	c->delayed_ack_ns = share(rest, n[CONN_AT_DELAYED_ACK], samples);
	c->congestion_ns += share(rest, n[CONN_AT_CWND], samples);
	c->sender_app_ns = all - c->receiver_window_ns - c->congestion_ns - c->send_buffer_ns -
			   c->delayed_ack_ns;
}
