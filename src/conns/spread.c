/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/spread.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "conns/rules.h"

struct spread_member {
	const struct event_flow *flow;
	bool accepted;
	uint32_t conn, tlp, rto, fast;
};

/*
 * Returns whether the connection writes small messages. Unlike rules_writes_small(), also counts
 * lone messages, which no packets follow.
 */
static bool spread_writes_little(const struct event_conn *e)
{
	if (rules_writes_small(e))
		return true;
	return conn_knows(e, CONN_KNOWS_CALLS | CONN_KNOWS_GAUGES) &&
	       e->send_calls >= RULES_CALLS_MIN &&
	       2 * e->send_bytes < (uint64_t)e->send_calls * e->mss;
}

/* Returns whether timers detected at least as many losses as later packets did. */
static bool spread_is_slow(const struct event_conn *e)
{
	const uint64_t timers = (uint64_t)e->tlp + e->rto;

	if (!conn_knows(e, CONN_KNOWS_LOSSES | CONN_KNOWS_RTO) || !spread_writes_little(e) ||
	    conn_all_spurious(e))
		return false;
	return e->stall_ns && timers && timers >= e->fast_retransmit;
}

/* Returns the port that the connections have in common: the listener's. */
static uint16_t spread_port(const struct spread_member *x)
{
	return x->accepted ? x->flow->local_port : x->flow->remote_port;
}

static int spread_compare_services(const struct spread_member *a, const struct spread_member *b)
{
	int order = a->flow->family - b->flow->family;

	if (!order)
		order = memcmp(a->flow->local, b->flow->local, sizeof(a->flow->local));
	if (!order)
		order = memcmp(a->flow->remote, b->flow->remote, sizeof(a->flow->remote));
	if (!order)
		order = a->accepted - b->accepted;
	if (!order)
		order = spread_port(a) - spread_port(b);
	if (!order && a->flow->netns_cookie != b->flow->netns_cookie)
		order = a->flow->netns_cookie < b->flow->netns_cookie ? -1 : 1;
	return order;
}

static int spread_compare(const void *x, const void *y)
{
	const struct spread_member *a = x, *b = y;
	const int order = spread_compare_services(a, b);

	return order ? order : a->conn < b->conn ? -1 : a->conn > b->conn;
}

static int spread_add_group(const struct spread_member *group, size_t n, struct conn_crosses *out)
{
	struct conn_cross cross = { .class = CONN_SPREAD_WRITES, .members = (uint32_t)n,
				    .episodes = 1 };
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		cross.probes += group[i].tlp;
		cross.timeouts += group[i].rto;
		cross.fast += group[i].fast;
	}
	for (size_t i = 0; i < n && !err; i++) {
		cross.conn = group[i].conn;
		err = vec_push(out, cross);
	}
	return err == -E2BIG ? 0 : err;
}

static size_t spread_gather(const struct conns *c, enum conns_span span, struct spread_member *out)
{
	struct event_conn room;
	size_t n = 0;

	for (uint32_t i = 0; i < c->all.len; i++) {
		const struct conn *conn = &c->all.items[i];
		const struct event_flow *flow = conns_flow_of(c, conn);

		const struct event_conn *e = flow ? conns_record(c, span, conn, &room) : NULL;

		if (e && spread_is_slow(e))
			out[n++] = (struct spread_member){ .flow = flow, .conn = i, .tlp = e->tlp,
						 .rto = e->rto, .fast = e->fast_retransmit,
						 .accepted = e->flags & CONN_ACCEPTED };
	}
	return n;
}

int spread_find(const struct conns *c, enum conns_span span, struct conn_crosses *out)
{
	struct spread_member *all = calloc(c->n + 1, sizeof(*all));
	size_t n, end;
	int err = 0;

	if (!all)
		return -ENOMEM;
	n = spread_gather(c, span, all);
	qsort(all, n, sizeof(*all), spread_compare);
	for (size_t i = 0; i < n && !err; i = end) {
		for (end = i + 1; end < n && !spread_compare_services(&all[i], &all[end]); end++)
			;
		if (end - i >= SPREAD_MIN)
			err = spread_add_group(all + i, end - i, out);
	}
	free(all);
	return err;
}

void spread_explain(const struct conn_cross *cross, struct conn_finding *t)
{
	object_add(t->evidence, "connections", value_u64(cross->members));
	object_add(t->evidence, "tlp", value_u64(cross->probes));
	object_add(t->evidence, "rto", value_u64(cross->timeouts));
	object_add(t->evidence, "fast_retransmit", value_u64(cross->fast));
	strbuf_printf(&t->message, "small messages are spread over %" PRIu32 " connections to "
		      "the same service: %" PRIu64 " losses were detected by a timer, %" PRIu64
		      " by later packets", cross->members,
		      cross->probes + cross->timeouts, cross->fast);
	strbuf_puts(&t->advice, "use fewer connections, so that later packets reveal a loss");
}
