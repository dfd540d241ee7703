/* SPDX-License-Identifier: Apache-2.0 */
#include "base/csv_field.h"

#include <string.h>

#include "base/utf8.h"

void csv_field_put(struct strbuf *out, const char *text)
{
	const bool quoted = strpbrk(text, ",\"\r\n");

	if (quoted)
		strbuf_putc(out, '"');
	for (size_t len; *text; text += len) {
		const bool broken = utf8_next(text, &len) == UTF8_REPLACEMENT && len == 1;

		if (*text == '"')
			strbuf_putc(out, '"');
		if (broken)
			strbuf_puts(out, UTF8_REPLACEMENT_TEXT);
		else
			strbuf_add(out, text, len);
	}
	if (quoted)
		strbuf_putc(out, '"');
}
