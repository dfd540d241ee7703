/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of connections: all connections in JSON, those with problems in the text. */
#include "conns/tables.h"

#include <inttypes.h>

#include "base/bug.h"
#include "conns/bottleneck.h"
#include "conns/counter.h"
#include "conns/rtt.h"
#include "conns/status.h"
#include "conns/words.h"
#include "report/human.h"

#define US 1000ull

/* ---- objects ---- */

static void tables_put(struct object *o, const struct event_conn *e, uint32_t bits,
		       const char *name, uint64_t n)
{
	object_add(o, name, words_known(e, bits, value_u64(n)));
}

static void tables_put_ns(struct object *o, const struct event_conn *e, uint32_t bits,
			  const char *name, uint64_t ns)
{
	object_add(o, name, words_known(e, bits, value_ns(ns)));
}

static struct value tables_sizes_value(const uint32_t *sizes, struct report *r)
{
	static const struct column columns[] = {
		{ "le_bytes", NULL, 0, 0 }, { "calls", NULL, 0, 0 },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (int i = 0; i < CONN_SIZES; i++)
		if (sizes[i])
			TABLE_ADD(t, i + 1 < CONN_SIZES ? value_u64(1ull << (2 * i + 4))
							: value_null(), value_u64(sizes[i]));
	return value_table(t);
}

static struct value tables_calls_value(const struct event_conn *e, struct report *r)
{
	struct object *o;

	if (!conn_knows(e, CONN_KNOWS_CALLS))
		return value_null();
	o = object_new(r);
	counter_put(o, e, COUNTER_OF_CALLS);
	object_add(o, "send_sizes", tables_sizes_value(e->send_sizes, r));
	object_add(o, "recv_sizes", tables_sizes_value(e->recv_sizes, r));
	return value_object(o);
}

static struct value tables_rtt_value(const struct event_conn *e, struct report *r)
{
	struct object *o = object_new(r);
	const bool some = conn_knows(e, CONN_KNOWS_RTT) && e->rtt_samples;
	struct rtt_sum sum = { 0 };

	object_add(o, "smoothed_ns", e->rtt_us ? value_ns(e->rtt_us * US) : value_null());
	counter_put(o, e, COUNTER_OF_RTT);
	object_add(o, "mean_ns", some ? value_ns((uint64_t)((double)e->rtt_sum_us * 1e3 /
							    e->rtt_samples)) : value_null());
	object_add(o, "min_ns", some ? value_ns(e->rtt_min_us * US) : value_null());
	object_add(o, "max_ns", some ? value_ns(e->rtt_max_us * US) : value_null());
	rtt_add(&sum, e);
	rtt_put(&sum, o, r);
	return value_object(o);
}

static struct value tables_recovery_value(const struct event_conn *e, struct report *r)
{
	struct object *o = object_new(r);

	counter_put(o, e, COUNTER_OF_RECOVERY);
	return value_object(o);
}

/* Returns the number of samples from which the times are computed, and the numbers by state. */
static struct value tables_samples_value(const struct event_conn *e, struct report *r)
{
	static const char *const names[CONN_STATES] = {
		"idle", "recovery", "window", "send-buffer", "cwnd", "delayed-ack", "nagle",
		"flight",
	};
	struct object *o = object_new(r);

	tables_put(o, e, CONN_KNOWS_TIMES, "count", e->samples);
	for (int i = 0; i < CONN_STATES; i++)
		tables_put(o, e, CONN_KNOWS_TIMES, names[i], e->sampled[i]);
	counter_put(o, e, COUNTER_OF_SAMPLES);
	object_add(o, "aimed_per_second", value_number(e->poll_mhz / 1e3));
	return value_object(o);
}

/* Returns the kernel's gauges and states at the end of the record, as an object. */
static struct value tables_info_value(const struct event_conn *e, struct report *r)
{
	const uint32_t g = CONN_KNOWS_GAUGES;
	struct object *o;

