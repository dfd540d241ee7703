/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads CSV as RFC 4180 describes it: fields between commas; a field in quotes may contain commas,
 * ends of lines and, doubled, quotes. Lines end with LF or CRLF. Besides, blanks around a field and
 * empty lines are ignored, and so is the byte order mark that spreadsheets write.
 *
 *	csv_init(&csv, text, len);
 *	while ((n = csv_next_row(&csv, &row)) > 0)
 *		use(row.fields[0].text);
 *	if (n < 0)
 *		fail(csv.line, csv.column, csv.why);
 */
#ifndef HOSTLAT_FLEET_CSV_H
#define HOSTLAT_FLEET_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSV_FIELDS_MAX 16u

struct csv_field {
	char *text;              /* without its quotes; points into the text that is read */
	uint32_t line, column;   /* where it begins, both from 1; columns are characters */
};

struct csv_row {
	struct csv_field fields[CSV_FIELDS_MAX];
	uint32_t n;
	uint32_t line;           /* where it begins */
};

struct csv {
	char *at, *end;
	uint32_t line, column;   /* place of `at`, or of an error */
	const char *why;         /* after an error: what is wrong, and what to do; static */
};

/* Begins to read `len` bytes, which are changed and must be followed by a byte that may be. */
void csv_init(struct csv *csv, char *text, size_t len);

/* Moves on by one byte; not at the end. */
void csv_advance(struct csv *csv);

/* Returns whether the next byte is `c`. */
bool csv_is_at(const struct csv *csv, char c);

/* Sets `why`. Returns -EINVAL. */
int csv_fail(struct csv *csv, const char *why);

/* Reads the next row. Returns 1, 0 at the end, or -EINVAL: `why`, `line` and `column` are set. */
int csv_next_row(struct csv *csv, struct csv_row *row);

#endif
