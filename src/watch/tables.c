/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/tables.h"

#include <string.h>

#include "event/names.h"
#include "watch/culprits.h"

/* ---- stages ---- */

/* Returns false for rows with waits for a CPU only: they have no origin, and no table line. */
static bool tables_is_stage_row(const struct watch_row *row)
{
	return row->measured[DIST_LATENCY] || row->measured[DIST_STEP] ||
	       row->measured[DIST_YOUNGEST] || row->measured[DIST_PACING] ||
	       row->measured[DIST_HOL];
}

struct watch_common watch_common(const struct watch *w)
{
	struct watch_common c = { 0 };

	vec_for_each(&w->rows, item) {
		const struct watch_row *row = *item;

		if (!watch_shows(w, row->id.stage) || !tables_is_stage_row(row))
			continue;
		c.directions |= 1U << row->id.direction;
		c.protocols |= 1U << row->id.protocol;
		c.origins |= 1U << row->id.origin;
		c.grouped |= row->id.group || row->id.flags & HIST_OVERFLOW_GROUP;
	}
	vec_for_each(&w->bindings, b) {
		if (!watch_requested(w, b) || !watch_is_missed(w, b))
			continue;
		c.before_stack |= watch_before_stack(b->stage);
		c.directions |= 1U << b->direction;
		c.protocols |= b->protocol == PROTO_ANY && !watch_before_stack(b->stage) ?
			       0 : 1U << b->protocol;
	}
	if (!c.protocols)
		c.protocols = 1U << PROTO_ANY;
	return c;
}

/* Returns the hook's name, with its kind unless that is a tracepoint, as usual. */
static const char *stage_reached_by(const struct watch *w, const struct event_binding *b,
				    struct report *r)
{
	const char *kind = b ? watch_name(w, DICT_STRING, b->kind) : NULL;
	const char *hook = b ? watch_name(w, DICT_STRING, b->hook) : NULL;

	if (!kind || !hook || strcmp(kind, "tp_btf") == 0)
		return hook;
	return report_format(r, "%s %s", kind, hook);
}

static struct value stage_name_cell(const struct row_line *l)
{
	return value_string(stage_name(l->row->id.stage));
}

static struct value stage_direction_cell(const struct row_line *l)
{
	return value_string(direction_name(l->row->id.direction));
}

static struct value stage_protocol_cell(const struct row_line *l)
{
	return value_string(protocol_name(l->row->id.protocol));
}

static struct value stage_origin_cell(const struct row_line *l)
{
	return value_string(origin_name(l->row->id.origin));
}

static struct value stage_hook_cell(const struct row_line *l)
{
	const struct event_hist *id = &l->row->id;

	return value_string(stage_reached_by(l->w, watch_binding_of(l->w, id->stage, id->direction,
								    id->protocol), l->r));
}

/* Returns the distribution of the latency; without packets an empty one, not null. */
static struct value stage_latency_cell(const struct row_line *l)
{
	return row_table_distribution(l, DIST_LATENCY);
}

static struct value stage_sampled_cell(const struct row_line *l)
{
	return l->w->periods[l->span].one_in_max > 1 ? value_u64(l->row->sampled[l->span])
						     : value_absent();
}

static const struct row_column stage_columns[] = {
	{ .column = { .name = "stage", .head = "stage" }, .cell = stage_name_cell },
	{ .column = { .name = "direction", .head = "direction" }, .cell = stage_direction_cell,
	  .headed = SEVERAL_DIRECTIONS },
	{ .column = { .name = "protocol", .head = "protocol" }, .cell = stage_protocol_cell,
	  .headed = SEVERAL_PROTOCOLS },
	{ .column = { .name = "origin", .head = "from" }, .cell = stage_origin_cell,
	  .headed = SEVERAL_ORIGINS },
	ROW_COLUMNS_OF_GROUPS,
	{ .column = { .head = "reached by", .flags = COLUMN_FLEX | COLUMN_SPARE },
	  .cell = stage_hook_cell },
	{ .column = { .name = "latency", .head = "", .flags = COLUMN_INLINE,
		      .show = SHOW_COUNT | SHOW_P50 | SHOW_P90 | SHOW_P99 | SHOW_MAX |
			      SHOW_SPARK },
	  .cell = stage_latency_cell },
	{ .column = { .name = "step", .head = "step", .show = SHOW_P99 },
	  .cell = row_table_dist, .dist = DIST_STEP },
	{ .column = { .name = "youngest" }, .cell = row_table_dist, .dist = DIST_YOUNGEST,
	  .stage = STAGE_READ },
	{ .column = { .name = "pacing" }, .cell = row_table_dist, .dist = DIST_PACING,
	  .stage = STAGE_QDISC },
	{ .column = { .name = "hol" }, .cell = row_table_dist, .dist = DIST_HOL,
	  .stage = STAGE_ENQUEUED, .protocol = PROTO_TCP },
	{ .column = { .name = "sampled" }, .cell = stage_sampled_cell },
};

