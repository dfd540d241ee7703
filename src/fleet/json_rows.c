/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/json_rows.h"

#include <errno.h>
#include <string.h>

#include "fleet/json_string.h"

#define SPACES " \t\r\n"

bool json_rows_is_json(const struct csv *text)
{
	const char *at = text->at;

	while (at < text->end && *at && strchr(SPACES, *at))
		at++;
	return at < text->end && (*at == '{' || *at == '[');
}

void json_rows_init(struct json_rows *j, struct csv *text, const char *const *tables,
		    uint32_t n_tables)
{
	*j = (struct json_rows){ .text = text, .tables = tables, .n_tables = n_tables,
				 .table = JSON_ROWS_NO_TABLE, .first = true };
}

/* ---- tokens ---- */

static void json_rows_skip(struct json_rows *j)
{
	while (j->text->at < j->text->end && *j->text->at && strchr(SPACES, *j->text->at))
		csv_advance(j->text);
}

/* Skips blanks, and this byte if it is next. */
static bool json_rows_take(struct json_rows *j, char c)
{
	json_rows_skip(j);
	if (!csv_is_at(j->text, c))
		return false;
	csv_advance(j->text);
	return true;
}

static int json_rows_expect(struct json_rows *j, char c, const char *why)
{
	return json_rows_take(j, c) ? 0 : csv_fail(j->text, why);
}

/* Takes the comma before all but the first of a list or object. */
static int json_rows_comma(struct json_rows *j, bool first, const char *why)
{
	return first ? 0 : json_rows_expect(j, ',', why);
}

static void json_rows_place(struct json_rows *j, struct csv_field *field)
{
	json_rows_skip(j);
	*field = (struct csv_field){ j->text->at, j->text->line, j->text->column };
}

/* Reads a name and its colon. */
static int json_rows_name(struct json_rows *j, struct csv_field *name)
{
	char *end;
	int err;

	json_rows_place(j, name);
	if (!csv_is_at(j->text, '"'))
		return csv_fail(j->text, "no name in quotes (write \"host\": \"web1\")");
	end = name->text;
	err = json_string_read(j->text, &end);
	if (err)
		return err;
	*end = '\0';
	return json_rows_expect(j, ':', "no colon behind a name (write \"host\": \"web1\")");
}

/* ---- fields ---- */

/* Reads a list of strings as one text with blanks between them. */
static int json_rows_list(struct json_rows *j, char **end)
{
	int err = 0;

	csv_advance(j->text);
	for (bool first = true; !err && !json_rows_take(j, ']'); first = false) {
		err = json_rows_comma(j, first, "no comma between the strings of a list (or no ])");
		json_rows_skip(j);
		if (!err && !csv_is_at(j->text, '"'))
			err = csv_fail(j->text, "a list of other values than strings (write "
				       "[\"10.0.0.1\", \"10.0.0.2\"])");
		if (!err && !first)
			*(*end)++ = ' ';
		err = err ? err : json_string_read(j->text, end);
	}
	return err;
}

static size_t json_rows_digits(const char *at, const char *end)
{
	size_t n = 0;

	while (at + n < end && at[n] >= '0' && at[n] <= '9')
		n++;
	return n;
}

/* Returns the bytes of a number by the grammar of JSON; 0: there is none. */
static size_t json_rows_number_len(const char *at, const char *end)
{
	const char *next = at + (at < end && *at == '-');
	size_t n = json_rows_digits(next, end);

	if (!n || (n > 1 && *next == '0'))
		return 0;
	next += n;
	if (next < end && *next == '.') {
		n = json_rows_digits(next + 1, end);
		next += n ? n + 1 : 0;
	}
	if (next < end && (*next == 'e' || *next == 'E')) {
		const size_t sign = next + 1 < end && (next[1] == '-' || next[1] == '+');

		n = json_rows_digits(next + 1 + sign, end);
		next += n ? n + 1 + sign : 0;
	}
	return (size_t)(next - at);
}

/* Reads a number, of which the digits are the text, or null, of which the text is empty. */
static int json_rows_word(struct json_rows *j, char **end)
{
	const size_t left = (size_t)(j->text->end - j->text->at);
	const bool null = left >= 4 && !memcmp(j->text->at, "null", 4);
	const size_t n = null ? 4 : json_rows_number_len(j->text->at, j->text->end);

	for (size_t i = 0; i < n; i++)
		csv_advance(j->text);
	*end += null ? 0 : n;
	return n ? 0 : csv_fail(j->text, "a value of another kind (write a string, a number, null, "
				"or a list of strings)");
}

