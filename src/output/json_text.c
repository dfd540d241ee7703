/* SPDX-License-Identifier: Apache-2.0 */
#include "output/json_text.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"

struct json_text_reader {
	const char *at, *end;
	const char *what; /* description of the first fault, which is at `at`; NULL: none */
	struct strbuf *out;
	char open[JSON_TEXT_DEPTH_MAX]; /* closing bracket of each open level */
	unsigned int depth;
	bool opened; /* the innermost level has no value yet */
};

static bool json_text_fail(struct json_text_reader *r, const char *what)
{
	if (!r->what)
		r->what = what;
	return false;
}

static void json_text_skip_space(struct json_text_reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

/* Returns the byte at the current position; NUL at the end. */
static char json_text_peek(const struct json_text_reader *r)
{
	return r->at < r->end ? *r->at : '\0';
}

static bool json_text_expect(struct json_text_reader *r, char c, const char *what)
{
	json_text_skip_space(r);
	if (json_text_peek(r) != c || r->at == r->end)
		return json_text_fail(r, r->at == r->end ? "unexpected end of the text" : what);
	strbuf_putc(r->out, *r->at++);
	return true;
}

/* Copies an escape after its backslash. Returns false at a fault. */
static bool json_text_copy_escape(struct json_text_reader *r)
{
	size_t n = 2;

	if (r->end - r->at < 2 || !r->at[1] || !strchr("\"\\/bfnrtu", r->at[1]))
		return json_text_fail(r, "not a JSON escape");
	if (r->at[1] == 'u') {
		for (n = 2; n < 6; n++)
			if (r->end - r->at <= (ptrdiff_t)n || !r->at[n] ||
			    !strchr("0123456789abcdefABCDEF", r->at[n]))
				return json_text_fail(r, "not a JSON escape");
	}
	strbuf_add(r->out, r->at, n);
	r->at += n;
	return true;
}

static bool json_text_copy_character(struct json_text_reader *r)
{
	unsigned char c = (unsigned char)*r->at;
	size_t len;

	if (c == '\\')
		return json_text_copy_escape(r);
	if (c < 0x20)
		return json_text_fail(r, "a control character in a string");
	if (c == '<' || c == '>' || c == '&') {
		strbuf_printf(r->out, "\\u%04x", c);
		r->at++;
		return true;
	}
	if (utf8_next(r->at, &len) == 0xfffd && len == 1)
		return json_text_fail(r, "not UTF-8");
	strbuf_add(r->out, r->at, len);
	r->at += len;
	return true;
}

/* Copies the longest run of characters that need no escape. */
static void json_text_copy_plain(struct json_text_reader *r)
{
	const char *from = r->at;

	while (r->at < r->end && *r->at >= 0x20 && *r->at < 0x7f && *r->at != '"' &&
	       *r->at != '\\' && *r->at != '<' && *r->at != '>' && *r->at != '&')
		r->at++;
	strbuf_add(r->out, from, (size_t)(r->at - from));
}

static bool json_text_copy_string(struct json_text_reader *r)
{
	if (!json_text_expect(r, '"', "expected a string"))
		return false;
	for (;;) {
		json_text_copy_plain(r);
		if (r->at == r->end)
			return json_text_fail(r, "the text ends inside a string");
		if (*r->at == '"')
			break;
		if (!json_text_copy_character(r))
			return false;
	}
	strbuf_putc(r->out, *r->at++);
	return true;
}

static bool json_text_skip_digits(struct json_text_reader *r)
{
	if (!parse_is_digit(json_text_peek(r)))
		return json_text_fail(r, "expected a digit");
	while (parse_is_digit(json_text_peek(r)))
		r->at++;
	return true;
}

static bool json_text_copy_number(struct json_text_reader *r)
{
	const char *from = r->at, *digits;
	bool whole = true, quoted;

	if (json_text_peek(r) == '-')
		r->at++;
	digits = r->at;
	if (json_text_peek(r) == '0')
		r->at++;
	else if (!json_text_skip_digits(r))
		return false;
	quoted = r->at - digits > JSON_TEXT_DIGITS;
	if (json_text_peek(r) == '.') {
		whole = false;
		r->at++;
		if (!json_text_skip_digits(r))
			return false;
	}
	if (json_text_peek(r) == 'e' || json_text_peek(r) == 'E') {
		whole = false;
		r->at++;
		if (json_text_peek(r) == '+' || json_text_peek(r) == '-')
			r->at++;
		if (!json_text_skip_digits(r))
			return false;
	}
	if (whole && quoted)
		strbuf_putc(r->out, '"');
	strbuf_add(r->out, from, (size_t)(r->at - from));
	if (whole && quoted)
		strbuf_putc(r->out, '"');
	return true;
}

static bool json_text_copy_word(struct json_text_reader *r)
{
	static const char *const words[] = { "null", "true", "false" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(r->end - r->at) >= n && !memcmp(r->at, words[i], n)) {
			strbuf_add(r->out, words[i], n);
			r->at += n;
			return true;
		}
	}
	return json_text_fail(r, r->at == r->end ? "unexpected end of the text" :
						   "expected a value");
}

