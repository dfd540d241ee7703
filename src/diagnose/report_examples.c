/* SPDX-License-Identifier: Apache-2.0 */
/* Reports single messages: the parts of each message's time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/sort.h"
#include "diagnose/culprits.h"
#include "diagnose/sections.h"
#include "diagnose/words.h"
#include "event/names.h"
#include "report/human.h"

#define EXAMPLES_MAX 2000u

/* ---- parts of a message ---- */

static const struct column culprit_columns[] = {
	{ "pid", NULL, 0, 0 },     { "tid", NULL, 0, 0 },     { "comm", NULL, 0, 0 },
	{ "message", NULL, 0, 0 }, { "what", NULL, 0, 0 },    { "ns", NULL, 0, 0 },
	{ "command", NULL, 0, 0 }, { "hostlat", NULL, 0, 0 },
};

/* Returns the table of one message's culprits: each task, and each message ahead, by itself. */
static struct value examples_culprits(const struct recorded *rec, struct report *r,
				      const struct shares *shares)
{
	struct table *t = table_new(r, culprit_columns, ARRAY_LEN(culprit_columns));

	for (size_t i = 0; i < shares->len && i < CULPRITS_SHOWN; i++) {
		const struct share *s = &shares->items[i];
		const struct task_name *task = tasks_get(&rec->tasks, s->culprit);
		const uint32_t command = commands_find(&rec->commands, s->culprit);
		char buf[WORDS_MAX];
		const char *detail = words_detail(buf, rec, s->place / WHERE_MAX, s->detail);

		if (!s->culprit && !s->message && !detail)
			continue;
		TABLE_ADD(t, task->tid ? value_u64(task->pid) : value_null(),
			  task->tid ? value_u64(task->tid) : value_null(),
			  value_string(task->tid ? report_format(r, "%s", task->comm) : NULL),
			  s->message ? value_u64(rec->messages.all.items[s->message - 1].id) :
				       value_null(),
			  value_string(detail ? report_format(r, "%s", detail) : NULL),
			  value_ns(s->ns), culprit_command_value(rec, r, command),
			  culprit_part_value(rec, command));
	}
	return value_table(t);
}

static const struct column part_columns[] = {
	{ "cause", NULL, 0, 0 },
	{ "where", NULL, 0, 0 },
	{ "ns", NULL, 0, 0 },
	{ "culprits", NULL, 0, 0 },
};

static int examples_shares(const struct breakdown *breakdown, unsigned int place, uint64_t total,
			   struct shares *out)
{
	int err = 0;

	vec_init(out, breakdown->shares.len + 1);
	vec_for_each(&breakdown->shares, s)
		if (!err && s->place == place)
			err = vec_push(out, *s);
	excess_merge_shares(out, total);
	return err;
}

static void examples_add_fixed_part(struct table *t, enum cause cause, int64_t ns)
{
	TABLE_ADD(t, value_string(cause_name(cause)), value_null(), value_sns(ns), value_null());
}

static struct value examples_parts(const struct diagnosis *d, struct report *r,
				   const struct excess *j, int *err)
{
	struct table *t = table_new(r, part_columns, ARRAY_LEN(part_columns));

	examples_add_fixed_part(t, CAUSE_EXPECTED, (int64_t)j->expected);
	if (j->offset)
		examples_add_fixed_part(t, CAUSE_OFFSET, j->offset);
	for (unsigned int place = 0; place < CAUSE_PLACES; place++) {
		struct shares shares;
		int shares_err;

		if (!j->ns[place])
			continue;
		shares_err = examples_shares(&d->own.breakdowns[j->subject], place, j->ns[place],
					     &shares);
		*err = *err ?: shares_err;
		TABLE_ADD(t, value_string(cause_name(place / WHERE_MAX)),
			  value_string(cause_where_name(place % WHERE_MAX)),
			  value_sns((int64_t)j->ns[place]),
			  examples_culprits(&d->own, r, &shares));
		vec_release(&shares);
	}
	return value_table(t);
}

static const struct column piece_columns[] = {
	{ "role", NULL, 0, 0 },
	{ "core", NULL, 0, 0 },
	{ "begin_ns", NULL, 0, 0 },
	{ "end_ns", NULL, 0, 0 },
};

static const char *examples_piece_role(unsigned int role)
{
	static const char *const names[PIECE_ROLE_MAX] = {
		[PIECE_RECEIVE] = "receive", [PIECE_BACKLOG] = "backlog",
		[PIECE_APPLICATION] = "application", [PIECE_TRANSMIT] = "transmit",
		[PIECE_PACED] = "paced",
	};

	return role < PIECE_ROLE_MAX ? names[role] : NULL;
}

static struct value examples_core(uint32_t core)
{
	return core == CORE_UNKNOWN ? value_null() : value_u64(core);
}

static struct value examples_pieces(struct report *r, const struct subject *s, uint64_t first)
{
	struct table *t = table_new(r, piece_columns, ARRAY_LEN(piece_columns));

