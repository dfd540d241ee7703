/* SPDX-License-Identifier: Apache-2.0 */
/* Splits text requests into lines and words, for the server's parsers. */
#ifndef HOSTLAT_LOAD_SERVE_LINE_H
#define HOSTLAT_LOAD_SERVE_LINE_H

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#include "load/serve_request.h"

struct serve_word {
	const char *at;
	size_t len;
};

/* Returns the length of the first line with its newline; 0: incomplete; -EPROTO: too long. */
static inline ssize_t serve_line(struct serve_state *state, const char *data, size_t size)
{
	const char *end = memchr(data + state->scanned, '\n', size - state->scanned);

	state->scanned = 0;
	if (end)
		return end + 1 - data;
	if (size >= SERVE_LINE_MAX)
		return -EPROTO;
	state->scanned = (uint32_t)size;
	return 0;
}

/* Splits a line into words at spaces, up to `max`. Returns their number. */
static inline size_t serve_words(const char *line, size_t len, struct serve_word *words, size_t max)
{
	const char *end = line + len;
	size_t n = 0;

	while (n < max) {
		const char *from;

		while (line < end && (*line == ' ' || *line == '\r' || *line == '\n'))
			line++;
		from = line;
		while (line < end && *line != ' ' && *line != '\r' && *line != '\n')
			line++;
		if (line == from)
			break;
		words[n++] = (struct serve_word){ from, (size_t)(line - from) };
	}
	return n;
}

static inline bool serve_word_is(const struct serve_word *word, const char *text)
{
	return strlen(text) == word->len && strncasecmp(word->at, text, word->len) == 0;
}

/* Parses a decimal number up to `max`. Returns 0 or -EPROTO. */
static inline int serve_number(const struct serve_word *word, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;

	for (size_t i = 0; i < word->len; i++) {
		if (word->at[i] < '0' || word->at[i] > '9' || value > max / 10)
			return -EPROTO;
		value = value * 10 + (uint64_t)(word->at[i] - '0');
	}
	if (!word->len || value > max)
		return -EPROTO;
	*out = value;
	return 0;
}

static inline void serve_keep_key(struct serve_request *out, const char *key, size_t len)
{
	out->key_len = (uint32_t)(len < SERVE_KEY_MAX ? len : SERVE_KEY_MAX);
	memcpy(out->key, key, out->key_len);
}

#endif
