/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/join.h"

/* Least tolerance of sequence numbers, in bytes: the two ends are read one after the other. */
#define SLACK_LEAST 65536u
/* Tolerance (a quarter of the sequence space) at which sequence numbers cannot prove a match. */
#define SLACK_MOST (1u << 30)

/* Most candidates examined: unmatched connections with the reversed addresses and ports. */
#define LOOKED_AT_MOST 64u

static uint64_t join_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns the tolerance in bytes: the two ends' sequence numbers were read `apart_ns` apart. */
static uint64_t join_slack(const struct event_conn *a, const struct event_conn *b, uint64_t rate,
			   uint64_t apart_ns)
{
	const double moved = 2 * (double)rate * (double)apart_ns / 1e9;

	if (moved >= SLACK_MOST)
		return SLACK_MOST;
	return SLACK_LEAST + (uint64_t)moved + 2 * (uint64_t)a->cwnd * a->mss +
	       2 * (uint64_t)b->cwnd * b->mss;
}

static uint64_t join_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Checks from->snd_una - slack <= to->rcv_nxt <= from->write_seq + slack, modulo 2^32. */
static bool join_fits_one(const struct event_conn *from, const struct event_conn *to,
			  uint32_t slack)
{
	const uint32_t queued = from->write_seq - from->snd_una;
	const uint32_t received = to->rcv_nxt - (from->snd_una - slack);

	return (uint64_t)received <= (uint64_t)queued + 2 * (uint64_t)slack;
}

static enum join_fit join_fit_both(const struct event_conn *a, const struct event_conn *b,
				   uint64_t slack)
{
	if (slack >= SLACK_MOST)
		return JOIN_UNKNOWN;
	return join_fits_one(a, b, (uint32_t)slack) && join_fits_one(b, a, (uint32_t)slack) ?
		       JOIN_FITS : JOIN_CONTRADICTS;
}

/* Returns bytes per second: the kernel's last estimate or the average, whichever is greater. */
static uint64_t join_rate(const struct event_conn *c)
{
	const uint64_t bytes = join_max(c->bytes_acked, c->bytes_received);
	const uint64_t ns = c->to - c->from;

	return join_max(c->delivery_rate, ns ? (uint64_t)((double)bytes * 1e9 / (double)ns) : 0);
}

static enum join_fit join_fit_apart(const struct event_conn *a, const struct event_conn *b,
				    uint64_t apart_ns)
{
	return join_fit_both(a, b,
			     join_slack(a, b, join_max(join_rate(a), join_rate(b)), apart_ns));
}

enum join_fit join_fit_end(const struct event_conn *a, const struct event_conn *b,
			   uint64_t error_ns)
{
	if (a->flags & b->flags & CONN_CLOSED)
		return join_fit_apart(a, b, 0); /* both ends have closed: no bytes moved later */
	return join_fit_apart(a, b, join_distance(a->to, b->to) + error_ns);
}

/*
 * Returns a record with the sequence numbers at c->from. Bytes then queued are unknown, at most a
 * full send buffer.
 */
static struct event_conn join_at_begin(const struct event_conn *c)
{
	struct event_conn e = *c;

	e.snd_una -= (uint32_t)c->bytes_acked;
	e.write_seq = e.snd_una;
	e.rcv_nxt -= (uint32_t)c->bytes_received;
	return e;
}

enum join_fit join_fit_begin(const struct event_conn *a, const struct event_conn *b,
			     uint64_t error_ns)
{
	const struct event_conn x = join_at_begin(a), y = join_at_begin(b);
	uint64_t apart_ns = join_distance(a->from, b->from) + error_ns;

	if (a->flags & b->flags & CONN_BEGAN)
		apart_ns = 0; /* both ends recorded from their begin: no bytes moved before */
	return join_fit_both(&x, &y,
			     join_slack(a, b, join_max(join_rate(a), join_rate(b)), apart_ns) +
				     a->sndbuf + b->sndbuf);
}

static bool join_overlaps(const struct event_conn *a, const struct event_conn *b)
{
	return a->from <= b->to && b->from <= a->to;
}

/* Returns whether both are in one namespace, where an address pair has one connection at a time. */
static bool join_is_same_netns(const struct event_flow *a, const struct event_flow *b)
{
	return a->netns_cookie && a->netns_cookie == b->netns_cookie;
}

bool join_has_sequences(const struct event_conn *c)
{
	return conn_knows(c, CONN_KNOWS_GAUGES) && !(c->flags & CONN_FROM_DIAG);
}

static bool join_fits(const struct conns *c, uint32_t a, const struct event_conn *x, uint32_t b)
{
	struct event_conn y;

	conn_unpack(&c->all.items[b], &y);
	if (!join_overlaps(x, &y))
		return false;
	if (join_has_sequences(x) && join_has_sequences(&y))
		return join_fit_apart(x, &y, join_distance(x->to, y.to)) == JOIN_FITS;
	return join_is_same_netns(conns_flow_of(c, &c->all.items[a]),
				  conns_flow_of(c, &c->all.items[b]));
}

/*
 * Returns the index + 1 of the only connection that can be the other end of `conn`. Returns 0 if no
 * or several connections fit, or if more than LOOKED_AT_MOST have the reversed addresses.
 */
static uint32_t join_find_only(struct conns *c, uint32_t conn)
{
	const struct event_flow *flow = conns_flow_of(c, &c->all.items[conn]);
	uint32_t found = 0, at = 0, looked_at = 0;
	struct event_conn own;

	if (!flow)
		return 0;
	while ((at = conns_reversed(c, flow, at))) {
		if (at == conn + 1 || c->all.items[at - 1].peer)
			continue;
		c->steps++;
		if (!looked_at)
			conn_unpack(&c->all.items[conn], &own);
		if (++looked_at > LOOKED_AT_MOST)
			return 0;
		if (!join_fits(c, conn, &own, at - 1))
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
	found = join_find_only(c, conn);
	if (!found || join_find_only(c, found - 1) != conn + 1)
		return;
	c->all.items[conn].peer = found;
	c->all.items[found - 1].peer = conn + 1;
}