	for (uint32_t i = 0; i < s->n; i++)
		TABLE_ADD(t, value_string(examples_piece_role(s->pieces[i].role)),
			  examples_core(s->pieces[i].core),
			  value_sns((int64_t)(s->pieces[i].begin - first)),
			  value_sns((int64_t)(s->pieces[i].end - first)));
	return value_table(t);
}

static const struct column line_columns[] = {
	{ "lane", NULL, 0, 0 },    { "core", NULL, 0, 0 },  { "begin_ns", NULL, 0, 0 },
	{ "end_ns", NULL, 0, 0 },  { "cause", NULL, 0, 0 }, { "what", NULL, 0, 0 },
	{ "message", NULL, 0, 0 }, { "merged", NULL, 0, 0 },
};

static struct value examples_timeline(const struct diagnosis *d, struct report *r,
				      const struct excess *j, uint64_t first)
{
	const struct recorded *rec = &d->own;
	struct table *t;

	if (!rec->drawn[j->subject].len)
		return value_null();
	t = table_new(r, line_columns, ARRAY_LEN(line_columns));
	vec_for_each(&rec->drawn[j->subject], drawn) {
		const struct slice *s = &drawn->slice;
		char buf[WORDS_MAX];
		const char *detail = words_detail(buf, rec, s->cause, s->detail);

		if (s->culprit)
			detail = culprit_task_name(rec, r, s->culprit);
		else if (detail)
			detail = report_format(r, "%s", detail);
		TABLE_ADD(t, value_string(cause_where_name(s->where)), examples_core(s->core),
			  value_ns(s->begin - first), value_ns(s->end - first),
			  value_string(cause_name(s->cause)), value_string(detail),
			  s->message ? value_u64(rec->messages.all.items[s->message - 1].id) :
				       value_null(), value_u64(drawn->merged));
	}
	return value_table(t);
}

static struct value examples_address(struct report *r, const struct event_flow *flow, bool remote)
{
	char buf[HUMAN_ADDRESS_MAX];
	const char *text = !flow ? NULL :
		human_address(buf, flow->family, remote ? flow->remote : flow->local,
			      remote ? flow->remote_port : flow->local_port);

	return value_string(text ? report_format(r, "%s", text) : NULL);
}

static const struct column example_columns[] = {
	{ "id", NULL, 0, 0 },           { "at_ns", NULL, 0, 0 },
	{ "at_realtime_ns", NULL, 0, 0 }, { "realtime_error_ns", NULL, 0, 0 },
	{ "latency_ns", NULL, 0, 0 },   { "deviation_ns", NULL, 0, 0 },
	{ "coverage", NULL, 0, 0 },     { "pid", NULL, 0, 0 },
	{ "tid", NULL, 0, 0 },          { "comm", NULL, 0, 0 },
	{ "protocol", NULL, 0, 0 },     { "local", NULL, 0, 0 },
	{ "remote", NULL, 0, 0 },       { "bytes", NULL, 0, 0 },
	{ "parts", NULL, 0, 0 },        { "pieces", NULL, 0, 0 },
	{ "timeline", NULL, 0, 0 },     { "timeline_omitted", NULL, 0, 0 },
};

static struct value examples_coverage(double coverage)
{
	return isnan(coverage) ? value_null() : value_fraction(coverage > 1 ? 1 : coverage);
}

static int examples_add(const struct diagnosis *d, struct report *r, struct table *t,
			const struct excess *j)
{
	const struct recorded *rec = &d->own;
	const struct message *m = subject_message(rec, j->subject);
	const struct task_name *task = tasks_get(&rec->tasks, tasks_by_tid(&rec->tasks, m->tid));
	const struct event_flow *flow = recorded_flows_find(&rec->flows, m->flow);
	int err = 0;

	TABLE_ADD(t, value_u64(m->id), value_ns(m->read), times_realtime(&rec->times, m->read),
		  times_error(&rec->times, m->read), value_ns(j->latency),
		  value_sns((int64_t)(j->latency - j->expected)), examples_coverage(j->coverage),
		  m->pid ? value_u64(m->pid) : value_null(),
		  m->tid ? value_u64(m->tid) : value_null(),
		  value_string(task->tid ? report_format(r, "%s", task->comm) : NULL),
		  value_string(flow ? protocol_name(flow->protocol) : NULL),
		  examples_address(r, flow, false), examples_address(r, flow, true),
		  value_u64(m->bytes), examples_parts(d, r, j, &err),
		  examples_pieces(r, &rec->subjects.items[j->subject], m->first),
		  examples_timeline(d, r, j, m->first),
		  value_u64(rec->drawn[j->subject].len ? 0 :
				    rec->breakdowns[j->subject].slices));
	return err;
}

/* ---- text of the slowest target ---- */

static const struct column slowest_columns[] = {
	{ NULL, "", 0, 0 },
	{ NULL, "", 0, 0 },
	{ NULL, "", COLUMN_FLEX, 0 },
};

struct cause_line {
	enum cause cause;
	int64_t ns;
	const char *culprit;
};

