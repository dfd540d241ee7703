/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/calls.h"

#include <string.h>

#include "base/bug.h"
#include "conns/rules.h"
#include "conns/words.h"
#include "report/human.h"

/* ---- storing ---- */

static void calls_drop_oldest(struct conns *c)
{
	const size_t half = c->calls.max / 2;

	memmove(c->calls.items, c->calls.items + half,
		(c->calls.len - half) * sizeof(c->calls.items[0]));
	c->calls.len -= half;
	c->calls_dropped += half;
}

/* Inserts the call by its sequence number: of simultaneous calls, a later one may arrive first. */
int calls_add(struct conns *c, const struct event_call *call)
{
	size_t at = c->calls.len;
	int err;

	if (!c->options.follows || call->cookie != c->options.follow)
		return 0;
	if (c->calls.len == c->calls.max) {
		calls_drop_oldest(c);
		at = c->calls.len;
	}
	err = vec_push(&c->calls, *call);
	for (; !err && at && c->calls.items[at - 1].seq > call->seq; at--)
		c->calls.items[at] = c->calls.items[at - 1];
	if (!err)
		c->calls.items[at] = *call;
	return err;
}

/* ---- text ---- */

static const char *calls_direction(const struct event_call *call)
{
	return call->direction == DIR_EGRESS ? "send" : "receive";
}

static struct value calls_bytes(const struct event_call *call)
{
	return call->result >= 0 ? value_u64((uint64_t)call->result) : value_null();
}

/* Returns the name of the call's error, such as "EAGAIN"; NULL if the call did not fail. */
static const char *calls_error(const struct event_call *call, struct report *r)
{
	const char *name;

	if (call->result >= 0)
		return NULL;
	name = call->result > -4096 ? strerrorname_np(-call->result) : NULL; /* errno is < 4096 */
	return name ? name : report_format(r, "%d", call->result);
}

/* Returns the reason why unsent data waits; NULL if there is no unsent data. */
static const char *calls_held_by(const struct event_call *call)
{
	static const char *const holds[CONN_AT_MAX] = {
		[CONN_AT_RECOVERY] = "recovery", [CONN_AT_WINDOW] = "window",
		[CONN_AT_SEND_BUFFER] = "send-buffer", [CONN_AT_CWND] = "cwnd",
		[CONN_AT_DELAYED_ACK] = "delayed-ack", [CONN_AT_NAGLE] = "nagle",
	};

	return call->unsent && call->state < CONN_AT_MAX ? holds[call->state] : NULL;
}

/* ---- table of one connection ---- */

static const struct column columns[] = {
	{ .name = "time_ns" }, { .head = "at" },
	{ .name = "gap_ns", .head = "gap" },
	{ .name = "call", .head = "call" },
	{ .name = "bytes" }, { .name = "error" }, { .head = "bytes" },
	{ .name = "unsent", .head = "unsent" }, { .name = "unacked", .head = "unacked" },
	{ .name = "unread", .head = "unread" },
	{ .name = "held_by" }, { .head = "held by" },
	{ .name = "pid" }, { .name = "tid" }, { .head = "thread" },
	{ .name = "seq" }, { .name = "left_out_before" },
};

/* Stores how many calls between two logged calls are not in the log; returns false if unknown. */
static bool calls_missing(const struct event_call *before, const struct event_call *call,
			  uint32_t *n)
{
	*n = call->seq - before->seq - 1;
	return !(call->flags & CALL_AFTER_UNKNOWN);
}

static void calls_add_row(const struct conns *c, const struct event_call *before,
			  const struct event_call *call, struct table *t, struct report *r)
{
	const uint64_t start = c->periods[CONNS_TOTAL].from_ns;
	const char *error = calls_error(call, r), *held = calls_held_by(call);
	struct value gap = value_null(), left_out = value_null();
	uint32_t n = 0;

	if (before && calls_missing(before, call, &n)) {
		left_out = value_u64(n);
		if (!n && call->time >= before->time)
			gap = value_ns(call->time - before->time);
	}
	TABLE_ADD(t, value_ns(call->time),
		  call->time >= start ? value_ns(call->time - start) : value_null(), gap,
		  value_string(calls_direction(call)), calls_bytes(call), value_string(error),
		  error ? value_string(error) : calls_bytes(call), value_u64(call->unsent),
		  value_u64(call->unacked), value_u64(call->unread), value_string(held),
		  held ? value_string(held) : value_absent(), value_u64(call->pid),
		  value_u64(call->tid), value_string(report_format(r, "%u", call->tid)),
		  value_u64(call->seq), left_out);
}

