/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

#define SPACE " \t\n"

void words_die(const struct words *w, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%u: ", w->path, w->line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void words_split(struct words *w, char *line)
{
	w->n = w->at = 0;
	for (;;) {
		char end = ' ';

		line += strspn(line, SPACE);
		if (!*line || *line == '#')
			return;
		if (w->n == WORDS_MAX)
			words_die(w, "more than %d words", WORDS_MAX);
		if (*line == '"')
			end = *line++;
		w->word[w->n++] = line;
		line += end == '"' ? strcspn(line, "\"") : strcspn(line, SPACE);
		if (*line)
			*line++ = '\0';
	}
}

bool words_more(const struct words *w)
{
	return w->at < w->n;
}

char *words_next(struct words *w)
{
	if (!words_more(w))
		words_die(w, "a word is missing after '%s'", w->n ? w->word[w->n - 1] : "");
	return w->word[w->at++];
}

uint64_t words_parse_number(const struct words *w, const char *text)
{
	uint64_t n = 0;

	if (parse_u64(text, &n))
		words_die(w, "'%s' is no number", text);
	return n;
}

uint64_t words_parse_duration(const struct words *w, const char *text)
{
	uint64_t ns = 0;

	if (strcmp(text, "0") != 0 && parse_duration(text, &ns))
		words_die(w, "'%s' is no time", text);
	return ns;
}

uint64_t words_number(struct words *w)
{
	return words_parse_number(w, words_next(w));
}

uint64_t words_duration(struct words *w)
{
	return words_parse_duration(w, words_next(w));
}
