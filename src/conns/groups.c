/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of connections by application, peer or listener. */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "conns/counter.h"
#include "conns/problem.h"
#include "conns/rtt.h"
#include "conns/conn_aggregate.h"
#include "conns/tables.h"
#include "conns/words.h"
#include "report/human.h"

struct member {
	/* key of the connection's group; NULL: unknown, or no listener accepted the connection */
	const char *key;
	const struct selected *one;
};

struct group {
	const char *key;
	struct conn_aggregate sum;
};

/* ---- keys ---- */

static const char *conns_groups_peer(const struct conn_view *v, struct report *r)
{
	char buf[HUMAN_ADDRESS_MAX];
	const char *text = v->flow ? human_address(buf, v->flow->family, v->flow->remote, 0) : NULL;

	if (!text)
		return NULL;
	buf[strlen(buf) - 2] = '\0'; /* cut off ":0", the port */
	if (*buf == '[')
		return report_format(r, "%.*s", (int)strlen(buf) - 2, buf + 1);
	return report_format(r, "%s", buf);
}

static const char *conns_groups_key(const struct conns *c, const struct conn_view *v,
				    struct report *r)
{
	struct value local;

	switch (c->options.by) {
	case CONNS_BY_APP:
		return words_app(v);
	case CONNS_BY_PEER:
		return conns_groups_peer(v, r);
	default:
		if (!(v->c->flags & CONN_ACCEPTED))
			return NULL;
		local = words_local(r, v->flow);
		return local.type == VALUE_STRING ? local.string : NULL;
	}
}

static int conns_groups_compare_keys(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : !a - !b;
}

static int conns_groups_compare_members(const void *x, const void *y)
{
	const struct member *a = x, *b = y;
	const int order = conns_groups_compare_keys(a->key, b->key);

	return order ? order : a->one < b->one ? -1 : a->one > b->one;
}

/* ---- sums ---- */

static int conns_groups_compare(const void *x, const void *y)
{
	const struct group *a = x, *b = y;

	if (a->sum.lost_ns != b->sum.lost_ns)
		return a->sum.lost_ns > b->sum.lost_ns ? -1 : 1;
	if (a->sum.troubled != b->sum.troubled)
		return a->sum.troubled > b->sum.troubled ? -1 : 1;
	if (a->sum.connections != b->sum.connections)
		return a->sum.connections > b->sum.connections ? -1 : 1;
	return conns_groups_compare_keys(a->key, b->key);
}

/* ---- rows ---- */

static struct value conns_groups_problems_value(const struct group *g, struct report *r)
{
	static const struct column columns[] = {
		{ "class", NULL, 0, 0 }, { "connections", NULL, 0, 0 },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (unsigned int class = 0; class < CONN_CLASSES; class++)
		if (g->sum.classes[class])
			TABLE_ADD(t, value_string(conn_class_name(class)),
				  value_u64(g->sum.classes[class]));
	return value_table(t);
}

static const char *conns_groups_problems_line(const struct group *g, struct report *r)
{
	const char *line = "";

	for (unsigned int class = 0; class < CONN_CLASSES; class++)
		if (g->sum.classes[class])
			line = report_format(r, "%s%s%" PRIu64 " %s", line, *line ? ", " : "",
					     g->sum.classes[class], conn_class_name(class));
	return line;
}

static const struct column json_columns[] = {
	{ .name = "key" }, { .name = "connections" }, { .name = "closed" },
	{ .name = "with_problems" }, { .name = "lost_ns" }, { .name = "time_ns" },
	{ .name = "unknown_ns" }, { .name = "events" }, { .name = "bytes_sent" },
	{ .name = "bytes_received" }, { .name = "bytes_retransmitted" },
	{ .name = "send_calls" }, { .name = "recv_calls" }, { .name = "calls_estimated" },
	{ .name = "rtt" }, { .name = "problems" },
};

/* Returns the round-trip times of the group's connections, as far as they are known. */
static struct value conns_groups_rtt_value(const struct rtt_sum *sum, struct report *r)
{
	struct object *o = object_new(r);

	object_add(o, "connections", value_u64(sum->connections));
	rtt_put_extremes(sum, o);
	rtt_put(sum, o, r);
	return value_object(o);
}

static void conns_groups_add_json(const struct group *g, struct table *t, struct report *r)
{
	const struct conn_aggregate *sum = &g->sum;
	const struct event_conn *e = &sum->sum;
	const bool calls = sum->calls_known && !sum->calls_missing;

	TABLE_ADD(t, value_string(g->key), value_u64(sum->connections), value_u64(sum->closed),
		  value_u64(sum->troubled), value_ns(sum->lost_ns), value_object(words_times(e, r)),
		  conn_knows(e, CONN_KNOWS_TIMES) ? value_ns(e->unknown_ns) : value_null(),
		  value_object(words_events(e, r)), value_u64(e->bytes_sent),
		  value_u64(e->bytes_received), value_u64(e->bytes_retransmitted),
		  calls ? value_u64((uint64_t)sum->send_calls) : value_null(),
		  calls ? value_u64((uint64_t)sum->recv_calls) : value_null(),
		  value_bool(sum->estimated), conns_groups_rtt_value(&sum->rtts, r),
		  conns_groups_problems_value(g, r));
}

/* Returns the time lost; without any, null unless the limits of the connections are known. */
static struct value conns_groups_lost(const struct conn_aggregate *sum)
{
	const bool known = conn_knows(&sum->sum, CONN_KNOWS_TIMES) && conn_known_ns(&sum->sum);