/* Reads a value; *end: behind its text, where a NUL may be put once what follows was read. */
static int json_rows_value(struct json_rows *j, struct csv_field *field, char **end)
{
	json_rows_place(j, field);
	*end = field->text;
	if (csv_is_at(j->text, '"'))
		return json_string_read(j->text, end);
	if (csv_is_at(j->text, '[')) {
		j->lists |= 1u << j->row.n;
		return json_rows_list(j, end);
	}
	return json_rows_word(j, end);
}

/* ---- rows ---- */

/* Reads a field of the row, and what follows; *more: there is another one. */
static int json_rows_field(struct json_rows *j, bool *more)
{
	struct csv_field *field = &j->row.fields[j->row.n];
	char *end = NULL;
	int err;

	if (j->row.n == CSV_FIELDS_MAX)
		return csv_fail(j->text, "an object has more than 16 fields");
	err = json_rows_name(j, &j->names[j->row.n]);
	if (!err)
		err = json_rows_value(j, field, &end);
	if (err)
		return err;
	*more = json_rows_take(j, ',');
	if (!*more)
		err = json_rows_expect(j, '}', "no comma between fields of an object (or no })");
	if (!err)
		*end = '\0';
	j->row.n++;
	return err;
}

static int json_rows_object(struct json_rows *j)
{
	bool more = true;
	int err;

	json_rows_place(j, &j->brace);
	err = json_rows_expect(j, '{', "no object in the list (write [{\"host\": \"web1\"}])");
	j->row.n = 0;
	j->lists = 0;
	j->row.line = j->brace.line;
	if (!err && json_rows_take(j, '}'))
		return 1;
	while (!err && more)
		err = json_rows_field(j, &more);
	return err ? err : 1;
}

/* ---- lists ---- */

/* Begins the list of a table: its name is known, and was not there before. */
static int json_rows_begin_table(struct json_rows *j)
{
	const struct csv begin = *j->text;
	struct csv_field name;
	uint32_t i = 0;
	int err = json_rows_comma(j, j->first, "no comma between lists of an object (or no })");

	if (!err)
		err = json_rows_name(j, &name);
	if (err)
		return err;
	while (i < j->n_tables && strcmp(j->tables[i], name.text) != 0)
		i++;
	if (i == j->n_tables || j->seen >> i & 1) {
		*j->text = begin;
		return csv_fail(j->text, i < j->n_tables ?
				"a second list of this name (keep one)" :
				"a list of an unknown name (write \"hosts\", \"switches\" or "
				"\"links\"; for --apps \"applications\")");
	}
	j->seen |= 1u << i;
	j->table = i;
	j->state = JSON_ROWS_LIST;
	j->first = true;
	return json_rows_expect(j, '[', "no list behind its name (write \"hosts\": [])");
}

/* Ends the whole: nothing may follow. */
static int json_rows_end(struct json_rows *j)
{
	j->state = JSON_ROWS_END;
	json_rows_skip(j);
	return j->text->at == j->text->end ? 0 :
	       csv_fail(j->text, "text behind the end (keep one object or list)");
}

static int json_rows_begin(struct json_rows *j)
{
	j->state = json_rows_take(j, '[') ? JSON_ROWS_LIST : JSON_ROWS_TABLES;
	return j->state == JSON_ROWS_LIST ? 0 :
	       json_rows_expect(j, '{', "neither an object nor a list");
}

/* Reads the next row of the list, or the list's end. */
static int json_rows_next_in_list(struct json_rows *j)
{
	int err;

	if (!json_rows_take(j, ']')) {
		err = json_rows_comma(j, j->first, "no comma between the objects of a list (or no "
				      "])");
		j->first = false;
		return err ? err : json_rows_object(j);
	}
	if (j->table == JSON_ROWS_NO_TABLE)
		return json_rows_end(j);
	j->state = JSON_ROWS_TABLES;
	j->first = false;
	return 0;
}

int json_rows_next(struct json_rows *j)
{
	int n = j->state == JSON_ROWS_BEGIN ? json_rows_begin(j) : 0;

	while (!n && j->state != JSON_ROWS_END) {
		if (j->state == JSON_ROWS_LIST)
			n = json_rows_next_in_list(j);
		else if (json_rows_take(j, '}'))
			n = json_rows_end(j);
		else
			n = json_rows_begin_table(j);
	}
	return n;
}
