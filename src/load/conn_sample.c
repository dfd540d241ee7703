/* SPDX-License-Identifier: Apache-2.0 */
#include "load/conn_sample.h"

static uint32_t server_distance(uint64_t from, uint64_t at, uint64_t to)
{
	return at && from <= at && at <= to ? match_distance(from, at, 0) : 0;
}

uint64_t conn_sample_mono(const struct load_thread *t, uint64_t real_ns)
{
	return real_ns ? real_ns - t->clock.offset_ns : 0;
}

void conn_sample_fill(struct load_thread *t, struct load_conn *c, struct load_request *r,
		      const struct reply *reply, const struct net_rx_stamp *rx, bool last)
{
	const uint64_t rx_ns = conn_sample_mono(t, rx->real_ns);
	struct event_sample *s = &r->sample;

	s->done = t->now;
	s->rx_offset = c->reply_begin;
	s->rx_bytes = c->rx - c->reply_begin;
	s->wake_ns = match_distance(t->wait.woken_ns, s->done, 0);
	/* If the thread slept, the reply woke it, unless the receive stamp precedes the wait. */
	if (t->wait.slept && (!rx_ns || rx_ns >= t->wait.entered_ns))
		s->flags |= SAMPLE_ASLEEP;
	if (rx_ns && !last)
		s->flags |= SAMPLE_CENSORED;
	r->rx_ns = rx_ns;
	r->nic_rx_ns = rx->nic_ns;
	if (reply->server_out_ns >= reply->server_in_ns) {
		s->server_in_ns = server_distance(s->sent, reply->server_in_ns, s->done);
		s->server_out_ns = reply->server_out_ns > s->done ? 0 :
			match_distance(server_distance(s->sent, reply->server_out_ns, s->done) ?
				       reply->server_out_ns : 0, s->done, 0);
	}
}
