/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of a server's error reply, as it came: the one line of memcached and Redis; of
 * HTTP the status, the reason phrase and the start of the body, with a line feed between them.
 */
#ifndef HOSTLAT_LOAD_SAID_H
#define HOSTLAT_LOAD_SAID_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SAID_MAX 127
#define SAID_TEXT_MAX 112 /* of the cleaned text, with its NUL */
#define SAID_WORD_MAX 24

struct said {
	uint8_t len;
	char text[SAID_MAX];
};

static inline void said_begin(struct said *said)
{
	said->len = 0;
}

/* Keeps as many of these bytes as there is room for. */
static inline void said_add(struct said *said, const char *bytes, size_t n)
{
	const size_t room = (size_t)(SAID_MAX - said->len);

	n = n < room ? n : room;
	if (!n)
		return;
	memcpy(said->text + said->len, bytes, n);
	said->len += (uint8_t)n;
}

/*
 * Writes one line of printable ASCII: other bytes become '?', or end the text where they show that
 * it is none. Of an HTML page only the title is taken. "" if nothing was kept.
 */
void said_clean(const struct said *said, char out[SAID_TEXT_MAX]);

/*
 * Keeps a description of bytes that are not of the protocol: the name of another protocol, or the
 * line that holds bytes[at], in quotes. Keeps nothing if that line is no text.
 */
void said_garbled(struct said *said, const char *bytes, size_t size, size_t at);

/* Writes the first word if it looks like a code ("NOAUTH", "SERVER_ERROR"); otherwise "". */
void said_word(const struct said *said, char out[SAID_WORD_MAX]);

#endif
