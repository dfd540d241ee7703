/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers of text protocols. Requests are written into a buffer of sufficient size; replies are
 * parsed in pieces of any size.
 */
#ifndef HOSTLAT_LOAD_TEXT_H
#define HOSTLAT_LOAD_TEXT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/parse.h"

static inline char *text_put(char *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return to + size;
}

#define TEXT_PUT(to, literal) text_put(to, literal, sizeof(literal) - 1)

static inline char *text_put_u64(char *to, uint64_t value)
{
	char digits[20], *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + value % 10);
	while (value /= 10);
	return text_put(to, p, (size_t)(digits + sizeof(digits) - p));
}

/* Returns the value of a hexadecimal digit, or -1. */
static inline int text_hex_digit(char c)
{
	if (parse_is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Received bytes that are not parsed yet. */
struct text_cursor {
	const char *p, *end;
};

/* Skips up to *left received bytes, and reduces *left. Returns true if *left is 0. */
static inline bool text_skip(struct text_cursor *c, uint64_t *left)
{
	const size_t here = (size_t)(c->end - c->p), n = *left < here ? (size_t)*left : here;

	c->p += n;
	*left -= n;
	return !*left;
}

/*
 * Parses the next byte of "\r\n"; *seen counts the bytes parsed before (0 or 1). Returns 1 at the
 * end, with *seen reset; 0 before; -EPROTO at another byte. The cursor must not be empty.
 */
static inline int text_line_end(struct text_cursor *c, uint8_t *seen)
{
	if (*c->p++ != "\r\n"[*seen])
		return -EPROTO;
	*seen = !*seen;
	return !*seen;
}

#endif
