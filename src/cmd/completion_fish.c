/* SPDX-License-Identifier: Apache-2.0 */
/* `hostlat completion fish`: calls of fish's `complete`, one for each option. */
#include "cmd/completion_shells.h"

#include "base/opt_row.h"
#include "cmd/completion_words.h"

#define SPECIAL "\\"

static void completion_fish_put_values(const struct opt *row, struct strbuf *out)
{
	if (row->file) {
		strbuf_puts(out, " -F");
	} else if (row->choices) {
		strbuf_puts(out, row->type == OPT_TYPE_SET ? " -a '(__fish_append , " : " -a '");
		completion_words_choices(row, out);
		strbuf_puts(out, row->type == OPT_TYPE_SET ? ")'" : "'");
	}
}

static void completion_fish_put_row(const struct command *command, const struct opt *row,
				    struct strbuf *out)
{
	if (row->hidden || (row->positional && !row->file && !row->choices))
		return;
	strbuf_printf(out, "complete -c hostlat -n '__fish_seen_subcommand_from %s'",
		      command->name);
	if (!row->positional)
		strbuf_printf(out, " -l %s", row->name);
	if (row->letter)
		strbuf_printf(out, " -s %c", row->letter);
	if (!row->positional && row->type != OPT_TYPE_FLAG)
		strbuf_puts(out, row->file ? " -r" : " -x");
	completion_fish_put_values(row, out);
	if (!row->positional) {
		strbuf_puts(out, " -d '");
		completion_words_text(row->help, SPECIAL, out);
		strbuf_putc(out, '\'');
	}
	strbuf_putc(out, '\n');
}

static void completion_fish_put_command(const struct command *command, struct strbuf *out)
{
	struct opt_table table;

	opt_flatten(command->options, &table);
	for (uint32_t i = 0; i < table.len; i++)
		completion_fish_put_row(command, table.slots[i].row, out);
	completion_fish_put_row(command, &opt_help_row, out);
	completion_fish_put_row(command, &opt_help_all_row, out);
}

void completion_put_fish(const struct command *const *table, struct strbuf *out)
{
	strbuf_puts(out, "# hostlat completion for fish, made by: hostlat completion fish\n"
			 "complete -c hostlat -f\n"
			 "complete -c hostlat -n __fish_use_subcommand -l help -d 'Show help'\n"
			 "complete -c hostlat -n __fish_use_subcommand -l version "
			 "-d 'Show the version'\n"
			 "complete -c hostlat -n '__fish_seen_subcommand_from help' -a '");
	completion_words_help(table, out);
	strbuf_puts(out, "'\n");
	for (const struct command *const *c = table; *c; c++) {
		if ((*c)->hidden)
			continue;
		strbuf_printf(out, "complete -c hostlat -n __fish_use_subcommand -a %s -d '",
			      (*c)->name);
		completion_words_text((*c)->summary, SPECIAL, out);
		strbuf_puts(out, "'\n");
		completion_fish_put_command(*c, out);
	}
}
