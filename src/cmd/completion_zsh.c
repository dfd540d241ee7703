/* SPDX-License-Identifier: Apache-2.0 */
/* `hostlat completion zsh`: a completion function, to be sourced or to be found in fpath. */
#include "cmd/completion_shells.h"

#include <string.h>

#include "base/opt_row.h"
#include "cmd/completion_words.h"

#define SPECIAL "[]:\\"

static const char zsh_head[] =
	"#compdef hostlat\n"
	"# hostlat completion for zsh, made by: hostlat completion zsh\n"
	"_hostlat() {\n"
	"\tlocal curcontext=$curcontext command\n"
	"\tlocal -a commands\n"
	"\tif (( CURRENT == 2 )); then\n"
	"\t\tcommands=(\n";

static const char zsh_tail[] =
	"\tesac\n"
	"}\n"
	"if [[ $funcstack[1] == _hostlat ]]; then _hostlat \"$@\"\n"
	"else compdef _hostlat hostlat\n"
	"fi\n";

/* Adds ":WORD:ACTION" of a value. */
static void completion_zsh_put_value(const struct opt *row, struct strbuf *out)
{
	strbuf_putc(out, ':');
	completion_words_text(row->positional ? row->name : opt_metavar(row), SPECIAL, out);
	if (row->choices) {
		strbuf_puts(out, row->type == OPT_TYPE_SET ? ":_sequence compadd - " : ":(");
		completion_words_choices(row, out);
		strbuf_puts(out, row->type == OPT_TYPE_SET ? "" : ")");
	} else {
		strbuf_puts(out, row->file ? ":_files" : ": ");
	}
}

/* Adds one argument of _arguments; `dashes` is "--" or "-". */
static void completion_zsh_put_option(const struct opt *row, const char *dashes, const char *name,
				      struct strbuf *out)
{
	const bool value = row->type != OPT_TYPE_FLAG;

	strbuf_printf(out, "\t\t\t'%s%s%s%s[", opt_repeats(row) ? "*" : "", dashes, name,
		      !value ? "" : dashes[1] ? "=" : "+");
	completion_words_text(row->help, SPECIAL, out);
	strbuf_putc(out, ']');
	if (value)
		completion_zsh_put_value(row, out);
	strbuf_puts(out, "' \\\n");
}

static void completion_zsh_put_row(const struct opt *row, struct strbuf *out)
{
	if (row->hidden)
		return;
	if (row->positional) {
		strbuf_printf(out, "\t\t\t'%s", opt_repeats(row) ? "*" : "");
		completion_zsh_put_value(row, out);
		strbuf_puts(out, "' \\\n");
		return;
	}
	completion_zsh_put_option(row, "--", row->name, out);
	if (row->letter)
		completion_zsh_put_option(row, "-", (char[]){ row->letter, '\0' }, out);
}

static void completion_zsh_put_command(const struct command *command, struct strbuf *out)
{
	struct opt_table table;

	opt_flatten(command->options, &table);
	strbuf_printf(out, "\t%s)\n\t\t_arguments -s \\\n", command->name);
	for (uint32_t i = 0; i < table.len; i++)
		completion_zsh_put_row(table.slots[i].row, out);
	completion_zsh_put_row(&opt_help_row, out);
	strbuf_puts(out, "\t\t\t'--help-all[Show all options and exit]';;\n");
}

void completion_put_zsh(const struct command *const *table, struct strbuf *out)
{
	strbuf_puts(out, zsh_head);
	for (const struct command *const *c = table; *c; c++) {
		if ((*c)->hidden)
			continue;
		strbuf_printf(out, "\t\t\t'%s:", (*c)->name);
		completion_words_text((*c)->summary, ":\\", out);
		strbuf_puts(out, "'\n");
	}
	strbuf_puts(out, "\t\t)\n\t\t_describe command commands\n"
			 "\t\tcompadd - --help --version\n\t\treturn\n\tfi\n"
			 "\tcommand=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n"
			 "\tcase $command in\n\thelp) compadd - ");
	completion_words_help(table, out);
	strbuf_puts(out, ";;\n");
	for (; *table; table++)
		if (!(*table)->hidden && strcmp((*table)->name, "help") != 0)
			completion_zsh_put_command(*table, out);
	strbuf_puts(out, zsh_tail);
}
