/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "output/ascii.h"
#include "output/grid.h"
#include "output/plot.h"
#include "output/spark.h"
#include "base/utf8.h"
#include "report/human.h"
#include "stats/hist.h"

#define LINE_MAX_BYTES (1UL << 20)

struct paint {
	const char *on, *off;
};

static const struct paint bold = { "\033[1m", "\033[0m" };
static const struct paint dim = { "\033[2m", "\033[0m" };
static const struct paint yellow = { "\033[33m", "\033[0m" };
static const struct paint plain = { "", "" };

/* Columns that text can show of a distribution, in this order. */
static const struct {
	unsigned int show;
	const char *head;
} parts[] = {
	{ SHOW_COUNT, "count" }, { SHOW_P50, "p50" }, { SHOW_P90, "p90" }, { SHOW_P99, "p99" },
	{ SHOW_P999, "p99.9" }, { SHOW_MAX, "max" },
};

/* A column of text: a value, or one part of a distribution. */
struct text_column {
	size_t source;            /* index in the table's columns */
	unsigned int show;        /* SHOW_* part of a distribution; 0: the value itself */
	const char *head, *part;
	bool right, flex;
};

struct text_table {
	const struct table *table;
	struct text_column columns[GRID_COLUMNS_MAX];
	size_t ncolumns;
	size_t spark;             /* index of the table's column of sparklines; table->ncolumns:
				   * none */
};

/* ---- lines ---- */

static void text_put_painted(struct strbuf *out, const struct text_style *style,
			     const struct paint *paint, const char *text, size_t len)
{
	if (!style->color)
		paint = &plain;
	strbuf_puts(out, paint->on);
	strbuf_add(out, text, len);
	strbuf_puts(out, paint->off);
}

/* Returns the bytes of `text` that fit into `width` columns, >= 1; cuts at a space if possible. */
static size_t text_fitting_bytes(const char *text, size_t width)
{
	size_t at = 0, columns = 0, space = 0, len;

	while (text[at]) {
		if (columns >= width && at)
			return space ? space : at;
		if (text[at] == ' ')
			space = at;
		utf8_next(text + at, &len);
		at += len;
		columns++;
	}
	return at;
}

static void text_put_line(struct strbuf *out, const struct text_style *style,
			  const struct paint *paint, const char *text)
{
	struct strbuf clean = STRBUF_INIT(LINE_MAX_BYTES);
	const char *rest;

	utf8_put_clean(&clean, text);
	rest = strbuf_str(&clean);
	do {
		size_t len = style->wrap ? text_fitting_bytes(rest, style->width) : strlen(rest);

		text_put_painted(out, style, paint, rest, len);
		strbuf_putc(out, '\n');
		rest += len;
		rest += strspn(rest, " ");
	} while (*rest);
	strbuf_release(&clean);
}

/* ---- values ---- */

static void text_put_value(struct strbuf *out, const struct value *v)
{
	char buf[HUMAN_MAX];

	switch (v->type) {
	case VALUE_NULL:
		strbuf_puts(out, "n/a");
		return;
	case VALUE_BOOL:
		strbuf_puts(out, v->boolean ? "yes" : "no");
		return;
	case VALUE_U64:
		strbuf_puts(out, human_count(buf, v->u64));
		return;
	case VALUE_S64:
		strbuf_printf(out, "%" PRId64, v->s64);
		return;
	case VALUE_NS:
		strbuf_puts(out, human_ns(buf, v->u64));
		return;
	case VALUE_SNS:
		strbuf_puts(out, human_sns(buf, v->s64));
		return;
	case VALUE_FRACTION:
		strbuf_puts(out, human_fraction(buf, v->fraction));
		return;
	case VALUE_NUMBER:
		strbuf_printf(out, "%.3g", v->number);
		return;
	case VALUE_STRING:
		strbuf_puts(out, v->string);
		return;
	case VALUE_OBJECT:
		for (const struct object_field *f = v->object->first; f; f = f->next) {
			strbuf_printf(out, "%s=", f->name);
			text_put_value(out, &f->value);
			strbuf_puts(out, f->next ? " " : "");
		}
		return;
	case VALUE_ABSENT:
	case VALUE_LIST:
	case VALUE_TABLE:
	case VALUE_DISTRIBUTION:
	case VALUE_JSON:
	case VALUE_PLOT:
	case VALUE_VERDICT:
		return;
	}
}

