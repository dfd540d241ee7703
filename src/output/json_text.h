/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON text of somebody else, checked and copied for a page that JavaScript reads.
 *
 * What is accepted is RFC 8259's grammar and nothing more, as JSON.parse() does: one value, which
 * is an object; strings are UTF-8 without raw control characters. The copy has the same values with
 * these differences in how they are written:
 *  - no white space between tokens;
 *  - "<", ">" and "&" in strings are \u003c, \u003e and \u0026, so that no text can end the
 *    element of HTML that it stands in, or begin another;
 *  - a whole number of more than JSON_TEXT_DIGITS digits is a string of its digits: a reader that
 *    keeps numbers as doubles would change it.
 */
#ifndef HOSTLAT_OUTPUT_JSON_TEXT_H
#define HOSTLAT_OUTPUT_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define JSON_TEXT_DEPTH_MAX 64 /* nested arrays and objects */
#define JSON_TEXT_DIGITS 15    /* any whole number of so many digits is a double, exactly */

/* Place of a fault; line and column count from 1. */
struct json_text_fault {
	size_t line;
	size_t column;    /* in bytes */
	const char *what; /* description of the fault; static */
};

/* Returns true if a text begins as each result of hostlat does: {"hostlat": { */
bool json_text_is_result(const char *text, size_t n);

/*
 * Appends the copy of `n` bytes of text, which a NUL must follow. Returns 0, -EBADMSG with `fault`
 * filled, or the error of `out`; then `out` has what it had before.
 */
int json_text_copy(const char *text, size_t n, struct strbuf *out, struct json_text_fault *fault);

#endif
