/* SPDX-License-Identifier: Apache-2.0 */
/* Interprets a single option (struct opt, a row of a command's option table). */
#include "base/opt_row.h"

#include <inttypes.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"

const struct opt opt_help_row = {
	.type = OPT_TYPE_FLAG,
	.name = "help",
	.letter = 'h',
	.help = "Show this help and exit",
};

const struct opt opt_help_all_row = {
	.type = OPT_TYPE_FLAG,
	.name = "help-all",
	.help = "Show all options and exit",
};

static void opt_format_number(struct strbuf *out, uint64_t value)
{
	strbuf_printf(out, "%" PRIu64, value);
}

/* Properties of each option type. */
static const struct {
	const char *metavar;
	const char *takes;
	void (*format)(struct strbuf *out, uint64_t value); /* prints min and max; NULL: none */
} type_texts[] = {
	[OPT_TYPE_FLAG] = { "", "no value", NULL },
	[OPT_TYPE_U64] = { "N", PARSE_U64_TAKES, opt_format_number },
	[OPT_TYPE_DURATION] = { "TIME", PARSE_DURATION_TAKES, format_duration },
	[OPT_TYPE_SIZE] = { "SIZE", PARSE_SIZE_TAKES, format_size },
	[OPT_TYPE_FRACTION] = { "FRACTION", PARSE_FRACTION_TAKES, NULL },
	[OPT_TYPE_PERCENT] = { "PERCENT", PARSE_PERCENT_TAKES, NULL },
	[OPT_TYPE_RATE] = { "RATE", PARSE_RATE_TAKES, NULL },
	[OPT_TYPE_ONE_IN] = { "1/N", PARSE_ONE_IN_TAKES, NULL },
	[OPT_TYPE_STRING] = { "TEXT", "a non-empty text", NULL },
	[OPT_TYPE_CHOICE] = { "WORD", "one of", NULL },
	[OPT_TYPE_SET] = { "LIST", "a comma-separated list of", NULL },
	[OPT_TYPE_LIST] = { "TEXT", "a non-empty text", NULL },
	[OPT_TYPE_FILES] = { "FILE", "a file name", NULL },
};

size_t opt_next_alias(const char **at)
{
	if (!*at)
		return 0;
	*at += **at == ',';
	return strcspn(*at, ",");
}

static bool opt_has_alias(const struct opt *row, const char *name, size_t name_len)
{
	const char *at = row->aliases;

	for (size_t len; (len = opt_next_alias(&at)); at += len) {
		if (len == name_len && memcmp(at, name, len) == 0)
			return true;
	}
	return false;
}

/* Two options of one name, letter or alias are a bug. */
static void opt_check_names(struct opt_table *table, const struct opt *row)
{
	const char *at = row->aliases;

	BUG_ON(!row->positional && opt_find_name(table, row->name, strlen(row->name)));
	BUG_ON(row->letter && opt_find_letter(table, row->letter));
	for (size_t len; (len = opt_next_alias(&at)); at += len)
		BUG_ON(len == 1 ? opt_find_letter(table, *at) : opt_find_name(table, at, len));
}

static void opt_append_slot(struct opt_table *table, const struct opt *row, size_t base)
{
	BUG_ON(table->len == OPT_ROWS_MAX);
	BUG_ON(!row->name || !row->help);
	opt_check_names(table, row);
	table->slots[table->len++] = (struct opt_slot){ .row = row, .offset = base + row->offset };
}

static void opt_flatten_at(const struct opt *rows, size_t base, struct opt_table *table)
{
	for (const struct opt *row = rows; row->type != OPT_TYPE_END; row++) {
		if (row->type == OPT_TYPE_ROWS)
			opt_flatten_at(row->rows, base + row->offset, table);
		else
			opt_append_slot(table, row, base);
	}
}

void opt_flatten(const struct opt *rows, struct opt_table *table)
{
	*table = (struct opt_table){ .len = 0 };
	opt_flatten_at(rows, 0, table);
}

struct opt_slot *opt_find_name(struct opt_table *table, const char *name, size_t name_len)
{
	for (uint32_t i = 0; i < table->len; i++) {
		const struct opt *row = table->slots[i].row;

		if (row->positional)
			continue;
		if (strlen(row->name) == name_len && memcmp(row->name, name, name_len) == 0)
			return &table->slots[i];
		if (name_len > 1 && opt_has_alias(row, name, name_len))
			return &table->slots[i];
	}
	return NULL;
}

struct opt_slot *opt_find_letter(struct opt_table *table, char letter)
{
	for (uint32_t i = 0; i < table->len; i++) {
		const struct opt *row = table->slots[i].row;

		if (row->letter == letter || opt_has_alias(row, &letter, 1))
			return &table->slots[i];
	}
	return NULL;
}

const char *opt_metavar(const struct opt *row)
{
	if (row->metavar)
		return row->metavar;
	if (row->file)
		return "FILE";
	return type_texts[row->type].metavar;
}

/* Adds the range of values: "10ms to 1d", "1 or more", or nothing. */
static void opt_put_range(const struct opt *row, struct strbuf *out)
{
	void (*format)(struct strbuf *, uint64_t) = type_texts[row->type].format;

	if (!format || (!row->min && !row->max))
		return;
	if (!row->min)
		strbuf_puts(out, "up to ");
	else
		format(out, row->min);
	if (row->min && row->max)
		strbuf_puts(out, " to ");
	if (row->max)
		format(out, row->max);
	else
		strbuf_puts(out, " or more");
}

/* Adds the names of the choices: "link, ip, transport". */
static void opt_put_choices(const struct opt *row, struct strbuf *out)
{
	for (const struct opt_choice *choice = row->choices; choice->name; choice++)
		strbuf_printf(out, "%s%s", choice == row->choices ? "" : ", ", choice->name);
}

void opt_takes(const struct opt *row, struct strbuf *out)
{
	size_t before;

	strbuf_puts(out, row->file ? "a file name" : type_texts[row->type].takes);
	if (row->choices) {
		strbuf_putc(out, ' ');
		opt_put_choices(row, out);
	}
	before = out->len;
	strbuf_puts(out, ", ");
	opt_put_range(row, out);
	if (out->len == before + 2)
		strbuf_truncate(out, before);
}

/* Adds what precedes a remark in a help sentence: " (" for the first remark, "; " for others. */
static void opt_begin_remark(struct strbuf *out, bool *first)
{
	strbuf_puts(out, *first ? " (" : "; ");
	*first = false;
}

void opt_describe(const struct opt *row, struct strbuf *out)
{
	bool first = true;

	strbuf_puts(out, row->help);
	if (row->choices) {
		opt_begin_remark(out, &first);
		strbuf_puts(out, row->type == OPT_TYPE_SET ? "any of " : "one of ");
		opt_put_choices(row, out);
	}
	if (row->min || row->max) {
		opt_begin_remark(out, &first);
		opt_put_range(row, out);
	}
	if (row->def) {
		opt_begin_remark(out, &first);
		strbuf_printf(out, "default %s", row->def);
	}
	if (row->type == OPT_TYPE_LIST && !row->positional) {
		opt_begin_remark(out, &first);
		strbuf_puts(out, "may be repeated");
	}
	if (!first)
		strbuf_putc(out, ')');
}
