/* SPDX-License-Identifier: Apache-2.0 */
#include "output/utf8.h"

#define REPLACEMENT 0xfffd

uint32_t utf8_next(const char *s, size_t *len)
{
	/* The smallest code point that needs n + 1 bytes: less is an overlong form. */
	static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
	unsigned char first = (unsigned char)*s;
	uint32_t code;
	size_t more;

	*len = 1;
	if (first < 0x80)
		return first;
	if (first < 0xc0 || first >= 0xf8)
		return REPLACEMENT;
	more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
	code = first & (0x3fU >> more);
	for (size_t i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return REPLACEMENT;
		code = code << 6 | (s[i] & 0x3fU);
	}
	if (code < smallest[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return REPLACEMENT;
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
