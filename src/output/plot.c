/* SPDX-License-Identifier: Apache-2.0 */
#include "output/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "base/utf8.h"
#include "report/human.h"

#define EIGHTHS 8
#define SIGN_POINT 'o'
#define SIGN_BAD 'x'
#define SIGN_INTERVAL '|'
#define LABEL_GAP 2        /* columns between two values of the x axis */
#define LO_DECADES 1       /* an interval extends the y axis by this much below the points */

static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

struct plot_scale {
	bool log;
	double lo, hi;
	enum value_type type;   /* type of the first value, for labels */
};

/* Indices of a plot's columns in the table; `ncolumns` of the table: none. */
struct plot_fields {
	size_t x, x_end, bars, points, lo, hi, verdict, marks[PLOT_MARKS];
};

struct plot_canvas {
	const struct plot *plot;
	const struct table *rows;
	struct plot_fields at;
	struct plot_scale x, y;
	size_t width;
	char signs[PLOT_HEIGHT][PLOT_WIDTH];    /* line 0 is the lowest; 0: none */
	unsigned int bars[PLOT_WIDTH];          /* height in eighths of a line */
	char marks[PLOT_WIDTH];
	bool marked;
};

/* ---- cells ---- */

static size_t plot_find(const struct table *t, const char *name)
{
	size_t i = 0;

	while (i < t->ncolumns && !(name && t->columns[i].name &&
				    !strcmp(t->columns[i].name, name)))
		i++;
	return i;
}

static void plot_find_all(const struct plot *p, const struct table *t, struct plot_fields *at)
{
	*at = (struct plot_fields){
		.x = plot_find(t, p->x), .x_end = plot_find(t, p->x_end),
		.bars = plot_find(t, p->bars.column), .points = plot_find(t, p->points.column),
		.lo = plot_find(t, p->lo), .hi = plot_find(t, p->hi),
		.verdict = plot_find(t, p->verdict.column),
	};
	for (int i = 0; i < PLOT_MARKS; i++)
		at->marks[i] = plot_find(t, p->marks[i].column);
}

/* Returns a cell's number; NaN: it has none. */
static double plot_number(const struct plot_canvas *c, const struct table_row *row, size_t column)
{
	const struct value *v = column < c->rows->ncolumns ? &row->cells[column] : NULL;

	switch (v ? v->type : VALUE_ABSENT) {
	case VALUE_U64:
	case VALUE_NS:
		return (double)v->u64;
	case VALUE_S64:
	case VALUE_SNS:
		return (double)v->s64;
	case VALUE_FRACTION:
		return isfinite(v->fraction) ? v->fraction : NAN;
	case VALUE_NUMBER:
		return isfinite(v->number) ? v->number : NAN;
	default:
		return NAN;
	}
}

static bool plot_is_bad(const struct plot_canvas *c, const struct table_row *row)
{
	const size_t column = c->at.verdict;

	return column < c->rows->ncolumns &&
	       (row->cells[column].type != VALUE_STRING ||
		strcmp(row->cells[column].string, c->plot->good) != 0);
}

static bool plot_is_marked(const struct plot_canvas *c, const struct table_row *row, int mark)
{
	const size_t column = c->at.marks[mark];

	return column < c->rows->ncolumns && row->cells[column].type == VALUE_BOOL &&
	       row->cells[column].boolean;
}

/* ---- scales ---- */

static void plot_scale_init(struct plot_scale *s, bool log)
{
	*s = (struct plot_scale){ .log = log, .lo = INFINITY, .hi = -INFINITY };
}

static bool plot_scale_is_empty(const struct plot_scale *s)
{
	return !(s->lo <= s->hi);
}

static void plot_scale_add(struct plot_scale *s, double v)
{
	if (isnan(v) || (s->log && v <= 0))
		return;
	s->lo = fmin(s->lo, v);
	s->hi = fmax(s->hi, v);
}

/* Widens a scale whose values are all about the same: they are then in its middle. */
static void plot_scale_widen(struct plot_scale *s)
{
	const double half = s->lo ? fabs(s->lo) / 2 : 0.5;

	if (s->log && s->hi < 1.3 * s->lo) {
		s->lo /= 2;
		s->hi *= 2;
	} else if (!s->log && !(s->hi > s->lo)) {
		s->lo -= half;
		s->hi += half;
	}
}

