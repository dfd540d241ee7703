/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "conns/rules.h"
#include "conns/select.h"
#include "conns/words.h"

void limits_init(struct limits *l, struct conns *c)
{
	*l = (struct limits){ .c = c };
	vec_init(&l->stretches, LIMITS_STRETCHES_MAX);
	vec_init(&l->owed, 3 * (size_t)CONNS_MAX);
}

void limits_release(struct limits *l)
{
	vec_release(&l->stretches);
	vec_release(&l->owed);
}

enum limits_end limits_end_of(const struct conn_view *view)
{
	return view->c->flags & CONN_ACCEPTED ? LIMITS_SERVER : LIMITS_CLIENT;
}

/* ---- each interval ---- */

static int limits_add_stretch(struct limits *l, uint32_t conn, enum limits_duty duty,
			      const struct event_conn *e)
{
	int err = vec_push(&l->stretches, (struct limits_stretch){
		.cookie = l->c->all.items[conn].cookie, .from = e->from, .to = e->to,
		.conn = conn, .duty = duty });

	l->beyond |= err == -E2BIG;
	return err == -E2BIG ? 0 : err;
}

/*
 * Adds the interval to the times in which a connection waited for an application: for the peer's to
 * read, or for this end's to read or write. An idle connection, or one whose peer has to send next,
 * does not wait for this end to write.
 */
static int limits_add_conn(struct limits *l, uint32_t conn, const struct conn_view *v)
{
	const uint32_t peer = l->c->all.items[conn].peer;
	const struct event_conn *e = v->c;
	const enum conn_status status = conn_status_of(e);
	int err = 0;

	if (!conn_knows(e, CONN_KNOWS_TIMES))
		return 0;
	l->sender_app_ns[limits_end_of(v)] += e->sender_app_ns;
	if (conn_status_is_peers_turn(status))
		l->peers_turn_ns[limits_end_of(v)] += e->sender_app_ns;
	if (peer && conn_share(e, e->receiver_window_ns) >= RULES_LIMITED_SHARE)
		err = limits_add_stretch(l, peer - 1, LIMITS_READ, e);
	if (!err && e->unread)
		err = limits_add_stretch(l, conn, LIMITS_READ, e);
	if (!err && status == STATUS_SENDER_APP &&
	    2 * conn_share(e, e->sender_app_ns) > 1)
		err = limits_add_stretch(l, conn, LIMITS_WRITE, e);
	return err;
}

int limits_interval(struct limits *l)
{
	const struct conns_options *o = &l->c->options;
	struct conn_view_buf room;
	int err = 0;

	vec_for_each(&l->c->interval_records, record) {
		if (err || !conns_view(l->c, CONNS_INTERVAL, record->conn, &room) ||
		    (o->select && !o->select(&room.view, o->ctx)))
			continue;
		err = limits_add_conn(l, record->conn, &room.view);
	}
	return err;
}

/* ---- all intervals ---- */

/* By duty (read, write): ns for which the application was waited for; whether this is a limit. */
struct due {
	uint64_t ns[LIMITS_DUTIES];
	bool owes[LIMITS_DUTIES];
};

/* Adds a receiver on another host to the ends that were waited for: only its flow is known. */
static int limits_owe_remote(struct limits *l, uint32_t conn, const struct conn_view *v)
{
	return vec_push(&l->owed, (struct limits_owed){
		.cookie = v->c->cookie, .ns = v->c->receiver_window_ns, .duty = LIMITS_READ,
		.flow = v->flow ? *v->flow : (struct event_flow){ 0 }, .conn = conn,
		.end = limits_end_of(v) == LIMITS_SERVER ? LIMITS_CLIENT : LIMITS_SERVER });
}

/*
 * Marks the applications that a connection waited for, by its totals: a limit in single intervals
 * only is no limit of the connection.
 */
static int limits_judge(struct limits *l, struct due *dues, uint32_t conn,
			const struct conn_view *v)
{
	const uint32_t peer = l->c->all.items[conn].peer;
	const char *limit;
	double share;
	int err = 0;

	for (uint32_t i = 0; !err && i < v->judged.n; i++) {
		const struct conn_problem *p = &v->found[i];

		if (p->harm != CONN_HARMFUL)
			continue;
		if (p->class == CONN_RECEIVER_NOT_READING)
			dues[conn].owes[LIMITS_READ] = true;
		else if (p->class == CONN_RECEIVER_WINDOW && !peer)
			err = limits_owe_remote(l, conn, v);
		else if (p->class == CONN_RECEIVER_WINDOW && p->limit == WINDOW_NOT_READ)
			dues[peer - 1].owes[LIMITS_READ] = true;
	}
	limit = words_limit(v->c, &share);
	if (limit && !strcmp(limit, words_time_name(0)))
		dues[conn].owes[LIMITS_WRITE] = true;
	return err;
}

static int limits_owe(struct limits *l, const struct due *due, uint32_t conn, enum limits_duty duty)
{
	struct conn_view_buf room;

	if (!due->owes[duty] || !due->ns[duty] || !conns_view(l->c, CONNS_TOTAL, conn, &room))
		return 0;
	return vec_push(&l->owed, (struct limits_owed){
		.cookie = room.view.c->cookie, .ns = due->ns[duty], .conn = conn,
		.flow = room.view.flow ? *room.view.flow : (struct event_flow){ 0 },
		.pid = room.view.c->pid, .duty = duty, .end = limits_end_of(&room.view),
		.known = true });
}

static int limits_owe_all(struct limits *l, struct due *dues)
{
	int err = 0;

	vec_for_each(&l->stretches, s)
		if (l->c->all.items[s->conn].cookie == s->cookie)
			dues[s->conn].ns[s->duty] += s->to - s->from;
	for (uint32_t i = 0; i < l->c->all.len; i++)
		for (int duty = 0; !err && duty < LIMITS_DUTIES; duty++)
			err = limits_owe(l, &dues[i], i, (enum limits_duty)duty);
	return err;
}

static int limits_compare_owed(const void *a, const void *b)
{
	const struct limits_owed *x = a, *y = b;

	return sort_order(x->duty, y->duty) ?: sort_order(y->ns, x->ns) ?:
	       sort_order(x->cookie, y->cookie);
}

static void limits_drop_small(struct limits *l)
{
	size_t n = 0, of_kind = 0;

	if (l->owed.len)
		qsort(l->owed.items, l->owed.len, sizeof(*l->owed.items), limits_compare_owed);
	for (size_t i = 0; i < l->owed.len; i++) {
		if (i && l->owed.items[i].duty != l->owed.items[i - 1].duty)
			of_kind = 0;
		if (of_kind++ < LIMITS_DUTIES_MAX)
			l->owed.items[n++] = l->owed.items[i];
	}
	l->owed.len = n;
}

int limits_finish(struct limits *l)
{
	struct due *dues = calloc(l->c->all.len + 1, sizeof(*dues));
	struct conn_selection s;
	struct conn_view_buf room;
	int err = select_connections(l->c, CONNS_TOTAL, &s);

	if (!dues)
		err = -ENOMEM;
	vec_for_each(&s.items, one) {
		if (err)
			break;
		select_view(l->c, &s, one, &room);
		conn_aggregate_add(&l->ends[limits_end_of(&room.view)], &room.view);
		err = limits_judge(l, dues, one->conn, &room.view);
	}
	for (size_t i = 0; i < sizeof(l->ends) / sizeof(l->ends[0]); i++)
		conn_aggregate_finish(&l->ends[i]);
	if (!err)
		err = limits_owe_all(l, dues);
	limits_drop_small(l);
	select_release(&s);
	free(dues);
	return err;
}
