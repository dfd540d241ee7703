/* SPDX-License-Identifier: Apache-2.0 */
#include "load/plots.h"

#include <math.h>

#include "load/analysis_quantile.h"
#include "load/over_time.h"
#include "load/quantile_words.h"

/*
 * All plots, in the order of the text; web/load.js has the same list. A name that is NULL is that
 * of the percentile.
 */
static const struct plot plots[] = {
	{ .title = "latency over time", .rows = "over_time", .x = "from_ns", .x_end = "to_ns",
	  .steps = true, .log_y = true,
	  .bars = { "tail_ns", NULL }, .points = { "p50_ns", "p50" },
	  .marks = { { "warmup", 'w', "warm-up" },
		     { "disturbed", 'g', "gaps of this host" },
		     { "look", 'L', "interim analysis" } } },
	{ .title = "latency over load", .rows = "runs", .x = "rate", .log_y = true,
	  .points = { "ns", NULL }, .lo = "lo_ns", .hi = "hi_ns", .interval = "interval",
	  .verdict = { "verdict", "n/a (see the table)" }, .good = "ok" },
	{ .title = "share of requests that take longer", .rows = "ccdf", .x = "ns", .steps = true,
	  .log_x = true, .log_y = true, .points = { "share", "share" },
	  .lo = "lo", .hi = "hi", .interval = "confidence band" },
};

/* Adds the numbers of sampling[] as a table: they differ by powers of ten. */
static void plots_add_needed(const struct table *sampling, struct report *r)
{
	static const struct column columns[] = {
		{ .head = "percentile" }, { .head = "requests needed" }, { .head = "there were" },
		{ .head = "needed of them", .flags = COLUMN_SPARE },
		{ .head = "", .flags = COLUMN_SPARE },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	if (!t || !sampling->nrows)
		return;
	t->head = "requests needed for an interval";
	for (const struct table_row *row = sampling->first; row; row = row->next) {
		const struct value q = row->cells[0], needed = row->cells[1], n = row->cells[2];
		const bool known = needed.type == VALUE_U64 && n.u64;

		TABLE_ADD(t, value_string(load_quantile_name(r, q.number)), needed, n,
			  known ? value_fraction((double)needed.u64 / (double)n.u64) : value_null(),
			  value_string(known && needed.u64 > n.u64 ? "too few" : ""));
	}
	object_add(&r->body, NULL, value_table(t));
}

void load_plots_report(struct report *r, double q)
{
	const struct table *sampling = object_table(&r->body, "sampling");
	const char *name = load_quantile_name(r, q);

	for (size_t i = 0; i < ARRAY_LEN(plots); i++) {
		struct plot plot = plots[i];

		if (!object_table(&r->body, plot.rows))
			continue;
		plot.bars.name = plot.bars.name ? plot.bars.name : name;
		plot.points.name = plot.points.name ? plot.points.name : name;
		object_add(&r->body, NULL, value_plot(r, &plot));
	}
	if (sampling)
		plots_add_needed(sampling, r);
}

/* ---- rows ---- */

struct ccdf_rows {
	struct table *table;
	double step; /* position of the last row on the curve, in steps */
};

/* Returns how far along the curve a share is: both tails by their powers of ten. */
static double plots_ccdf_position(double share)
{
	return PLOTS_CCDF_STEPS * (log10(1 - share + 1e-3) - log10(share + 1e-12));
}

static void plots_add_ccdf(void *context, const struct ccdf_point *p)
{
	struct ccdf_rows *rows = context;
	const double at = plots_ccdf_position(p->share);

	if (rows->table && rows->table->nrows && at < rows->step + 1 && p->share > 0)
		return;
	rows->step = at;
	TABLE_ADD(rows->table, value_ns(p->ns), value_fraction(p->share), value_number(p->lo),
		  value_number(p->hi));
}

static int plots_report_ccdf(const struct load_analysis *a, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "ns" }, { .name = "share" }, { .name = "lo" }, { .name = "hi" },
	};
	struct ccdf_rows rows = { .table = table_new(r, columns, ARRAY_LEN(columns)) };
	int err = analysis_quantile_each(a, a->main, plots_add_ccdf, &rows);

	object_add(&r->body, "ccdf", value_table(rows.table));
	return err;
}

/*
 * The number of requests that the interval of each percentile needs, at the dependence that was
 * measured, and how many there were.
 */
static void plots_report_sampling(const struct load_analysis *a, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "q" }, { .name = "needed" }, { .name = "count" },
	};
	const struct load_result *res = &a->result;
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (int i = 0; i < LOAD_QUANTILES; i++) {
		const struct interval *interval = &res->quantiles[a->main][i];

		if (analysis_quantile_is_again(res, i))
			continue;
		TABLE_ADD(t, value_number(res->q[i]),
			  interval->needed ? value_u64(interval->needed) : value_null(),
			  value_u64(res->pooled[a->main].count));
	}
	object_add(&r->body, "sampling", value_table(t));
}

int load_plots_report_rows(const struct load_analysis *a, struct report *r)
{
	int err = over_time_report(a, r);

	if (!err)
		err = plots_report_ccdf(a, r);
	if (!err)
		plots_report_sampling(a, r);
	return err;
}
