/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

uint32_t utf8_next(const char *s, size_t *len)
{
	/* Smallest code point that needs n + 1 bytes: a smaller value is an overlong form. */
	static const uint32_t smallest[] = { 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)*s;
	uint32_t code;
	size_t more;

	*len = 1;
	if (first < 0x80)
		return first;
	if (first < 0xc0 || first >= 0xf8)
		return UTF8_REPLACEMENT;
	more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
	code = first & (0x3fU >> more);
	for (size_t i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return UTF8_REPLACEMENT;
		code = code << 6 | (s[i] & 0x3fU);
	}
	if (code < smallest[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return UTF8_REPLACEMENT;
	*len = more + 1;
	return code;
}

size_t utf8_width(const char *s)
{
	size_t width = 0, len;

	for (; *s; s += len, width++)
		utf8_next(s, &len);
	return width;
}

/*
 * Invisible code points, which reorder the text around them (Unicode 15, bidirectional controls) or
 * are not displayed (default ignorable, line and paragraph separators).
 */
static const struct {
	uint32_t first, last;
} unseen[] = {
	{ 0x00, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c },
	{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200f },
	{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },
	{ 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffd }, { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

bool utf8_is_visible(uint32_t code)
{
	size_t low = 0, high = sizeof(unseen) / sizeof(unseen[0]);

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (code < unseen[middle].first)
			high = middle;
		else if (code > unseen[middle].last)
			low = middle + 1;
		else
			return false;
	}
	return true;
}

void utf8_put_clean(struct strbuf *out, const char *s)
{
	size_t len;

	for (; *s; s += len) {
		if (utf8_is_visible(utf8_next(s, &len)))
			strbuf_add(out, s, len);
		else
			strbuf_putc(out, '?');
	}
}
