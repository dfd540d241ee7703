/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports the functions in which the targets (messages to explain) took more time than their
 * reference messages.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/sort.h"
#include "base/strbuf.h"
#include "diagnose/functions.h"
#include "diagnose/sections.h"
#include "diagnose/words.h"
#include "report/human.h"

#define ROWS_SHOWN 50u
#define PATH_MAX_BYTES 8192

/* A function in one call path, summed over the targets (messages to explain) of one application. */
struct excessive {
	uint32_t model, node;
	struct nesting_cause one;   /* values of the message that charges most to the function */
	uint64_t total, messages;
};

struct excessives VEC_OF(struct excessive);

static const char *const types[NESTING_TYPE_MAX] = {
	[NESTING_SLOWER] = "slower",
	[NESTING_MORE_FREQUENT] = "more-frequent",
	[NESTING_UNEXPECTED] = "unexpected",
};

static int functions_order_by_node(const void *a, const void *b)
{
	const struct excessive *x = a, *y = b;

	return sort_order(x->model, y->model) ?: sort_order(x->node, y->node);
}

static int functions_order_by_total(const void *a, const void *b)
{
	const struct excessive *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return functions_order_by_node(a, b);
}

static int functions_judge_target(const struct diagnosis *d, size_t at, struct excessives *rows)
{
	const uint32_t model = d->excesses.items[at].baseline, number = d->functions->numbers[at];
	const struct nesting_options options = functions_options(d);
	struct nesting_verdict verdict;
	int err;

	if (number == FUNCTIONS_NONE)
		return 0;
	err = nesting_judge(d->functions->models[model], number, &options, &verdict);
	for (uint32_t i = 0; !err && i < verdict.n_causes; i++) {
		const struct nesting_cause *c = &verdict.causes[i];

		err = vec_push(rows, (struct excessive){ model, c->node, *c, c->self_ns, 1 });
	}
	return err == -ENODATA ? 0 : err;
}

static void functions_merge(struct excessives *rows)
{
	size_t n = 0;

	if (!rows->len)
		return;
	qsort(rows->items, rows->len, sizeof(*rows->items), functions_order_by_node);
	for (size_t i = 0; i < rows->len; i++) {
		const struct excessive *row = &rows->items[i];
		struct excessive *last = n ? &rows->items[n - 1] : NULL;

		if (!last || functions_order_by_node(last, row)) {
			rows->items[n++] = *row;
			continue;
		}
		last->total += row->total;
		last->messages += row->messages;
		if (row->one.self_ns > last->one.self_ns)
			last->one = row->one;
	}
	rows->len = n;
	qsort(rows->items, n, sizeof(*rows->items), functions_order_by_total);
}

static const struct column columns[] = {
	{ "function", "function", COLUMN_FLEX, 0 },
	{ "path", NULL, 0, 0 },
	{ "where", "", 0, 0 },
	{ "type", "", 0, 0 },
	{ "messages", "messages", 0, 0 },
	{ "total_ns", "total", 0, 0 },
	{ "max_ns", "max", 0, 0 },
	{ "usual_ns", "usual", 0, 0 },
	{ "calls", "calls", 0, 0 },
	{ "usual_calls", "usual", 0, 0 },
};

static enum where functions_where(unsigned int role)
{
	return role == PIECE_APPLICATION ? WHERE_APPLICATION :
	       role == PIECE_TRANSMIT ? WHERE_TRANSMIT : WHERE_RECEIVE;
}

static void functions_add_row(const struct diagnosis *d, struct report *r, struct table *t,
			      const struct excessive *row)
{
	struct strbuf path = STRBUF_INIT(PATH_MAX_BYTES);
	uint32_t symbols[EVENT_DEPTH_MAX];
	const uint32_t n = nesting_path(d->functions->models[row->model], row->node, symbols);

	for (uint32_t i = 0; i < n; i++)
		strbuf_printf(&path, "%s%s", i ? " > " : "", functions_name(d, symbols[i]));
	TABLE_ADD(t, value_string(report_format(r, "%s", n ? functions_name(d, symbols[n - 1]) :
							     "")),
		  value_string(report_format(r, "%s", path.len ? strbuf_str(&path) : "")),
		  value_string(cause_where_name(functions_where(row->one.role))),
		  value_string(types[row->one.type]), value_u64(row->messages),
		  value_ns(row->total), value_ns(row->one.self_ns), value_ns(row->one.usual_ns),
		  value_u64(row->one.count), value_u64(row->one.usual_count));
	strbuf_release(&path);
}

static void report_function_losses(const struct nesting_losses *losses, struct report *r)
{
	if (losses->references || losses->targets || losses->spans_without_node)
		report_reason(r, "functions-limit",
			      words_count(r, losses->references + losses->targets, "message"),
			      "there are more functions than the memory limit allows");
}

/* Functions with a smaller share of the excess get no finding. */
#define FINDING_SHARE_MIN 0.05

static void functions_add_finding(const struct diagnosis *d, struct report *r,
				  const struct excessive *first)
{
	const struct excess_total excess = excess_total(&d->excesses);
	const double all = (double)(excess.found + excess.rest);
	uint32_t symbols[EVENT_DEPTH_MAX];
	const uint32_t n = nesting_path(d->functions->models[first->model], first->node, symbols);
	char share[HUMAN_MAX], count[HUMAN_MAX];

	if (n && (double)first->total >= FINDING_SHARE_MIN * all)
		report_finding(r, "In the kernel's function %s: %s of the slow messages' excess, "
				  "in %s of them.",
			       functions_name(d, symbols[n - 1]),
			       human_fraction(share, (double)first->total / all),
			       human_count(count, first->messages));
}

int report_functions(const struct diagnosis *d, struct report *r)
{
	struct table *t;
	struct excessives rows;
	int err = 0;

	if (!d->functions) {
		object_add(&r->body, "functions", value_null());
		if (d->own.windows && d->excesses.len)
			report_reason(r, "functions-not-compared", NULL,
				      "kernel functions cannot be compared: the baseline's "
				      "recording has none (record --activity funcgraph)");
		return 0;
	}
	vec_init(&rows, SUBJECTS_MAX * 64UL);
	for (size_t i = 0; !err && i < d->excesses.len; i++)
		err = functions_judge_target(d, i, &rows);
	functions_merge(&rows);
	t = table_new(r, columns, ARRAY_LEN(columns));
	for (size_t i = 0; !err && i < rows.len && i < ROWS_SHOWN; i++)
		functions_add_row(d, r, t, &rows.items[i]);
	object_add(&r->body, "functions", value_table(t));
	object_add(&r->body, "functions_omitted",
		   value_u64(rows.len > ROWS_SHOWN ? rows.len - ROWS_SHOWN : 0));
	if (rows.len)
		functions_add_finding(d, r, &rows.items[0]);
	report_function_losses(&d->functions->losses, r);
	vec_release(&rows);
	return err;
}