	if (!conn_knows(e, g) && !conn_knows(e, CONN_KNOWS_RCV_WND))
		return value_null();
	o = object_new(r);
	tables_put(o, e, g, "state", e->tcp_state);
	object_add(o, "cwnd", e->cwnd ? value_u64(e->cwnd) : value_null());
	/* 0x7fffffff: the kernel has not set ssthresh yet */
	tables_put(o, e, e->ssthresh < 0x7fffffff ? g : UINT32_MAX, "ssthresh", e->ssthresh);
	tables_put(o, e, g, "mss", e->mss);
	object_add(o, "min_rtt_ns", e->min_rtt_us && conn_knows(e, g) ?
		   value_ns(e->min_rtt_us * US) : value_null());
	tables_put_ns(o, e, g, "rto_ns", e->rto_us * US);
	tables_put(o, e, g, "snd_wnd", e->snd_wnd);
	tables_put(o, e, CONN_KNOWS_RCV_WND, "rcv_wnd", e->rcv_wnd);
	tables_put(o, e, g, "sndbuf", e->sndbuf);
	tables_put(o, e, g, "rcvbuf", e->rcvbuf);
	tables_put(o, e, g, "wmem_queued", e->wmem_queued);
	tables_put(o, e, g, "rmem", e->rmem);
	tables_put(o, e, g, "unsent", e->unsent);
	tables_put(o, e, g, "unacked", e->unacked);
	tables_put(o, e, g, "rcv_queue", e->rcv_queue);
	tables_put(o, e, e->delivery_rate ? g : UINT32_MAX, "delivery_rate", e->delivery_rate);
	tables_put(o, e, e->pacing_rate != UINT64_MAX ? g : UINT32_MAX, "pacing_rate",
		   e->pacing_rate);
	return value_object(o);
}

static struct value tables_flags_value(const struct event_conn *e, struct report *r)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} flags[] = {
		{ CONN_BEGAN, "began" }, { CONN_ACCEPTED, "accepted" },
		{ CONN_NODELAY, "nodelay" }, { CONN_CORKED, "corked" },
		{ CONN_SNDBUF_SET, "sndbuf-set" }, { CONN_RCVBUF_SET, "rcvbuf-set" },
		{ CONN_SNDBUF_GROWS, "sndbuf-grows" }, { CONN_PACING_CAPPED, "pacing-capped" },
		{ CONN_MPTCP, "mptcp" }, { CONN_KTLS, "ktls" }, { CONN_MAPPED, "v4-mapped" },
		{ CONN_IDLE_RESTART_OFF, "idle-restart-off" },
		{ CONN_PASSIVE_CLOSED, "peer-closed" },
		{ CONN_FROM_DIAG, "inet-diag" }, { CONN_LOGGED, "calls-logged" },
		{ CONN_SENT_LAST, "sent-last" }, { CONN_RECEIVED_LAST, "received-last" },
	};
	struct string_list *l = list_new(r);

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (e->flags & flags[i].flag)
			list_add(l, "%s", flags[i].name);
	return value_list(l);
}

/* ---- the other end, in another host's recording ---- */

static void tables_add_owner(struct object *o, const struct conn_view *v, struct report *r)
{
	object_add(o, "cookie", words_cookie(r, v->c->cookie));
	object_add(o, "netns", words_netns(v, r));
	object_add(o, "app", value_string(words_app(v)));
	object_add(o, "comm", value_string(v->comm));
	object_add(o, "unit", value_string(v->unit));
	object_add(o, "pid", v->c->pid ? value_u64(v->c->pid) : value_null());
}

/*
 * Returns the record of the connection's other end, from the other host, as an object; null if
 * there is none.
 */
static struct value tables_peer_value(const struct conns *c, const struct conn_selection *s,
				      const struct selected *one, struct report *r)
{
	struct conn_view_buf room;
	const struct conn_view *v = &room.view;
	const struct event_conn *e;
	struct object *o;
	const char *limit;
	double share;

	if (!select_view_peer(c, s, one, &room))
		return value_null();
	e = v->c;
	limit = words_limit(e, &share);
	o = object_new(r);
	object_add(o, "host", value_string(c->peer_recording->there.name));
	object_add(o, "common_ns", value_ns(v->common_ns));
	tables_add_owner(o, v, r);
	object_add(o, "from_ns", value_ns(e->from));
	object_add(o, "to_ns", value_ns(e->to));
	object_add(o, "closed", value_bool(e->flags & CONN_CLOSED));
	object_add(o, "time_ns", value_object(words_times(e, r)));
	object_add(o, "unknown_ns", words_known(e, CONN_KNOWS_TIMES, value_ns(e->unknown_ns)));
	object_add(o, "limit", value_string(limit));
	object_add(o, "limit_share", limit ? value_fraction(share) : value_null());
	object_add(o, "side", value_string(bottleneck_name(bottleneck_find(v).side)));
	object_add(o, "events", value_object(words_events(e, r)));
	object_add(o, "bytes", value_object(words_bytes(e, r)));
	object_add(o, "problems", value_list(words_classes(v->judged.problems, r)));
	object_add(o, "harmful", value_list(words_classes(v->judged.harmful, r)));
	return value_object(o);
}

