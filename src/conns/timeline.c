/* SPDX-License-Identifier: Apache-2.0 */
/* Table of one connection, interval by interval. */
#include <inttypes.h>
#include <string.h>

#include "base/bug.h"
#include "conns/counter.h"
#include "conns/rtt.h"
#include "conns/tables.h"
#include "conns/words.h"
#include "report/human.h"

static const struct column before[] = {
	{ .name = "from_ns" }, { .name = "to_ns" },
	{ .head = "at" }, { .head = "for" },
	{ .name = "time_ns" }, { .name = "unknown_ns" },
	{ .name = "limit", .head = "limited by" },
	{ .name = "limit_share", .head = "share" },
	{ .name = "events" },
};

static const struct column behind[] = {
	{ .name = "stall_ns", .head = "stalled" },
	{ .name = "rtt_ns", .head = "rtt" },
	{ .name = "rtt_samples" },
	{ .name = "rtt_p50_ns", .head = "p50" },
	{ .name = "rtt_p90_ns" },
	{ .name = "rtt_p99_ns", .head = "p99" },
	{ .name = "cwnd", .head = "cwnd" },
	{ .name = "snd_wnd", .head = "window" },
	{ .name = "bytes_acked", .head = "acked" },
	{ .name = "bytes_received", .head = "received", .flags = COLUMN_SPARE },
	{ .name = "problems" }, { .head = "problems", .flags = COLUMN_FLEX },
};

/* Returns a new table of intervals: in the text, columns of counters are between the fixed ones. */
static struct table *conns_timeline_new(struct report *r)
{
	struct column columns[ARRAY_LEN(before) + COUNTERS + ARRAY_LEN(behind)];
	size_t n = ARRAY_LEN(before);

	memcpy(columns, before, sizeof(before));
	n += counter_columns(columns + n, true);
	for (size_t i = ARRAY_LEN(before); i < n; i++)
		columns[i].flags = 0;
	memcpy(columns + n, behind, sizeof(behind));
	return table_new(r, columns, n + ARRAY_LEN(behind));
}

static void conns_timeline_add(const struct conns *c, const struct conn_interval_record *record,
			       struct table *t, struct report *r)
{
	const struct conn_judged *judged = &record->judged;
	const struct event_conn *e = &record->c;
	const uint64_t start = c->periods[CONNS_TOTAL].from_ns;
	double share;
	const char *limit = words_limit(e, &share);

	struct value cells[ARRAY_LEN(before) + COUNTERS + ARRAY_LEN(behind)] = {
		value_ns(e->from), value_ns(e->to),
		e->from >= start ? value_ns(e->from - start) : value_null(),
		value_ns(e->to - e->from), value_object(words_times(e, r)),
		words_known(e, CONN_KNOWS_TIMES, value_ns(e->unknown_ns)), value_string(limit),
		limit ? value_fraction(share) : value_null(), value_object(words_events(e, r)),
	};
	const struct value rest[ARRAY_LEN(behind)] = {
		words_known(e, CONN_KNOWS_LOSSES, value_ns(e->stall_ns)),
		e->rtt_us ? value_ns(e->rtt_us * 1000ull) : value_null(),
		words_known(e, CONN_KNOWS_RTT, value_u64(e->rtt_samples)), rtt_value_of(e, 500),
		rtt_value_of(e, 900), rtt_value_of(e, 990),
		e->cwnd ? value_u64(e->cwnd) : value_null(),
		words_known(e, CONN_KNOWS_GAUGES, value_u64(e->snd_wnd)),
		value_u64(e->bytes_acked), value_u64(e->bytes_received),
		value_list(words_classes(judged->problems, r)),
		value_string(words_class_line(judged->harmful, r)),
	};
	size_t n = ARRAY_LEN(before);

	n += counter_cells(cells + n, e, true);
	memcpy(cells + n, rest, sizeof(rest));
	table_add(t, cells, n + ARRAY_LEN(rest));
}

void tables_timeline(const struct conns *c, struct report *r)
{
	struct rtt_sum rtts = { 0 };
	struct table *t;

	if (!c->options.follows)
		return;
	t = conns_timeline_new(r);
	vec_for_each(&c->followed, record) {
		conns_timeline_add(c, record, t, r);
		rtt_add(&rtts, &record->c);
	}
	object_add(&r->body, "timeline", value_table(t));
	object_add(&r->body, "timeline_left_out", value_u64(c->followed_dropped));
	rtt_table(&rtts, r);
	if (rtts.connections && rtts.connections < c->followed.len)
		report_finding(r, "Round-trip times are known for %" PRIu64 " of %zu intervals "
			       "with data.", rtts.connections, c->followed.len);
	if (!c->followed.len)
		report_finding(r, "There is no data of a connection with this cookie.");
}
