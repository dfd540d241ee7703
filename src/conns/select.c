/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/sort.h"
#include "conns/incast.h"
#include "conns/proxy.h"
#include "conns/spread.h"

#define SENTENCE_MAX 4096
/*
 * Without a record for this long, a connection is idle: active ones are read every 20 s or more
 * often (read_floor_hz in conns/budget.c), and a connection without changes has no record.
 */
#define IDLE_NS (20 * NS_PER_S)

/* ---- problems of several connections ---- */

static int select_compare_crosses(const void *x, const void *y)
{
	const struct conn_cross *a = x, *b = y;

	if (a->conn != b->conn)
		return a->conn < b->conn ? -1 : 1;
	return (int)a->class - (int)b->class;
}

static int select_gather_crosses(struct conns *c, struct conn_selection *s)
{
	int err = 0;

	vec_init(&s->crosses, 4 * (size_t)CONNS_CROSSES_MAX);
	vec_for_each(&c->crosses[s->span], cross)
		if (!err)
			err = vec_push(&s->crosses, *cross);
	if (!err)
		err = proxy_find(c, &s->crosses);
	if (!err)
		err = spread_find(c, s->span, &s->crosses);
	if (!err && s->crosses.len)
		qsort(s->crosses.items, s->crosses.len, sizeof(s->crosses.items[0]),
		      select_compare_crosses);
	return err;
}

static const struct conn_cross *select_first_cross(const struct conn_selection *s, uint32_t conn)
{
	const size_t lo = sort_first(i, 0, s->crosses.len, s->crosses.items[i].conn >= conn);

	return lo < s->crosses.len && s->crosses.items[lo].conn == conn ? &s->crosses.items[lo]
									 : NULL;
}

/* Returns the next problem of several connections that `x`'s connection is part of, or NULL. */
static const struct conn_cross *select_next_cross(const struct conn_selection *s,
						  const struct conn_cross *x)
{
	const struct conn_cross *end = s->crosses.items + s->crosses.len;

	return x + 1 < end && x[1].conn == x->conn ? x + 1 : NULL;
}

/* ---- all connections ---- */

/*
 * Judges a connection's totals (intervals were judged when they closed) and adds the problems that
 * involve several connections.
 */
static int select_judge(struct conn_selection *s, struct conn_view *view, struct selected *one)
{
	int err = 0;

	if (s->span == CONNS_TOTAL) {
		view->service = service_of(&s->services, one->conn);
		err = rules_judge_into(view, &s->found, &one->judged);
	}
	for (const struct conn_cross *x = select_first_cross(s, one->conn); x;
	     x = select_next_cross(s, x)) {
		view->judged.problems |= 1U << x->class;
		view->judged.harmful |= 1U << x->class;
	}
	one->judged = view->judged;
	return err;
}

static int select_judge_peer(const struct conns *c, struct conn_selection *s, struct selected *one)
{
	const struct conn_crosses *crosses;
	struct conn_judged judged;
	struct conn_view_buf room;
	int err;

	if (s->span != CONNS_TOTAL || !conns_view_peer(c, one->conn, &room))
		return 0;
	err = rules_judge_into(&room.view, &s->found, &judged);
	if (err)
		return err;
	crosses = &c->peer_recording->c->crosses[CONNS_TOTAL];
	for (size_t i = 0; i < crosses->len; i++)
		if (crosses->items[i].conn + 1 == c->peer_recording->other[one->conn])
			judged.harmful |= 1U << crosses->items[i].class;
	judged.problems |= judged.harmful;
	err = vec_push(&s->others, judged);
	one->other = (uint32_t)s->others.len;
	return err;
}

static void select_set_key(const struct conns *c, const struct conn_view *v, struct selected *one)
{
	const struct event_conn *e = v->c;

	switch (c->options.sort) {
	case CONNS_SORT_BYTES:
		one->key = e->bytes_sent + e->bytes_received;
		break;
	case CONNS_SORT_LOSSES:
		one->key = conn_retransmitted(e);
		break;
	case CONNS_SORT_RTT:
		one->key = e->rtt_us;
		break;
	case CONNS_SORT_APP:
		one->name = v->app ? v->app : v->comm;
		break;
	case CONNS_SORT_REMOTE:
		if (v->flow) {
			memcpy(one->address, v->flow->remote, sizeof(v->flow->remote));
			one->address[16] = (uint8_t)(v->flow->remote_port >> 8);
			one->address[17] = (uint8_t)v->flow->remote_port;
		}
		break;
	default:
		break;
	}
}

