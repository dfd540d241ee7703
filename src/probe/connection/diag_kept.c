/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/diag_kept.h"

#include <netinet/tcp.h>
#include <string.h>

#include "base/bug.h"
#include "probe/connection/diag_state.h"

#define FIRST_PASSES 2
#define MISSED_MOST 2

_Static_assert(sizeof(struct diag_conn) <= 512, "memory of a connection");

void diag_kept_init(struct diag_kept *k, struct conns_told *told)
{
	*k = (struct diag_kept){ .told = told, .table.item = sizeof(struct diag_conn) };
	vec_init(&k->gone, DIAG_CONNS_MAX);
}

void diag_kept_release(struct diag_kept *k)
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

/* ---- telling ---- */

static void tell(struct diag_kept *k, struct diag_conn *c, bool closed)
{
	const struct diag_base *base = &c->base;
	struct conn_told t = {
		.time = c->seen, .closed = closed, .now = c->now,
		.kept = {
			.q = {
				.born = c->born, .cookie = c->key.cookie, .netns = c->key.netns,
				.pid = c->pid, .level = LEVEL_HOT,
				.bytes_sent = base->bytes_sent, .bytes_acked = base->bytes_acked,
				.bytes_received = base->bytes_received,
				.bytes_retrans = base->bytes_retrans,
				.dsack_dups = base->dsack_dups, .total_rto = base->total_rto,
				.flags = (c->began ? KEPT_BEGAN : 0) |
					 (c->accepted ? KEPT_ACCEPTED : 0),
			},
			.rtt_min_us = UINT32_MAX,
			.zero_window_us = c->zero_window_us, .unread_us = c->unread_us,
			.zero_windows = c->zero_windows, .unread = c->unread,
		},
	};

	if (!k->told->sink)
		return;
	memcpy(t.kept.q.comm, c->comm, sizeof(t.kept.q.comm));
	memcpy(t.kept.q.chrono, base->chrono, sizeof(t.kept.q.chrono));
	memcpy(t.kept.sampled, c->sampled, sizeof(t.kept.sampled));
	memcpy(t.kept.sampled_us, c->sampled_us, sizeof(t.kept.sampled_us));
	conns_told_take(k->told, &t, &c->unclear);
	c->changed = false;
}

static void end(struct diag_kept *k, struct diag_conn *c)
{
	tell(k, c, true);
	conn_table_remove(&k->table, &c->key);
}

uint64_t diag_kept_tell(struct diag_kept *k)
{
	struct diag_conn *c;
	uint64_t told = 0;
	size_t at = 0;

	while ((c = conn_table_next(&k->table, &at))) {
		if (!c->changed)
			continue;
		tell(k, c, false);
		told++;
	}
	return told;
}

/* ---- a dump ---- */

static void put_base(struct diag_base *base, const struct conn_now *now)
{
	*base = (struct diag_base){
		.bytes_sent = now->bytes_sent, .bytes_acked = now->bytes_acked,
		.bytes_received = now->bytes_received, .bytes_retrans = now->bytes_retrans,
		.dsack_dups = now->dsack_dups, .total_rto = now->total_rto,
	};
	memcpy(base->chrono, now->chrono, sizeof(base->chrono));
}

static struct diag_conn *add(struct diag_kept *k, struct diag_ns *ns, uint64_t cookie,
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
		put_base(&c->base, now);
	return c;
}

/* Its socket was disconnected and connected again: it is another connection. */
static bool is_another(const struct conn_now *a, const struct conn_now *b)
{
	return b->bytes_sent < a->bytes_sent || b->bytes_received < a->bytes_received ||
	       b->bytes_retrans < a->bytes_retrans || b->local_port != a->local_port ||
	       b->remote_port != a->remote_port || memcmp(b->remote, a->remote, 16) != 0;
}

static bool has_moved(const struct conn_now *a, const struct conn_now *b)
{
	return b->bytes_sent != a->bytes_sent || b->bytes_acked != a->bytes_acked ||
	       b->bytes_received != a->bytes_received || b->dsack_dups != a->dsack_dups ||
	       b->total_rto != a->total_rto ||
	       memcmp(b->chrono, a->chrono, sizeof(a->chrono)) != 0;
}

/* An idle one that has nothing to tell is not sampled: its numbers would run over. */
static void sample(struct diag_conn *c, const struct diag_sock *s, uint32_t us)
{
	const enum conn_doing what = diag_doing(s);
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

void diag_kept_take(struct diag_kept *k, struct diag_ns *ns, const struct diag_sock *s,
		    uint32_t sample_us)
{
	struct diag_conn *c;
	struct conn_now now;

	if (s->state == TCP_LISTEN)
		ns->listens[s->local_port / 8] |= 1U << s->local_port % 8;
	if (!diag_is_told(s))
		return;
	diag_now(s, &now);
	c = conn_table_find(&k->table, ns->inode, s->cookie);
	if (c && is_another(&c->now, &now)) {
		end(k, c);
		c = NULL;
	}
	if (!c)
		c = add(k, ns, s->cookie, &now);
	else
		c->changed |= has_moved(&c->now, &now);
	if (!c)
		return;
	c->now = now;
	c->seen = ns->time;
	c->inode = s->inode;
	c->pass = ns->passes;
	c->missed = 0;
	if (sample_us)
		sample(c, s, sample_us);
}

/* After its namespace's dump, which has all listeners. */
static void decide(struct diag_conn *c)
{
	const uint16_t port = c->now.local_port;

	c->accepted = c->ns->listens[port / 8] >> port % 8 & 1;
	c->decided = true;
}

/*
 * Ends connections that are over; the table is not changed while it is walked over. False: there
 * are more of them than there is memory to note. At least one has ended then.
 */
static bool end_gone(struct diag_kept *k)
{
	struct diag_conn *c, *unnoted = NULL;
	size_t at = 0;

	while (!unnoted && (c = conn_table_next(&k->table, &at))) {
		if ((c->ns->gone || c->missed >= MISSED_MOST) && vec_push(&k->gone, c))
			unnoted = c;
	}
	vec_for_each(&k->gone, gone)
		end(k, *gone);
	vec_clear(&k->gone);
	if (unnoted)
		end(k, unnoted);
	return !unnoted;
}

bool diag_kept_settle(struct diag_kept *k)
{
	struct diag_conn *c;
	bool some = false;
	size_t at = 0;

	while ((c = conn_table_next(&k->table, &at))) {
		if (!c->ns->complete || c->ns->gone)
			continue;
		if (!c->decided)
			decide(c);
		c->missed = c->pass == c->ns->passes ? 0 : c->missed + 1;
		some |= c->missed == 1;
	}
	while (!end_gone(k))
		;
	return some;
}
