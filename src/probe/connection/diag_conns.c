/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/diag_conns.h"

#include <netinet/tcp.h>
#include <string.h>

#include "base/bug.h"
#include "probe/connection/diag_state.h"

#define FIRST_PASSES 2
#define DUMPS_MISSED_MAX 2

_Static_assert(sizeof(struct diag_conn) <= 512, "memory of a connection");

void diag_conns_init(struct diag_conns *k, struct conn_delta *delta)
{
	*k = (struct diag_conns){ .delta = delta, .table.item = sizeof(struct diag_conn) };
	vec_init(&k->gone, DIAG_CONNS_MAX);
}

void diag_conns_release(struct diag_conns *k)
{
	conn_table_free(&k->table);
	vec_release(&k->gone);
}

void diag_ns_begin(struct diag_ns *ns, uint64_t now)
{
	if (ns->complete)
		ns->before = ns->began;
	ns->began = ns->time = now;
	ns->passes++;
	ns->complete = false;
	memset(ns->listens, 0, sizeof(ns->listens));
}

/* ---- reports ---- */

static void diag_conns_report_one(struct diag_conns *k, struct diag_conn *c, bool closed)
{
	const struct diag_base *base = &c->base;
	struct conn_snapshot t = {
		.time = c->seen, .closed = closed, .now = c->now,
		.stats = {
			.idle = {
				.born = c->born, .cookie = c->key.cookie, .netns = c->key.netns,
				.pid = c->pid, .level = LEVEL_HOT,
				.bytes_sent = base->bytes_sent, .bytes_acked = base->bytes_acked,
				.bytes_received = base->bytes_received,
				.bytes_retrans = base->bytes_retrans,
				.dsack_dups = base->dsack_dups, .total_rto = base->total_rto,
				.flags = (c->began ? STATS_BEGAN : 0) |
					 (c->accepted ? STATS_ACCEPTED : 0),
			},
			.rtt_min_us = UINT32_MAX,
			.zero_window_us = c->zero_window_us, .unread_us = c->unread_us,
			.zero_windows = c->zero_windows, .unread = c->unread,
		},
	};

	if (!k->delta->sink)
		return;
	memcpy(t.stats.idle.comm, c->comm, sizeof(t.stats.idle.comm));
	memcpy(t.stats.idle.chrono, base->chrono, sizeof(t.stats.idle.chrono));
	memcpy(t.stats.sampled, c->sampled, sizeof(t.stats.sampled));
	memcpy(t.stats.sampled_us, c->sampled_us, sizeof(t.stats.sampled_us));
	conn_delta_add(k->delta, &t, &c->unclear);
	c->reported = true;
	c->changed = false;
}

static void diag_conns_end(struct diag_conns *k, struct diag_conn *c)
{
	diag_conns_report_one(k, c, true);
	conn_table_remove(&k->table, &c->key);
}

uint64_t diag_conns_report(struct diag_conns *k)
{
	struct diag_conn *c;
	uint64_t reported = 0;
	size_t at = 0;

	while ((c = conn_table_next(&k->table, &at))) {
		if (!c->changed && c->reported)
			continue;
		diag_conns_report_one(k, c, false);
		reported++;
	}
	return reported;
}

/* ---- a dump ---- */

static void diag_conns_put_base(struct diag_base *base, const struct conn_now *now)
{
	*base = (struct diag_base){
		.bytes_sent = now->bytes_sent, .bytes_acked = now->bytes_acked,
		.bytes_received = now->bytes_received, .bytes_retrans = now->bytes_retrans,
		.dsack_dups = now->dsack_dups, .total_rto = now->total_rto,
	};
	memcpy(base->chrono, now->chrono, sizeof(base->chrono));
}

static struct diag_conn *diag_conns_add(struct diag_conns *k, struct diag_ns *ns, uint64_t cookie,
					const struct conn_now *now)
{
	struct diag_conn *c = k->table.n < DIAG_CONNS_MAX ?
			      conn_table_add(&k->table, ns->inode, cookie) : NULL;

	if (!c) {
		k->no_memory++;
		return NULL;
	}
	c->ns = ns;
	c->began = ns->passes > FIRST_PASSES && ns->before;
	c->born = c->began ? ns->before : ns->time;
	c->changed = c->began;
	if (!c->began)
		diag_conns_put_base(&c->base, now);
	return c;
}