/* Returns true if the table shows the row: a group's row only if the group had traffic. */
static bool tables_is_shown(const struct watch *w, const struct watch_row *row,
			    enum watch_span span)
{
	const struct hist *hists = row->hists[span];

	if (!watch_shows(w, row->id.stage) || !tables_is_stage_row(row))
		return false;
	return !row->id.group || hists[DIST_LATENCY].count || hists[DIST_STEP].count ||
	       hists[DIST_YOUNGEST].count || hists[DIST_PACING].count || hists[DIST_HOL].count;
}

/* Returns true if a direction has rows of the protocol (PROTO_ANY: any) and stage (0: any). */
static bool tables_has_rows(const struct watch *w, unsigned int direction, unsigned int protocol,
			    unsigned int stage)
{
	vec_for_each(&w->rows, item) {
		const struct event_hist *id = &(*item)->id;

		if (id->direction == direction && (!stage || id->stage == stage) &&
		    (!protocol || id->protocol == protocol) && tables_is_stage_row(*item))
			return true;
	}
	return false;
}

/*
 * Returns true if there are counts since the start. PROTO_ANY and STAGE_NONE stand for all
 * protocols and stages; a count without a stage, or without a protocol, matches no particular one.
 */
static bool tables_has_counts(const struct watch *w, unsigned int what, unsigned int direction,
			      unsigned int protocol, unsigned int stage)
{
	vec_for_each(&w->counts, c) {
		if (c->id.what == what && c->count[WATCH_TOTAL] && c->id.direction == direction &&
		    c->id.stage && (!stage || c->id.stage == stage) &&
		    (!protocol || c->id.protocol == protocol))
			return true;
	}
	return false;
}

/* Explains why a stage (0: all) has no rows: packets may have been lost there or before. */
static const char *tables_why_empty(const struct watch *w, unsigned int direction,
				    unsigned int protocol, unsigned int stage)
{
	bool lost = !stage && tables_has_counts(w, COUNT_LOSS, direction, protocol, STAGE_NONE);

	for (unsigned int place = stage_place(stage);
	     place && !lost && !tables_has_rows(w, direction, protocol, stage_at_place(place));
	     place--)
		lost = tables_has_counts(w, COUNT_LOSS, direction, protocol, stage_at_place(place));
	if (lost)
		return "all packets were lost";
	if ((stage == STAGE_RUNNABLE || stage == STAGE_RUNNING) &&
	    tables_has_counts(w, COUNT_EXCLUDED, direction, protocol, STAGE_RUNNABLE))
		return "no packet woke its reader";
	if (stage == STAGE_IRQ && tables_has_counts(w, COUNT_EXCLUDED, direction, protocol, stage))
		return "no time from an interrupt to its softirq could be measured";
	if (stage == STAGE_POLL && tables_has_counts(w, COUNT_EXCLUDED, direction, protocol, stage))
		return "no time from a softirq's request to its poll could be measured";
	if (stage == STAGE_SENT && tables_has_counts(w, COUNT_EXCLUDED, direction, protocol, stage))
		return "no network card reported a transmit completion";
	return watch_before_stack(stage) ? "no events yet" : "no packets yet";
}

static void tables_add_note(const char *stage, unsigned int direction, unsigned int protocol,
			    const char *note, struct table *t)
{
	table_add_note(t, (const struct value[]){ value_string(stage),
			value_string(direction_name(direction)),
			value_string(protocol_name(protocol)) }, 3, "n/a: %s", note);
}

/* Adds the line of a stage without numbers, unless its protocol has no traffic. */
static void tables_add_unmeasured(const struct watch *w, const struct watch_common *c,
				  unsigned int direction, unsigned int protocol, unsigned int stage,
				  struct table *t)
{
	const struct event_binding *b = watch_binding_of(w, stage, direction, protocol);
	bool none = protocol == PROTO_ANY; /* a line for stages without a protocol */
	const char *why;

	if (!b || !watch_requested(w, b) || (c->before_stack && watch_before_stack(stage) != none))
		return;
	why = watch_name(w, DICT_STRING, b->why);
	if (!b->bound)
		tables_add_note(stage_name(stage), direction, protocol,
				why ? why : "the reason is unknown", t);
	else if (tables_has_rows(w, direction, protocol, STAGE_NONE) &&
		 !tables_has_rows(w, direction, protocol, stage))
		tables_add_note(stage_name(stage), direction, protocol,
				tables_why_empty(w, direction, protocol, stage), t);
}

