/* SPDX-License-Identifier: Apache-2.0 */
/* The UTF-8 functions that output needs. */
#ifndef HOSTLAT_BASE_UTF8_H
#define HOSTLAT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define UTF8_REPLACEMENT 0xfffd
#define UTF8_REPLACEMENT_TEXT "\xef\xbf\xbd"

/*
 * Returns the code point at `s` (not at its end); *len: its number of bytes. Bytes that are not
 * UTF-8 (including overlong forms and surrogates) give 0xfffd one by one.
 */
uint32_t utf8_next(const char *s, size_t *len);

/* Returns columns of a terminal: one for each code point, which is true of hostlat's own text. */
size_t utf8_width(const char *s);

/*
 * Returns false for control characters, characters that change the direction or order of text,
 * characters without width, and 0xfffd.
 */
bool utf8_is_visible(uint32_t code);

/* Appends `s` for a terminal: invisible characters and bytes that are not UTF-8 become '?'. */
void utf8_put_clean(struct strbuf *out, const char *s);

#endif
