/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads rows of tables from JSON: a list of objects, or an object of such lists, each under the
 * name of its table:
 *
 *	[{"host": "web1", "rack": "r1"}]
 *	{"hosts": [{"host": "web1", "rack": "r1", "addresses": ["10.0.0.1", "10.1.0.0/16"]}],
 *	 "links": [{"from": "r1", "to": "r2", "link": "spine-12"}]}
 *
 * A field is a string, a number, of which the digits are the text, a list of strings, which become
 * a text with blanks between them, or null, which is as if it were missing. No deeper values: the
 * reader needs no stack.
 *
 *	if (json_rows_is_json(&csv))
 *		json_rows_init(&rows, &csv, tables, n_tables);
 *	while ((n = json_rows_next(&rows)) > 0)
 *		use(rows.names[0].text, rows.row.fields[0].text);
 *	if (n < 0)
 *		fail(csv.line, csv.column, csv.why);
 */
#ifndef HOSTLAT_FLEET_JSON_ROWS_H
#define HOSTLAT_FLEET_JSON_ROWS_H

#include <stdbool.h>

#include "fleet/csv.h"

#define JSON_ROWS_NO_TABLE UINT32_MAX

enum json_rows_state {
	JSON_ROWS_BEGIN,
	JSON_ROWS_TABLES,        /* in the object of lists */
	JSON_ROWS_LIST,          /* in a list of rows */
	JSON_ROWS_END,
};

struct json_rows {
	struct csv *text;        /* borrowed: place, end and errors are those of CSV */
	const char *const *tables; /* borrowed */
	uint32_t n_tables;       /* at most 32 */
	uint32_t seen;           /* mask of tables that were read */
	enum json_rows_state state;
	bool first;              /* nothing was read yet in this list or object */
	/* -- the row that was read; texts are in `text` -- */
	uint32_t table;          /* its table, or JSON_ROWS_NO_TABLE in a plain list */
	struct csv_field names[CSV_FIELDS_MAX], brace;
	struct csv_row row;
	uint32_t lists;          /* mask of the fields that are lists of strings */
};

/* Returns whether the text, of which nothing was read yet, is JSON: it begins with { or [. */
bool json_rows_is_json(const struct csv *text);

/* Begins to read; both arguments must outlive `j`. */
void json_rows_init(struct json_rows *j, struct csv *text, const char *const *tables,
		    uint32_t n_tables);

/*
 * Reads the next row: row.n fields, whose names are in `names`; `brace` is where it begins. Returns
 * 1, 0 at the end, or -EINVAL: `why`, `line` and `column` of the text are set.
 */
int json_rows_next(struct json_rows *j);

#endif
