/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables with a line for each row of the stream, i.e. for each stage, direction, protocol, origin
 * and group. A row_column has a column's head and the function of its cells.
 */
#ifndef HOSTLAT_WATCH_ROW_TABLE_H
#define HOSTLAT_WATCH_ROW_TABLE_H

#include "watch/state.h"

/* Values in all rows. A value that all share is named in the title; several get a column. */
struct watch_common {
	unsigned int directions, protocols, origins; /* masks of 1 << value */
	bool grouped;
	bool before_stack; /* `irq` or `poll` is among the stages */
};

/* Returns true if a mask has more than one bit. */
static inline bool row_table_several(unsigned int mask)
{
	return mask & (mask - 1);
}

/* Condition under which text shows a column; JSON always has it. */
enum column_when { ALWAYS, SEVERAL_DIRECTIONS, SEVERAL_PROTOCOLS, SEVERAL_ORIGINS, WHOLE_GROUPS };

struct row_line;

struct row_column {
	struct column column; /* a column without a `head` is in JSON only */
	struct value (*cell)(const struct row_line *line);
	enum column_when headed;
	bool each_key;           /* the column is repeated for each key of --by */
	uint8_t key;             /* key of a repeated column, set by row_table_begin() */
	uint8_t dist;            /* enum hist_dist, for row_table_dist() */
	uint8_t stage, protocol; /* stage and protocol that have the distribution; 0: all */
};

/* A line of the table: arguments of a cell's function. */
struct row_line {
	const struct watch *w;
	const struct watch_row *row;
	enum watch_span span;
	uint8_t dist; /* enum hist_dist, in tables with a line for each distribution */
	struct report *r;
	const struct row_column *column; /* set by row_table_add() */
};

#define ROW_COLUMNS_MAX (16 + GROUP_KEY_MAX)

struct row_table {
	struct table *table;
	struct row_column columns[ROW_COLUMNS_MAX];
	size_t n;
};

/* Begins a table. A column whose condition does not hold is in JSON only. */
void row_table_begin(struct row_table *t, const struct watch *w, const struct watch_common *c,
		     struct report *r, const struct row_column *columns, size_t n);
void row_table_add(const struct row_table *t, struct row_line line);

/*
 * Functions of cells: row_table_dist() returns a distribution (null if never measured),
 * row_table_group() a group, row_table_label() the group's label for column->key.
 */
struct value row_table_dist(const struct row_line *line);
/* Returns a distribution of the row, which may be empty. */
struct value row_table_distribution(const struct row_line *line, unsigned int dist);
struct value row_table_group(const struct row_line *line);
struct value row_table_label(const struct row_line *line);

/* The group is one object in JSON; in text it has a column for each key of --by. */
#define ROW_COLUMNS_OF_GROUPS                                                                      \
	{ .column = { .name = "group", .head = "group", .flags = COLUMN_FLEX },                    \
	  .cell = row_table_group, .headed = WHOLE_GROUPS },                                       \
	{ .column = { .flags = COLUMN_FLEX }, .cell = row_table_label, .each_key = true }

#endif
