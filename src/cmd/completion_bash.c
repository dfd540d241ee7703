/* SPDX-License-Identifier: Apache-2.0 */
/* `hostlat completion bash`: a function that reads COMP_WORDS. */
#include "cmd/completion_shells.h"

#include <string.h>

#include "base/opt_row.h"
#include "cmd/completion_words.h"

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

/* Writes the script's lines that complete the value of an option. */
static void completion_bash_put_value(const struct opt *row, struct strbuf *out)
{
	if (row->choices) {
		strbuf_puts(out, "_hostlat_words '");
		completion_words_choices(row, out);
		strbuf_putc(out, '\'');
	} else if (row->file) {
		strbuf_puts(out, "_hostlat_files");
	} else {
		strbuf_putc(out, ':');
	}
}

static void completion_bash_put_pattern(const struct opt *row, struct strbuf *out)
{
	strbuf_printf(out, "--%s", row->name);
	if (row->letter)
		strbuf_printf(out, "|-%c", row->letter);
}

static void completion_bash_put_values(const struct opt_table *table, struct strbuf *out)
{
	strbuf_puts(out, "\t\tcase $prev in\n");
	for (uint32_t i = 0; i < table->len; i++) {
		const struct opt *row = table->slots[i].row;

		if (row->positional || row->hidden || row->type == OPT_TYPE_FLAG)
			continue;
		strbuf_puts(out, "\t\t");
		completion_bash_put_pattern(row, out);
		strbuf_puts(out, ") ");
		completion_bash_put_value(row, out);
		strbuf_puts(out, "; return;;\n");
	}
	strbuf_puts(out, "\t\tesac\n");
}

static void completion_bash_put_names(const struct opt_table *table, struct strbuf *out)
{
	strbuf_puts(out, "\t\tcase $cur in\n\t\t-*) _hostlat_words '");
	for (uint32_t i = 0; i < table->len; i++) {
		if (!table->slots[i].row->positional && !table->slots[i].row->hidden)
			strbuf_printf(out, "--%s ", table->slots[i].row->name);
	}
	strbuf_printf(out, "--%s --%s';;\n", opt_help_row.name, opt_help_all_row.name);
	for (uint32_t i = 0; i < table->len; i++) {
		if (!table->slots[i].row->positional)
			continue;
		strbuf_puts(out, "\t\t*) ");
		completion_bash_put_value(table->slots[i].row, out);
		strbuf_puts(out, ";;\n");
		break;
	}
	strbuf_puts(out, "\t\tesac\n");
}

static void completion_bash_put_command(const struct command *command, struct strbuf *out)
{
	struct opt_table table;

	opt_flatten(command->options, &table);
	strbuf_printf(out, "\t%s)\n", command->name);
	completion_bash_put_values(&table, out);
	completion_bash_put_names(&table, out);
	strbuf_puts(out, "\t\t;;\n");
}

void completion_put_bash(const struct command *const *table, struct strbuf *out)
{
	strbuf_puts(out, script_head);
	strbuf_puts(out, "\t\t_hostlat_words '");
	completion_words_commands(table, out);
	strbuf_puts(out, "--help --version'\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n");
	strbuf_puts(out, "\thelp) _hostlat_words '");
	completion_words_help(table, out);
	strbuf_puts(out, "';;\n");
	for (; *table; table++) {
		if (!(*table)->hidden && strcmp((*table)->name, "help") != 0)
			completion_bash_put_command(*table, out);
	}
	strbuf_puts(out, script_tail);
}
