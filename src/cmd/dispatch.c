/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line and runs the command that it names. */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/opt_parse.h"
#include "base/privilege.h"
#include "base/version.h"
#include "cmd/cmd.h"

#define TEXT_MAX (1 << 20)

static int dispatch_run(const struct command *command, const struct command *const *table,
			void *config)
{
	BUG_ON(!command->run == !command->describe);
	if (command->reads_only)
		privilege_read_only();
	return command->run ? command->run(config) : command->describe(table, config);
}

static int dispatch_parse(const struct command *command, const struct command *const *table,
			  int argc, char **argv)
{
	struct strbuf text = STRBUF_INIT(TEXT_MAX);
	void *config = calloc(1, command->config_size);
	int result;

	if (!config) {
		log_error("out of memory");
		return EXIT_CANNOT;
	}
	result = opt_parse(command->options, config, argc, argv, &text);
	switch (result) {
	case OPT_PARSED:
		result = dispatch_run(command, table, config);
		break;
	case OPT_HELP:
	case OPT_HELP_ALL:
		strbuf_reset(&text);
		command_help(command, result == OPT_HELP_ALL, &text);
		result = command_print(&text);
		break;
	default:
		log_error("%s: %s", command->name, strbuf_str(&text));
		result = EXIT_USAGE;
	}
	free(config);
	strbuf_release(&text);
	return result;
}

static int dispatch_version(void)
{
	struct strbuf text = STRBUF_INIT(TEXT_MAX);

	strbuf_printf(&text, "hostlat %s\n", hostlat_version());
	return command_print(&text);
}

static int dispatch_overview(const struct command *const *table)
{
	struct strbuf text = STRBUF_INIT(TEXT_MAX);

	command_overview(table, &text);
	return command_print(&text);
}

int dispatch(const struct command *const *table, int argc, char **argv)
{
	const struct command *command;

	privilege_no_new();
	if (argc < 2)
		return dispatch_overview(table) ?: EXIT_USAGE;
	if (strcmp(argv[1], "--version") == 0)
		return dispatch_version();
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return dispatch_overview(table);
	if (argv[1][0] == '-') {
		log_error("there is no option '%s' here; put the command first (only --help and "
			  "--version may stand in its place)", argv[1]);
		return EXIT_USAGE;
	}
	command = command_find(table, argv[1]);
	if (!command)
		return EXIT_USAGE;
	return dispatch_parse(command, table, argc - 2, argv + 2);
}
