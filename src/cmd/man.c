/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hostlat man`: makes a man page from docs/man/NAME.SECTION.in during the build. The prose is
 * man(7) source; placeholders such as @OPTIONS@ and @CAUSES@ are replaced by text from the
 * program's own tables.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/opt_text.h"
#include "base/readfile.h"
#include "base/version.h"
#include "cmd/cmd.h"
#include "cmd/glossary.h"
#include "cmd/pages.h"
#include "conns/app_metrics.h"
#include "conns/counter.h"
#include "store/tables.h"

#define PAGE_MAX (1 << 20)

struct man_config {
	const char *command;
	const char *source;
};

static const struct opt man_options[] = {
	OPT_STRING(struct man_config, command, .name = "COMMAND", .positional = true,
		   .required = true,
		   .help = "Command that the page describes; hostlat for any other page"),
	OPT_STRING(struct man_config, source, .name = "SOURCE", .positional = true, .file = true,
		   .help = "Hand-written part of the page, man(7) source"),
	OPT_END,
};

/* A man page being generated. `command` is NULL if the page does not describe a single command. */
struct man_page {
	const struct command *const *table;
	const struct command *command;
	struct strbuf *out;
};

static void man_put_version(struct man_page *page)
{
	strbuf_puts(page->out, hostlat_version());
}

static void man_put_summary(struct man_page *page)
{
	if (page->command)
		opt_text_man_escape(page->command->summary, page->out);
}

static void man_put_synopsis(struct man_page *page)
{
	if (!page->command)
		return;
	opt_text_man_synopsis(page->command->name, page->command->options, page->out);
}

static void man_put_examples(struct man_page *page)
{
	const struct command_example *e = page->command ? page->command->examples : NULL;

	for (int i = 0; e && i < COMMAND_EXAMPLES && e[i].line; i++) {
		strbuf_puts(page->out, ".TP\n\\fB");
		opt_text_man_escape(e[i].line, page->out);
		strbuf_puts(page->out, "\\fR\n");
		opt_text_man_escape(e[i].what, page->out);
		strbuf_puts(page->out, ".\n");
	}
}

static void man_put_options(struct man_page *page)
{
	if (page->command)
		opt_text_man_options(page->command->options, page->out);
}

static void man_put_commands(struct man_page *page)
{
	for (const struct command *const *c = page->table; *c; c++) {
		if ((*c)->hidden)
			continue;
		strbuf_printf(page->out, ".TP\n\\fBhostlat\\-%s\\fR(1)\n", (*c)->name);
		opt_text_man_escape((*c)->summary, page->out);
		strbuf_puts(page->out, ".\n");
	}
}

/* Writes a list entry: `word`, and its meaning with a capital letter and a period. */
static void man_put_meaning(struct man_page *page, const char *word, const char *meaning)
{
	strbuf_puts(page->out, ".TP\n.B ");
	opt_text_man_escape(word, page->out);
	strbuf_printf(page->out, "\n%c", toupper((unsigned char)*meaning));
	opt_text_man_escape(meaning + 1, page->out);
	strbuf_puts(page->out, ".\n");
}

/* Writes the values of an option of `hostlat watch`, with their meanings. */
static void man_put_values(struct man_page *page, const char *option)
{
	const struct command *watch = command_find(page->table, "watch");
	const struct opt_choice *choice = watch ? opt_text_choices(watch->options, option) : NULL;

	for (; choice && choice->name; choice++)
		man_put_meaning(page, choice->name, choice->help);
}

/* Writes sentences with names of options in bold, each sentence on a line of its own. */
static void man_put_sentences(struct man_page *page, const char *text)
{
	struct strbuf word = STRBUF_INIT(PAGE_MAX);

	while (text && *text) {
		const size_t len = strcspn(text, " ");
		const size_t name = !strncmp(text, "--", 2) ? 2 + strspn(text + 2, "abcdefghijklmno"
									 "pqrstuvwxyz-") : 0;
		const bool ends = len > 2 && text[len - 1] == '.';

		strbuf_reset(&word);
		strbuf_add(&word, text, name);
		strbuf_puts(page->out, name ? "\\fB" : "");
		opt_text_man_escape(strbuf_str(&word), page->out);
		strbuf_puts(page->out, name ? "\\fR" : "");
		strbuf_reset(&word);
		strbuf_add(&word, text + name, len - name);
		opt_text_man_escape(strbuf_str(&word), page->out);
		text += len + strspn(text + len, " ");
		strbuf_putc(page->out, !*text || ends ? '\n' : ' ');
	}
	strbuf_release(&word);
}

static void man_put_entry(struct man_page *page, const struct glossary_entry *e, bool commands)
{
	strbuf_puts(page->out, ".TP\n.B ");
	opt_text_man_escape(e->name, page->out);
	strbuf_putc(page->out, '\n');
	if (commands)
		strbuf_printf(page->out, "\\fI%s\\fR:\n", e->commands);
	if (e->phrase) {
		strbuf_putc(page->out, (char)toupper((unsigned char)*e->phrase));
		opt_text_man_escape(e->phrase + 1, page->out);
		strbuf_puts(page->out, ".\n");
	}
	man_put_sentences(page, e->text->what);
	man_put_sentences(page, e->text->effect);
	man_put_sentences(page, e->text->more);
	if (e->text->todo) {
		strbuf_puts(page->out, ".br\nTo do: ");
		man_put_sentences(page, e->text->todo);
	}
}

static void man_put_glossary(struct man_page *page, enum glossary_list list)
{
	struct glossary_entry e;

	for (unsigned int i = 0; glossary_get(list, i, &e); i++)
		if (e.name)
			man_put_entry(page, &e, list == GLOSSARY_OTHER_REASONS);
}

static void man_put_counters(struct man_page *page)
{
	counter_manual(page->out);
}

static void man_put_metrics(struct man_page *page)
{
	app_metrics_manual(page->out);
}

static void man_put_columns(struct man_page *page, const struct store_table *table)
{
	for (unsigned int i = 0; i < table->n; i++) {
		strbuf_puts(page->out, ".TP\n.B ");
		opt_text_man_escape(table->columns[i].name, page->out);
		strbuf_puts(page->out, table->columns[i].type == STORE_TEXT ? " \\fR(text)" : "");
		strbuf_putc(page->out, '\n');
		opt_text_man_escape(table->columns[i].help, page->out);
		strbuf_puts(page->out, ".\n");
	}
}

static void man_put_window_columns(struct man_page *page)
{
	man_put_columns(page, &store_windows);
}

static void man_put_connection_columns(struct man_page *page)
{
	man_put_columns(page, &store_connections);
}

static const struct {
	const char *name;
	void (*put)(struct man_page *page);
	const char *option; /* if `put` is NULL: an option of `watch`; its values are listed */
	enum glossary_list list; /* if both are NULL: its entries are listed */
} placeholders[] = {
	{ .name = "@VERSION@", .put = man_put_version },
	{ .name = "@SUMMARY@", .put = man_put_summary },
	{ .name = "@SYNOPSIS@\n", .put = man_put_synopsis },
	{ .name = "@EXAMPLES@\n", .put = man_put_examples },
	{ .name = "@OPTIONS@\n", .put = man_put_options },
	{ .name = "@COMMANDS@\n", .put = man_put_commands },
	{ .name = "@STAGES@\n", .option = "stages" },
	{ .name = "@ORIGINS@\n", .option = "origin" },
	{ .name = "@GROUP_KEYS@\n", .option = "by" },
	{ .name = "@CAUSES@\n", .list = GLOSSARY_CAUSES },
	{ .name = "@PROBLEMS@\n", .list = GLOSSARY_CLASSES },
	{ .name = "@LIMITS@\n", .list = GLOSSARY_LIMITS },
	{ .name = "@SIDES@\n", .list = GLOSSARY_SIDES },
	{ .name = "@REASONS@\n", .list = GLOSSARY_LOAD_REASONS },
	{ .name = "@OTHER_REASONS@\n", .list = GLOSSARY_OTHER_REASONS },
	{ .name = "@LOSSES@\n", .list = GLOSSARY_LOSSES },
	{ .name = "@WHYS@\n", .list = GLOSSARY_WHYS },
	{ .name = "@WORDS@\n", .list = GLOSSARY_WORDS },
	{ .name = "@FLEET_EVIDENCE@\n", .list = GLOSSARY_EVIDENCE },
	{ .name = "@FLEET_KINDS@\n", .list = GLOSSARY_KINDS },
	{ .name = "@FLEET_PROBLEMS@\n", .list = GLOSSARY_FLEET_CLASSES },
	{ .name = "@FLEET_COLUMNS@\n", .list = GLOSSARY_COLUMNS },
	{ .name = "@COUNTERS@\n", .put = man_put_counters },
	{ .name = "@METRICS@\n", .put = man_put_metrics },
	{ .name = "@WINDOW_COLUMNS@\n", .put = man_put_window_columns },
	{ .name = "@CONNECTION_COLUMNS@\n", .put = man_put_connection_columns },
	{ .name = NULL },
};

static void man_fill_in(struct man_page *page, const char *source)
{
	while (*source) {
		size_t len = strcspn(source, "@");
		int i = 0;

		strbuf_add(page->out, source, len);
		source += len;
		while (placeholders[i].name &&
		       strncmp(source, placeholders[i].name, strlen(placeholders[i].name)) != 0)
			i++;
		if (placeholders[i].name) {
			if (placeholders[i].put)
				placeholders[i].put(page);
			else if (placeholders[i].option)
				man_put_values(page, placeholders[i].option);
			else
				man_put_glossary(page, placeholders[i].list);
			source += strlen(placeholders[i].name);
		} else if (*source) {
			strbuf_putc(page->out, *source++);
		}
	}
}

/* Tells a reader of pages which command shows them: this one makes them. Returns an exit code. */
static int man_refer(const struct command *const *table, const char *name)
{
	struct strbuf page = STRBUF_INIT(PAGE_MAX);
	const bool found = pages_put(table, name, &page);

	if (found)
		log_error("hostlat man makes pages for the build, and SOURCE is missing; to read "
			  "this one: %s", strbuf_str(&page));
	else
		log_error("there is no page of '%s'; 'man hostlat' lists the pages", name);
	strbuf_release(&page);
	return EXIT_USAGE;
}

static int man_describe(const struct command *const *table, const void *config)
{
	const struct man_config *man = config;
	struct strbuf source = STRBUF_INIT(PAGE_MAX), text = STRBUF_INIT(PAGE_MAX);
	struct man_page page = { .table = table, .out = &text };
	int result = EXIT_USAGE;
	int err;

	if (!man->source)
		return man_refer(table, man->command);
	if (strcmp(man->command, "hostlat") != 0) {
		page.command = command_find(table, man->command);
		if (!page.command)
			goto out;
	}
	err = readfile(man->source, &source);
	if (err) {
		log_error("cannot read '%s': %s", man->source, strerror(-err));
		result = EXIT_CANNOT;
		goto out;
	}
	man_fill_in(&page, strbuf_str(&source));
	result = command_print(&text);
out:
	strbuf_release(&source);
	strbuf_release(&text);
	return result;
}

const struct command cmd_man = {
	.name = "man",
	.reads_only = true,
	.summary = "make a man page from its hand-written part and the option rows",
	.options = man_options,
	.config_size = sizeof(struct man_config),
	.describe = man_describe,
	.hidden = true,
};
