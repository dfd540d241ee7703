/* SPDX-License-Identifier: Apache-2.0 */
#include "output/grid.h"

#include <string.h>

#include "base/bug.h"
#include "base/utf8.h"

#define GRID_TEXT_MAX (64UL << 20)

void grid_init(struct grid *g)
{
	*g = (struct grid){ .text = STRBUF_INIT(GRID_TEXT_MAX) };
	vec_init(&g->cells, GRID_CELLS_MAX);
}

void grid_release(struct grid *g)
{
	if (!g)
		return;
	strbuf_release(&g->text);
	vec_release(&g->cells);
}

void grid_column(struct grid *g, bool right, bool flex)
{
	BUG_ON(g->ncolumns == GRID_COLUMNS_MAX || g->cells.len);
	g->columns[g->ncolumns++] = (struct grid_column){ .right = right, .flex = flex };
}

static size_t grid_add_cell(struct grid *g, const char *text)
{
	size_t start = g->text.len;
	int err = vec_push(&g->cells, start);

	if (err) {
		g->error = err;
		return 0;
	}
	utf8_put_clean(&g->text, text);
	strbuf_putc(&g->text, '\0');
	if (g->text.error) {
		g->error = g->text.error;
		return 0;
	}
	return utf8_width(g->text.buf + start);
}

void grid_cell(struct grid *g, const char *text)
{
	struct grid_column *column = &g->columns[g->cells.len % g->ncolumns];
	size_t width = grid_add_cell(g, text);

	if (width > column->width)
		column->width = width;
}

void grid_note(struct grid *g, const char *text)
{
	grid_add_cell(g, text);
}

static size_t grid_line_width(const struct grid *g)
{
	size_t width = 0;

	for (size_t i = 0; i < g->ncolumns; i++)
		width += g->columns[i].width + (i ? GRID_GAP : 0);
	return width;
}

size_t grid_least(const struct grid *g)
{
	size_t width = grid_line_width(g);

	for (size_t i = 0; i < g->ncolumns; i++) {
		const struct grid_column *c = &g->columns[i];

		if (c->flex && c->width > GRID_FLEX_MIN)
			width -= c->width - GRID_FLEX_MIN;
	}
	return width;
}

static const char *grid_cell_text(const struct grid *g, size_t row, size_t column)
{
	return g->text.buf + g->cells.items[row * g->ncolumns + column];
}

/* Returns the width of ":PORT" at the end of an address; 0: there is none. */
static size_t grid_port_width(const char *s)
{
	const char *colon = strrchr(s, ':');
	const size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;

	return digits && !colon[1 + digits] ? 1 + digits : 0;
}

static bool grid_holds_addresses(const struct grid *g, size_t column)
{
	for (size_t row = 0; row < grid_rows(g); row++) {
		if (grid_port_width(grid_cell_text(g, row, column)))
			return true;
	}
	return false;
}

static bool grid_may_shrink(const struct grid_column *c)
{
	return c->flex && c->width > GRID_FLEX_MIN;
}

/* Returns the last column that can be narrower (of address columns the widest); NULL: none can. */
static struct grid_column *grid_next_to_shrink(struct grid *g, const bool *addresses)
{
	struct grid_column *found = NULL;

	for (size_t i = g->ncolumns; i--;) {
		struct grid_column *c = &g->columns[i];

		if (!grid_may_shrink(c) || (found && (!addresses[i] || c->width <= found->width)))
			continue;
		found = c;
		if (!addresses[i])
			break;
	}
	return found;
}

size_t grid_fit(struct grid *g, size_t width)
{
	bool addresses[GRID_COLUMNS_MAX];
	size_t now = grid_line_width(g);
	struct grid_column *c;

	for (size_t i = 0; i < g->ncolumns; i++)
		addresses[i] = now > width && g->columns[i].flex && grid_holds_addresses(g, i);
	while (now > width && (c = grid_next_to_shrink(g, addresses))) {
		c->width--;
		now--;
	}
	return now;
}

size_t grid_rows(const struct grid *g)
{
	return g->error || !g->ncolumns ? 0 : g->cells.len / g->ncolumns;
}

/*
 * Returns how many of `room` columns show the end of the shortened `s`. All for a path; half for an
 * address, or more for its port; 0 for other text.
 */
static size_t grid_end_width(const char *s, size_t room)
{
	const size_t port = grid_port_width(s), end = room - room / 2;

	if (*s == '/' || port > room)
		return room;
	return !port ? 0 : port > end ? port : end;
}

/* Writes `s` in `width` columns, with an ellipsis for the omitted part. */
static void grid_put_shortened(struct strbuf *out, const char *s, size_t width)
{
	const size_t first = width - 1 - grid_end_width(s, width - 1);
	size_t skipped = utf8_width(s) - (width - 1), len;

	for (size_t i = 0; i < first; i++, s += len) {
		utf8_next(s, &len);
		strbuf_add(out, s, len);
	}
	strbuf_puts(out, "…");
	for (; skipped; skipped--, s += len)
		utf8_next(s, &len);
	strbuf_puts(out, s);
}

void grid_put_row(const struct grid *g, size_t row, struct strbuf *out)
{
	size_t last = g->ncolumns;
	size_t blank = 0;

	while (last && !*grid_cell_text(g, row, last - 1))
		last--;
	for (size_t i = 0; i < last; i++) {
		const struct grid_column *c = &g->columns[i];
		const char *s = grid_cell_text(g, row, i);
		size_t len = utf8_width(s);
		size_t pad = len < c->width ? c->width - len : 0;

		strbuf_fill(out, ' ', blank + (c->right ? pad : 0));
		if (len > c->width && i + 1 < last)
			grid_put_shortened(out, s, c->width);
		else
			strbuf_puts(out, s);
		blank = GRID_GAP + (c->right ? 0 : pad);
	}
}
