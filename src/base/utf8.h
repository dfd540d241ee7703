/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8, as far as writing needs it. */
#ifndef HOSTLAT_BASE_UTF8_H
#define HOSTLAT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * The code point at `s` (not at its end). `len` becomes its bytes. Bytes that are not
 * UTF-8 (overlong forms and surrogates included) give 0xfffd one by one.
 */
uint32_t utf8_next(const char *s, size_t *len);

/* Columns of a terminal: one per code point, which holds for all that hostlat itself writes. */
size_t utf8_width(const char *s);

/*
 * False for control characters, for what changes the direction or the order of text, for what has
 * no width, and for 0xfffd.
 */
bool utf8_is_visible(uint32_t code);

/* Appends `s` for a terminal: what is not visible, and what is no UTF-8, becomes '?'. */
void utf8_put_clean(struct strbuf *out, const char *s);

#endif