static struct value text_quantile(const struct distribution *d, enum report_quantile which)
{
	const struct report_quantile_value *q = &d->quantiles[which];

	return value_known_ns(q->known, q->ns);
}

static struct value text_part(const struct distribution *d, unsigned int show)
{
	switch (show) {
	case SHOW_COUNT:
		return value_u64(d->count);
	case SHOW_P50:
		return text_quantile(d, REPORT_P50);
	case SHOW_P90:
		return text_quantile(d, REPORT_P90);
	case SHOW_P99:
		return text_quantile(d, REPORT_P99);
	case SHOW_P999:
		return text_quantile(d, REPORT_P999);
	case SHOW_MAX:
		if (d->count && d->min <= d->max)
			return value_ns(d->max);
		return value_null();
	}
	return value_absent();
}

static bool text_is_rough(const struct distribution *d, unsigned int show)
{
	static const struct {
		unsigned int show;
		enum report_quantile which;
	} parts[] = {
		{ SHOW_P50, REPORT_P50 }, { SHOW_P90, REPORT_P90 },
		{ SHOW_P99, REPORT_P99 }, { SHOW_P999, REPORT_P999 },
	};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i].show == show)
			return d->quantiles[parts[i].which].rough;
	return false;
}

/* ---- tables ---- */

static bool text_is_number(enum value_type type)
{
	return type == VALUE_U64 || type == VALUE_S64 || type == VALUE_NS || type == VALUE_SNS ||
	       type == VALUE_FRACTION || type == VALUE_NUMBER;
}

/* Returns true for columns of numbers, which are aligned right. */
static bool text_column_is_right(const struct table *t, size_t column)
{
	for (const struct table_row *row = t->first; row; row = row->next) {
		enum value_type type = row->cells[column].type;

		if (type != VALUE_ABSENT && type != VALUE_NULL)
			return text_is_number(type);
	}
	return false;
}

static void text_add_column(struct text_table *tt, struct text_column column)
{
	BUG_ON(tt->ncolumns == GRID_COLUMNS_MAX);
	tt->columns[tt->ncolumns++] = column;
}

/* Adds all columns except those with a flag in `without`. */
static void text_plan_columns(struct text_table *tt, const struct table *t, unsigned int without)
{
	*tt = (struct text_table){ .table = t, .spark = t->ncolumns };
	for (size_t i = 0; i < t->ncolumns; i++) {
		const struct column *c = &t->columns[i];

		if (!c->head || c->flags & without)
			continue;
		if (!c->show) {
			text_add_column(tt,
					(struct text_column){ .source = i,
							      .head = c->head,
							      .part = "",
							      .right = text_column_is_right(t, i),
							      .flex = c->flags & COLUMN_FLEX });
			continue;
		}
		for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
			if (c->show & parts[k].show)
				text_add_column(tt, (struct text_column){
					.source = i, .show = parts[k].show, .right = true,
					.head = c->head, .part = parts[k].head });
		}
		if (c->show & SHOW_SPARK)
			tt->spark = i;
	}
}

static void text_put_heads(const struct text_table *tt, struct grid *g)
{
	char head[80];

	for (size_t i = 0; i < tt->ncolumns; i++) {
		const struct text_column *c = &tt->columns[i];

		snprintf(head, sizeof(head), "%s%s%s", c->head,
			 *c->head && *c->part ? " " : "", c->part);
		grid_cell(g, head);
	}
}

