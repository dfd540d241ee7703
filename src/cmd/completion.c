/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hostlat completion SHELL`: prints a script that completes commands, options, choices and file
 * names, generated from the option rows. The script is static: completion does not run hostlat.
 */
#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "cmd/completion_shells.h"

#define TEXT_MAX (1 << 20)

struct completion_config {
	uint32_t shell;
};

enum completion_shell { COMPLETION_BASH, COMPLETION_ZSH, COMPLETION_FISH };

static const struct opt_choice shells[] = {
	{ "bash", COMPLETION_BASH, NULL },
	{ "zsh", COMPLETION_ZSH, NULL },
	{ "fish", COMPLETION_FISH, NULL },
	{ NULL, 0, NULL },
};

static void (*const writers[])(const struct command *const *table, struct strbuf *out) = {
	[COMPLETION_BASH] = completion_put_bash,
	[COMPLETION_ZSH] = completion_put_zsh,
	[COMPLETION_FISH] = completion_put_fish,
};

static const struct opt completion_options[] = {
	OPT_CHOICE(struct completion_config, shell, .name = "SHELL", .positional = true,
		   .required = true, .choices = shells,
		   .help = "Shell that reads the script"),
	OPT_END,
};

static int completion_describe(const struct command *const *table, const void *config)
{
	const struct completion_config *c = config;
	struct strbuf text = STRBUF_INIT(TEXT_MAX);

	writers[c->shell](table, &text);
	return command_print(&text);
}

const struct command cmd_completion = {
	.name = "completion",
	.reads_only = true,
	.summary = "print a completion script for a shell",
	.examples = {
		{ "source <(hostlat completion bash)",
		  "Complete in this bash" },
		{ "source <(hostlat completion zsh)",
		  "The same in zsh, after compinit" },
		{ "hostlat completion fish > ~/.config/fish/completions/hostlat.fish",
		  "Complete in each fish of this user" },
	},
	.options = completion_options,
	.config_size = sizeof(struct completion_config),
	.describe = completion_describe,
};
