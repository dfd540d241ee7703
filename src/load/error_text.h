/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first bytes of a server's error reply: for memcached and Redis the error line; for HTTP the
 * status, the reason phrase and the start of the body, separated by line feeds.
 */
#ifndef HOSTLAT_LOAD_ERROR_TEXT_H
#define HOSTLAT_LOAD_ERROR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ERROR_TEXT_MAX 127
#define ERROR_TEXT_CLEAN_MAX 112 /* size of the cleaned text, with its NUL */
#define ERROR_TEXT_WORD_MAX 24

struct error_text {
	uint8_t len;
	char text[ERROR_TEXT_MAX];
};

static inline void error_text_begin(struct error_text *text)
{
	text->len = 0;
}

/* Appends `bytes` as far as they fit. */
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
 * Writes the text as one line of printable ASCII; "": no text. Other bytes become '?'; a binary
 * body is omitted; an HTML page is reduced to its title.
 */
void error_text_clean(const struct error_text *text, char out[ERROR_TEXT_CLEAN_MAX]);

/*
 * Stores a description of bytes that do not belong to the protocol: the name of another protocol,
 * or the line that contains bytes[at], in quotes; nothing if that line is binary. `http2`: they
 * should be HTTP/2.
 */
void error_text_garbled(struct error_text *text, const char *bytes, size_t size, size_t at,
			bool http2);

/*
 * Returns whether the text of an error reply means that the server refuses any such request: from
 * a client without a login or a permission, or of a command that it does not know.
 */
bool error_text_denies(const char *text, size_t size);

/* Writes the first word if it looks like an error code ("NOAUTH", "SERVER_ERROR"); otherwise "". */
void error_text_word(const struct error_text *text, char out[ERROR_TEXT_WORD_MAX]);

#endif