/* Returns true if the socket was connected again: a new connection with the same cookie. */
static bool diag_conns_is_other(const struct conn_now *a, const struct conn_now *b)
{
	return b->bytes_sent < a->bytes_sent || b->bytes_received < a->bytes_received ||
	       b->bytes_retrans < a->bytes_retrans || b->local_port != a->local_port ||
	       b->remote_port != a->remote_port || memcmp(b->remote, a->remote, 16) != 0;
}

static bool diag_conns_has_moved(const struct conn_now *a, const struct conn_now *b)
{
	return b->bytes_sent != a->bytes_sent || b->bytes_acked != a->bytes_acked ||
	       b->bytes_received != a->bytes_received || b->dsack_dups != a->dsack_dups ||
	       b->total_rto != a->total_rto ||
	       memcmp(b->chrono, a->chrono, sizeof(a->chrono)) != 0;
}

/* Counts a sample, but not of an unchanged idle connection, whose 16-bit count would wrap. */
static void diag_conns_sample(struct diag_conn *c, const struct diag_sock *s, uint32_t us)
{
	const enum conn_sample_state what = diag_sampled_state(s);
	const bool unread = diag_is_unread(s);

	c->changed |= what != CONN_AT_IDLE || unread;
	if (!c->changed)
		return;
	if (what == CONN_AT_MAX) {
		c->unclear.samples++;
		c->unclear.us += us;
	} else {
		c->sampled[what]++;
		c->sampled_us[what] += us;
	}
	if (diag_is_shut(s)) {
		c->zero_windows++;
		c->zero_window_us += us;
	}
	if (unread) {
		c->unread++;
		c->unread_us += us;
	}
}

void diag_conns_update(struct diag_conns *k, struct diag_ns *ns, const struct diag_sock *s,
		       uint32_t sample_us)
{
	struct diag_conn *c;
	struct conn_now now;

	if (s->state == TCP_LISTEN)
		ns->listens[s->local_port / 8] |= 1U << s->local_port % 8;
	if (!diag_has_bytes(s))
		return;
	diag_now(s, &now);
	c = conn_table_find(&k->table, ns->inode, s->cookie);
	if (c && diag_conns_is_other(&c->now, &now)) {
		diag_conns_end(k, c);
		c = NULL;
	}
	if (!c)
		c = diag_conns_add(k, ns, s->cookie, &now);
	else
		c->changed |= diag_conns_has_moved(&c->now, &now);
	if (!c)
		return;
	c->now = now;
	c->seen = ns->time;
	c->inode = s->inode;
	c->pass = ns->passes;
	c->missed = 0;
	if (sample_us)
		diag_conns_sample(c, s, sample_us);
}

/* Sets `accepted` by the listening ports, after a dump of the namespace that lists all of them. */
static void diag_conns_set_role(struct diag_conn *c)
{
	const uint16_t port = c->now.local_port;

	c->accepted = c->ns->listens[port / 8] >> port % 8 & 1;
	c->decided = true;
}

/*
 * Ends connections that are gone. Collects them first, as the hash table must not change while it
 * is iterated. Returns false if memory ran out: call again. At least one connection has ended then.
 */
static bool diag_conns_end_gone(struct diag_conns *k)
{
	struct diag_conn *c, *unnoted = NULL;
	size_t at = 0;

	while (!unnoted && (c = conn_table_next(&k->table, &at))) {
		if ((c->ns->gone || c->missed >= DUMPS_MISSED_MAX) && vec_push(&k->gone, c))
			unnoted = c;
	}
	vec_for_each(&k->gone, gone)
		diag_conns_end(k, *gone);
	vec_clear(&k->gone);
	if (unnoted)
		diag_conns_end(k, unnoted);
	return !unnoted;
}

bool diag_conns_settle(struct diag_conns *k)
{
	struct diag_conn *c;
	bool some = false;
	size_t at = 0;

	while ((c = conn_table_next(&k->table, &at))) {
		if (!c->ns->complete || c->ns->gone)
			continue;
		if (!c->decided)
			diag_conns_set_role(c);
		c->missed = c->pass == c->ns->passes ? 0 : c->missed + 1;
		some |= c->missed == 1;
	}
	while (!diag_conns_end_gone(k))
		;
	return some;
}
