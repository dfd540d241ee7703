/* SPDX-License-Identifier: Apache-2.0 */
/* `hostlat help` and the output of --help. */
#include <ctype.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/opt_text.h"
#include "cmd/cmd.h"
#include "cmd/glossary.h"

#define TEXT_MAX (1 << 20)

struct help_config {
	const char *topic;
};

static const struct opt help_options[] = {
	OPT_STRING(struct help_config, topic, .name = "COMMAND|WORD", .positional = true,
		   .help = "Command to explain, or word of a result (a reason, a cause, a stage, "
			   "a connection's problem or limit), such as host-noisy; without it, list "
			   "all commands"),
	OPT_END,
};

void command_help(const struct command *command, struct strbuf *out)
{
	strbuf_printf(out, "Usage: hostlat %s ", command->name);
	opt_text_usage(command->options, out);
	strbuf_printf(out, "\n%c%s.\n\n", toupper(command->summary[0]), command->summary + 1);
	opt_text_help(command->options, out);
	if (!command->hidden)
		strbuf_printf(out, "\nFull documentation: man hostlat-%s\n", command->name);
}

void command_overview(const struct command *const *table, struct strbuf *out)
{
	strbuf_puts(out, "Usage: hostlat COMMAND [OPTION]...\n"
			 "Where in this host does the latency come from, and why?\n\n");
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

static int help_refuse(const struct command *const *table, const char *topic)
{
	struct nearest nearest;

	nearest_init(&nearest, topic);
	for (; *table; table++)
		if (!(*table)->hidden)
			nearest_offer(&nearest, (*table)->name);
	glossary_for_each(help_offer, &nearest);
	if (nearest.best)
		log_error("there is no command and no word '%s'; did you mean '%s'?", topic,
			  nearest.best);
	else
		log_error("there is no command and no word '%s'; 'hostlat --help' lists the "
			  "commands, hostlat-causes(7) the words", topic);
	return EXIT_USAGE;
}

static int help_describe(const struct command *const *table, const void *config)
{
	const struct help_config *help = config;
	struct strbuf text = STRBUF_INIT(TEXT_MAX);
	const struct command *const *at = table;

	if (!help->topic) {
		command_overview(table, &text);
		return command_print(&text);
	}
	while (*at && strcmp((*at)->name, help->topic) != 0)
		at++;
	if (*at)
		command_help(*at, &text);
	else if (!glossary_put(help->topic, &text))
		return help_refuse(table, help->topic);
	return command_print(&text);
}

const struct command cmd_help = {
	.name = "help",
	.reads_only = true,
	.summary = "explain a command, or a word of a result",
	.options = help_options,
	.config_size = sizeof(struct help_config),
	.describe = help_describe,
};
