/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8, as far as writing needs it. */
#ifndef HOSTLAT_OUTPUT_UTF8_H
#define HOSTLAT_OUTPUT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * The code point at `s` (not at its end). `len` becomes its bytes. Bytes that are not
 * UTF-8 (overlong forms and surrogates included) give 0xfffd one by one.
 */
uint32_t utf8_next(const char *s, size_t *len);

/* Columns of a terminal: one per code point, which holds for all that hostlat itself writes. */
size_t utf8_width(const char *s);

#endif
