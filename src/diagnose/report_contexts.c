/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports tasks and interrupts on the cores of the targets (messages to explain) and of their
 * reference messages.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "diagnose/culprits.h"
#include "diagnose/references.h"
#include "diagnose/sections.h"
#include "diagnose/words.h"
#include "report/human.h"

/* Rows of "contexts_by_core", at most. */
#define ROWS_SHOWN 200u

struct context_row {
	const char *name;
	uint32_t core;         /* CORE_UNKNOWN: the sum of all cores */
	uint32_t detail;
	uint8_t type, where;
	uint64_t target, reference;
};

struct context_rows {
	struct context_row *rows;
	size_t n;
	uint64_t targets, references;
};

static bool contexts_is_task(const struct context *c)
{
	return c->type == SEGMENT_TASK || c->type == SEGMENT_FAULT;
}

/*
 * Fills in the names of the commands that had cores, by index: "hog (21)", "gzip (6 processes)". In
 * a comparison with another recording, a command's name alone matches the tasks of both. Returns 0
 * or -ENOMEM.
 */
static int contexts_name_commands(const struct diagnosis *d, const struct recorded *rec,
				  struct report *r, const char **names)
{
	struct cause_culprits culprits;
	int err = 0;

	culprits_init(&culprits, rec, CAUSE_CPU_WAIT);
	vec_for_each(&rec->contexts.all, c)
		if (!err && contexts_is_task(c))
			err = culprits_add_task(&culprits, c->detail,
						c->target_ns + c->reference_ns);
	if (!err)
		err = culprits_finish(&culprits);
	if (!err)
		vec_for_each(&culprits.all, one)
			if (one->command)
				names[one->command - 1] = d->against_other ?
					culprit_plain_name(&culprits, r, one) :
					culprit_name(&culprits, r, one);
	culprits_release(&culprits);
	return err;
}

/* Returns the name of a core's activity: a command, an interrupt, a softirq or "idle". */
static const char *contexts_name(const struct recorded *rec, const char *const *commands,
				 struct report *r, const struct context *c)
{
	char buf[WORDS_MAX];
	uint32_t command;

	switch ((enum cpu_segment_type)c->type) {
	case SEGMENT_HARDIRQ:
		return report_format(r, "%s", words_hardirq(buf, c->detail));
	case SEGMENT_SOFTIRQ:
		return report_format(r, "%s", words_softirq(buf, c->detail));
	case SEGMENT_TASK:
	case SEGMENT_FAULT:
		command = commands_find(&rec->commands, c->detail);
		return command && commands[command - 1] ? commands[command - 1] :
							  "an unknown task";
	case SEGMENT_IDLE:
		return "idle";
	case SEGMENT_NOT_RECORDED:
		break;
	}
	return "blind";
}

static void contexts_add_row(struct context_rows *rows, const struct context *c, const char *name,
			     uint64_t target, uint64_t reference)
{
	rows->rows[rows->n++] = (struct context_row){
		name, c->core, c->detail, c->type, c->where, target, reference };
	rows->targets += target;
	rows->references += reference;
}

static int contexts_gather_from(const struct diagnosis *d, const struct recorded *rec,
				struct report *r, struct context_rows *rows)
{
	const char **commands = calloc(rec->commands.n + 1, sizeof(*commands));
	const bool other = rec != &d->own;
	int err = commands ? contexts_name_commands(d, rec, r, commands) : -ENOMEM;

	if (!err)
		vec_for_each(&rec->contexts.all, c)
			contexts_add_row(rows, c, contexts_name(rec, commands, r, c),
					 other ? 0 : c->target_ns,
					 other ? c->target_ns :
					 d->against_other ? 0 : c->reference_ns);
	free(commands);
	return err;
}

static int contexts_gather(const struct diagnosis *d, struct report *r, struct context_rows *rows)
{
	const struct recorded *other = references_of(d);
	const size_t n = d->own.contexts.all.len + other->contexts.all.len;
	int err;

	*rows = (struct context_rows){ .rows = calloc(n + 1, sizeof(*rows->rows)) };
	if (!rows->rows)
		return -ENOMEM;
	err = contexts_gather_from(d, &d->own, r, rows);
	return err || !d->against_other ? err : contexts_gather_from(d, other, r, rows);
}

