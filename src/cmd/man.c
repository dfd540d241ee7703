/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hostlat man`: the build's step from docs/man/NAME.1.in to the man page. The prose is written by
 * hand as man(7) source; what the program knows better is filled in where the source says
 * @VERSION@, @SUMMARY@, @SYNOPSIS@, @OPTIONS@ or @COMMANDS@.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/opt_text.h"
#include "base/readfile.h"
#include "base/version.h"
#include "cmd/cmd.h"

#define PAGE_MAX (1 << 20)

struct man_config {
	const char *command;
	const char *source;
};

static const struct opt man_options[] = {
	OPT_STRING(struct man_config, command, .name = "COMMAND", .positional = true,
		   .required = true, .help = "The command, or hostlat for the page of them all"),
	OPT_STRING(struct man_config, source, .name = "SOURCE", .positional = true,
		   .required = true, .file = true, .help = "The hand-written part, man(7)"),
	OPT_END,
};

/* What the placeholders stand for; `command` is NULL on the page of the program itself. */
struct page {
	const struct command *const *table;
	const struct command *command;
	struct strbuf *out;
};

static void put_version(struct page *page)
{
	strbuf_puts(page->out, hostlat_version());
}

static void put_summary(struct page *page)
{
	if (page->command)
		opt_text_man_escape(page->command->summary, page->out);
}

static void put_synopsis(struct page *page)
{
	if (!page->command)
		return;
	strbuf_printf(page->out, ".B hostlat %s\n", page->command->name);
	opt_text_man_synopsis(page->command->options, page->out);
}

static void put_options(struct page *page)
{
	if (page->command)
		opt_text_man_options(page->command->options, page->out);
}

static void put_commands(struct page *page)
{
	for (const struct command *const *c = page->table; *c; c++) {
		if ((*c)->hidden)
			continue;
		strbuf_printf(page->out, ".TP\n\\fBhostlat\\-%s\\fR(1)\n", (*c)->name);
		opt_text_man_escape((*c)->summary, page->out);
		strbuf_puts(page->out, ".\n");
	}
}

static const struct {
	const char *name;
	void (*put)(struct page *page);
} placeholders[] = {
	{ "@VERSION@", put_version },
	{ "@SUMMARY@", put_summary },
	{ "@SYNOPSIS@\n", put_synopsis },
	{ "@OPTIONS@\n", put_options },
	{ "@COMMANDS@\n", put_commands },
	{ NULL, NULL },
};

static void fill_in(struct page *page, const char *source)
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
			placeholders[i].put(page);
			source += strlen(placeholders[i].name);
		} else if (*source) {
			strbuf_putc(page->out, *source++);
		}
	}
}

static int man_describe(const struct command *const *table, const void *config)
{
	const struct man_config *man = config;
	struct strbuf source = STRBUF_INIT(PAGE_MAX), text = STRBUF_INIT(PAGE_MAX);
	struct page page = { .table = table, .out = &text };
	int result = EXIT_USAGE;
	int err;

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
	fill_in(&page, strbuf_str(&source));
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