/* Returns the position of a value, 0..1; values beyond the scale are at its ends. */
static double plot_scale_at(const struct plot_scale *s, double v)
{
	const double span = s->log ? log(s->hi / s->lo) : s->hi - s->lo;

	if (s->log && v <= 0)
		return 0;
	return fmin(1, fmax(0, (s->log ? log(v / s->lo) : v - s->lo) / span));
}

static double plot_scale_value(const struct plot_scale *s, double at)
{
	return s->log ? s->lo * pow(s->hi / s->lo, at) : s->lo + at * (s->hi - s->lo);
}

static void plot_put_number(const struct plot_scale *s, double v, struct strbuf *out)
{
	char buf[HUMAN_MAX];

	if (!v)
		strbuf_puts(out, "0");
	else if (s->type == VALUE_NS || s->type == VALUE_SNS)
		strbuf_puts(out, human_ns(buf, (uint64_t)fmax(0, round(v))));
	else if (s->type == VALUE_FRACTION)
		strbuf_printf(out, v < 0.0995 ? "%.2g %%" : "%.0f %%", 100 * v);
	else if (fabs(v) >= 9.95)
		strbuf_puts(out, human_count(buf, (uint64_t)fmax(0, round(v))));
	else
		strbuf_printf(out, "%.2g", v);
}

/* Takes the type of a scale's values from the first row with a value in this column. */
static void plot_scale_type(const struct plot_canvas *c, size_t column, struct plot_scale *s)
{
	for (const struct table_row *row = c->rows->first; row && !s->type; row = row->next) {
		if (!isnan(plot_number(c, row, column)))
			s->type = row->cells[column].type;
	}
}

static void plot_plan(struct plot_canvas *c)
{
	const struct plot *p = c->plot;
	double least;

	plot_scale_init(&c->x, p->log_x);
	plot_scale_init(&c->y, p->log_y);
	for (const struct table_row *row = c->rows->first; row; row = row->next) {
		if (isnan(plot_number(c, row, c->at.x)))
			continue;
		plot_scale_add(&c->x, plot_number(c, row, c->at.x));
		plot_scale_add(&c->x, plot_number(c, row, c->at.x_end));
		plot_scale_add(&c->y, plot_number(c, row, c->at.bars));
		plot_scale_add(&c->y, plot_number(c, row, c->at.points));
		plot_scale_add(&c->y, plot_number(c, row, c->at.hi));
	}
	least = p->log_y ? c->y.lo / pow(10, LO_DECADES) : -INFINITY;
	for (const struct table_row *row = c->rows->first; row; row = row->next) {
		const double lo = plot_number(c, row, c->at.lo);

		if (lo >= least)
			plot_scale_add(&c->y, lo);
	}
	plot_scale_type(c, c->at.x, &c->x);
	plot_scale_type(c, c->at.points, &c->y);
	plot_scale_type(c, c->at.bars, &c->y);
	plot_scale_type(c, c->at.hi, &c->y);
	if (plot_scale_is_empty(&c->x) || plot_scale_is_empty(&c->y))
		return;
	plot_scale_widen(&c->x);
	plot_scale_widen(&c->y);
}

/* ---- the canvas ---- */

static size_t plot_column_of(const struct plot_canvas *c, double x)
{
	const double at = plot_scale_at(&c->x, x);

	if (c->plot->steps)
		return (size_t)fmin((double)c->width - 1, floor(at * (double)c->width + 1e-9));
	return (size_t)lround(at * (double)(c->width - 1));
}

static size_t plot_line_of(const struct plot_canvas *c, double y)
{
	return (size_t)lround(plot_scale_at(&c->y, y) * (PLOT_HEIGHT - 1));
}

/* Returns the columns [from, to) of a row; a step ends where the next row begins. */
static void plot_span(const struct plot_canvas *c, const struct table_row *row, size_t *from,
		      size_t *to)
{
	double end = plot_number(c, row, c->at.x_end);

	*from = plot_column_of(c, plot_number(c, row, c->at.x));
	*to = *from + 1;
	if (!c->plot->steps)
		return;
	if (isnan(end) && row->next)
		end = plot_number(c, row->next, c->at.x);
	if (isnan(end))
		return;
	end = end >= c->x.hi && c->at.x_end < c->rows->ncolumns ? (double)c->width :
								   (double)plot_column_of(c, end);
	if (end > (double)*to)
		*to = (size_t)end;
}

