/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks and copies JSON from other programs for a page that JavaScript reads.
 *
 * Accepts only RFC 8259's grammar, as JSON.parse() does: one value, which is an object; strings are
 * UTF-8 without raw control characters. The copy has the same values, written with these
 * differences:
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

#define JSON_TEXT_DEPTH_MAX 64 /* levels of arrays and objects */
#define JSON_TEXT_DIGITS 15    /* any whole number of up to this many digits is exact as a double */

/* Position of a fault; line and column count from 1. */
struct json_text_fault {
	size_t line;
	size_t column;    /* in bytes, not characters */
	const char *what; /* description of the fault; static */
};

/* Returns true if a text begins as every result of hostlat does: {"hostlat": { */
bool json_text_is_result(const char *text, size_t n);

/*
 * Appends a copy of `n` bytes of text, which a NUL must follow. Returns 0, -EBADMSG and the error
 * in `fault`, or the error of `out`; after an error `out` is unchanged.
 */
int json_text_copy(const char *text, size_t n, struct strbuf *out, struct json_text_fault *fault);

#endif
