/* SPDX-License-Identifier: Apache-2.0 */
/* Formats a command's options (struct opt) as help text and man page. */
#include "base/opt_text.h"

#include <stdbool.h>
#include <string.h>

#include "base/opt_row.h"

#define HELP_WIDTH 80
#define HELP_COLUMN 28
#define DESCRIPTION_MAX 4096

static bool opt_text_has_value(const struct opt *row)
{
	return row->type != OPT_TYPE_FLAG;
}

static const char *opt_text_dots(const struct opt *row)
{
	return opt_repeats(row) && (row->positional || row->words) ? "..." : "";
}

void opt_text_usage(const struct opt *rows, struct strbuf *out)
{
	struct opt_table table;

	opt_flatten(rows, &table);
	strbuf_puts(out, "[OPTION]...");
	for (uint32_t i = 0; i < table.len; i++) {
		const struct opt *row = table.slots[i].row;

		if (row->positional)
			strbuf_printf(out, row->required ? " %s%s" : " [%s]%s", row->name,
				      opt_text_dots(row));
	}
}

void opt_text_wrap(struct strbuf *out, const char *text, size_t indent)
{
	size_t column = indent;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (column > indent && column + 1 + len > HELP_WIDTH) {
			strbuf_putc(out, '\n');
			strbuf_fill(out, ' ', indent);
			column = indent;
		} else if (column > indent) {
			strbuf_putc(out, ' ');
			column++;
		}
		strbuf_add(out, text, len);
		column += len;
		text += len + strspn(text + len, " ");
	}
	strbuf_putc(out, '\n');
}

static void opt_text_help_left(const struct opt *row, struct strbuf *out)
{
	if (row->positional) {
		strbuf_printf(out, "  %s", row->name);
		return;
	}
	if (row->letter)
		strbuf_printf(out, "  -%c, --%s", row->letter, row->name);
	else
		strbuf_printf(out, "      --%s", row->name);
	if (opt_text_has_value(row))
		strbuf_printf(out, " %s%s", opt_metavar(row), opt_text_dots(row));
}

static void opt_text_help_row(const struct opt *row, struct strbuf *out)
{
	struct strbuf description = STRBUF_INIT(DESCRIPTION_MAX);
	size_t start = out->len, used;

	opt_text_help_left(row, out);
	used = out->len - start;
	if (used + 2 > HELP_COLUMN) {
		strbuf_putc(out, '\n');
		used = 0;
	}
	strbuf_fill(out, ' ', HELP_COLUMN - used);
	opt_describe(row, &description);
	opt_text_wrap(out, strbuf_str(&description), HELP_COLUMN);
	strbuf_release(&description);
}

static const char *const group_names[OPT_GROUPS] = {
	[OPT_GROUP_NONE] = "Options", [OPT_TARGET] = "Target",   [OPT_LOAD] = "Load",
	[OPT_MEASURE] = "Measure",    [OPT_STOP] = "Stop",	 [OPT_OUTPUT] = "Output",
};

/* Adds the group's rows with their heading, arguments first; nothing if there are none. */
static void opt_text_help_group(const struct opt_table *table, enum opt_group group, bool all,
				struct strbuf *out)
{
	bool any = false;

	for (int positional = 1; positional >= 0; positional--) {
		for (uint32_t i = 0; i < table->len; i++) {
			const struct opt *row = table->slots[i].row;

			if (row->group != group || row->positional != (bool)positional ||
			    row->hidden || (row->rare && !all))
				continue;
			if (!any)
				strbuf_printf(out, "%s:\n", group_names[group]);
			opt_text_help_row(row, out);
			any = true;
		}
	}
	if (any)
		strbuf_putc(out, '\n');
}

bool opt_text_has_rare(const struct opt *rows)
{
	struct opt_table table;
	bool rare = false;

	opt_flatten(rows, &table);
	for (uint32_t i = 0; i < table.len; i++)
		rare |= table.slots[i].row->rare;
	return rare;
}

void opt_text_help(const struct opt *rows, bool all, struct strbuf *out)
{
	struct opt_table table;

	opt_flatten(rows, &table);
	for (enum opt_group group = 0; group < OPT_GROUPS; group++)
		opt_text_help_group(&table, group, all, out);
	strbuf_puts(out, "Help:\n");
	opt_text_help_row(&opt_help_row, out);
	if (opt_text_has_rare(rows))
		opt_text_help_row(&opt_help_all_row, out);
}