/* ---- connections in JSON ---- */

#define BRIEF 19
#define FULL 17

static const struct column connection_columns[BRIEF + FULL] = {
	{ .name = "cookie" }, { .name = "netns" }, { .name = "local" }, { .name = "remote" },
	{ .name = "app" }, { .name = "pid" }, { .name = "from_ns" }, { .name = "to_ns" },
	{ .name = "closed" }, { .name = "time_ns" }, { .name = "unknown_ns" },
	{ .name = "congestion_ns" },
	{ .name = "limit" }, { .name = "limit_share" }, { .name = "state" }, { .name = "age_ns" },
	{ .name = "events" }, { .name = "problems" }, { .name = "problem_intervals" },
	/* -- columns only for the first TABLES_FULL_MAX connections -- */
	{ .name = "netns_inode" }, { .name = "netns_cookie" },
	{ .name = "comm" }, { .name = "cgroup" }, { .name = "unit" },
	{ .name = "congestion_control" }, { .name = "flags" }, { .name = "peer_cookie" },
	{ .name = "bytes" }, { .name = "calls" }, { .name = "rtt" }, { .name = "recovery" },
	{ .name = "samples" }, { .name = "tcp_info" }, { .name = "followed_one_in" },
	{ .name = "side" },
	{ .name = "other_end" }, /* column only if there are two recordings */
};

static void tables_add_connection(struct table *t, const struct conn_view *v, uint64_t now,
				  struct value other, bool full, struct report *r)
{
	const struct event_conn *e = v->c;
	const uint64_t netns = v->flow ? v->flow->netns_cookie : 0;
	double share;
	const char *limit = words_limit(e, &share);
	struct value cells[BRIEF + FULL] = {
		words_cookie(r, e->cookie), words_netns(v, r), words_local(r, v->flow),
		words_remote(r, v->flow), value_string(words_app(v)),
		e->pid ? value_u64(e->pid) : value_null(), value_ns(e->from), value_ns(e->to),
		value_bool(e->flags & CONN_CLOSED), value_object(words_times(e, r)),
		words_known(e, CONN_KNOWS_TIMES, value_ns(e->unknown_ns)),
		value_object(words_congestion(e, r)), value_string(limit),
		limit ? value_fraction(share) : value_null(),
		value_string(conn_status_name(conn_status_of(e))),
		value_known_ns(!(e->flags & CONN_CLOSED), words_age(e, now)),
		value_object(words_events(e, r)),
		value_list(words_classes(v->judged.problems, r)), value_u64(v->problem_intervals),
	};

	if (!full) {
		table_add(t, cells, BRIEF);
		return;
	}
	cells[BRIEF] = netns ? value_u64(netns) : value_null();
	cells[BRIEF + 1] = netns ? words_cookie(r, netns) : value_null(); /* its older name */
	cells[BRIEF + 2] = value_string(v->comm);
	cells[BRIEF + 3] = value_string(v->cgroup);
	cells[BRIEF + 4] = value_string(v->unit);
	cells[BRIEF + 5] = value_string(v->congestion_control);
	cells[BRIEF + 6] = tables_flags_value(e, r);
	cells[BRIEF + 7] = v->joined ? words_cookie(r, v->peer_cookie) : value_null();
	cells[BRIEF + 8] = value_object(words_bytes(e, r));
	cells[BRIEF + 9] = tables_calls_value(e, r);
	cells[BRIEF + 10] = tables_rtt_value(e, r);
	cells[BRIEF + 11] = tables_recovery_value(e, r);
	cells[BRIEF + 12] = tables_samples_value(e, r);
	cells[BRIEF + 13] = tables_info_value(e, r);
	cells[BRIEF + 14] = value_u64(e->thinned_one_in ? e->thinned_one_in : 1);
	cells[BRIEF + 15] = value_string(bottleneck_name(bottleneck_find(v).side));
	cells[BRIEF + 16] = other;
	if (t) /* NULL: the report could not be built */
		table_add(t, cells, t->ncolumns);
}

/* ---- connections in the text ---- */

#define LINE_MOST (COUNTERS + 16)