	return known || sum->lost_ns ? value_ns(sum->lost_ns) : value_null();
}

static void conns_groups_add_line(struct table *t, const struct group *g, struct report *r)
{
	const struct event_conn *e = &g->sum.sum;
	struct value cells[COUNTERS + 11] = {
		value_string(g->key),
		value_u64(g->sum.connections),
		value_u64(g->sum.troubled),
		conns_groups_lost(&g->sum),
		conn_aggregate_share(e, e->send_buffer_ns),
		conn_aggregate_share(e, e->congestion_ns),
		conn_aggregate_share(e, e->receiver_window_ns),
		conn_aggregate_share(e, e->delayed_ack_ns),
	};
	size_t n = 8 + counter_cells(cells + 8, e, false);

	cells[n++] = rtt_quantile_value(&g->sum.rtts, 500);
	cells[n++] = rtt_quantile_value(&g->sum.rtts, 990);
	cells[n++] = value_string(conns_groups_problems_line(g, r));
	table_add(t, cells, n);
}

static void conns_groups_add_text(const struct group *groups, size_t n, const char *head,
				  size_t most, struct report *r)
{
	struct column columns[COUNTERS + 11] = {
		{ .head = head, .flags = COLUMN_FLEX }, { .head = "connections" },
		{ .head = "with problems", .flags = COLUMN_SPARE }, { .head = "lost" },
		{ .head = "send buffer" }, { .head = "congestion" }, { .head = "receiver" },
		{ .head = "delayed ACK" },
	};
	size_t m = 8 + counter_columns(columns + 8, false);
	struct table *t;
	char buf[HUMAN_MAX];

	columns[m++] = (struct column){ .head = "rtt p50", .flags = COLUMN_SPARE };
	columns[m++] = (struct column){ .head = "rtt p99" };
	columns[m++] = (struct column){ .head = "problems", .flags = COLUMN_FLEX };
	t = table_new(r, columns, m);
	for (size_t i = 0; i < n && i < most; i++)
		conns_groups_add_line(t, &groups[i], r);
	if (n > most)
		report_finding(r, "%s more groups: --all lists them.",
			       human_count(buf, n - most));
	object_add(&r->body, NULL, value_table(t));
}

static void conns_groups_gather(const struct conns *c, const struct conn_selection *s,
				struct member *members, struct report *r)
{
	struct conn_view_buf room;
	size_t n = 0;

	vec_for_each(&s->items, one) {
		select_view(c, s, one, &room);
		members[n++] =
			(struct member){ .key = conns_groups_key(c, &room.view, r), .one = one };
	}
	qsort(members, n, sizeof(*members), conns_groups_compare_members);
}

static bool conns_groups_is_first(const struct member *members, size_t i)
{
	return !i || conns_groups_compare_keys(members[i - 1].key, members[i].key);
}

/*
 * Returns the groups of the selected connections, ordered, and their number in `*n`. The caller
 * frees them; NULL without memory.
 */
static struct group *conns_groups_aggregate(const struct conns *c, const struct conn_selection *s,
					    const struct member *members, size_t *n)
{
	struct group *groups;
	struct conn_view_buf room;

	*n = 0;
	for (size_t i = 0; i < s->items.len; i++)
		*n += conns_groups_is_first(members, i);
	groups = calloc(*n + 1, sizeof(*groups));
	if (!groups)
		return NULL;
	*n = 0;
	for (size_t i = 0; i < s->items.len; i++) {
		if (conns_groups_is_first(members, i))
			groups[(*n)++].key = members[i].key;
		select_view(c, s, members[i].one, &room);
		conn_aggregate_add(&groups[*n - 1].sum, &room.view);
	}
	for (size_t i = 0; i < *n; i++)
		conn_aggregate_finish(&groups[i].sum);
	qsort(groups, *n, sizeof(*groups), conns_groups_compare);
	return groups;
}

int tables_groups(const struct conns *c, const struct conn_selection *s, struct report *r)
{
	static const char *const names[] = {
		[CONNS_BY_APP] = "app", [CONNS_BY_PEER] = "peer", [CONNS_BY_LISTENER] = "listener",
	};
	static const char *const heads[] = {
		[CONNS_BY_APP] = "application", [CONNS_BY_PEER] = "peer",
		[CONNS_BY_LISTENER] = "listener",
	};
	struct member *members;
	struct group *groups;
	struct table *t;
	size_t n;

	if (!c->options.by)
		return 0;
	members = calloc(s->items.len + 1, sizeof(*members));
	if (!members)
		return -ENOMEM;
	conns_groups_gather(c, s, members, r);
	groups = conns_groups_aggregate(c, s, members, &n);
	free(members);
	if (!groups)
		return -ENOMEM;
	object_add(&r->body, "by", value_string(names[c->options.by]));
	t = table_new(r, json_columns, ARRAY_LEN(json_columns));
	for (size_t i = 0; i < n && !c->options.text_only; i++)
		conns_groups_add_json(&groups[i], t, r);
	object_add(&r->body, "groups", value_table(t));
	conns_groups_add_text(groups, n, heads[c->options.by], tables_rows_max(c), r);
	free(groups);
	return 0;
}
