/* SPDX-License-Identifier: Apache-2.0 */
/* Formats a command's options (struct opt) as help text and man page. */
#include "base/opt_text.h"

#include <stdbool.h>
#include <string.h>

#include "base/opt_action.h"
#include "base/opt_row.h"

#define HELP_WIDTH 80
#define HELP_COLUMN 28
#define ACTION_COLUMN 12
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

static bool opt_text_is_shown(const struct opt *row, bool all)
{
	return !row->hidden && (all || !row->rare);
}

/* Adds the group's rows with their heading, arguments first; nothing if there are none. */
static void opt_text_help_group(const struct opt_table *table, enum opt_group group, bool all,
				struct strbuf *out)
{
	bool any = false;

	for (int positional = 1; positional >= 0; positional--) {
		for (uint32_t i = 0; i < table->len; i++) {
			const struct opt *row = table->slots[i].row;

			if (row->group != group || row->positional != (bool)positional ||
			    !opt_text_is_shown(row, all))
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

/* ---- commands with actions ---- */

/* Adds "  report      what it is for", and below that its arguments and options. */
static void opt_text_help_action(const struct opt_table *table, const struct opt *action,
				 unsigned int i, bool all, struct strbuf *out)
{
	struct strbuf names = STRBUF_INIT(DESCRIPTION_MAX);

	strbuf_printf(out, "  %-*s", ACTION_COLUMN - 2, action->choices[i].name);
	opt_text_wrap(out, action->choices[i].help, ACTION_COLUMN);
	for (uint32_t k = 0; k < table->len; k++) {
		const struct opt *row = table->slots[k].row;

		if (row != action && opt_text_is_shown(row, all) &&
		    opt_action_mask(action, row) & 1u << i)
			strbuf_printf(&names, "%s%s%s%s", names.len ? " " : "",
				      row->positional ? "" : "--", row->name, opt_text_dots(row));
	}
	strbuf_fill(out, ' ', ACTION_COLUMN);
	opt_text_wrap(out, strbuf_str(&names), ACTION_COLUMN);
	strbuf_release(&names);
}

/* Adds "all actions", or "report and export". */
static void opt_text_put_actions(const struct opt *action, uint32_t mask, struct strbuf *out)
{
	if (mask == opt_action_all(action))
		strbuf_puts(out, "all actions");
	else
		opt_action_put_names(action, mask, out);
}

/* Returns the actions whose options are row i of the table and others; 0: an earlier row's. */
static uint32_t opt_text_next_mask(const struct opt_table *table, const struct opt *action,
				   uint32_t i)
{
	const uint32_t mask = opt_action_mask(action, table->slots[i].row);
	bool first = !table->slots[i].row->positional && !table->slots[i].row->hidden;

	for (uint32_t k = 0; k < i; k++)
		first &= table->slots[k].row->positional || table->slots[k].row->hidden ||
			 opt_action_mask(action, table->slots[k].row) != mask;
	return first ? mask : 0;
}

/* Adds the options of just these actions, with their heading. */
static void opt_text_help_mask(const struct opt_table *table, const struct opt *action,
			       uint32_t mask, bool all, struct strbuf *out)
{
	bool any = false;

	for (uint32_t i = 0; i < table->len; i++) {
		const struct opt *row = table->slots[i].row;

		if (row->positional || !opt_text_is_shown(row, all) ||
		    opt_action_mask(action, row) != mask)
			continue;
		if (!any) {
			strbuf_puts(out, "Options of ");
			opt_text_put_actions(action, mask, out);
			strbuf_puts(out, ":\n");
		}
		any = true;
		opt_text_help_row(row, out);
	}
	strbuf_puts(out, any ? "\n" : "");
}

/* Adds the actions with what each takes, the arguments, and the options by the actions. */
static void opt_text_help_actions(const struct opt_table *table, const struct opt *action,
				  bool all, struct strbuf *out)
{
	strbuf_puts(out, "Actions, and what each takes:\n");
	for (unsigned int i = 0; action->choices[i].name; i++)
		opt_text_help_action(table, action, i, all, out);
	strbuf_puts(out, "\nArguments:\n");
	for (uint32_t i = 0; i < table->len; i++)
		if (table->slots[i].row->positional)
			opt_text_help_row(table->slots[i].row, out);
	strbuf_putc(out, '\n');
	for (uint32_t i = 0; i < table->len; i++) {
		const uint32_t mask = opt_text_next_mask(table, action, i);

		if (mask)
			opt_text_help_mask(table, action, mask, all, out);
	}
}

/* ---- all options ---- */

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
	const struct opt_slot *action;
	struct opt_table table;

	opt_flatten(rows, &table);
	action = opt_action_find(&table);
	if (action)
		opt_text_help_actions(&table, action->row, all, out);
	for (enum opt_group group = 0; group < OPT_GROUPS && !action; group++)
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

/* Adds the words of a command line: of the action i, or without an action of the command. */
static void opt_text_man_words(const struct opt_table *table, const struct opt *action,
			       unsigned int i, struct strbuf *out)
{
	for (int positional = 0; positional <= 1; positional++) {
		for (uint32_t k = 0; k < table->len; k++) {
			const struct opt *row = table->slots[k].row;

			if (row->positional != (bool)positional || row->hidden || row == action ||
			    (action && !(opt_action_mask(action, row) & 1u << i)))
				continue;
			strbuf_puts(out, row->required ? "" : "[");
			opt_text_man_name(row, out);
			strbuf_puts(out, row->required ? "\n" : "]\n");
		}
	}
}

void opt_text_man_synopsis(const char *command, const struct opt *rows, struct strbuf *out)
{
	const struct opt_slot *slot;
	const struct opt *action;
	struct opt_table table;

	opt_flatten(rows, &table);
	slot = opt_action_find(&table);
	action = slot ? slot->row : NULL;
	for (unsigned int i = 0; action ? action->choices[i].name != NULL : !i; i++) {
		strbuf_printf(out, "%s.B hostlat %s%s%s\n", i ? ".br\n" : "", command,
			      action ? " " : "", action ? action->choices[i].name : "");
		opt_text_man_words(&table, action, i, out);
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

const struct opt_choice *opt_text_actions(const struct opt *rows)
{
	const struct opt_slot *slot;
	struct opt_table table;

	opt_flatten(rows, &table);
	slot = opt_action_find(&table);
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

/* Adds the arguments, and the options of the same actions under one heading. */
static void opt_text_man_actions(const struct opt_table *table, const struct opt *action,
				 struct strbuf *out)
{
	for (uint32_t i = 0; i < table->len; i++)
		if (table->slots[i].row->positional)
			opt_text_man_row(table->slots[i].row, out);
	for (uint32_t i = 0; i < table->len; i++) {
		const uint32_t mask = opt_text_next_mask(table, action, i);

		if (!mask)
			continue;
		strbuf_puts(out, ".SS Options of ");
		opt_text_put_actions(action, mask, out);
		strbuf_putc(out, '\n');
		for (uint32_t k = i; k < table->len; k++) {
			const struct opt *row = table->slots[k].row;

			if (!row->positional && !row->hidden &&
			    opt_action_mask(action, row) == mask)
				opt_text_man_row(row, out);
		}
	}
}

void opt_text_man_options(const struct opt *rows, struct strbuf *out)
{
	const struct opt_slot *action;
	struct opt_table table;

	opt_flatten(rows, &table);
	action = opt_action_find(&table);
	if (action)
		opt_text_man_actions(&table, action->row, out);
	for (enum opt_group group = 0; group < OPT_GROUPS && !action; group++)
		opt_text_man_group(&table, group, out);
	opt_text_man_row(&opt_help_row, out);
	if (opt_text_has_rare(rows))
		opt_text_man_row(&opt_help_all_row, out);
}