/* Draws the interval of a row in one column. */
static void plot_draw_interval(struct plot_canvas *c, const struct table_row *row, size_t column)
{
	const double hi = plot_number(c, row, c->at.hi);
	double lo = plot_number(c, row, c->at.lo);

	if (isnan(lo))
		lo = plot_number(c, row, c->at.points);
	if (isnan(hi) || isnan(lo))
		return;
	for (size_t line = plot_line_of(c, lo); line <= plot_line_of(c, hi); line++) {
		if (!c->signs[line][column])
			c->signs[line][column] = SIGN_INTERVAL;
	}
}

static void plot_draw_column(struct plot_canvas *c, const struct table_row *row, size_t column)
{
	const double bar = plot_number(c, row, c->at.bars);
	const double point = plot_number(c, row, c->at.points);
	const bool bad = plot_is_bad(c, row), drawn = !isnan(point) && !(c->y.log && point <= 0);
	char *sign = &c->signs[drawn ? plot_line_of(c, point) : 0][column];

	if (!isnan(bar))
		c->bars[column] = (unsigned int)lround((plot_scale_at(&c->y, bar) *
							(PLOT_HEIGHT - 1) + 0.5) * EIGHTHS);
	if (bad)
		*sign = SIGN_BAD;
	else if (drawn && *sign != SIGN_BAD)
		*sign = SIGN_POINT;
	for (int i = 0; i < PLOT_MARKS; i++) {
		if (!plot_is_marked(c, row, i))
			continue;
		c->marks[column] = c->plot->marks[i].sign;
		c->marked = true;
	}
}

static void plot_draw_row(struct plot_canvas *c, const struct table_row *row, bool intervals)
{
	size_t from, to;

	if (isnan(plot_number(c, row, c->at.x)))
		return;
	plot_span(c, row, &from, &to);
	for (size_t column = from; column < to; column++) {
		if (intervals)
			plot_draw_interval(c, row, column);
		else
			plot_draw_column(c, row, column);
	}
}

/* ---- output ---- */

static void plot_trim(struct strbuf *out)
{
	while (out->len && out->buf[out->len - 1] == ' ')
		strbuf_truncate(out, out->len - 1);
}

static void plot_put_line(const struct plot_canvas *c, size_t line, struct strbuf *out)
{
	struct strbuf label = STRBUF_INIT(256);
	size_t width;

	if (line % 2)
		plot_put_number(&c->y, plot_scale_value(&c->y, (double)line / (PLOT_HEIGHT - 1)),
				&label);
	width = utf8_width(strbuf_str(&label));
	strbuf_fill(out, ' ', width < PLOT_LABEL ? PLOT_LABEL - width : 0);
	strbuf_printf(out, "%s |", strbuf_str(&label));
	strbuf_release(&label);
	for (size_t i = 0; i < c->width; i++) {
		const unsigned int below = (unsigned int)line * EIGHTHS;
		const unsigned int rest = c->bars[i] > below ? c->bars[i] - below : 0;

		if (c->signs[line][i])
			strbuf_putc(out, c->signs[line][i]);
		else
			strbuf_puts(out, blocks[rest < EIGHTHS ? rest : EIGHTHS]);
	}
	plot_trim(out);
	strbuf_putc(out, '\n');
}

static void plot_put_marks(const struct plot_canvas *c, struct strbuf *out)
{
	strbuf_fill(out, ' ', PLOT_LABEL + 2);
	for (size_t i = 0; i < c->width; i++)
		strbuf_putc(out, c->marks[i] ? c->marks[i] : ' ');
	plot_trim(out);
	strbuf_putc(out, '\n');
}

/* Writes one value of the x axis at `at`, 0..1, if there is room between `*used` and `end`. */
static void plot_put_tick(const struct plot_canvas *c, double at, size_t end, size_t *used,
			  struct strbuf *out)
{
	struct strbuf label = STRBUF_INIT(256);
	const size_t column = (size_t)lround(at * (double)(c->width - 1));
	size_t width, from;