static void text_put_cell(const struct text_column *c, const struct table_row *row, struct grid *g,
			  struct strbuf *buf)
{
	struct value v = row->cells[c->source];

	strbuf_reset(buf);
	if (v.type == VALUE_DISTRIBUTION) {
		strbuf_puts(buf, text_is_rough(v.distribution, c->show) ? "~" : "");
		v = text_part(v.distribution, c->show);
	}
	text_put_value(buf, &v);
	grid_cell(g, strbuf_str(buf));
}

/* Writes a row's cells. The row's note replaces the first absent right-aligned cell. */
static void text_put_cells(const struct text_table *tt, const struct table_row *row, struct grid *g,
			   struct strbuf *buf)
{
	bool noted = !row->note;

	for (size_t i = 0; i < tt->ncolumns; i++) {
		bool absent = row->cells[tt->columns[i].source].type == VALUE_ABSENT;

		if (absent && !noted && tt->columns[i].right)
			grid_note(g, row->note);
		else
			text_put_cell(&tt->columns[i], row, g, buf);
		noted |= absent && tt->columns[i].right;
	}
}

static const struct hist *text_spark_hist(const struct text_table *tt, const struct table_row *row)
{
	const struct value *v = &row->cells[tt->spark];

	return v->type == VALUE_DISTRIBUTION ? v->distribution->hist : NULL;
}

/* Gives sparklines the rest of the line. Returns the other columns' width, without the gap. */
static size_t text_plan_spark(const struct text_table *tt, struct grid *g, size_t width,
			      struct spark_axis *axis)
{
	size_t least = grid_least(g) + GRID_GAP + SPARK_WIDTH_MIN;
	size_t used;

	spark_axis_init(axis);
	if (tt->spark == tt->table->ncolumns || least > width) {
		axis->width = 0;
		return grid_fit(g, width);
	}
	used = grid_fit(g, width - GRID_GAP - SPARK_WIDTH_MIN);
	axis->width = width - used - GRID_GAP;
	if (axis->width > SPARK_WIDTH_MAX)
		axis->width = SPARK_WIDTH_MAX;
	for (const struct table_row *row = tt->table->first; row; row = row->next) {
		if (text_spark_hist(tt, row))
			spark_axis_add(axis, text_spark_hist(tt, row));
	}
	return used;
}

/* Appends a row's sparkline to `line`; the axis if `row` is NULL, for the line of headings. */
static void text_put_spark(const struct text_table *tt, const struct table_row *row, size_t used,
			   const struct spark_axis *axis, struct strbuf *line)
{
	const struct hist *h = row && axis->width ? text_spark_hist(tt, row) : NULL;
	size_t width = utf8_width(strbuf_str(line));

	if (!axis->width || (row && !h) || width > used)
		return;
	strbuf_fill(line, ' ', used + GRID_GAP - width);
	if (row)
		spark_put(axis, h, line);
	else
		spark_put_axis(axis, line);
	while (line->len && line->buf[line->len - 1] == ' ')
		strbuf_truncate(line, line->len - 1);
}

static void text_put_rows(const struct text_table *tt, struct grid *g,
			  const struct text_style *style, struct strbuf *out)
{
	struct strbuf line = STRBUF_INIT(LINE_MAX_BYTES);
	const struct table_row *row = NULL;
	struct spark_axis axis;
	size_t used = text_plan_spark(tt, g, style->width, &axis);

	for (size_t at = 0; at < grid_rows(g); at++) {
		strbuf_reset(&line);
		grid_put_row(g, at, &line);
		text_put_spark(tt, row, used, &axis, &line);
		text_put_painted(out, style, !row ? &dim : row->note ? &yellow : &plain,
				 strbuf_str(&line), line.len);
		strbuf_putc(out, '\n');
		row = row ? row->next : tt->table->first;
	}
	strbuf_release(&line);
}