/* Returns true if the protocol (PROTO_ANY: any) is measured and has no rows. */
static bool tables_is_silent(const struct watch *w, unsigned int direction, unsigned int protocol)
{
	if (tables_has_rows(w, direction, protocol, STAGE_NONE))
		return false;
	vec_for_each(&w->bindings, b) {
		if (b->bound && b->direction == direction && watch_requested(w, b) &&
		    (!protocol || !b->protocol || b->protocol == protocol))
			return true;
	}
	return false;
}

/*
 * Adds the table lines of a direction and protocol. Stages without numbers get a line if
 * c->protocols has the protocol. Moves *at to the first row of the next direction or protocol.
 */
static void tables_add_path(const struct watch *w, const struct watch_common *c,
			    enum watch_span span, unsigned int direction, unsigned int protocol,
			    size_t *at, const struct row_table *t, struct report *r)
{
	bool spoken_of = c->protocols >> protocol & 1;
	unsigned int place = spoken_of ? STAGE_NONE + 1 : STAGE_MAX;

	for (; *at < w->order.len; ++*at) {
		const struct watch_row *row = w->order.items[*at];

		if (row->id.direction != direction || row->id.protocol != protocol)
			break;
		/*
		 * Adds the unmeasured stages that precede the row's stage: all that remain before
		 * the first group, as groups come after the whole host.
		 */
		for (; place < (row->id.group ? STAGE_MAX : stage_place(row->id.stage)); place++)
			tables_add_unmeasured(w, c, direction, protocol, stage_at_place(place),
					      t->table);
		if (tables_is_shown(w, row, span))
			row_table_add(t, (struct row_line){
				.w = w, .row = row, .span = span, .r = r });
	}
	for (; place < STAGE_MAX; place++)
		tables_add_unmeasured(w, c, direction, protocol, stage_at_place(place), t->table);
}

void watch_add_stages(const struct watch *w, enum watch_span span, const struct watch_common *c,
		      struct report *r)
{
	struct row_table t;
	size_t at = 0;

	row_table_begin(&t, w, c, r, stage_columns, ARRAY_LEN(stage_columns));
	for (unsigned int direction = 0; direction < DIR_MAX; direction++) {
		bool silent = tables_is_silent(w, direction, PROTO_ANY);

		for (unsigned int protocol = PROTO_ANY; protocol < PROTO_MAX; protocol++) {
			bool spoken_of = c->protocols >> protocol & 1;

			tables_add_path(w, c, span, direction, protocol, &at, &t, r);
			if (spoken_of && !silent && tables_is_silent(w, direction, protocol))
				tables_add_note(
					"all", direction, protocol,
					tables_why_empty(w, direction, protocol, STAGE_NONE),
					t.table);
		}
		if (silent)
			tables_add_note("all", direction, PROTO_ANY,
					tables_why_empty(w, direction, PROTO_ANY, STAGE_NONE),
					t.table);
	}
	object_add(&r->body, "stages", value_table(t.table));
}

/* ---- counters ---- */

/*
 * Returns the cell of a counter in the column `name`. The cells "stage" and "protocol" are absent
 * if the counter has none.
 */
static struct value stage_count_cell(const struct watch *w, const struct watch_count *c,
				     const char *name, enum watch_span span)
{
	if (strcmp(name, "reason") == 0)
		return value_string(watch_name(w, DICT_STRING, c->id.reason));
	if (strcmp(name, "count") == 0)
		return value_u64(c->count[span]);
	if (strcmp(name, "protocol") == 0)
		return c->id.protocol ? value_string(protocol_name(c->id.protocol))
				      : value_absent();
	return c->id.stage ? value_string(stage_name(c->id.stage)) : value_absent();
}

void watch_add_counts(const struct watch *w, enum watch_span span, enum count_what what,
		       struct report *r)
{
	/* The table "excluded" is in JSON only: text need not show each kind of ACK. */
	static const struct {
		const char *name;
		struct column columns[4];
	} tables[COUNT_MAX] = {
		[COUNT_DROP] = { "drops", {
			{ .name = "stage", .head = "dropped at" },
			{ .name = "reason", .head = "reason" },
			{ .name = "count", .head = "count" }, { .name = "protocol" } } },
		[COUNT_LOSS] = { "losses", {
			{ .name = "reason", .head = "not measured" },
			{ .name = "count", .head = "count" }, { .name = "stage", .head = "stage" },
			{ .name = "protocol", .head = "protocol" } } },
		[COUNT_EXCLUDED] = { "excluded", {
			{ .name = "reason" }, { .name = "count" }, { .name = "stage" },
			{ .name = "protocol" } } },
	};
	const struct column *columns = tables[what].columns;
	struct table *t = table_new(r, columns, 4);
	struct value cells[4];