static int contexts_order_by_name(const void *a, const void *b)
{
	const struct context_row *x = a, *y = b;

	if (x->core != y->core)
		return x->core < y->core ? -1 : 1;
	if (x->where != y->where)
		return x->where < y->where ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (strcmp(x->name, y->name) != 0)
		return strcmp(x->name, y->name);
	return x->detail < y->detail ? -1 : x->detail > y->detail;
}

static int contexts_order_by_size(const void *a, const void *b)
{
	const struct context_row *x = a, *y = b;

	if (x->target != y->target)
		return x->target > y->target ? -1 : 1;
	if (x->reference != y->reference)
		return x->reference > y->reference ? -1 : 1;
	if (x->core != y->core)
		return x->core < y->core ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->detail != y->detail ? (x->detail < y->detail ? -1 : 1) : strcmp(x->name, y->name);
}

static void contexts_merge(struct context_rows *rows)
{
	size_t n = 0;

	qsort(rows->rows, rows->n, sizeof(*rows->rows), contexts_order_by_name);
	for (size_t i = 0; i < rows->n; i++) {
		const struct context_row *row = &rows->rows[i];
		struct context_row *last = n ? &rows->rows[n - 1] : NULL;

		if (last && last->core == row->core && last->where == row->where &&
		    last->type == row->type && strcmp(last->name, row->name) == 0) {
			last->target += row->target;
			last->reference += row->reference;
		} else {
			rows->rows[n++] = *row;
		}
	}
	rows->n = n;
	qsort(rows->rows, n, sizeof(*rows->rows), contexts_order_by_size);
}

static struct value contexts_fraction(uint64_t ns, uint64_t total)
{
	return total ? value_fraction((double)ns / (double)total) : value_null();
}

static const struct column columns[] = {
	{ "where", NULL, 0, 0 },
	{ "context", NULL, 0, 0 },
	{ "target_fraction", NULL, 0, 0 },
	{ "reference_fraction", NULL, 0, 0 },
};

static const struct column core_columns[] = {
	{ "core", NULL, 0, 0 },
	{ "where", NULL, 0, 0 },
	{ "context", NULL, 0, 0 },
	{ "target_fraction", NULL, 0, 0 },
	{ "reference_fraction", NULL, 0, 0 },
};

static struct value contexts_by_core(const struct context_rows *rows, struct report *r)
{
	struct table *t = table_new(r, core_columns, ARRAY_LEN(core_columns));

	for (size_t i = 0; i < rows->n && i < ROWS_SHOWN; i++)
		TABLE_ADD(t, value_u64(rows->rows[i].core),
			  value_string(cause_where_name(rows->rows[i].where)),
			  value_string(rows->rows[i].name),
			  contexts_fraction(rows->rows[i].target, rows->targets),
			  contexts_fraction(rows->rows[i].reference, rows->references));
	return value_table(t);
}

static struct value contexts_total(const struct context_rows *rows, struct report *r)
{
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (size_t i = 0; i < rows->n; i++)
		TABLE_ADD(t, value_string(cause_where_name(rows->rows[i].where)),
			  value_string(rows->rows[i].name),
			  contexts_fraction(rows->rows[i].target, rows->targets),
			  contexts_fraction(rows->rows[i].reference, rows->references));
	return value_table(t);
}

int report_contexts(const struct diagnosis *d, struct report *r)
{
	struct value cores;
	struct context_rows rows;
	int err = contexts_gather(d, r, &rows);
	size_t omitted;

	if (err) {
		free(rows.rows);
		return err;
	}
	contexts_merge(&rows);
	cores = contexts_by_core(&rows, r);
	omitted = rows.n > ROWS_SHOWN ? rows.n - ROWS_SHOWN : 0;
	for (size_t i = 0; i < rows.n; i++)
		rows.rows[i].core = CORE_UNKNOWN;
	contexts_merge(&rows);
	object_add(&r->body, "contexts", contexts_total(&rows, r));
	object_add(&r->body, "contexts_by_core", cores);
	object_add(&r->body, "contexts_by_core_omitted", value_u64(omitted));
	free(rows.rows);
	return 0;
}