	plot_put_number(&c->x, plot_scale_value(&c->x, at), &label);
	width = utf8_width(strbuf_str(&label));
	from = at <= 0 ? 0 : at >= 1 ? (width < c->width ? c->width - width : 0) :
	       column > width / 2 ? column - width / 2 : 0;
	if (from >= *used && from + width <= end) {
		strbuf_fill(out, ' ', from - (*used ? *used - LABEL_GAP : 0));
		strbuf_puts(out, strbuf_str(&label));
		*used = from + width + LABEL_GAP;
	}
	strbuf_release(&label);
}

/* Writes the values at the x axis' ends and, between them, in its middle or at powers of ten. */
static void plot_put_ticks(const struct plot_canvas *c, struct strbuf *out)
{
	struct strbuf last = STRBUF_INIT(256);
	size_t used = 0, width;

	plot_put_number(&c->x, c->x.hi, &last);
	width = utf8_width(strbuf_str(&last)) + LABEL_GAP;
	strbuf_release(&last);
	strbuf_fill(out, ' ', PLOT_LABEL + 2);
	plot_put_tick(c, 0, c->width, &used, out);
	if (!c->x.log) {
		plot_put_tick(c, 0.5, c->width - width, &used, out);
	} else {
		for (double v = pow(10, ceil(log10(c->x.lo) + 1e-9)); v < c->x.hi; v *= 10)
			plot_put_tick(c, plot_scale_at(&c->x, v), c->width - width, &used, out);
	}
	plot_put_tick(c, 1, c->width, &used, out);
	strbuf_putc(out, '\n');
}

static void plot_put_canvas(const struct plot_canvas *c, struct strbuf *out)
{
	for (size_t line = PLOT_HEIGHT; line-- > 0;)
		plot_put_line(c, line, out);
	strbuf_fill(out, ' ', PLOT_LABEL + 1);
	strbuf_putc(out, '+');
	strbuf_fill(out, '-', c->width);
	strbuf_putc(out, '\n');
	if (c->marked)
		plot_put_marks(c, out);
	plot_put_ticks(c, out);
}

static bool plot_has_interval(const struct plot_canvas *c)
{
	for (const struct table_row *row = c->rows->first; row; row = row->next) {
		if (!isnan(plot_number(c, row, c->at.hi)))
			return true;
	}
	return false;
}

static void plot_init(struct plot_canvas *c, const struct plot *plot, const struct table *rows)
{
	static const struct table none;

	*c = (struct plot_canvas){ .plot = plot, .rows = rows ? rows : &none };
	plot_find_all(plot, c->rows, &c->at);
}

void plot_put_legend(const struct plot *p, const struct table *rows, struct strbuf *out)
{
	const char *between = ": ";
	struct plot_canvas c;

	plot_init(&c, p, rows);

	strbuf_puts(out, p->title);
	if (p->bars.column) {
		strbuf_printf(out, "%s▆ %s", between, p->bars.name);
		between = ", ";
	}
	if (p->points.column) {
		strbuf_printf(out, "%s%c %s", between, SIGN_POINT, p->points.name);
		between = ", ";
	}
	if (p->verdict.column)
		strbuf_printf(out, "%s%c %s", between, SIGN_BAD, p->verdict.name);
	if (p->hi && plot_has_interval(&c))
		strbuf_printf(out, "%s%c %s", between, SIGN_INTERVAL, p->interval);
	else if (p->hi)
		strbuf_printf(out, "%sno valid %s", between, p->interval);
	for (int i = 0; i < PLOT_MARKS; i++) {
		if (p->marks[i].column)
			strbuf_printf(out, "%s%c %s", i ? ", " : "; below: ", p->marks[i].sign,
				      p->marks[i].name);
	}
}

void plot_put(const struct plot *plot, const struct table *rows, size_t width, struct strbuf *out)
{
	struct plot_canvas c;

	BUG_ON(width < 2 * PLOT_LABEL);
	plot_init(&c, plot, rows);
	c.width = width - PLOT_LABEL - 2 < PLOT_WIDTH ? width - PLOT_LABEL - 2 : PLOT_WIDTH;
	plot_plan(&c);
	if (plot_scale_is_empty(&c.x) || plot_scale_is_empty(&c.y)) {
		strbuf_printf(out, "%*sn/a: no row has a value\n", PLOT_LABEL + 2, "");
		return;
	}
	for (int intervals = 0; intervals < 2; intervals++) {
		for (const struct table_row *row = c.rows->first; row; row = row->next)
			plot_draw_row(&c, row, intervals);
	}
	plot_put_canvas(&c, out);
}
