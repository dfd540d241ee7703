/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/json_string.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define ESCAPES "an unknown escape (write \\\", \\\\, \\/, \\b, \\f, \\n, \\r, \\t or \\u0041)"

static bool is_high_surrogate(uint32_t code)
{
	return code >= 0xd800 && code < 0xdc00;
}

static bool is_low_surrogate(uint32_t code)
{
	return code >= 0xdc00 && code < 0xe000;
}

/* Reads four hexadecimal digits. */
static int json_string_hex(struct csv *text, uint32_t *code)
{
	*code = 0;
	for (int i = 0; i < 4; i++) {
		const unsigned char c = (unsigned char)*text->at;

		if (text->at == text->end || !isxdigit(c))
			return csv_fail(text, ESCAPES);
		*code = *code << 4 | (uint32_t)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
		csv_advance(text);
	}
	return 0;
}

/* Writes a code point as UTF-8, which is never longer than its escape. */
static void json_string_put(uint32_t code, char **to)
{
	const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
	static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };

	*(*to)++ = (char)(first[more] | code >> (6 * more));
	for (int i = more - 1; i >= 0; i--)
		*(*to)++ = (char)(0x80 | (code >> (6 * i) & 0x3f));
}

/* Reads what follows \u, with the second half of a surrogate pair. */
static int json_string_unicode(struct csv *text, char **to)
{
	uint32_t code, low = 0;
	int err = json_string_hex(text, &code);

	if (!err && is_high_surrogate(code)) {
		for (const char *c = "\\u"; *c && !err; c++) {
			err = csv_is_at(text, *c) ? 0 : -EINVAL;
			if (!err)
				csv_advance(text);
		}
		err = err ?: json_string_hex(text, &low);
		if (err || !is_low_surrogate(low))
			return csv_fail(text, "half of a surrogate pair (write both halves)");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	if (err)
		return err;
	if (!code)
		return csv_fail(text, "a NUL character: no name has one");
	if (is_low_surrogate(code))
		return csv_fail(text, "half of a surrogate pair (write both halves)");
	json_string_put(code, to);
	return 0;
}

/* Reads what follows a backslash. */
static int json_string_escape(struct csv *text, char **to)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char c = text->at < text->end ? *text->at : '\0';
	const char *found = c ? strchr(names, c) : NULL;

	if (!found && c != 'u')
		return csv_fail(text, ESCAPES);
	csv_advance(text);
	if (!found)
		return json_string_unicode(text, to);
	*(*to)++ = values[found - names];
	return 0;
}

int json_string_read(struct csv *text, char **to)
{
	const struct csv begin = *text;
	int err = 0;

	csv_advance(text);
	while (!err && !csv_is_at(text, '"')) {
		if (text->at == text->end) {
			*text = begin;
			return csv_fail(text, "a string does not end (close it with \")");
		}
		if ((unsigned char)*text->at < 0x20)
			return csv_fail(text, "a control character in a string (remove it)");
		if (!csv_is_at(text, '\\')) {
			*(*to)++ = *text->at;
			csv_advance(text);
			continue;
		}
		csv_advance(text);
		err = json_string_escape(text, to);
	}
	if (!err)
		csv_advance(text);
	return err;
}
