/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/csv.h"

#include <errno.h>
#include <string.h>

void csv_init(struct csv *csv, char *text, size_t len)
{
	static const char mark[] = "\xef\xbb\xbf";
	const size_t skip = len >= 3 && !memcmp(text, mark, 3) ? 3 : 0;

	*csv = (struct csv){ .at = text + skip, .end = text + len, .line = 1, .column = 1 };
}

int csv_fail(struct csv *csv, const char *why)
{
	csv->why = why;
	return -EINVAL;
}

void csv_advance(struct csv *csv)
{
	const unsigned char c = (unsigned char)*csv->at++;

	if (c == '\n') {
		csv->line++;
		csv->column = 1;
	} else if ((c & 0xc0) != 0x80) { /* the further bytes of a UTF-8 character do not count */
		csv->column++;
	}
}

bool csv_is_at(const struct csv *csv, char c)
{
	return csv->at < csv->end && *csv->at == c;
}

static bool csv_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void csv_skip_blanks(struct csv *csv)
{
	while (csv->at < csv->end && csv_is_blank(*csv->at))
		csv_advance(csv);
}

/* Skips the end of a line, if there is one here. */
static bool csv_skip_newline(struct csv *csv)
{
	if (csv_is_at(csv, '\r') && csv->at + 1 < csv->end && csv->at[1] == '\n')
		csv_advance(csv);
	if (!csv_is_at(csv, '\n'))
		return false;
	csv_advance(csv);
	return true;
}

static bool csv_is_newline(const struct csv *csv)
{
	return csv_is_at(csv, '\n') ||
	       (csv_is_at(csv, '\r') && csv->at + 1 < csv->end && csv->at[1] == '\n');
}

static bool csv_is_field_end(const struct csv *csv)
{
	return csv->at == csv->end || csv_is_at(csv, ',') || csv_is_newline(csv);
}

/* Reads a field in quotes; sets *end to the byte behind its text, which becomes its NUL. */
static int csv_take_quoted(struct csv *csv, struct csv_field *field, char **end)
{
	const struct csv begin = *csv;
	char *to = csv->at;

	csv_advance(csv);
	field->text = to;
	for (;;) {
		if (csv->at == csv->end) {
			*csv = begin;
			return csv_fail(csv, "a quoted field does not end (close it with \")");
		}
		if (!*csv->at)
			return csv_fail(csv, "a NUL byte: the file is not text");
		if (*csv->at == '"') {
			csv_advance(csv);
			if (!csv_is_at(csv, '"'))
				break;
		}
		*to++ = *csv->at;
		csv_advance(csv);
	}
	csv_skip_blanks(csv);
	*end = to;
	return csv_is_field_end(csv) ? 0 :
	       csv_fail(csv, "text behind a closing quote (write \"\" for a quote in a field)");
}

static int csv_take_plain(struct csv *csv, struct csv_field *field, char **end)
{
	field->text = csv->at;
	while (!csv_is_field_end(csv)) {
		if (!*csv->at)
			return csv_fail(csv, "a NUL byte: the file is not text");
		if (*csv->at == '"')
			return csv_fail(csv, "a quote in a field without quotes (put the whole "
					"field into quotes, and write \"\" for this one)");
		csv_advance(csv);
	}
	*end = csv->at;
	while (*end > field->text && csv_is_blank((*end)[-1]))
		--*end;
	return 0;
}

/* Reads a field and what ends it; *more: a comma did. */
static int csv_read_field(struct csv *csv, struct csv_field *field, bool *more)
{
	char *end = csv->at;
	int err;

	csv_skip_blanks(csv);
	field->line = csv->line;
	field->column = csv->column;
	err = csv_is_at(csv, '"') ? csv_take_quoted(csv, field, &end) :
				    csv_take_plain(csv, field, &end);
	if (err)
		return err;
	*more = csv_is_at(csv, ',');
	if (*more)
		csv_advance(csv);
	else
		csv_skip_newline(csv);
	*end = '\0';
	return 0;
}

int csv_next_row(struct csv *csv, struct csv_row *row)
{
	bool more = true;
	int err = 0;

	do
		csv_skip_blanks(csv);
	while (csv_skip_newline(csv));
	row->n = 0;
	row->line = csv->line;
	if (csv->at == csv->end)
		return 0;
	while (!err && more) {
		if (row->n == CSV_FIELDS_MAX)
			return csv_fail(csv, "a row has more than 16 fields");
		err = csv_read_field(csv, &row->fields[row->n++], &more);
	}
	return err ? err : 1;
}
