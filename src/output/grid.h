/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells of text laid out in aligned columns that fit a line. Control characters in cells become
 * '?': names of other people's programs must not steer a terminal.
 */
#ifndef HOSTLAT_OUTPUT_GRID_H
#define HOSTLAT_OUTPUT_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"

#define GRID_COLUMNS_MAX 48
#define GRID_CELLS_MAX (1U << 22)
#define GRID_GAP 2                 /* spaces between columns */
#define GRID_FLEX_MIN 8            /* columns that a flexible column keeps */

struct grid_column {
	bool right;
	bool flex;                 /* is shortened when the line is too long */
	size_t width;              /* columns of its widest cell, until grid_fit() */
};

struct grid {
	struct grid_column columns[GRID_COLUMNS_MAX];
	size_t ncolumns;
	struct strbuf text; /* text of all cells, each NUL-terminated */
	struct grid_cells VEC_OF(size_t) cells; /* where each begins in `text`, row by row */
	int error;
};

void grid_init(struct grid *g);
void grid_release(struct grid *g);

/* All columns are added before the first cell. */
void grid_column(struct grid *g, bool right, bool flex);
/* The next cell, row by row. */
void grid_cell(struct grid *g, const char *text);
/* A cell that does not widen its column. */
void grid_note(struct grid *g, const char *text);

/* Columns of a line when every flexible column is as short as it may be. */
size_t grid_least(const struct grid *g);
/*
 * Shortens flexible columns, the last first, of those with addresses the widest, to fit `width`.
 * Returns what a line now takes.
 */
size_t grid_fit(struct grid *g, size_t width);
size_t grid_rows(const struct grid *g);
/*
 * Appends row `row` without a newline and without trailing spaces. The last text of a row is never
 * shortened: it runs over the blank cells to its right, and if need be over the line's end.
 */
void grid_put_row(const struct grid *g, size_t row, struct strbuf *out);

#endif
