/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of a server's error reply, as it came: the one line of memcached and Redis; of
 * HTTP the status, the reason phrase and the start of the body, with a line feed between them.
 */
#ifndef HOSTLAT_LOAD_ERROR_TEXT_H
#define HOSTLAT_LOAD_ERROR_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ERROR_TEXT_MAX 127
#define ERROR_TEXT_CLEAN_MAX 112 /* of the cleaned text, with its NUL */
#define ERROR_TEXT_WORD_MAX 24

struct error_text {
	uint8_t len;
	char text[ERROR_TEXT_MAX];
};

static inline void error_text_begin(struct error_text *text)
{
	text->len = 0;
}

/* Keeps as many of these bytes as there is room for. */
static inline void error_text_add(struct error_text *text, const char *bytes, size_t n)
{
	const size_t room = (size_t)(ERROR_TEXT_MAX - text->len);

	n = n < room ? n : room;
	if (!n)
		return;
	memcpy(text->text + text->len, bytes, n);
	text->len += (uint8_t)n;
}

/*
 * Writes one line of printable ASCII: other bytes become '?', or end the text where they show that
 * it is none. Of an HTML page only the title is taken. "" if nothing was kept.
 */
void error_text_clean(const struct error_text *text, char out[ERROR_TEXT_CLEAN_MAX]);

/*
 * Keeps a description of bytes that are not of the protocol: the name of another protocol, or the
 * line that holds bytes[at], in quotes. Keeps nothing if that line is no text.
 */
void error_text_garbled(struct error_text *text, const char *bytes, size_t size, size_t at);

/* Writes the first word if it looks like a code ("NOAUTH", "SERVER_ERROR"); otherwise "". */
void error_text_word(const struct error_text *text, char out[ERROR_TEXT_WORD_MAX]);

#endif