static int examples_order_by_length(const void *a, const void *b)
{
	const struct cause_line *x = a, *y = b;

	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* Returns the message that this one was behind for longest, e.g. "message 12"; "": none. */
static const char *examples_message_ahead(const struct diagnosis *d, struct report *r,
					  const struct excess *j, unsigned int place)
{
	const struct recorded *rec = &d->own;
	const char *ahead = "";
	struct shares shares;
	int err = examples_shares(&rec->breakdowns[j->subject], place, j->ns[place], &shares);

	if (err)
		report_fail(r, err);
	else if (shares.len && shares.items->message)
		ahead = report_format(r, "message %llu", (unsigned long long)
				      rec->messages.all.items[shares.items->message - 1].id);
	vec_release(&shares);
	return ahead;
}

/*
 * Returns the culprit with most of a cause's time in one message, with its own time if there are
 * others: "gzip (201), 276 us of it"; "": unknown.
 */
static const char *examples_top_culprit(const struct diagnosis *d, struct report *r,
					const struct excess *j, unsigned int place)
{
	struct cause_culprits culprits;
	const char *name = "";
	char buf[HUMAN_MAX];
	int err;

	if (place / WHERE_MAX == CAUSE_HEAD_OF_LINE)
		return examples_message_ahead(d, r, j, place);
	culprits_init(&culprits, &d->own, place / WHERE_MAX);
	err = culprits_add_message(&culprits, &d->own.breakdowns[j->subject], place, 1,
				   j->ns[place]) ?: culprits_finish(&culprits);
	if (err) {
		report_fail(r, err);
	} else if (culprits.all.len) {
		const struct cause_culprit *top = culprits.all.items;

		name = culprit_name(&culprits, r, top);
		if (*name && !culprit_is_sole(&culprits, top))
			name = report_format(r, "%s, %s of it", name, human_ns(buf, top->ns));
	}
	culprits_release(&culprits);
	return name;
}

static void examples_add_slowest(const struct diagnosis *d, struct report *r,
				 const struct excess *j)
{
	struct table *t = table_new(r, slowest_columns, ARRAY_LEN(slowest_columns));
	const struct message *m = subject_message(&d->own, j->subject);
	const struct task_name *task =
		tasks_get(&d->own.tasks, tasks_by_tid(&d->own.tasks, m->tid));
	struct cause_line lines[CAUSE_PLACES + 2];
	const char *at = times_text(&d->own.times, r, m->read, d->own.messages.from, 6);
	char buf[HUMAN_MAX];
	size_t n = 0;

	lines[n++] = (struct cause_line){ CAUSE_EXPECTED, (int64_t)j->expected, "" };
	if (j->offset)
		lines[n++] = (struct cause_line){ CAUSE_OFFSET, j->offset, "" };
	for (unsigned int place = 0; place < CAUSE_PLACES; place++)
		if (j->ns[place])
			lines[n++] = (struct cause_line){ place / WHERE_MAX, (int64_t)j->ns[place],
						    examples_top_culprit(d, r, j, place) };
	qsort(lines, n, sizeof(*lines), examples_order_by_length);
	if (t)
		t->head = report_format(r, "The slowest message: %s, %s%s%s by %s",
					human_ns(buf, j->latency),
					d->own.messages.departures ? "sent" : "read",
					at ? " at " : "", at ? at : "",
					task->tid ? culprit_task_name(&d->own, r, tasks_by_tid(
						&d->own.tasks, m->tid)) : "an unknown task");
	for (size_t i = 0; i < n; i++)
		TABLE_ADD(t, value_sns(lines[i].ns),
			  value_fraction((double)lines[i].ns / (double)j->latency),
			  value_string(*lines[i].culprit ?
					       report_format(r, "%s: %s",
							     cause_phrase(lines[i].cause),
							     lines[i].culprit) :
					       cause_phrase(lines[i].cause)));
	object_add(&r->body, NULL, value_table(t));
}

static int examples_order_by_latency(const void *a, const void *b)
{
	const struct excess *const *x = a, *const *y = b;

	return sort_order((*y)->latency, (*x)->latency) ?: sort_order((*x)->subject, (*y)->subject);
}

int report_examples(const struct diagnosis *d, struct report *r)
{
	struct table *t = table_new(r, example_columns, ARRAY_LEN(example_columns));
	const size_t n = d->excesses.len;
	const struct excess **order = calloc(n + 1, sizeof(*order));
	int err = order ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < n; i++)
		order[i] = &d->excesses.items[i];
	if (!err)
		qsort(order, n, sizeof(*order), examples_order_by_latency);
	if (!err && n)
		examples_add_slowest(d, r, order[0]);
	for (size_t i = 0; !err && i < n && i < EXAMPLES_MAX; i++)
		err = examples_add(d, r, t, order[i]);
	object_add(&r->body, "examples", value_table(t));
	object_add(&r->body, "examples_omitted",
		   value_u64(n > EXAMPLES_MAX ? n - EXAMPLES_MAX : 0));
	free(order);
	return err;
}
