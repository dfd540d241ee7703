// SPDX-License-Identifier: Apache-2.0
#include "conns/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "conns/incast.h"
#include "conns/proxy.h"
#include "conns/spread.h"

#define SENTENCE_MAX 4096

/* -- problems of several -------------------------------------------------------------------- */

static int by_conn(const void *x, const void *y)
{
	const struct conn_cross *a = x, *b = y;

	if (a->conn != b->conn)
		return a->conn < b->conn ? -1 : 1;
	return (int)a->class - (int)b->class;
}

static int gather_crosses(struct conns *c, struct conns_shown *s)
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
		qsort(s->crosses.items, s->crosses.len, sizeof(s->crosses.items[0]), by_conn);
	return err;
}

static const struct conn_cross *first_cross(const struct conns_shown *s, uint32_t conn)
{
	const size_t lo = sort_first(i, 0, s->crosses.len, s->crosses.items[i].conn >= conn);

	return lo < s->crosses.len && s->crosses.items[lo].conn == conn ? &s->crosses.items[lo]
									 : NULL;
}

/* The next one of the same connection. */
static const struct conn_cross *next_cross(const struct conns_shown *s, const struct conn_cross *x)
{
	const struct conn_cross *end = s->crosses.items + s->crosses.len;

	return x + 1 < end && x[1].conn == x->conn ? x + 1 : NULL;
}

/* -- all connections ------------------------------------------------------------------------ */

/* Totals are judged here, an interval when it was closed; problems of several come to both. */
static int judge(struct conns_shown *s, struct conn_view *view, struct shown *one)
{
	int err = 0;

	if (s->span == CONNS_TOTAL)
		err = rules_judge_into(view, &s->found, &one->judged);
	for (const struct conn_cross *x = first_cross(s, one->conn); x; x = next_cross(s, x)) {
		view->judged.problems |= 1U << x->class;
		view->judged.harmful |= 1U << x->class;
	}
	one->judged = view->judged;
	return err;
}

static int judge_other(const struct conns *c, struct conns_shown *s, struct shown *one)
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

static void set_key(const struct conns *c, const struct conn_view *v, struct shown *one)
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

static int count_bits(uint32_t mask)
{
	return __builtin_popcount(mask);
}

/* From bad to good: by lost time, by the number of problems, by that of harmless ones. */
static int compare_worst(const struct shown *a, const struct shown *b)
{
	const struct conn_judged *x = &a->judged, *y = &b->judged;
	int order = !x->harmful - !y->harmful;

	if (!order)
		order = sort_order(y->lost_ns, x->lost_ns);
	if (!order)
		order = count_bits(y->harmful) - count_bits(x->harmful);
	return order ? order : count_bits(y->problems) - count_bits(x->problems);
}

static int by_order(const void *x, const void *y)
{
	const struct shown *a = x, *b = y;
	int order = sort_order(b->key, a->key);

	if (!order && a->name && b->name)
		order = strcmp(a->name, b->name);
	else if (!order)
		order = !a->name - !b->name;
	if (!order)
		order = memcmp(a->address, b->address, sizeof(a->address));
	if (!order)
		order = compare_worst(a, b);
	if (!order)
		order = sort_order(a->cookie, b->cookie);
	return order ? order : sort_order(a->conn, b->conn);
}

/* Counts the connection; returns whether it is listed. */
static bool shown_count(const struct conns *c, struct conns_shown *s, const struct conn_view *v)
{
	const struct conns_options *o = &c->options;

	if (conn_knows(v->c, CONN_KNOWS_GAUGES) && !(v->c->flags & CONN_CLOSED)) {
		s->sums.sndbuf += v->c->sndbuf;
		s->sums.window += (uint64_t)v->c->cwnd * v->c->mss;
	}
	if ((o->follows && v->c->cookie != o->follow) || (o->keep && !o->keep(v, o->ctx)))
		return false;
	s->connections++;
	s->closed += !!(v->c->flags & CONN_CLOSED);
	s->troubled += !!v->judged.harmful;
	for (int class = 0; class < CONN_CLASSES; class++)
		s->classes[class] += v->judged.harmful >> class & 1;
	return !o->problems_only || v->judged.harmful;
}

static int take(const struct conns *c, struct conns_shown *s, uint32_t conn)
{
	struct conn_view_buf room;
	struct shown one = { .conn = conn };
	const size_t found = s->found.len;
	int err;

	if (!conns_view(c, s->span, conn, &room))
		return 0;
	err = judge(s, &room.view, &one);
	if (err)
		return err;
	if (!shown_count(c, s, &room.view)) {
		s->found.len = found;
		return 0;
	}
	one.cookie = room.view.c->cookie;
	set_key(c, &room.view, &one);
	err = judge_other(c, s, &one);
	return err ? err : vec_push(&s->items, one);
}

int shown_make(struct conns *c, enum conns_span span, struct conns_shown *s)
{
	int err;

	*s = (struct conns_shown){ .span = span };
	vec_init(&s->items, CONNS_MAX);
	vec_init(&s->others, CONNS_MAX);
	vec_init(&s->found, 2 * (size_t)RULES_MAX * (CONNS_MAX + 1));
	err = gather_crosses(c, s);
	if (span == CONNS_INTERVAL) {
		vec_for_each(&c->fresh, record)
			if (!err)
				err = take(c, s, record->conn);
	} else {
		for (uint32_t i = 0; i < c->all.len && !err; i++)
			err = take(c, s, i);
	}
	if (!err && s->items.len)
		qsort(s->items.items, s->items.len, sizeof(s->items.items[0]), by_order);
	return err;
}

void shown_release(struct conns_shown *s)
{
	vec_release(&s->items);
	vec_release(&s->others);
	vec_release(&s->found);
	vec_release(&s->crosses);
}

void shown_view(const struct conns *c, const struct conns_shown *s, const struct shown *one,
		struct conn_view_buf *room)
{
	if (conns_view(c, s->span, one->conn, room))
		conn_view_judged(&room->view, &one->judged,
				 s->span == CONNS_TOTAL ? &s->found : &c->found);
}

bool shown_view_other(const struct conns *c, const struct conns_shown *s, const struct shown *one,
		      struct conn_view_buf *room)
{
	if (!one->other || !conns_view_peer(c, one->conn, room))
		return false;
	conn_view_judged(&room->view, &s->others.items[one->other - 1], &s->found);
	return true;
}

/* -- problems of one ------------------------------------------------------------------------ */

size_t shown_problems(const struct conns_shown *s, const struct shown *one,
		      const struct conn_view *view, struct shown_problem *out)
{
	const struct conn_cross *x = first_cross(s, one->conn);
	size_t n = view->judged.n;

	for (size_t i = 0; i < n; i++)
		out[i] = (struct shown_problem){ .p = view->found[i] };
	for (; x && n < SHOWN_PROBLEMS_MAX; x = next_cross(s, x))
		out[n++] = (struct shown_problem){
			.p = { .class = x->class, .harm = CONN_HARMFUL,
			       .confidence = CONN_INFERRED },
			.cross = x,
		};
	return n;
}

void shown_explain(const struct conns_shown *s, const struct conn_view *view,
		const struct shown_problem *problem, struct report *r, struct conn_finding *finding)
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

void shown_release_finding(struct conn_finding *finding)
{
	strbuf_release(&finding->message);
	strbuf_release(&finding->advice);
}