/* Orders from worst to best: harmful problems first, then lost time, then numbers of problems. */
static int select_compare_worst(const struct selected *a, const struct selected *b)
{
	const struct conn_judged *x = &a->judged, *y = &b->judged;
	int order = !x->harmful - !y->harmful;

	if (!order)
		order = sort_order(y->lost_lo_ns, x->lost_lo_ns);
	if (!order)
		order = __builtin_popcount(y->harmful) - __builtin_popcount(x->harmful);
	return order ? order : __builtin_popcount(y->problems) - __builtin_popcount(x->problems);
}

static int select_compare(const void *x, const void *y)
{
	const struct selected *a = x, *b = y;
	int order = sort_order(b->key, a->key);

	if (!order && a->name && b->name)
		order = strcmp(a->name, b->name);
	else if (!order)
		order = !a->name - !b->name;
	if (!order)
		order = memcmp(a->address, b->address, sizeof(a->address));
	if (!order)
		order = select_compare_worst(a, b);
	if (!order)
		order = sort_order(a->cookie, b->cookie);
	return order ? order : sort_order(a->conn, b->conn);
}

static bool select_matches(const struct conns_options *o, const struct conn_view *v)
{
	return (!o->follows || v->c->cookie == o->follow) && (!o->select || o->select(v, o->ctx));
}

/* Adds the connection to the report's counts; returns whether the report lists it. */
static bool select_count(struct conns *c, struct conn_selection *s, uint32_t conn,
			 const struct conn_view *v)
{
	const struct conns_options *o = &c->options;
	const enum conn_status status = conn_status_of(v->c);
	const bool shown = select_matches(o, v);

	if (conn_knows(v->c, CONN_KNOWS_GAUGES) && !(v->c->flags & CONN_CLOSED)) {
		s->sums.sndbuf += v->c->sndbuf;
		s->sums.window += (uint64_t)v->c->cwnd * v->c->mss;
	}
	if (s->span == CONNS_INTERVAL) {
		c->all.items[conn].shown = shown;
		c->all.items[conn].status = (uint8_t)status;
		c->all.items[conn].harmful = (uint16_t)v->judged.harmful;
	}
	if (!shown)
		return false;
	s->connections++;
	s->statuses[status]++;
	s->closed += !!(v->c->flags & CONN_CLOSED);
	s->troubled += !!v->judged.harmful;
	for (int class = 0; class < CONN_CLASSES; class++)
		s->classes[class] += v->judged.harmful >> class & 1;
	return !o->problems_only || v->judged.harmful;
}

static int select_add(struct conns *c, struct conn_selection *s, uint32_t conn)
{
	struct conn_view_buf room;
	struct selected one = { .conn = conn };
	const size_t found = s->found.len;
	int err;

	if (!conns_view(c, s->span, conn, &room))
		return 0;
	err = select_judge(s, &room.view, &one);
	if (err)
		return err;
	if (!select_count(c, s, conn, &room.view)) {
		s->found.len = found;
		return 0;
	}
	one.cookie = room.view.c->cookie;
	select_set_key(c, &room.view, &one);
	err = select_judge_peer(c, s, &one);
	return err ? err : vec_push(&s->items, one);
}

bool select_is_last_known(const struct conn *conn)
{
	return conn->used && !conn->closed && conn->shown && !conn->interval_record;
}

/* Returns whether a connection without a record in the interval is idle now. */
static bool select_has_become_idle(const struct conns *c, const struct conn *conn)
{
	const struct conns_period *p = &c->periods[CONNS_INTERVAL];
	const uint32_t ago = (uint32_t)c->tick - conn->tick;

	/*
	 * A dump of inet_diag lists all connections, and those that changed have a record. Where an
	 * application does not read, nothing changes.
	 */
	if (c->from_diag && !(conn->harmful >> CONN_RECEIVER_NOT_READING & 1))
		return !p->unseen;
	return ago > CONNS_TICKS || p->to_ns - c->tick_to_ns[conn->tick % CONNS_TICKS] >= IDLE_NS;
}

