/* SPDX-License-Identifier: Apache-2.0 */
#include "event/conn_times.h"

static uint64_t conn_times_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns the share part / of (at most 1) of `ns`. */
static uint64_t conn_times_share(uint64_t ns, uint64_t part, uint64_t of)
{
	return (uint64_t)((unsigned __int128)ns * part / of);
}

bool conn_is_weighted(const struct event_conn *c)
{
	for (int i = 0; i < CONN_STATES; i++)
		if (c->sampled_ns[i])
			return true;
	return c->unclear_ns;
}

/* Returns the number of samples that fit several connection states and so are in no sampled[]. */
static uint32_t conn_times_unclear(const struct event_conn *c)
{
	uint64_t clear = 0;

	for (int i = 0; i < CONN_STATES; i++)
		clear += c->sampled[i];
	return c->unclear_ns && c->samples > clear ? (uint32_t)(c->samples - clear) : 0;
}

static double conn_times_squares(uint64_t ns, uint32_t n)
{
	double times = (double)ns / 100000;

	return n ? times * times / n : 0;
}

uint64_t conn_squares(const struct event_conn *c)
{
	double sum = conn_times_squares(c->unclear_ns, conn_times_unclear(c));

	for (int i = 0; i < CONN_STATES; i++)
		sum += conn_times_squares(c->sampled_ns[i], c->sampled[i]);
	return sum < 1e18 ? (uint64_t)(sum + 0.5) : (uint64_t)1e18;
}

/* Sums over the samples that found data outstanding; no sum can overflow. */
struct conn_times_found {
	uint64_t buffer, congestion, ack, unclear, all;
	uint64_t n;
};

static uint64_t conn_times_weight(const struct event_conn *c, enum conn_sample_state what,
				  bool weighted)
{
	return weighted ? c->sampled_ns[what] >> 4 : c->sampled[what];
}

static void conn_times_find(struct conn_times_found *f, const struct event_conn *c)
{
	const bool weighted = conn_is_weighted(c), repairs = !(c->known & CONN_KNOWS_LOSSES);
	const uint32_t unclear = conn_times_unclear(c);

	*f = (struct conn_times_found){
		.buffer = conn_times_weight(c, CONN_AT_SEND_BUFFER, weighted),
		.congestion = conn_times_weight(c, CONN_AT_CWND, weighted) +
			      (repairs ? conn_times_weight(c, CONN_AT_RECOVERY, weighted) : 0),
		.ack = conn_times_weight(c, CONN_AT_DELAYED_ACK, weighted),
		.unclear = c->unclear_ns >> 4,
		.n = (uint64_t)c->sampled[CONN_AT_SEND_BUFFER] + c->sampled[CONN_AT_CWND] +
		     c->sampled[CONN_AT_DELAYED_ACK] + c->sampled[CONN_AT_NAGLE] +
		     c->sampled[CONN_AT_FLIGHT] + unclear +
		     (repairs ? c->sampled[CONN_AT_RECOVERY] : 0),
	};
	f->all = f->buffer + f->congestion + f->ack + f->unclear +
		 conn_times_weight(c, CONN_AT_NAGLE, weighted) +
		 conn_times_weight(c, CONN_AT_FLIGHT, weighted);
}

bool conn_share_out(uint64_t ns, const struct event_conn *by, struct event_conn *to)
{
	uint64_t buffer, ack, cwnd, unclear;
	struct conn_times_found found;

	conn_times_find(&found, by);
	if (!found.all || found.n < CONN_SAMPLES_MIN)
		return false;
	buffer = conn_times_share(ns, found.buffer, found.all);
	ack = conn_times_share(ns, found.ack, found.all);
	cwnd = conn_times_share(ns, found.congestion, found.all);
	unclear = conn_times_share(ns, found.unclear, found.all);
	to->send_buffer_ns += buffer;
	to->delayed_ack_ns += ack;
	to->congestion_ns += cwnd;
	to->unknown_ns += unclear;
	to->sender_app_ns += ns - buffer - ack - cwnd - unclear;
	return true;
}

uint64_t conn_unsampled(uint64_t ns, const struct event_conn *c)
{
	const uint64_t all = c->to - c->from;

	return all ? conn_times_share(ns, conn_times_min(c->unsampled_ns, all), all) : 0;
}

void conn_times(struct event_conn *c)
{
	const uint64_t all = c->to - c->from, busy = conn_times_min(c->busy_ns, all);
	const uint64_t window = conn_times_min(c->kernel_rwnd_ns, busy);
	const uint64_t repair =
		c->known & CONN_KNOWS_LOSSES ? conn_times_min(c->recovery_ns, busy - window) : 0;
	const uint64_t rest = busy - window - repair, unsampled = conn_unsampled(rest, c);

	c->receiver_window_ns = window;
	c->congestion_ns = repair;
	c->sender_app_ns = all - busy;
	c->send_buffer_ns = c->delayed_ack_ns = 0;
	c->unknown_ns = unsampled;
	if (!conn_share_out(rest - unsampled, c, c))
		c->unknown_ns = rest;
}
