/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a plot of a table in characters: PLOT_HEIGHT lines, the axis, marks below it if there are
 * any, and the x axis' values. Bars are blocks in eighths of a line; signs tell the rest apart, not
 * colors.
 */
#ifndef HOSTLAT_OUTPUT_PLOT_H
#define HOSTLAT_OUTPUT_PLOT_H

#include "base/strbuf.h"
#include "report/report.h"

#define PLOT_HEIGHT 8
#define PLOT_WIDTH 64     /* largest number of columns of the plot itself */
#define PLOT_LABEL 10     /* columns for the y axis' values */

/*
 * Appends the title and the meaning of the signs, without a newline; it says so if no row has an
 * interval. `rows` NULL: no rows.
 */
void plot_put_legend(const struct plot *plot, const struct table *rows, struct strbuf *out);

/*
 * Appends the plot in lines of at most `width` columns, at least 2 * PLOT_LABEL; a line that says
 * so if no row can be drawn. `rows` NULL: no rows.
 */
void plot_put(const struct plot *plot, const struct table *rows, size_t width, struct strbuf *out);

#endif
