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

bool conn_share_out(uint64_t ns, const struct event_conn *by, struct event_conn *to)
{
	const bool weighted = conn_is_weighted(by);
	const uint64_t at_buffer = weight(by, CONN_AT_SEND_BUFFER, weighted);
	const uint64_t at_cwnd = weight(by, CONN_AT_CWND, weighted);
	const uint64_t at_ack = weight(by, CONN_AT_DELAYED_ACK, weighted);
	const uint64_t all = at_buffer + at_cwnd + at_ack + weight(by, CONN_AT_NAGLE, weighted) +
			     weight(by, CONN_AT_FLIGHT, weighted);
	const uint64_t n = (uint64_t)by->sampled[CONN_AT_SEND_BUFFER] + by->sampled[CONN_AT_CWND] +
			   by->sampled[CONN_AT_DELAYED_ACK] + by->sampled[CONN_AT_NAGLE] +
			   by->sampled[CONN_AT_FLIGHT];
	uint64_t buffer, ack, cwnd;

	if (!all || n < CONN_SAMPLES_LEAST)
		return false;
	buffer = share(ns, at_buffer, all);
	ack = share(ns, at_ack, all);
	cwnd = share(ns, at_cwnd, all);
	to->send_buffer_ns += buffer;
	to->delayed_ack_ns += ack;
	to->congestion_ns += cwnd;
	to->sender_app_ns += ns - buffer - ack - cwnd;
	return true;
}

uint64_t conn_unsampled(uint64_t ns, const struct event_conn *c)
{
	const uint64_t all = c->to - c->from;

	return all ? share(ns, least(c->unsampled_ns, all), all) : 0;
}

void conn_times(struct event_conn *c)
{
	const uint64_t all = c->to - c->from, busy = least(c->busy_ns, all);
	const uint64_t window = least(c->kernel_rwnd_ns, busy);
	const uint64_t repair = least(c->recovery_ns, busy - window);
	const uint64_t rest = busy - window - repair, unsampled = conn_unsampled(rest, c);

	c->receiver_window_ns = window;
	c->congestion_ns = repair;
	c->sender_app_ns = all - busy;
	c->send_buffer_ns = c->delayed_ack_ns = 0;
	c->unknown_ns = conn_share_out(rest - unsampled, c, c) ? unsampled : rest;
}
