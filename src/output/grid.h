/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lays out cells of text in aligned columns that fit a line. Control characters in cells become
 * '?': names from other programs must not control a terminal.
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
#define GRID_FLEX_MIN 8            /* width in characters that a flexible column keeps */

struct grid_column {
	bool right;
	bool flex;                 /* may be shortened if the line is too long */
	size_t width;              /* width of the widest cell; after grid_fit(): of the column */
};

struct grid {
	struct grid_column columns[GRID_COLUMNS_MAX];
	size_t ncolumns;
	struct strbuf text; /* text of all cells, each NUL-terminated */
	struct grid_cells VEC_OF(size_t) cells; /* offset of each cell in `text`, row by row */
	int error;
};

void grid_init(struct grid *g);
void grid_release(struct grid *g);

/* Adds a column. All columns must be added before the first cell. */
void grid_column(struct grid *g, bool right, bool flex);
/* Adds the next cell: cells fill a row from left to right, then the next row. */
void grid_cell(struct grid *g, const char *text);
/* Adds a cell that does not widen its column. */
void grid_note(struct grid *g, const char *text);

/* Returns the width of a line if every flexible column is as narrow as possible. */
size_t grid_least(const struct grid *g);
/*
 * Shortens flexible columns to fit `width`: the last one first, of address columns the widest.
 * Returns the resulting width of a line.
 */
size_t grid_fit(struct grid *g, size_t width);
size_t grid_rows(const struct grid *g);
/*
 * Appends row `row` without a newline or trailing spaces. The last text of a row is never
 * shortened: it extends over the blank cells to its right, even beyond the line's end.
 */
void grid_put_row(const struct grid *g, size_t row, struct strbuf *out);

#endif
