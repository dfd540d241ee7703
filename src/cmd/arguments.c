/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/arguments.h"

#include <stdarg.h>

void arguments_add(struct child_arguments *w, const char *text)
{
	if (w->n + 1 < CHILD_WORDS_MAX)
		w->words[w->n++] = text;
}

void arguments_add_option(struct child_arguments *w, const char *name, const char *value)
{
	if (!value)
		return;
	arguments_add(w, name);
	arguments_add(w, value);
}

const char *arguments_format(struct child_arguments *w, const char *fmt, ...)
{
	struct strbuf *text = &w->texts[w->made++];
	va_list args;

	*text = (struct strbuf)STRBUF_INIT(65536);
	va_start(args, fmt);
	strbuf_vprintf(text, fmt, args);
	va_end(args);
	return strbuf_str(text);
}

void arguments_add_number(struct child_arguments *w, const char *name, uint64_t value)
{
	if (value)
		arguments_add_option(w, name,
				     arguments_format(w, "%llu", (unsigned long long)value));
}

void arguments_release(struct child_arguments *w)
{
	for (size_t i = 0; i < w->made; i++)
		strbuf_release(&w->texts[i]);
}
