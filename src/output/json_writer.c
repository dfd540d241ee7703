/* SPDX-License-Identifier: Apache-2.0 */
#include "output/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bug.h"
#include "base/utf8.h"

void json_writer_init(struct json_writer *w, struct strbuf *out, unsigned int lines)
{
	*w = (struct json_writer){ .out = out, .lines = lines };
}

static void json_put_quoted(struct strbuf *out, const char *s)
{
	size_t len;

	strbuf_putc(out, '"');
	for (; *s; s += len) {
		uint32_t code = utf8_next(s, &len);

		if (code == '"' || code == '\\')
			strbuf_printf(out, "\\%c", (char)code);
		else if (code == 0xfffd)
			strbuf_puts(out, "\xef\xbf\xbd");
		else if (code < 0x10000 && !utf8_is_visible(code))
			strbuf_printf(out, "\\u%04" PRIx32, code);
		else if (!utf8_is_visible(code)) /* above U+FFFF: written as a surrogate pair */
			strbuf_printf(out, "\\u%04" PRIx32 "\\u%04" PRIx32,
				      0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
		else
			strbuf_add(out, s, len);
	}
	strbuf_putc(out, '"');
}

static void json_break_line(struct json_writer *w)
{
	if (w->depth <= w->lines) {
		strbuf_putc(w->out, '\n');
		strbuf_fill(w->out, ' ', 2 * w->depth);
	}
}

/* Writes the comma, the line break and the name that precede a value. */
static void json_begin_value(struct json_writer *w, const char *name)
{
	unsigned int level = w->depth - 1;

	BUG_ON(!name != (!w->depth || w->array[level]));
	if (w->depth) {
		if (w->filled[level])
			strbuf_puts(w->out, w->depth <= w->lines ? "," : ", ");
		w->filled[level] = true;
		json_break_line(w);
	}
	if (name) {
		json_put_quoted(w->out, name);
		strbuf_puts(w->out, ": ");
	}
}

static void json_begin(struct json_writer *w, const char *name, bool array)
{
	json_begin_value(w, name);
	BUG_ON(w->depth == JSON_DEPTH_MAX);
	w->array[w->depth] = array;
	w->filled[w->depth] = false;
	w->depth++;
	strbuf_putc(w->out, array ? '[' : '{');
}

static void json_end(struct json_writer *w, bool array)
{
	bool filled;

	BUG_ON(!w->depth || w->array[w->depth - 1] != array);
	filled = w->filled[w->depth - 1];
	if (filled && w->depth <= w->lines) {
		strbuf_putc(w->out, '\n');
		strbuf_fill(w->out, ' ', 2 * (w->depth - 1));
	}
	w->depth--;
	strbuf_putc(w->out, array ? ']' : '}');
}

void json_begin_object(struct json_writer *w, const char *name)
{
	json_begin(w, name, false);
}

void json_end_object(struct json_writer *w)
{
	json_end(w, false);
}

void json_begin_array(struct json_writer *w, const char *name)
{
	json_begin(w, name, true);
}

void json_end_array(struct json_writer *w)
{
	json_end(w, true);
}

void json_null(struct json_writer *w, const char *name)
{
	json_begin_value(w, name);
	strbuf_puts(w->out, "null");
}

void json_bool(struct json_writer *w, const char *name, bool b)
{
	json_begin_value(w, name);
	strbuf_puts(w->out, b ? "true" : "false");
}

void json_u64(struct json_writer *w, const char *name, uint64_t n)
{
	json_begin_value(w, name);
	strbuf_printf(w->out, "%" PRIu64, n);
}

void json_s64(struct json_writer *w, const char *name, int64_t n)
{
	json_begin_value(w, name);
	strbuf_printf(w->out, "%" PRId64, n);
}

void json_double(struct json_writer *w, const char *name, double d)
{
	if (!isfinite(d)) {
		json_null(w, name);
		return;
	}
	json_begin_value(w, name);
	strbuf_printf(w->out, "%.6g", d);
}

void json_string(struct json_writer *w, const char *name, const char *s)
{
	if (!s) {
		json_null(w, name);
		return;
	}
	json_begin_value(w, name);
	json_put_quoted(w->out, s);
}

void json_document(struct json_writer *w, const char *name, const char *document)
{
	size_t len = strlen(document);

	while (len && strchr(" \t\r\n", document[len - 1]))
		len--;
	json_begin_value(w, name);
	strbuf_add(w->out, document, len);
}
