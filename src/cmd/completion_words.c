/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/completion_words.h"

#include <string.h>

#include "cmd/glossary.h"

#define TEXT_BYTES_MAX 72

void completion_words_commands(const struct command *const *table, struct strbuf *out)
{
	for (; *table; table++) {
		if (!(*table)->hidden)
			strbuf_printf(out, "%s ", (*table)->name);
	}
}

static void completion_words_add(const char *word, void *out)
{
	strbuf_printf(out, "%s ", word);
}

void completion_words_choices(const struct opt *row, struct strbuf *out)
{
	for (const struct opt_choice *choice = row->choices; choice->name; choice++)
		strbuf_printf(out, "%s%s", choice == row->choices ? "" : " ", choice->name);
}

void completion_words_help(const struct command *const *table, struct strbuf *out)
{
	completion_words_commands(table, out);
	glossary_for_each(completion_words_add, out);
}

void completion_words_text(const char *text, const char *special, struct strbuf *out)
{
	size_t len = strlen(text);

	if (len > TEXT_BYTES_MAX) {
		len = TEXT_BYTES_MAX;
		while (len && text[len] != ' ')
			len--;
	}
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\'')
			strbuf_puts(out, "'\\''");
		else if (strchr(special, text[i]))
			strbuf_printf(out, "\\%c", text[i]);
		else
			strbuf_putc(out, text[i]);
	}
	if (text[len])
		strbuf_puts(out, " ...");
}
