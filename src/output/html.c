/* SPDX-License-Identifier: Apache-2.0 */
#include "output/html.h"

#include "base/bug.h"
#include "base/version.h"
#include "output/page.h"
#include "base/utf8.h"

#define LEFT_OUT_MAX (1 << 20)
#define WORDS_MAX (1 << 20)
#define TITLE "hostlat report" /* until the page has made one of its results */
#define REPLACEMENT "\xef\xbf\xbd"

/* Writes `s` escaped as text of an element. */
static void html_put_text(struct strbuf *out, const char *s)
{
	size_t len;

	for (; *s; s += len) {
		if (utf8_next(s, &len) == 0xfffd)
			strbuf_puts(out, REPLACEMENT);
		else if (*s == '<')
			strbuf_puts(out, "&lt;");
		else if (*s == '&')
			strbuf_puts(out, "&amp;");
		else
			strbuf_add(out, s, len);
	}
}

/* Writes `s` as a JSON string, escaped so that it may be in an element. */
static void html_put_string(struct strbuf *out, const char *s)
{
	size_t len;

	strbuf_putc(out, '"');
	for (; *s; s += len) {
		unsigned char c = (unsigned char)*s;

		if (utf8_next(s, &len) == 0xfffd)
			strbuf_puts(out, REPLACEMENT);
		else if (c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&')
			strbuf_printf(out, "\\u%04x", c);
		else
			strbuf_add(out, s, len);
	}
	strbuf_putc(out, '"');
}

static void html_put_optional(struct strbuf *out, const char *s)
{
	if (s)
		html_put_string(out, s);
	else
		strbuf_puts(out, "null");
}

void html_begin(struct html *html, struct strbuf *out, const char *title)
{
	*html = (struct html){ .out = out, .left_out = STRBUF_INIT(LEFT_OUT_MAX),
			       .words = STRBUF_INIT(WORDS_MAX) };
	strbuf_add(out, page_before_title, page_before_title_size);
	html_put_text(out, title ? title : TITLE);
	strbuf_add(out, page_before_data, page_before_data_size);
	strbuf_puts(out, "{\"version\":");
	html_put_string(out, hostlat_version());
	strbuf_puts(out, ",\"title\":");
	html_put_optional(out, title);
	strbuf_puts(out, ",\"files\":[");
}

int html_add(struct html *html, const char *name, const char *text, size_t n,
	     struct json_text_fault *fault)
{
	size_t before = html->out->len;
	int err;

	strbuf_puts(html->out, html->documents ? ",\n{\"name\":" : "\n{\"name\":");
	html_put_string(html->out, name);
	strbuf_puts(html->out, ",\"document\":");
	err = json_text_copy(text, n, html->out, fault);
	if (err) {
		strbuf_truncate(html->out, before);
		return err;
	}
	strbuf_putc(html->out, '}');
	html->documents++;
	return html->out->error;
}

void html_add_word(struct html *html, const struct html_word *word)
{
	const char *const texts[] = {
		word->name, word->kind, word->phrase, word->what, word->effect, word->todo,
	};
	struct strbuf *out = &html->words;

	strbuf_puts(out, out->len ? ",\n" : "\n");
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		strbuf_putc(out, i ? ',' : '[');
		html_put_optional(out, texts[i]);
	}
	strbuf_putc(out, ']');
}

void html_leave_out(struct html *html, const char *name, const struct json_text_fault *fault)
{
	struct strbuf *out = &html->left_out;

	strbuf_puts(out, out->len ? ",\n{\"name\":" : "\n{\"name\":");
	html_put_string(out, name);
	strbuf_printf(out, ",\"line\":%zu,\"column\":%zu,\"what\":", fault->line, fault->column);
	html_put_string(out, fault->what);
	strbuf_putc(out, '}');
}

void html_end(struct html *html)
{
	strbuf_puts(html->out, "],\"left_out\":[");
	strbuf_add(html->out, strbuf_str(&html->left_out), html->left_out.len);
	strbuf_puts(html->out, "],\"words\":[");
	strbuf_add(html->out, strbuf_str(&html->words), html->words.len);
	strbuf_puts(html->out, "]}");
	strbuf_add(html->out, page_after_data, page_after_data_size);
	if (!html->out->error)
		html->out->error = html->left_out.error ?: html->words.error;
	strbuf_release(&html->left_out);
	strbuf_release(&html->words);
}