/* Returns whether the text lists connections without a record in the interval. */
static bool tables_lists_last_known(const struct conns *c, const struct conn_selection *s)
{
	return c->options.all && !c->options.problems_only ? s->last_known : s->last_known_troubled;
}

/*
 * Returns a new text table of connections, with further columns if there are two recordings, or
 * connections without a record in the interval. The caller may remove the last column, `kind`.
 */
static struct table *tables_new_text(const struct conns *c, const struct conn_selection *s,
				     struct report *r)
{
	struct column columns[LINE_MOST] = {
		{ .head = "cookie" },
		{ .head = "local", .flags = COLUMN_FLEX },
		{ .head = "remote", .flags = COLUMN_FLEX },
		{ .head = "application", .flags = COLUMN_FLEX },
		{ .head = "state" },
		{ .head = "share" },
	};
	size_t n = 6;

	n += counter_columns(columns + n, true);
	columns[n++] = (struct column){ .head = "rtt", .flags = COLUMN_SPARE };
	if (tables_lists_last_known(c, s))
		columns[n++] = (struct column){ .head = "seen" };
	columns[n++] = (struct column){ .head = "problems", .flags = COLUMN_FLEX };
	if (c->peer_recording) {
		columns[n++] = (struct column){ .head = "bottleneck" };
		columns[n++] = (struct column){ .head = "recorded on" };
	}
	columns[n++] = (struct column){ .head = "kind" };
	return table_new(r, columns, n);
}

#define ODD_KINDS (CONN_MPTCP | CONN_KTLS)

static const char *tables_kind(const struct event_conn *e)
{
	switch (e->flags & ODD_KINDS) {
	case 0:
		return "tcp";
	case CONN_MPTCP:
		return "mptcp";
	case CONN_KTLS:
		return "ktls";
	}
	return "mptcp, ktls";
}

/* Returns "1.2 s ago": how long before `now` the record ends. */
static struct value tables_seen_value(const struct event_conn *e, uint64_t now, struct report *r)
{
	char buf[HUMAN_MAX];

	return value_string(report_format(r, "%s ago", human_ns(buf, words_age(e, now))));
}

/* Returns the share of the time at the limit that `status` is; absent if it is no limit. */
static struct value tables_share_value(const struct event_conn *e, enum conn_status status)
{
	double share;

	if (status == STATUS_UNKNOWN)
		return value_null();
	words_limit(e, &share);
	return conn_status_is_limit(status) ? value_fraction(share) : value_absent();
}

/*
 * Adds a line for one end of a connection. `host` has recorded it; NULL: there is one recording.
 * `now`: end of the interval, if lines have an age; 0: they have none.
 */
static void tables_add_line(struct table *t, const struct conn_view *v, const char *host,
			    uint64_t now, struct report *r)
{
	const struct event_conn *e = v->c;
	const enum conn_status status = conn_status_of(e);
	struct value cells[LINE_MOST] = {
		words_cookie(r, e->cookie), words_local(r, v->flow),
		words_remote(r, v->flow), value_string(words_app(v)),
		value_string(conn_status_name(status)), tables_share_value(e, status),
	};
	size_t n = 6;

	n += counter_cells(cells + n, e, true);
	cells[n++] = e->rtt_us ? value_ns(e->rtt_us * US) : value_null();
	if (now)
		cells[n++] = tables_seen_value(e, now, r);
	cells[n++] = value_string(words_class_line(v->judged.harmful, r));
	if (host) {
		cells[n++] = value_string(bottleneck_name(bottleneck_find(v).side));
		cells[n++] = value_string(host);
	}
	cells[n++] = value_string(tables_kind(e));
	table_add(t, cells, n);
}

/*
 * Adds a line for a connection and, if present, one for the other host's record. Returns whether
 * either is MPTCP or kTLS.
 */
static bool tables_add_lines(const struct conns *c, struct table *t, const struct conn_view *v,
			     const struct conn_view_buf *other, uint64_t now, struct report *r)
{
	const struct peer_recording *e = c->peer_recording;

	tables_add_line(t, v, e ? e->here.name : NULL, now, r);
	if (other)
		tables_add_line(t, &other->view, e->there.name, now, r);
	return (v->c->flags | (other ? other->view.c->flags : 0)) & ODD_KINDS;
}

size_t tables_rows_max(const struct conns *c)
{
	return c->options.all ? SIZE_MAX : c->options.top ?: CONNS_TOP;
}

