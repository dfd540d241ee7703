/* SPDX-License-Identifier: Apache-2.0 */
/* `hostlat help` and the output of --help. */
#include <ctype.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/opt_text.h"
#include "cmd/cmd.h"
#include "cmd/glossary.h"
#include "cmd/pages.h"

#define TEXT_MAX (1 << 20)

struct help_config {
	struct opt_list words;
};

static const struct opt help_options[] = {
	OPT_LIST(struct help_config, words, .name = "COMMAND|WORD", .positional = true,
		 .help = "Command to explain, with or without its action; or word of a result (a "
			 "reason, a cause, a stage, a connection's problem or limit, a column), "
			 "such as host-noisy; without it, list all commands"),
	OPT_END,
};

static void help_put_examples(const struct command *command, struct strbuf *out)
{
	const struct command_example *e = command->examples;

	if (e->line)
		strbuf_puts(out, "Examples:\n");
	for (int i = 0; i < COMMAND_EXAMPLES && e[i].line; i++) {
		strbuf_printf(out, "  %s\n      ", e[i].line);
		opt_text_wrap(out, e[i].what, 6);
	}
	if (e->line)
		strbuf_putc(out, '\n');
}

void command_help(const struct command *command, bool all, struct strbuf *out)
{
	strbuf_printf(out, "Usage: hostlat %s ", command->name);
	opt_text_usage(command->options, out);
	strbuf_printf(out, "\n%c%s.\n\n", toupper(command->summary[0]), command->summary + 1);
	help_put_examples(command, out);
	opt_text_help(command->options, all, out);
	if (!all && opt_text_has_rare(command->options))
		strbuf_printf(out, "\nAll options: hostlat %s --help-all\n", command->name);
	if (!command->hidden)
		strbuf_printf(out, "\nFull documentation: man hostlat-%s\n", command->name);
}

/* Adds a line for each task: what a user wants, and the command that does it. */
static void help_put_tasks(const struct command *const *table, struct strbuf *out)
{
	for (; *table; table++)
		if ((*table)->task)
			strbuf_printf(out, "  %-34s%s\n", (*table)->task, (*table)->try);
	strbuf_putc(out, '\n');
}

void command_overview(const struct command *const *table, struct strbuf *out)
{
	strbuf_puts(out, "Usage: hostlat COMMAND [OPTION]...\n"
			 "Where in this host does the latency come from, and why?\n\n");
	help_put_tasks(table, out);
	for (; *table; table++) {
		if (!(*table)->hidden)
			strbuf_printf(out, "  %-12s%s\n", (*table)->name, (*table)->summary);
	}
	strbuf_puts(out, "\n'hostlat COMMAND --help' explains a command; "
			 "'hostlat --version' prints the version.\n"
			 "'hostlat help WORD' explains a word of a result, such as host-noisy or "
			 "cpu-wait,\nand says what to do about it.\n");
}

static void help_offer(const char *word, void *nearest)
{
	nearest_offer(nearest, word);
}

static void help_refuse(const struct command *const *table, const char *topic)
{
	struct strbuf page = STRBUF_INIT(TEXT_MAX);
	struct nearest nearest;

	nearest_init(&nearest, topic);
	for (const struct command *const *at = table; *at; at++)
		if (!(*at)->hidden)
			nearest_offer(&nearest, (*at)->name);
	glossary_for_each(help_offer, &nearest);
	if (pages_put(table, topic, &page))
		log_error("there is no command and no word '%s', but a page: %s", topic,
			  strbuf_str(&page));
	else if (nearest.best)
		log_error("there is no command and no word '%s'; did you mean '%s'?", topic,
			  nearest.best);
	else
		log_error("there is no command and no word '%s'; 'hostlat --help' lists the "
			  "commands, hostlat-causes(7) the words", topic);
	strbuf_release(&page);
}

/* Returns the command of the words, such as "fleet" or "fleet report"; NULL: they are none. */
static const struct command *help_find_command(const struct command *const *table,
					       const struct opt_list *words)
{
	const struct opt_choice *action;

	while (*table && words->len && strcmp((*table)->name, words->items[0]) != 0)
		table++;
	if (!*table || !words->len || words->len > 2)
		return NULL;
	action = opt_text_actions((*table)->options);
	if (words->len == 2)
		while (action && action->name && strcmp(action->name, words->items[1]) != 0)
			action++;
	return words->len == 1 || (action && action->name) ? *table : NULL;
}

static int help_describe(const struct command *const *table, const void *config)
{
	const struct help_config *help = config;
	struct strbuf text = STRBUF_INIT(TEXT_MAX), topic = STRBUF_INIT(TEXT_MAX);
	const struct command *command = help_find_command(table, &help->words);
	int code = EXIT_USAGE;

	for (uint32_t i = 0; i < help->words.len; i++)
		strbuf_printf(&topic, "%s%s", i ? " " : "", help->words.items[i]);
	if (!help->words.len)
		command_overview(table, &text);
	else if (command)
		command_help(command, false, &text);
	/* without memory for the words, printing tells */
	if (text.len || topic.error || glossary_put(strbuf_str(&topic), &text))
		code = command_print(&text);
	else
		help_refuse(table, strbuf_str(&topic));
	strbuf_release(&topic);
	strbuf_release(&text);
	return code;
}

const struct command cmd_help = {
	.name = "help",
	.reads_only = true,
	.summary = "explain a command, or a word of a result",
	.examples = {
		{ "hostlat help watch",
		  "Print the options of hostlat watch" },
		{ "hostlat help host-noisy",
		  "Explain why a result of hostlat load is n/a, and say what to do" },
		{ "hostlat help delayed-ack",
		  "Explain a problem of a connection" },
	},
	.options = help_options,
	.config_size = sizeof(struct help_config),
	.describe = help_describe,
};