	vec_for_each(&w->counts, c) {
		if (c->id.what != what || !c->count[span] || !watch_is_counted(w, c))
			continue;
		for (int i = 0; i < 4; i++)
			cells[i] = stage_count_cell(w, c, columns[i].name, span);
		table_add(t, cells, 4);
	}
	object_add(&r->body, tables[what].name,
		   what == COUNT_DROP && watch_lacks_drops(w) ? value_null() : value_table(t));
}

void watch_add_bindings(const struct watch *w, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "stage" }, { .name = "hook" }, { .name = "kind" },
		{ .name = "direction" }, { .name = "protocol" }, { .name = "bound" },
		{ .name = "why" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	vec_for_each(&w->bindings, b) {
		TABLE_ADD(t, value_string(stage_name(b->stage)),
			  value_string(watch_name(w, DICT_STRING, b->hook)),
			  value_string(watch_name(w, DICT_STRING, b->kind)),
			  value_string(direction_name(b->direction)),
			  value_string(protocol_name(b->protocol)), value_bool(b->bound),
			  value_string(watch_name(w, DICT_STRING, b->why)));
	}
	object_add(&r->body, "bindings", value_table(t));
}

/* ---- scheduler ---- */

static int tables_sum_cpu_wait(struct watch *w, enum watch_span span)
{
	int err = 0;

	for (int protocol = 0; protocol < PROTO_MAX; protocol++) {
		hist_release(&w->cpu_wait[span][protocol]);
		hist_init(&w->cpu_wait[span][protocol], BUCKET_SCHEMA_MAX);
	}
	vec_for_each(&w->rows, item) {
		const struct watch_row *row = *item;

		if (!err && row->measured[DIST_CPU_WAIT])
			err = hist_merge(&w->cpu_wait[span][row->id.protocol],
					 &row->hists[span][DIST_CPU_WAIT]);
	}
	return err;
}

int watch_add_scheduler(struct watch *w, enum watch_span span, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "protocol" }, { .name = "packets" }, { .name = "waited" },
		{ .name = "busy_ns" }, { .name = "wake_ns" }, { .name = "wait_ns" },
		{ .name = "run_ns" }, { .name = "stopped_ns" }, { .name = "cpu_wait" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	int err = tables_sum_cpu_wait(w, span);

	for (int protocol = 0; protocol < PROTO_MAX; protocol++) {
		const struct event_share *s = &w->shares[span][protocol];

		if (!s->packets)
			continue;
		TABLE_ADD(t, value_string(protocol_name(protocol)), value_u64(s->packets),
			  value_u64(s->waited), value_ns(s->busy_ns), value_ns(s->wake_ns),
			  value_ns(s->wait_ns), value_ns(s->run_ns), value_ns(s->stopped_ns),
			  w->cpu_wait[span][protocol].count ?
			  value_distribution_sampled(r, &w->cpu_wait[span][protocol],
						     w->periods[span].one_in_max) : value_null());
	}
	object_add(&r->body, "scheduler", value_table(t));
	return err;
}

static struct table *tables_culprits(const struct watch_culprits *c, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "pid" }, { .name = "comm" }, { .name = "ns" }, { .name = "count" },
		{ .name = "share" }, { .name = "processes" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (size_t i = 0; i < c->n; i++) {
		const struct watch_culprit *by = &c->list[i];
		const char *comm = report_format(r, "%.*s", EVENT_COMM_LEN, by->task->id.comm);

		TABLE_ADD(t, by->processes > 1 ? value_null() : value_u64(by->task->id.pid),
			  value_string(comm), value_ns(by->ns), value_u64(by->count),
			  value_fraction((double)by->ns / (double)c->total_ns),
			  value_u64(by->processes));
	}
	if (c->others_ns || c->others_count)
		TABLE_ADD(t, value_null(), value_string("others"), value_ns(c->others_ns),
			  value_u64(c->others_count),
			  value_fraction((double)c->others_ns / (double)c->total_ns),
			  value_null());
	return t;
}

void watch_add_culprits(const struct watch *w, enum watch_span span, struct report *r)
{
	struct watch_culprits c;

	watch_culprits(w, span, WATCH_CULPRITS_SHOWN, &c);
	object_add(&r->body, "culprits", value_table(tables_culprits(&c, r)));
	watch_commands(w, span, WATCH_CULPRITS_SHOWN, &c);
	object_add(&r->body, "commands", value_table(tables_culprits(&c, r)));
}