/* Counts the open connections without a record in the interval, by their last known state. */
static void select_add_last_known(struct conns *c, struct conn_selection *s)
{
	vec_for_each(&c->all, conn) {
		if (!select_is_last_known(conn))
			continue;
		if (conn->status != STATUS_IDLE && select_has_become_idle(c, conn)) {
			conn->status = STATUS_IDLE;
			conn->harmful = 0;
		}
		s->connections++;
		s->last_known++;
		s->statuses[conn->status]++;
		s->troubled += !!conn->harmful;
		s->last_known_troubled += !!conn->harmful;
		for (int class = 0; class < CONN_CLASSES; class++)
			s->last_known_classes[class] += conn->harmful >> class & 1;
	}
}

int select_connections(struct conns *c, enum conns_span span, struct conn_selection *s)
{
	int err;

	*s = (struct conn_selection){ .span = span };
	vec_init(&s->items, CONNS_MAX);
	vec_init(&s->others, CONNS_MAX);
	vec_init(&s->found, 2 * (size_t)RULES_MAX * (CONNS_MAX + 1));
	err = select_gather_crosses(c, s);
	if (span == CONNS_INTERVAL) {
		vec_for_each(&c->interval_records, record)
			if (!err)
				err = select_add(c, s, record->conn);
		select_add_last_known(c, s);
	} else {
		if (!err)
			err = service_gather(c, span, &s->services);
		for (uint32_t i = 0; i < c->all.len && !err; i++)
			err = select_add(c, s, i);
	}
	if (!err && s->items.len)
		qsort(s->items.items, s->items.len, sizeof(s->items.items[0]), select_compare);
	return err;
}

void select_release(struct conn_selection *s)
{
	vec_release(&s->items);
	vec_release(&s->others);
	vec_release(&s->found);
	vec_release(&s->crosses);
	service_release(&s->services);
}

void select_view(const struct conns *c, const struct conn_selection *s, const struct selected *one,
		 struct conn_view_buf *room)
{
	if (conns_view(c, s->span, one->conn, room))
		conn_view_judged(&room->view, &one->judged,
				 s->span == CONNS_TOTAL ? &s->found : &c->found);
}

bool select_view_peer(const struct conns *c, const struct conn_selection *s,
		      const struct selected *one, struct conn_view_buf *room)
{
	if (!one->other || !conns_view_peer(c, one->conn, room))
		return false;
	conn_view_judged(&room->view, &s->others.items[one->other - 1], &s->found);
	return true;
}

/* ---- problems of one connection ---- */

size_t select_problems(const struct conn_selection *s, const struct selected *one,
		       const struct conn_view *view, struct selected_problem *out)
{
	const struct conn_cross *x = select_first_cross(s, one->conn);
	size_t n = view->judged.n;

	for (size_t i = 0; i < n; i++)
		out[i] = (struct selected_problem){ .p = view->found[i] };
	for (; x && n < SELECT_PROBLEMS_MAX; x = select_next_cross(s, x))
		out[n++] = (struct selected_problem){
			.p = { .class = x->class, .harm = CONN_HARMFUL,
			       .confidence = CONN_INFERRED },
			.cross = x,
		};
	return n;
}

void select_explain(const struct conn_selection *s, const struct conn_view *view,
		    const struct selected_problem *problem, struct report *r,
		    struct conn_finding *finding)
{
	*finding = (struct conn_finding){
		.r = r, .view = view, .problem = &problem->p, .sums = &s->sums,
		.evidence = object_new(r), .message = STRBUF_INIT(SENTENCE_MAX),
		.advice = STRBUF_INIT(SENTENCE_MAX),
	};
	if (!problem->cross)
		rules_explain(finding);
	else if (problem->p.class == CONN_INCAST)
		incast_explain(problem->cross, finding);
	else if (problem->p.class == CONN_PIPELINE_PROXY)
		proxy_explain(problem->cross, finding);
	else
		spread_explain(problem->cross, finding);
}

void select_release_finding(struct conn_finding *finding)
{
	strbuf_release(&finding->message);
	strbuf_release(&finding->advice);
}