/* Adds a line for a connection without a record in the interval: its state when last seen. */
static bool tables_add_last_known(const struct conns *c, struct table *t, uint32_t conn,
				  struct report *r)
{
	const struct conn *known = &c->all.items[conn];
	struct value cells[LINE_MOST] = { 0 };
	struct conn_view_buf room;
	const struct event_conn *e;
	size_t n = 6;

	if (!conns_view(c, CONNS_TOTAL, conn, &room))
		return false;
	e = room.view.c;
	cells[0] = words_cookie(r, e->cookie);
	cells[1] = words_local(r, room.view.flow);
	cells[2] = words_remote(r, room.view.flow);
	cells[3] = value_string(words_app(&room.view));
	cells[4] = value_string(conn_status_name((enum conn_status)known->status));
	for (size_t counters = counter_cells(cells + n, e, true); counters; counters--)
		cells[n++] = value_absent(); /* nothing was counted in the interval */
	cells[n++] = e->rtt_us ? value_ns(e->rtt_us * US) : value_null();
	cells[n++] = tables_seen_value(e, c->periods[CONNS_INTERVAL].to_ns, r);
	cells[n++] = value_string(words_class_line(known->harmful, r));
	cells[n++] = value_string(tables_kind(e));
	table_add(t, cells, n);
	return e->flags & ODD_KINDS;
}

/*
 * Adds lines for connections without a record in the interval: those with a problem, then with
 * --all the others. Adds their number to *listed; returns whether any is MPTCP or kTLS.
 */
static bool tables_add_all_last_known(const struct conns *c, const struct conn_selection *s,
				      struct table *t, uint64_t *listed, struct report *r)
{
	const bool all = c->options.all && !c->options.problems_only;
	bool kinds = false;

	if (!tables_lists_last_known(c, s))
		return false;
	for (int others = 0; others <= all; others++) {
		for (uint32_t i = 0; i < c->all.len && t && t->nrows < tables_rows_max(c); i++) {
			const struct conn *known = &c->all.items[i];

			if (!select_is_last_known(known) || others != !known->harmful)
				continue;
			kinds |= tables_add_last_known(c, t, i, r);
			++*listed;
		}
	}
	return kinds;
}

/* Adds a line of text that counts the connections that are not in the table. */
static void tables_add_rest(const struct conns *c, const struct conn_selection *s, uint64_t listed,
			    struct report *r)
{
	const uint64_t all = c->options.problems_only ? s->troubled : s->connections;
	struct string_list *l = list_new(r);
	char buf[HUMAN_MAX];

	if (all > listed)
		list_add(l, "… +%s (--all)", human_counted(buf, all - listed, "connection"));
	object_add(&r->body, NULL, value_list(l));
}

static void tables_add_text(const struct conns *c, const struct conn_selection *s, struct report *r)
{
	const uint64_t now = tables_lists_last_known(c, s) ? c->periods[s->span].to_ns : 0;
	struct table *t = tables_new_text(c, s, r);
	uint64_t listed = 0;
	bool kinds = false;
	struct conn_view_buf room, other;

	vec_for_each(&s->items, one) {
		const bool both = select_view_peer(c, s, one, &other);

		if (!c->options.all && !one->judged.harmful && !(both && other.view.judged.harmful))
			continue;
		if (t && t->nrows >= tables_rows_max(c))
			break;
		select_view(c, s, one, &room);
		kinds |= tables_add_lines(c, t, &room.view, both ? &other : NULL, now, r);
		listed++;
	}
	kinds |= tables_add_all_last_known(c, s, t, &listed, r);
	if (t && !kinds)
		t->ncolumns--; /* all connections are plain TCP: drop the column `kind` */
	object_add(&r->body, NULL, value_table(t));
	tables_add_rest(c, s, listed, r);
}

/* ---- fields of the kernel's tcp_info in the text ---- */

static const struct column info_columns[] = {
	{ .head = "cookie" },
	{ .head = "local" }, { .head = "remote" }, { .head = "cc", .flags = COLUMN_SPARE },
	{ .head = "cwnd" }, { .head = "ssthresh", .flags = COLUMN_SPARE },
	{ .head = "mss", .flags = COLUMN_SPARE }, { .head = "rtt" },
	{ .head = "minrtt", .flags = COLUMN_SPARE }, { .head = "rtt p50", .flags = COLUMN_SPARE },
	{ .head = "rtt p99", .flags = COLUMN_SPARE }, { .head = "rto", .flags = COLUMN_SPARE },
	{ .head = "unsent" }, { .head = "unacked" }, { .head = "snd_wnd" },
	{ .head = "wmem", .flags = COLUMN_SPARE }, { .head = "sndbuf" },
	{ .head = "unread" }, { .head = "rcv_wnd" }, { .head = "rmem", .flags = COLUMN_SPARE },
	{ .head = "rcvbuf" }, { .head = "delivery B/s", .flags = COLUMN_SPARE },
	{ .head = "pacing B/s", .flags = COLUMN_SPARE },
};

