/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hostlat completion bash`: prints a script that completes commands, options, choices and file
 * names, generated from the option rows. The script is static: completion does not run hostlat.
 */
#include <string.h>

#include "base/opt_row.h"
#include "cmd/cmd.h"
#include "cmd/glossary.h"

#define TEXT_MAX (1 << 20)

struct completion_config {
	uint32_t shell;
};

static const struct opt_choice shells[] = {
	{ "bash", 0, NULL },
	{ NULL, 0, NULL },
};

static const struct opt completion_options[] = {
	OPT_CHOICE(struct completion_config, shell, .name = "SHELL", .positional = true,
		   .required = true, .choices = shells,
		   .help = "Shell that reads the script; for bash: source <(hostlat completion "
			   "bash)"),
	OPT_END,
};

/*
 * Head of the script. bash passes "--color=always" as three words, one of them "=". In the value of
 * a list option, such as "a,b", the script completes the part after the last comma.
 */
static const char script_head[] =
	"# hostlat completion for bash, made by: hostlat completion bash\n"
	"_hostlat_words() {\n"
	"\tlocal last=${cur##*,}\n"
	"\tCOMPREPLY=($(compgen -P \"${cur%\"$last\"}\" -W \"$1\" -- \"$last\"))\n"
	"}\n"
	"_hostlat_files() {\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
	"}\n"
	"_hostlat() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tCOMPREPLY=()\n"
	"\tif [ \"$cur\" = = ]; then cur=\n"
	"\telif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}\n"
	"\tfi\n"
	"\tif [ \"$COMP_CWORD\" = 1 ]; then\n";

static const char script_tail[] =
	"\tesac\n"
	"}\n"
	"complete -F _hostlat hostlat\n";

static void completion_put_commands(const struct command *const *table, struct strbuf *out)
{
	for (; *table; table++) {
		if (!(*table)->hidden)
			strbuf_printf(out, "%s ", (*table)->name);
	}
}

static void completion_put_word(const char *word, void *out)
{
	strbuf_printf(out, "%s ", word);
}

static void completion_put_choices(const struct opt *row, struct strbuf *out)
{
	for (const struct opt_choice *choice = row->choices; choice->name; choice++)
		strbuf_printf(out, "%s%s", choice == row->choices ? "" : " ", choice->name);
}

/* Writes the script's lines that complete the value of an option. */
static void completion_put_value(const struct opt *row, struct strbuf *out)
{
	if (row->choices) {
		strbuf_puts(out, "_hostlat_words '");
		completion_put_choices(row, out);
		strbuf_putc(out, '\'');
	} else if (row->file) {
		strbuf_puts(out, "_hostlat_files");
	} else {
		strbuf_putc(out, ':');
	}
}

static void completion_put_pattern(const struct opt *row, struct strbuf *out)
{
	strbuf_printf(out, "--%s", row->name);
	if (row->letter)
		strbuf_printf(out, "|-%c", row->letter);
}

static void completion_put_values(const struct opt_table *table, struct strbuf *out)
{
	strbuf_puts(out, "\t\tcase $prev in\n");
	for (uint32_t i = 0; i < table->len; i++) {
		const struct opt *row = table->slots[i].row;

		if (row->positional || row->hidden || row->type == OPT_TYPE_FLAG)
			continue;
		strbuf_puts(out, "\t\t");
		completion_put_pattern(row, out);
		strbuf_puts(out, ") ");
		completion_put_value(row, out);
		strbuf_puts(out, "; return;;\n");
	}
	strbuf_puts(out, "\t\tesac\n");
}

static void completion_put_names(const struct opt_table *table, struct strbuf *out)
{
	strbuf_puts(out, "\t\tcase $cur in\n\t\t-*) _hostlat_words '");
	for (uint32_t i = 0; i < table->len; i++) {
		if (!table->slots[i].row->positional && !table->slots[i].row->hidden)
			strbuf_printf(out, "--%s ", table->slots[i].row->name);
	}
	strbuf_printf(out, "--%s';;\n", opt_help_row.name);
	for (uint32_t i = 0; i < table->len; i++) {
		if (!table->slots[i].row->positional)
			continue;
		strbuf_puts(out, "\t\t*) ");
		completion_put_value(table->slots[i].row, out);
		strbuf_puts(out, ";;\n");
		break;
	}
	strbuf_puts(out, "\t\tesac\n");
}

static void completion_put_command(const struct command *command, struct strbuf *out)
{
	struct opt_table table;

	opt_flatten(command->options, &table);
	strbuf_printf(out, "\t%s)\n", command->name);
	completion_put_values(&table, out);
	completion_put_names(&table, out);
	strbuf_puts(out, "\t\t;;\n");
}

static int completion_describe(const struct command *const *table, const void *config)
{
	struct strbuf text = STRBUF_INIT(TEXT_MAX);

	(void)config; /* no options: bash is the only shell */
	strbuf_puts(&text, script_head);
	strbuf_puts(&text, "\t\t_hostlat_words '");
	completion_put_commands(table, &text);
	strbuf_puts(&text, "--help --version'\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n");
	strbuf_puts(&text, "\thelp) _hostlat_words '");
	completion_put_commands(table, &text);
	glossary_for_each(completion_put_word, &text);
	strbuf_puts(&text, "';;\n");
	for (; *table; table++) {
		if (!(*table)->hidden && strcmp((*table)->name, "help") != 0)
			completion_put_command(*table, &text);
	}
	strbuf_puts(&text, script_tail);
	return command_print(&text);
}

const struct command cmd_completion = {
	.name = "completion",
	.reads_only = true,
	.summary = "print a completion script for a shell",
	.examples = {
		{ "source <(hostlat completion bash)",
		  "Complete in the current shell" },
		{ "hostlat completion bash > /etc/bash_completion.d/hostlat",
		  "Complete for all users" },
	},
	.options = completion_options,
	.config_size = sizeof(struct completion_config),
	.describe = completion_describe,
};
