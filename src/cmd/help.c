/* SPDX-License-Identifier: Apache-2.0 */
/* `hostlat help` and the output of --help. */
#include <ctype.h>

#include "base/opt_text.h"
#include "cmd/cmd.h"

#define TEXT_MAX (1 << 20)

struct help_config {
	const char *command;
};

static const struct opt help_options[] = {
	OPT_STRING(struct help_config, command, .name = "COMMAND", .positional = true,
		   .help = "Command to explain; without it, list all commands"),
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
			 "'hostlat --version' prints the version.\n");
}

static int help_describe(const struct command *const *table, const void *config)
{
	const struct help_config *help = config;
	struct strbuf text = STRBUF_INIT(TEXT_MAX);
	const struct command *command;

	if (!help->command) {
		command_overview(table, &text);
		return command_print(&text);
	}
	command = command_find(table, help->command);
	if (!command)
		return EXIT_USAGE;
	command_help(command, &text);
	return command_print(&text);
}

const struct command cmd_help = {
	.name = "help",
	.reads_only = true,
	.summary = "explain a command",
	.options = help_options,
	.config_size = sizeof(struct help_config),
	.describe = help_describe,
};