static struct value tables_count(const struct event_conn *e, uint32_t bits, uint64_t n)
{
	return words_known(e, bits, value_u64(n));
}

static struct value tables_time(const struct event_conn *e, uint64_t us)
{
	return us && e->known & CONN_KNOWS_GAUGES ? value_ns(us * US) : value_null();
}

static void tables_add_info_line(struct table *t, const struct conn_view *v, struct report *r)
{
	const struct event_conn *e = v->c;
	const uint32_t g = CONN_KNOWS_GAUGES, never = UINT32_MAX;

	TABLE_ADD(t, words_cookie(r, e->cookie), words_local(r, v->flow),
		  words_remote(r, v->flow), value_string(v->congestion_control),
		  e->cwnd ? value_u64(e->cwnd) : value_null(),
		  tables_count(e, e->ssthresh < 0x7fffffff ? g : never, e->ssthresh),
		  tables_count(e, g, e->mss), e->rtt_us ? value_ns(e->rtt_us * US) : value_null(),
		  tables_time(e, e->min_rtt_us), rtt_value_of(e, 500), rtt_value_of(e, 990),
		  tables_time(e, e->rto_us), tables_count(e, g, e->unsent),
		  tables_count(e, g, e->unacked), tables_count(e, g, e->snd_wnd),
		  tables_count(e, g, e->wmem_queued),
		  tables_count(e, g, e->sndbuf), tables_count(e, g, e->rcv_queue),
		  tables_count(e, CONN_KNOWS_RCV_WND, e->rcv_wnd), tables_count(e, g, e->rmem),
		  tables_count(e, g, e->rcvbuf),
		  tables_count(e, e->delivery_rate ? g : never, e->delivery_rate),
		  tables_count(e, e->pacing_rate != UINT64_MAX ? g : never, e->pacing_rate));
}

/* Adds a table of the kernel's tcp_info for the first connections, with or without problems. */
static void tables_add_info(const struct conns *c, const struct conn_selection *s, struct report *r)
{
	struct table *t = table_new(r, info_columns, ARRAY_LEN(info_columns));
	struct conn_view_buf room;

	vec_for_each(&s->items, one) {
		if (t && t->nrows >= tables_rows_max(c))
			break;
		select_view(c, s, one, &room);
		tables_add_info_line(t, &room.view, r);
	}
	for (uint32_t i = 0; s->last_known && i < c->all.len; i++) {
		if (!select_is_last_known(&c->all.items[i]) || !t ||
		    t->nrows >= tables_rows_max(c) || !conns_view(c, CONNS_TOTAL, i, &room))
			continue;
		tables_add_info_line(t, &room.view, r);
	}
	object_add(&r->body, NULL, value_table(t));
	tables_add_rest(c, s, t ? t->nrows : 0, r);
}

/* ---- all connections ---- */

static void tables_add_all(const struct conns *c, const struct conn_selection *s, struct report *r)
{
	struct table *t = table_new(r, connection_columns,
				    ARRAY_LEN(connection_columns) - !c->peer_recording);
	struct conn_view_buf room;
	uint64_t n = 0;

	vec_for_each(&s->items, one) {
		if (n++ >= TABLES_CONNECTIONS_MAX)
			continue;
		select_view(c, s, one, &room);
		tables_add_connection(t, &room.view, c->periods[s->span].to_ns,
				      tables_peer_value(c, s, one, r), n <= TABLES_FULL_MAX, r);
	}
	object_add(&r->body, "connections", value_table(t));
	object_add(&r->body, "connections_left_out",
		   value_u64(n > TABLES_CONNECTIONS_MAX ? n - TABLES_CONNECTIONS_MAX : 0));
}

void tables_connections(const struct conns *c, const struct conn_selection *s, struct report *r)
{
	if (!c->options.text_only)
		tables_add_all(c, s, r);
	if (c->options.by || c->options.follows)
		return;
	if (c->options.info)
		tables_add_info(c, s, r);
	else
		tables_add_text(c, s, r);
}
