/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/apps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "fleet/csv.h"
#include "fleet/json_rows.h"
#include "fleet/topology.h"

enum apps_column { APPS_PORT = APPS_TEXTS, APPS_NAME, APPS_COLUMNS };

static const char *const column_names[APPS_COLUMNS] = {
	[APPS_UNIT] = "unit", [APPS_CGROUP] = "cgroup", [APPS_CONTAINER] = "container",
	[APPS_COMMAND] = "command", [APPS_PORT] = "port", [APPS_NAME] = "application",
};

#define COLUMNS_TEXT "write application and any of unit,cgroup,container,command,port"

struct apps_rule {
	char *fields[APPS_COLUMNS];    /* in `text` of the table; "" fits everything */
	uint16_t port;                 /* 0: any */
};

struct apps {
	struct apps_rules VEC_OF(struct apps_rule) rules;
};

/* A table that is being read. */
struct apps_reader {
	struct apps *apps;
	const char *file;
	struct csv csv;
	struct csv_row row;
	uint32_t at[APPS_COLUMNS];     /* by column: its field + 1; 0: the table lacks it */
	uint32_t n;
	struct strbuf *why;
};

struct apps *apps_new(void)
{
	struct apps *a = calloc(1, sizeof(*a));

	if (a)
		vec_init(&a->rules, APPS_ROWS_MAX);
	return a;
}

static void apps_rule_release(struct apps_rule *rule)
{
	for (int i = 0; i < APPS_COLUMNS; i++)
		free(rule->fields[i]);
}

void apps_free(struct apps *a)
{
	if (!a)
		return;
	vec_for_each(&a->rules, rule)
		apps_rule_release(rule);
	vec_release(&a->rules);
	free(a);
}

static int apps_fail(struct apps_reader *r, const struct csv_field *field)
{
	strbuf_printf(r->why, "%s:%" PRIu32 ":%" PRIu32 ": ", r->file, field->line, field->column);
	return -EINVAL;
}

/* ---- header ---- */

/* Notes that field i of a row has the column of this name. */
static int apps_read_column(struct apps_reader *r, const struct csv_field *name, uint32_t i)
{
	int column = 0;

	while (column < APPS_COLUMNS && strcmp(column_names[column], name->text) != 0)
		column++;
	if (column < APPS_COLUMNS && !r->at[column]) {
		r->at[column] = i + 1;
		return 0;
	}
	apps_fail(r, name);
	strbuf_puts(r->why, column < APPS_COLUMNS ? "column '" : "unknown column '");
	utf8_put_clean(r->why, name->text);
	strbuf_puts(r->why, column < APPS_COLUMNS ? "' is given twice (keep one)" :
						    "' (" COLUMNS_TEXT ")");
	return -EINVAL;
}

/* Reads the names of a table's, or an object's, columns; `begin` is where they begin. */
static int apps_read_columns(struct apps_reader *r, const struct csv_field *names, uint32_t n,
			     const struct csv_field *begin)
{
	r->n = n;
	memset(r->at, 0, sizeof(r->at));
	for (uint32_t i = 0; i < n; i++) {
		int err = apps_read_column(r, &names[i], i);

		if (err < 0)
			return err;
	}
	if (r->at[APPS_NAME] && n > 1)
		return 0;
	apps_fail(r, begin);
	strbuf_puts(r->why, "these columns make no table (" COLUMNS_TEXT ")");
	return -EINVAL;
}

static int apps_read_header(struct apps_reader *r)
{
	int err = csv_next_row(&r->csv, &r->row);

	if (err < 0)
		return err;
	if (!err) {
		strbuf_printf(r->why, "%s:1:1: the file is empty (" COLUMNS_TEXT ")", r->file);
		return -EINVAL;
	}
	return apps_read_columns(r, r->row.fields, r->row.n, &r->row.fields[0]);
}

/* ---- rows ---- */

static const char *apps_wrong(const char *text, int column)
{
	if (column == APPS_NAME && !*text)
		return "is missing (each row needs one)";
	if (strlen(text) > TOPOLOGY_NAME_MAX)
		return "is longer than 255 bytes (shorten it)";
	for (size_t len; *text; text += len)
		if (!utf8_is_visible(utf8_next(text, &len)))
			return "has a control character or bytes that are not UTF-8 (remove them)";
	return NULL;
}