static void text_fill_grid(const struct text_table *tt, struct grid *g)
{
	struct strbuf buf = STRBUF_INIT(LINE_MAX_BYTES);

	grid_init(g);
	for (size_t i = 0; i < tt->ncolumns; i++)
		grid_column(g, tt->columns[i].right, tt->columns[i].flex);
	text_put_heads(tt, g);
	for (const struct table_row *row = tt->table->first; row; row = row->next)
		text_put_cells(tt, row, g, &buf);
	strbuf_release(&buf);
}

/* Returns whether a column has no value in any row. */
static bool text_column_is_blank(const struct table *t, size_t column)
{
	for (const struct table_row *row = t->first; row; row = row->next) {
		enum value_type type = row->cells[column].type;

		if (type != VALUE_ABSENT && type != VALUE_NULL)
			return false;
	}
	return true;
}

/*
 * Drops the last column without values or, if all have some, the last column of numbers, but never
 * the first column. Returns false if there is none.
 */
static bool text_drop_column(struct text_table *tt)
{
	size_t drop = 0;

	for (size_t i = 1; i < tt->ncolumns; i++)
		if (!tt->columns[i].flex && text_column_is_blank(tt->table, tt->columns[i].source))
			drop = i;
	for (size_t i = tt->ncolumns; !drop && i-- > 1;)
		drop = tt->columns[i].right ? i : 0;
	if (!drop)
		return false;
	memmove(&tt->columns[drop], &tt->columns[drop + 1],
		(tt->ncolumns - drop - 1) * sizeof(tt->columns[0]));
	tt->ncolumns--;
	return true;
}

/*
 * Fills the grid with the columns that fit: without spare ones if needed and, on a terminal, which
 * would cut the line, without further ones. Returns the number of columns that a terminal lacks.
 */
static size_t text_fit_columns(struct text_table *tt, const struct table *t,
			       const struct text_style *style, struct grid *g)
{
	const size_t all = tt->ncolumns;

	text_fill_grid(tt, g);
	if (grid_least(g) <= style->width)
		return 0;
	text_plan_columns(tt, t, COLUMN_SPARE);
	do {
		grid_release(g);
		text_fill_grid(tt, g);
	} while (style->wrap && grid_least(g) > style->width && text_drop_column(tt));
	return style->wrap ? all - tt->ncolumns : 0;
}

static void text_put_table(const struct table *t, const struct text_style *style,
			   struct strbuf *out)
{
	struct text_table tt;
	struct grid g;
	size_t dropped;
	char line[64];

	text_plan_columns(&tt, t, 0);
	if (!tt.ncolumns || !t->nrows)
		return;
	if (t->head)
		text_put_line(out, style, &dim, t->head);
	dropped = text_fit_columns(&tt, t, style, &g);
	text_put_rows(&tt, &g, style, out);
	if (dropped) {
		snprintf(line, sizeof(line), "… +%zu column%s", dropped, dropped > 1 ? "s" : "");
		text_put_line(out, style, &dim, line);
	}
	if (g.error && !out->error)
		out->error = g.error;
	grid_release(&g);
}

/* ---- the report ---- */

/*
 * Writes headline and title; below a headline the title is not bold. A wrapped line breaks between
 * items of the summary, not within an item.
 */
static void text_put_title(const struct report *r, const struct text_style *style,
			   struct strbuf *out)
{
	const char *headline = r->headline_in_text ? r->headline : NULL;
	const struct paint *paint = headline && r->title ? &plain : &bold;
	struct strbuf line = STRBUF_INIT(LINE_MAX_BYTES);

	if (headline && r->title)
		text_put_line(out, style, &bold, headline);
	if (r->title || headline)
		strbuf_puts(&line, r->title ?: headline);
	for (const struct item *i = r->summary.first; i; i = i->next) {
		size_t width = utf8_width(strbuf_str(&line)) + 3 + utf8_width(i->string);

		if (style->wrap && line.len && width > style->width) {
			text_put_line(out, style, paint, strbuf_str(&line));
			strbuf_reset(&line);
		}
		strbuf_printf(&line, "%s%s", line.len ? "   " : "", i->string);
	}
	if (line.len)
		text_put_line(out, style, paint, strbuf_str(&line));
	strbuf_release(&line);
}