static bool json_text_copy_open(struct json_text_reader *r)
{
	if (r->depth == JSON_TEXT_DEPTH_MAX)
		return json_text_fail(r, "arrays and objects are nested too deeply");
	r->open[r->depth++] = *r->at == '{' ? '}' : ']';
	r->opened = true;
	strbuf_putc(r->out, *r->at++);
	return true;
}

static bool json_text_copy_name(struct json_text_reader *r)
{
	json_text_skip_space(r);
	return json_text_copy_string(r) && json_text_expect(r, ':', "expected a colon");
}

/* Copies a value, or the opening bracket of an array or object. Returns false at a fault. */
static bool json_text_copy_value(struct json_text_reader *r)
{
	char c;

	json_text_skip_space(r);
	r->opened = false;
	c = json_text_peek(r);
	if (c == '{' || c == '[')
		return json_text_copy_open(r);
	if (c == '"')
		return json_text_copy_string(r);
	if (c == '-' || parse_is_digit(c))
		return json_text_copy_number(r);
	return json_text_copy_word(r);
}

/* Copies closing brackets after a value, and the comma before the next. False at a fault. */
static bool json_text_copy_ends(struct json_text_reader *r)
{
	while (r->depth) {
		json_text_skip_space(r);
		if (json_text_peek(r) != r->open[r->depth - 1])
			return json_text_expect(r, ',', "expected a comma or a closing bracket");
		strbuf_putc(r->out, *r->at++);
		r->depth--;
		r->opened = false;
	}
	return true;
}

static bool json_text_is_empty(struct json_text_reader *r)
{
	json_text_skip_space(r);
	return json_text_peek(r) == r->open[r->depth - 1];
}

static bool json_text_copy_member(struct json_text_reader *r)
{
	return (r->open[r->depth - 1] != '}' || json_text_copy_name(r)) && json_text_copy_value(r);
}

static bool json_text_copy_document(struct json_text_reader *r)
{
	json_text_skip_space(r);
	if (json_text_peek(r) != '{')
		return json_text_fail(r, "expected an object");
	json_text_copy_open(r);
	while (r->depth) {
		unsigned int depth = r->depth;

		if (r->opened && json_text_is_empty(r)) {
			if (!json_text_copy_ends(r))
				return false;
			continue;
		}
		if (!json_text_copy_member(r) || (r->depth == depth && !json_text_copy_ends(r)))
			return false;
	}
	json_text_skip_space(r);
	return r->at == r->end || json_text_fail(r, "unexpected text after the object");
}

static void json_text_locate(const char *text, const char *at, struct json_text_fault *fault)
{
	const char *line = text;

	fault->line = 1;
	for (const char *p = text; p < at; p++) {
		if (*p == '\n') {
			fault->line++;
			line = p + 1;
		}
	}
	fault->column = (size_t)(at - line) + 1;
}

bool json_text_is_result(const char *text, size_t n)
{
	static const char *const begins[] = { "{", "\"hostlat\"", ":", "{" };
	struct json_text_reader r = { .at = text, .end = text + n };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		size_t len = strlen(begins[i]);

		json_text_skip_space(&r);
		if ((size_t)(r.end - r.at) < len || memcmp(r.at, begins[i], len) != 0)
			return false;
		r.at += len;
	}
	return true;
}

int json_text_copy(const char *text, size_t n, struct strbuf *out, struct json_text_fault *fault)
{
	struct json_text_reader r = { .at = text, .end = text + n, .out = out };
	size_t before = out->len;

	if (!json_text_copy_document(&r)) {
		strbuf_truncate(out, before);
		json_text_locate(text, r.at, fault);
		fault->what = r.what;
		return -EBADMSG;
	}
	if (out->error)
		strbuf_truncate(out, before);
	return out->error;
}