void opt_text_man_escape(const char *text, struct strbuf *out)
{
	if (*text == '.' || *text == '\'')
		strbuf_puts(out, "\\&");
	for (; *text; text++) {
		if (*text == '-')
			strbuf_puts(out, "\\-");
		else if (*text == '\\')
			strbuf_puts(out, "\\e");
		else
			strbuf_putc(out, *text);
	}
}

static void opt_text_man_name(const struct opt *row, struct strbuf *out)
{
	if (row->positional) {
		strbuf_printf(out, "\\fI%s\\fR%s", row->name, opt_text_dots(row));
		return;
	}
	strbuf_puts(out, "\\fB\\-\\-");
	opt_text_man_escape(row->name, out);
	strbuf_puts(out, "\\fR");
	if (opt_text_has_value(row))
		strbuf_printf(out, " \\fI%s\\fR%s", opt_metavar(row), opt_text_dots(row));
}

void opt_text_man_synopsis(const struct opt *rows, struct strbuf *out)
{
	struct opt_table table;

	opt_flatten(rows, &table);
	for (int positional = 0; positional <= 1; positional++) {
		for (uint32_t i = 0; i < table.len; i++) {
			const struct opt *row = table.slots[i].row;

			if (row->positional != (bool)positional || row->hidden)
				continue;
			strbuf_puts(out, row->required ? "" : "[");
			opt_text_man_name(row, out);
			strbuf_puts(out, row->required ? "\n" : "]\n");
		}
	}
}

/* Adds, as man(7) source, a list of the option's choices that have a help text. */
static void opt_text_man_choices(const struct opt *row, struct strbuf *out)
{
	bool any = false;

	for (const struct opt_choice *choice = row->choices; choice->name; choice++) {
		if (!choice->help)
			continue;
		strbuf_puts(out, any ? ".TP\n\\fB" : ".RS\n.TP\n\\fB");
		opt_text_man_escape(choice->name, out);
		strbuf_puts(out, "\\fR\n");
		opt_text_man_escape(choice->help, out);
		strbuf_putc(out, '\n');
		any = true;
	}
	strbuf_puts(out, any ? ".RE\n" : "");
}

/* Adds the option's former names and letters: "Also \-\-max\-time." */
static void opt_text_man_aliases(const struct opt *row, struct strbuf *out)
{
	const char *at = row->aliases, *before = "Also ";

	for (size_t len; (len = opt_next_alias(&at)); at += len) {
		strbuf_printf(out, "%s\\fB%s", before, len == 1 ? "\\-" : "\\-\\-");
		for (size_t i = 0; i < len; i++)
			strbuf_puts(out, at[i] == '-' ? "\\-" : (char[]){ at[i], '\0' });
		strbuf_puts(out, "\\fR");
		before = ", ";
	}
	strbuf_puts(out, row->aliases ? ".\n" : "");
}

static void opt_text_man_row(const struct opt *row, struct strbuf *out)
{
	struct strbuf description = STRBUF_INIT(DESCRIPTION_MAX);

	strbuf_puts(out, ".TP\n");
	if (row->letter)
		strbuf_printf(out, "\\fB\\-%c\\fR, ", row->letter);
	opt_text_man_name(row, out);
	strbuf_putc(out, '\n');
	opt_describe(row, &description);
	opt_text_man_escape(strbuf_str(&description), out);
	strbuf_puts(out, ".\n");
	opt_text_man_aliases(row, out);
	if (row->choices)
		opt_text_man_choices(row, out);
	strbuf_release(&description);
}

const struct opt_choice *opt_text_choices(const struct opt *rows, const char *name)
{
	struct opt_slot *slot;
	struct opt_table table;

	opt_flatten(rows, &table);
	slot = opt_find_name(&table, name, strlen(name));
	return slot ? slot->row->choices : NULL;
}

static void opt_text_man_group(const struct opt_table *table, enum opt_group group,
			       struct strbuf *out)
{
	bool any = group == OPT_GROUP_NONE;

	for (uint32_t i = 0; i < table->len; i++) {
		const struct opt *row = table->slots[i].row;

		if (row->group != group || row->hidden)
			continue;
		if (!any)
			strbuf_printf(out, ".SS %s\n", group_names[group]);
		opt_text_man_row(row, out);
		any = true;
	}
}

void opt_text_man_options(const struct opt *rows, struct strbuf *out)
{
	struct opt_table table;

	opt_flatten(rows, &table);
	for (enum opt_group group = 0; group < OPT_GROUPS; group++)
		opt_text_man_group(&table, group, out);
	opt_text_man_row(&opt_help_row, out);
	if (opt_text_has_rare(rows))
		opt_text_man_row(&opt_help_all_row, out);
}