static int apps_read_field(struct apps_reader *r, int column, struct apps_rule *rule)
{
	const struct csv_field *field = r->at[column] ? &r->row.fields[r->at[column] - 1] : NULL;
	const char *text = field ? field->text : "";
	const char *wrong = apps_wrong(text, column);
	uint64_t port = 0;

	if (!wrong && column == APPS_PORT && *text &&
	    (parse_u64(text, &port) || !port || port > UINT16_MAX))
		wrong = "is no port (write 1 to 65535, or nothing)";
	if (wrong) {
		apps_fail(r, field ? field : &r->row.fields[0]);
		strbuf_printf(r->why, "the %s %s", column_names[column], wrong);
		return -EINVAL;
	}
	if (column == APPS_PORT)
		rule->port = (uint16_t)port;
	rule->fields[column] = strdup(text);
	return rule->fields[column] ? 0 : -ENOMEM;
}

static int apps_read_row(struct apps_reader *r)
{
	struct apps_rule rule = { .port = 0 };
	int err = 0;

	if (r->row.n != r->n) {
		apps_fail(r, &r->row.fields[0]);
		strbuf_printf(r->why, "fields: %" PRIu32 ", but %" PRIu32 " in the header "
			      "(a field with a comma needs quotes)", r->row.n, r->n);
		return -EINVAL;
	}
	for (int column = 0; column < APPS_COLUMNS && !err; column++)
		err = apps_read_field(r, column, &rule);
	if (!err)
		err = vec_push(&r->apps->rules, rule);
	if (err)
		apps_rule_release(&rule);
	if (err != -E2BIG)
		return err;
	apps_fail(r, &r->row.fields[0]);
	strbuf_printf(r->why, "more than %u rows (use patterns)", APPS_ROWS_MAX);
	return -EINVAL;
}

static int apps_read_csv(struct apps_reader *r)
{
	int err = apps_read_header(r);

	while (!err && (err = csv_next_row(&r->csv, &r->row)) > 0)
		err = apps_read_row(r);
	return err;
}

static int apps_check_lists(struct apps_reader *r, const struct json_rows *rows)
{
	if (!rows->lists)
		return 0;
	apps_fail(r, &rows->row.fields[__builtin_ctz(rows->lists)]);
	strbuf_puts(r->why, "a list in place of a text (write a string, and a row for each)");
	return -EINVAL;
}

static int apps_read_json(struct apps_reader *r)
{
	static const char *const tables[] = { "applications" };
	struct json_rows rows;
	int err;

	json_rows_init(&rows, &r->csv, tables, 1);
	while ((err = json_rows_next(&rows)) > 0) {
		r->row = rows.row;
		err = apps_read_columns(r, rows.names, rows.row.n, &rows.brace);
		err = err ? err : apps_check_lists(r, &rows);
		err = err ? err : apps_read_row(r);
		if (err)
			break;
	}
	return err;
}

int apps_read(struct apps *a, const char *file, char *text, size_t len, struct strbuf *why)
{
	struct apps_reader r = { .apps = a, .file = file, .why = why };
	int err;

	csv_init(&r.csv, text, len);
	err = json_rows_is_json(&r.csv) ? apps_read_json(&r) : apps_read_csv(&r);
	if (err == -EINVAL && r.csv.why)
		strbuf_printf(why, "%s:%" PRIu32 ":%" PRIu32 ": %s", file, r.csv.line, r.csv.column,
			      r.csv.why);
	return err;
}

/* ---- finding ---- */

static const char *apps_skip_character(const char *text)
{
	do
		text++;
	while (((unsigned char)*text & 0xc0) == 0x80);
	return text;
}

/*
 * Returns whether the pattern fits the whole text. Only the last `*` is tried again, which suffices
 * and takes at most the product of both lengths; fnmatch() takes a power of it.
 */
static bool apps_matches(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (*pattern == '?') {
			pattern++;
			text = apps_skip_character(text);
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
	return !pattern[strspn(pattern, "*")];
}

static bool apps_fits(const struct apps_rule *rule, const struct apps_subject *subject)
{
	if (rule->port && rule->port != subject->port)
		return false;
	for (int i = 0; i < APPS_TEXTS; i++)
		if (*rule->fields[i] &&
		    (!subject->text[i] || !apps_matches(rule->fields[i], subject->text[i])))
			return false;
	return true;
}

const char *apps_find(const struct apps *a, const struct apps_subject *subject)
{
	vec_for_each(&a->rules, rule)
		if (apps_fits(rule, subject))
			return rule->fields[APPS_NAME];
	return NULL;
}
