// SPDX-License-Identifier: Apache-2.0
#include "conns/join.h"

/* What may be under way beside windows: the two were read one after the other. */
#define SLACK_LEAST 65536u
/* Beyond a quarter of the sequence space nothing can be told. */
#define SLACK_MOST (1u << 30)

/* Bytes that may have been sent between the two readings. */
static uint64_t slack_of(const struct event_conn *a, const struct event_conn *b)
{
	const uint64_t apart_ns = a->to > b->to ? a->to - b->to : b->to - a->to;
	const uint64_t rate = a->delivery_rate > b->delivery_rate ? a->delivery_rate
								  : b->delivery_rate;
	const double moved = 2 * (double)rate * (double)apart_ns / 1e9;

	if (moved >= SLACK_MOST)
		return SLACK_MOST;
	return SLACK_LEAST + (uint64_t)moved + 2 * (uint64_t)a->cwnd * a->mss +
	       2 * (uint64_t)b->cwnd * b->mss;
}

/* snd_una - slack <= rcv_nxt <= write_seq + slack, in a space that wraps. */
static bool one_way(const struct event_conn *from, const struct event_conn *to, uint32_t slack)
{
	const uint32_t queued = from->write_seq - from->snd_una;
	const uint32_t received = to->rcv_nxt - (from->snd_una - slack);

	return (uint64_t)received <= (uint64_t)queued + 2 * (uint64_t)slack;
}

bool join_sequences_fit(const struct event_conn *a, const struct event_conn *b)
{
	const uint64_t slack = slack_of(a, b);

	return slack < SLACK_MOST && one_way(a, b, (uint32_t)slack) &&
	       one_way(b, a, (uint32_t)slack);
}

static bool overlap(const struct event_conn *a, const struct event_conn *b)
{
	return a->from <= b->to && b->from <= a->to;
}

/* In one namespace two addresses have one connection at a time. */
static bool same_namespace(const struct event_flow *a, const struct event_flow *b)
{
	return a->netns_cookie && a->netns_cookie == b->netns_cookie;
}

static bool has_sequences(const struct event_conn *c)
{
	return conn_knows(c, CONN_KNOWS_GAUGES) && !(c->flags & CONN_FROM_DIAG);
}

static bool fits(const struct conns *c, uint32_t a, uint32_t b)
{
	struct event_conn x, y;

	conn_unpack(&c->all.items[a], &x);
	conn_unpack(&c->all.items[b], &y);
	if (!overlap(&x, &y))
		return false;
	if (has_sequences(&x) && has_sequences(&y))
		return join_sequences_fit(&x, &y);
	return same_namespace(conns_flow_of(c, &c->all.items[a]),
			      conns_flow_of(c, &c->all.items[b]));
}

/* The only one that fits, as index + 1; 0 if there is none, or another one. */
static uint32_t only_one(const struct conns *c, uint32_t conn)
{
	const struct event_flow *flow = conns_flow_of(c, &c->all.items[conn]);
	uint32_t found = 0, at = 0;

	if (!flow)
		return 0;
	while ((at = conns_reversed(c, flow, at))) {
		if (at == conn + 1 || c->all.items[at - 1].peer || !fits(c, conn, at - 1))
			continue;
		if (found)
			return 0;
		found = at;
	}
	return found;
}

void conns_join(struct conns *c, uint32_t conn)
{
	uint32_t found;

	if (c->all.items[conn].peer)
		return;
	found = only_one(c, conn);
	if (!found || only_one(c, found - 1) != conn + 1)
		return;
	c->all.items[conn].peer = found;
	c->all.items[found - 1].peer = conn + 1;
}