/*
 * Adds a note to the text table where calls are not in the log; in JSON, left_out_before has their
 * number.
 */
static void calls_add_gap(const struct event_call *before, const struct event_call *call,
			  struct table *t)
{
	char buf[HUMAN_MAX];
	uint32_t n;

	if (!before)
		return;
	if (!calls_missing(before, call, &n))
		table_add_note(t, NULL, 0, "... calls may be missing here");
	else if (n)
		table_add_note(t, NULL, 0, "... %s not logged",
			       human_counted(buf, n, "call"));
}

static bool calls_are_logged(const struct conns *c)
{
	vec_for_each(&c->followed, record)
		if (record->c.flags & CONN_LOGGED)
			return true;
	return c->calls.len;
}

void calls_table(const struct conns *c, struct report *r)
{
	const struct event_call *before = NULL;
	struct table *t;

	if (!c->options.follows)
		return;
	if (!calls_are_logged(c)) {
		object_add(&r->body, "call_log", value_null());
		return;
	}
	t = table_new(r, columns, ARRAY_LEN(columns));
	vec_for_each(&c->calls, call) {
		calls_add_gap(before, call, t);
		calls_add_row(c, before, call, t, r);
		before = call;
	}
	object_add(&r->body, "call_log", value_table(t));
	object_add(&r->body, "call_log_left_out", value_u64(c->calls_dropped));
}

/* ---- JSON lines ---- */

/*
 * Fills in the view of a call's connection: its totals so far; only its addresses if no record of
 * the connection was read yet.
 */
static void calls_view(struct conns *c, const struct event_call *call, struct conn_view_buf *room)
{
	const struct conn_flow *flow = call->flow ? conns_flow_find(c, call->flow) : NULL;
	const struct event_flow *e = flow ? &flow->e : NULL;
	const uint32_t at = conns_find(c, call->cookie, e);

	if (at && conns_view(c, CONNS_TOTAL, at - 1, room))
		return;
	room->view = (struct conn_view){
		.flow = e, .netns = e ? conns_name(c, DICT_NETNS, e->netns) : NULL,
	};
}

/* Returns whether the options select the connection, by its totals and their problems so far. */
static bool calls_are_selected(const struct conns_options *o, struct conn_view v)
{
	struct conn_problem problems[RULES_MAX];

	if (v.c)
		rules_judge(&v, problems);
	return (!o->select || o->select(&v, o->ctx)) && (!o->problems_only || v.judged.harmful);
}

bool conns_report_call(struct conns *c, const struct event_call *call, bool ask, struct report *r)
{
	const struct conns_options *o = &c->options;
	const char *error = calls_error(call, r);
	struct conn_view_buf room;
	const struct conn_view *v = &room.view;
	struct object *l;

	if (o->follows && call->cookie != o->follow)
		return false;
	calls_view(c, call, &room);
	if (ask && !calls_are_selected(o, room.view))
		return false;
	l = object_new(r);
	object_add(l, "time_ns", value_ns(call->time));
	object_add(l, "cookie", words_cookie(r, call->cookie));
	object_add(l, "netns", words_netns(v, r));
	object_add(l, "local", words_local(r, v->flow));
	object_add(l, "remote", words_remote(r, v->flow));
	object_add(l, "app", v->c ? value_string(words_app(v)) : value_null());
	object_add(l, "call", value_string(calls_direction(call)));
	object_add(l, "bytes", calls_bytes(call));
	object_add(l, "error", value_string(error));
	object_add(l, "unsent", value_u64(call->unsent));
	object_add(l, "unacked", value_u64(call->unacked));
	object_add(l, "unread", value_u64(call->unread));
	object_add(l, "held_by", value_string(calls_held_by(call)));
	object_add(l, "pid", value_u64(call->pid));
	object_add(l, "tid", value_u64(call->tid));
	object_add(l, "seq", value_u64(call->seq));
	object_add(&r->body, "call", value_object(l));
	return true;
}

/* ---- choosing ---- */

int conns_choose_for_log(struct conns *c, int (*chosen)(void *ctx, uint64_t cookie), void *ctx)
{
	const struct conns_options *o = &c->options;
	struct conn_view_buf room;
	int err = 0;

	vec_for_each(&c->interval_records, record) {
		if (record->c.flags & (CONN_CLOSED | CONN_LOGGED | CONN_MPTCP) ||
		    !conns_view(c, CONNS_INTERVAL, record->conn, &room))
			continue;
		if ((o->select && !o->select(&room.view, o->ctx)) ||
		    (o->problems_only && !room.view.judged.harmful))
			continue;
		err = chosen(ctx, record->c.cookie);
		if (err)
			break;
	}
	return err;
}
