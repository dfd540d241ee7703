/* SPDX-License-Identifier: Apache-2.0 */
#include "output/ascii.h"

#include <stdint.h>

#include "base/bug.h"
#include "base/utf8.h"

void ascii_fold(const char *s, struct strbuf *out)
{
	static const struct {
		uint32_t code;
		char ascii;
	} folds[] = {
		{ 0xb5, 'u' }, { 0xb1, '~' }, { 0x2026, '~' }, { 0xb7, '.' },
		{ 0x2581, '.' }, { 0x2582, ':' }, { 0x2583, '-' }, { 0x2584, '=' },
		{ 0x2585, '+' }, { 0x2586, '*' }, { 0x2587, '#' }, { 0x2588, '@' },
	};
	size_t len;

	for (; *s; s += len) {
		uint32_t code = utf8_next(s, &len);
		char ascii = code < 0x80 ? (char)code : '?';

		for (size_t i = 0; i < ARRAY_LEN(folds); i++) {
			if (folds[i].code == code)
				ascii = folds[i].ascii;
		}
		strbuf_putc(out, ascii);
	}
}
