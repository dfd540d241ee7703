/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of GRO and the backlog, receive queues, and the kernel's counters of each CPU. */
#include "event/names.h"
#include "watch/tables.h"

static struct value arrival_part_cell(const struct row_line *l)
{
	return value_string(dist_name(l->dist));
}

static struct value arrival_time_cell(const struct row_line *l)
{
	return row_table_distribution(l, l->dist);
}

static const struct row_column before_link_columns[] = {
	{ .column = { .name = "part", .head = "before link" }, .cell = arrival_part_cell },
	ROW_COLUMNS_OF_GROUPS,
	{ .column = { .name = "time", .head = "", .flags = COLUMN_INLINE,
		      .show = SHOW_COUNT | SHOW_P50 | SHOW_P90 | SHOW_P99 | SHOW_MAX |
			      SHOW_SPARK },
	  .cell = arrival_time_cell },
};

/* Adds the table of packets' times between the driver and `link`. */
static void arrival_add_before_link(const struct watch *w, enum watch_span span,
				    const struct watch_common *c, struct report *r)
{
	static const uint8_t dists[] = { DIST_GRO, DIST_BACKLOG };
	struct row_table t;

	row_table_begin(&t, w, c, r, before_link_columns, ARRAY_LEN(before_link_columns));
	for (size_t i = 0; watch_shows(w, STAGE_LINK) && i < w->order.len; i++) {
		const struct watch_row *row = w->order.items[i];

		for (size_t k = 0; k < ARRAY_LEN(dists); k++) {
			const uint8_t dist = dists[k];

			if (!row->measured[dist] ||
			    (row->id.group && !row->hists[span][dist].count))
				continue;
			row_table_add(&t, (struct row_line){
				.w = w, .row = row, .span = span, .dist = dist, .r = r });
		}
	}
	object_add(&r->body, "before_link", value_table(t.table));
}

static const char *arrival_queue_name(const struct watch *w, const struct event_queue *id)
{
	if (id->of == QUEUE_OF_BACKLOG)
		return "(backlog)";
	if (id->of == QUEUE_OF_OTHERS)
		return "(others)";
	return id->iface ? watch_name(w, DICT_IFACE, id->iface) : "(unknown)";
}

/*
 * Returns the number of packets given to GRO per packet that GRO passed on. Packets passed on may
 * have been given in an earlier interval.
 */
static struct value arrival_gro_ratio(const struct event_queue *q)
{
	return q->passed ? value_number((double)q->received / (double)q->passed) : value_null();
}

static void arrival_add_queues(const struct watch *w, enum watch_span span, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "interface" }, { .head = "receive queue of", .flags = COLUMN_FLEX },
		{ .name = "of" },
		{ .name = "rxq", .head = "rxq" }, { .name = "cpu", .head = "cpu" },
		{ .name = "polls", .head = "polls" }, { .name = "full", .head = "full" },
		{ .name = "work", .head = "polled" }, { .name = "received", .head = "to GRO" },
		{ .name = "merged" }, { .name = "passed", .head = "from GRO" },
		{ .name = "gro_ratio", .head = "GRO ratio" },
	};
	static const char *const of[QUEUE_OF_MAX] = {
		[QUEUE_OF_DEVICE] = "device", [QUEUE_OF_BACKLOG] = "backlog",
		[QUEUE_OF_OTHERS] = "others",
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	vec_for_each(&w->queues, queue) {
		const struct event_queue *id = &queue->id, *q = &queue->sum[span];

		if (!watch_shows(w, STAGE_POLL) || !(q->polls | q->received))
			continue;
		TABLE_ADD(t, value_string(watch_name(w, DICT_IFACE, id->iface)),
			  value_string(arrival_queue_name(w, id)), value_string(of[id->of]),
			  id->rxq ? value_s64((int64_t)id->rxq - 1) : value_null(),
			  value_s64(id->cpu), value_u64(q->polls), value_u64(q->full),
			  value_u64(q->work), value_u64(q->received), value_u64(q->merged),
			  value_u64(q->passed), arrival_gro_ratio(q));
	}
	object_add(&r->body, "receive_queues", value_table(t));
}

static void arrival_add_softnet(const struct watch *w, enum watch_span span, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "cpu", .head = "softnet: cpu" },
		{ .name = "processed", .head = "processed" },
		{ .name = "dropped", .head = "dropped" },
		{ .name = "squeezed", .head = "squeezed" },
		{ .name = "received_rps", .head = "RPS" },
		{ .name = "flow_limit", .head = "flow limit" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	vec_for_each(&w->softnets, softnet) {
		const struct event_softnet *s = &softnet->sum[span];

		if (!(s->processed | s->dropped | s->squeezed | s->rps | s->flow_limit))
			continue;
		TABLE_ADD(t, value_s64(softnet->cpu), value_u64(s->processed),
			  value_u64(s->dropped), value_u64(s->squeezed), value_u64(s->rps),
			  value_u64(s->flow_limit));
	}
	object_add(&r->body, "softnet", value_table(t));
}

void watch_add_arrival(const struct watch *w, enum watch_span span, const struct watch_common *c,
		       struct report *r)
{
	arrival_add_before_link(w, span, c, r);
	arrival_add_queues(w, span, r);
	arrival_add_softnet(w, span, r);
}