static bool text_is_first_of_code(const struct table *reasons, const struct table_row *row)
{
	const struct table_row *first = reasons->first;

	while (strcmp(first->cells[0].string, row->cells[0].string) != 0)
		first = first->next;
	return first == row;
}

/* Names the command that explains the first reason, and the codes of the others. */
static void text_put_advice(const struct table *reasons, const struct text_style *style,
			    struct strbuf *out)
{
	struct strbuf line = STRBUF_INIT(LINE_MAX_BYTES);
	const char *before = " (also ";

	strbuf_printf(&line, "what to do: hostlat help %s", reasons->first->cells[0].string);
	for (const struct table_row *row = reasons->first->next; row; row = row->next) {
		if (!text_is_first_of_code(reasons, row))
			continue;
		strbuf_printf(&line, "%s%s", before, row->cells[0].string);
		before = ", ";
	}
	strbuf_puts(&line, *before == ',' ? ")" : "");
	text_put_line(out, style, &dim, strbuf_str(&line));
	strbuf_release(&line);
}

static void text_put_verdict(const struct report *r, const struct text_style *style,
			     struct strbuf *out)
{
	struct strbuf line = STRBUF_INIT(LINE_MAX_BYTES);

	for (const struct table_row *row = r->reasons ? r->reasons->first : NULL; row;
	     row = row->next) {
		strbuf_reset(&line);
		strbuf_printf(&line, "%s: %s", r->verdict, row->cells[1].string);
		if (row->cells[2].type == VALUE_STRING)
			strbuf_printf(&line, " (%s)", row->cells[2].string);
		text_put_line(out, style, &yellow, strbuf_str(&line));
	}
	strbuf_release(&line);
	if (style->advice && !r->error && r->reasons && r->reasons->first)
		text_put_advice(r->reasons, style, out);
}

static void text_put_plot(const struct report *r, const struct plot *plot,
			  const struct text_style *style, struct strbuf *out)
{
	const struct table *rows = object_table(&r->body, plot->rows);
	struct strbuf legend = STRBUF_INIT(LINE_MAX_BYTES);

	plot_put_legend(plot, rows, &legend);
	text_put_line(out, style, &dim, strbuf_str(&legend));
	strbuf_release(&legend);
	plot_put(plot, rows, style->width, out);
}

static void text_put_list(const struct report *r, const struct string_list *list,
			  const struct text_style *style, struct strbuf *out)
{
	for (const struct item *i = list->first; i; i = i->next)
		if (!report_headline_has(r, i->string))
			text_put_line(out, style, &plain, i->string);
}

static void text_put_body(const struct report *r, const struct text_style *style,
			  struct strbuf *out)
{
	text_put_title(r, style, out);
	if (style->findings_first)
		text_put_list(r, &r->findings, style, out);
	for (const struct object_field *f = r->body.first; f; f = f->next) {
		switch (f->value.type) {
		case VALUE_TABLE:
			text_put_table(f->value.table, style, out);
			break;
		case VALUE_LIST:
			if (!style->findings_first || f->value.list != &r->findings)
				text_put_list(r, f->value.list, style, out);
			break;
		case VALUE_VERDICT:
			text_put_verdict(r, style, out);
			break;
		case VALUE_PLOT:
			text_put_plot(r, f->value.plot, style, out);
			break;
		default:
			break;
		}
	}
}

void text_report(const struct report *r, const struct text_style *style, struct strbuf *out)
{
	struct strbuf utf8;

	if (style->utf8) {
		text_put_body(r, style, out);
		return;
	}
	strbuf_init(&utf8, out->max);
	text_put_body(r, style, &utf8);
	ascii_fold(strbuf_str(&utf8), out);
	if (utf8.error && !out->error)
		out->error = utf8.error;
	strbuf_release(&utf8);
}
