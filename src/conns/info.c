// SPDX-License-Identifier: Apache-2.0
#include "conns/info.h"
#include "conns/rtt.h"

#include <inttypes.h>

#include "base/bug.h"
#include "conns/words.h"

#define US 1000ULL

static const struct column columns[] = {
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

static struct value known(const struct event_conn *e, uint32_t bits, uint64_t n)
{
	return (e->known & bits) == bits ? value_u64(n) : value_null();
}

static struct value time_of(const struct event_conn *e, uint64_t us)
{
	return us && e->known & CONN_KNOWS_GAUGES ? value_ns(us * US) : value_null();
}

static void add_line(struct table *t, const struct conn_view *v, struct report *r)
{
	const struct event_conn *e = v->c;
	const uint32_t g = CONN_KNOWS_GAUGES, never = UINT32_MAX;

	TABLE_ADD(t, words_cookie(r, e->cookie), words_local(r, v->flow),
		  words_remote(r, v->flow), value_string(v->congestion_control),
		  e->cwnd ? value_u64(e->cwnd) : value_null(),
		  known(e, e->ssthresh < 0x7fffffff ? g : never, e->ssthresh),
		  known(e, g, e->mss), e->rtt_us ? value_ns(e->rtt_us * US) : value_null(),
		  time_of(e, e->min_rtt_us), rtt_value_of(e, 500), rtt_value_of(e, 990),
		  time_of(e, e->rto_us), known(e, g, e->unsent),
		  known(e, g, e->unacked), known(e, g, e->snd_wnd), known(e, g, e->wmem_queued),
		  known(e, g, e->sndbuf), known(e, g, e->rcv_queue),
		  known(e, CONN_KNOWS_RCV_WND, e->rcv_wnd), known(e, g, e->rmem),
		  known(e, g, e->rcvbuf), known(e, e->delivery_rate ? g : never, e->delivery_rate),
		  known(e, e->pacing_rate != UINT64_MAX ? g : never, e->pacing_rate));
}

void info_table(const struct conns *c, const struct conns_shown *s, size_t rows, struct report *r)
{
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	struct conn_view_buf room;
	uint64_t left = 0;

	vec_for_each(&s->items, one) {
		if (t && t->nrows >= rows) {
			left++;
			continue;
		}
		shown_view(c, s, one, &room);
		add_line(t, &room.view, r);
	}
	if (left)
		report_finding(r, "%" PRIu64 " more connections: --all lists them.", left);
	object_add(&r->body, NULL, value_table(t));
}
