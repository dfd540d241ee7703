/* SPDX-License-Identifier: Apache-2.0 */
#include "event/conn_times.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* `part` <= `of`: of `ns`, the same share. */
static uint64_t share(uint64_t ns, uint64_t part, uint64_t of)
{
	return (uint64_t)((unsigned __int128)ns * part / of);
}

bool conn_is_weighted(const struct event_conn *c)
{
	for (int i = 0; i < CONN_STATES; i++)
		if (c->sampled_ns[i])
			return true;
	return false;
}

uint64_t conn_squares(const struct event_conn *c)
{
	double sum = 0;

	for (int i = 0; i < CONN_STATES; i++) {
		double times = (double)c->sampled_ns[i] / 100000;

		sum += c->sampled[i] ? times * times / c->sampled[i] : 0;
	}
	return sum < 1e18 ? (uint64_t)(sum + 0.5) : (uint64_t)1e18;
}

static uint64_t weight(const struct event_conn *c, enum conn_doing what, bool weighted)
{
	/* so that no sum of them runs over */
	return weighted ? c->sampled_ns[what] >> 3 : c->sampled[what];
}

/* What the samples share of it: busy, and nothing else is known. */
static void share_out(struct event_conn *c, uint64_t rest)
{
	const bool weighted = conn_is_weighted(c);
	const uint64_t at_buffer = weight(c, CONN_AT_SEND_BUFFER, weighted);
	const uint64_t at_cwnd = weight(c, CONN_AT_CWND, weighted);
	const uint64_t at_ack = weight(c, CONN_AT_DELAYED_ACK, weighted);
	const uint64_t all = at_buffer + at_cwnd + at_ack + weight(c, CONN_AT_NAGLE, weighted) +
			     weight(c, CONN_AT_FLIGHT, weighted);
	const uint64_t unsampled = share(rest, least(c->unsampled_ns, c->to - c->from),
					 c->to > c->from ? c->to - c->from : 1);

	c->unknown_ns = all ? unsampled : rest;
	rest -= c->unknown_ns;
	if (!all)
		return;
	c->send_buffer_ns = share(rest, at_buffer, all);
	c->delayed_ack_ns = share(rest, at_ack, all);
	c->congestion_ns += share(rest, at_cwnd, all);
}

void conn_times(struct event_conn *c)
{
	const uint64_t all = c->to - c->from, busy = least(c->busy_ns, all);
	const uint64_t window = least(c->kernel_rwnd_ns, busy);
	const uint64_t repair = least(c->recovery_ns, busy - window);

	c->receiver_window_ns = window;
	c->congestion_ns = repair;
	c->send_buffer_ns = c->delayed_ack_ns = 0;
	share_out(c, busy - window - repair);
	c->sender_app_ns = all - c->receiver_window_ns - c->congestion_ns - c->send_buffer_ns -
			   c->delayed_ack_ns - c->unknown_ns;
}
