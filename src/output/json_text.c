/* SPDX-License-Identifier: Apache-2.0 */
#include "output/json_text.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

struct reader {
	const char *at, *end;
	const char *what; /* the first fault, found at `at`; NULL: none */
	struct strbuf *out;
	char open[JSON_TEXT_DEPTH_MAX]; /* what closes each level */
	unsigned int depth;
	bool opened; /* the innermost of them has nothing in it yet */
};

static bool fail(struct reader *r, const char *what)
{
	if (!r->what)
		r->what = what;
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void skip_space(struct reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

/* The byte here, as it is; NUL at the end. */
static char peek(const struct reader *r)
{
	return r->at < r->end ? *r->at : '\0';
}

static bool take(struct reader *r, char c, const char *what)
{
	skip_space(r);
	if (peek(r) != c || r->at == r->end)
		return fail(r, r->at == r->end ? "the text ends here" : what);
	strbuf_putc(r->out, *r->at++);
	return true;
}

/* What follows a backslash. */
static bool take_escape(struct reader *r)
{
	size_t n = 2;

	if (r->end - r->at < 2 || !r->at[1] || !strchr("\"\\/bfnrtu", r->at[1]))
		return fail(r, "not an escape of JSON");
	if (r->at[1] == 'u') {
		for (n = 2; n < 6; n++)
			if (r->end - r->at <= (ptrdiff_t)n || !r->at[n] ||
			    !strchr("0123456789abcdefABCDEF", r->at[n]))
				return fail(r, "not an escape of JSON");
	}
	strbuf_add(r->out, r->at, n);
	r->at += n;
	return true;
}

static bool take_character(struct reader *r)
{
	unsigned char c = (unsigned char)*r->at;
	size_t len;

	if (c == '\\')
		return take_escape(r);
	if (c < 0x20)
		return fail(r, "a control character in a string");
	if (c == '<' || c == '>' || c == '&') {
		strbuf_printf(r->out, "\\u%04x", c);
		r->at++;
		return true;
	}
	if (utf8_next(r->at, &len) == 0xfffd && len == 1)
		return fail(r, "not UTF-8");
	strbuf_add(r->out, r->at, len);
	r->at += len;
	return true;
}

/* The longest run of characters that need no care goes in one piece. */
static void take_plain(struct reader *r)
{
	const char *from = r->at;

	while (r->at < r->end && *r->at >= 0x20 && *r->at < 0x7f && *r->at != '"' &&
	       *r->at != '\\' && *r->at != '<' && *r->at != '>' && *r->at != '&')
		r->at++;
	strbuf_add(r->out, from, (size_t)(r->at - from));
}

static bool take_string(struct reader *r)
{
	if (!take(r, '"', "a string should begin here"))
		return false;
	for (;;) {
		take_plain(r);
		if (r->at == r->end)
			return fail(r, "the text ends in a string");
		if (*r->at == '"')
			break;
		if (!take_character(r))
			return false;
	}
	strbuf_putc(r->out, *r->at++);
	return true;
}

static bool skip_digits(struct reader *r)
{
	if (!is_digit(peek(r)))
		return fail(r, "a digit should be here");
	while (is_digit(peek(r)))
		r->at++;
	return true;
}

static bool take_number(struct reader *r)
{
	const char *from = r->at, *digits;
	bool whole = true, quoted;

	if (peek(r) == '-')
		r->at++;
	digits = r->at;
	if (peek(r) == '0')
		r->at++;
	else if (!skip_digits(r))
		return false;
	quoted = r->at - digits > JSON_TEXT_DIGITS;
	if (peek(r) == '.') {
		whole = false;
		r->at++;
		if (!skip_digits(r))
			return false;
	}
	if (peek(r) == 'e' || peek(r) == 'E') {
		whole = false;
		r->at++;
		if (peek(r) == '+' || peek(r) == '-')
			r->at++;
		if (!skip_digits(r))
			return false;
	}
	if (whole && quoted)
		strbuf_putc(r->out, '"');
	strbuf_add(r->out, from, (size_t)(r->at - from));
	if (whole && quoted)
		strbuf_putc(r->out, '"');
	return true;
}

static bool take_word(struct reader *r)
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
	return fail(r, r->at == r->end ? "the text ends here" : "a value should be here");
}

static bool take_open(struct reader *r)
{
	if (r->depth == JSON_TEXT_DEPTH_MAX)
		return fail(r, "too many arrays and objects in each other");
	r->open[r->depth++] = *r->at == '{' ? '}' : ']';
	r->opened = true;
	strbuf_putc(r->out, *r->at++);
	return true;
}

static bool take_name(struct reader *r)
{
	skip_space(r);
	return take_string(r) && take(r, ':', "a colon should be here");
}

/* A value, or the beginning of one that holds others. */
static bool take_value(struct reader *r)
{
	char c;

	skip_space(r);
	r->opened = false;
	c = peek(r);
	if (c == '{' || c == '[')
		return take_open(r);
	if (c == '"')
		return take_string(r);
	if (c == '-' || is_digit(c))
		return take_number(r);
	return take_word(r);
}

/* After a value: what it closes, and the comma before the next. */
static bool take_ends(struct reader *r)
{
	while (r->depth) {
		skip_space(r);
		if (peek(r) != r->open[r->depth - 1])
			return take(r, ',', "a comma or the end should be here");
		strbuf_putc(r->out, *r->at++);
		r->depth--;
		r->opened = false;
	}
	return true;
}

static bool is_empty(struct reader *r)
{
	skip_space(r);
	return peek(r) == r->open[r->depth - 1];
}

static bool take_member(struct reader *r)
{
	return (r->open[r->depth - 1] != '}' || take_name(r)) && take_value(r);
}

static bool take_all(struct reader *r)
{
	skip_space(r);
	if (peek(r) != '{')
		return fail(r, "an object should begin here");
	take_open(r);
	while (r->depth) {
		unsigned int depth = r->depth;

		if (r->opened && is_empty(r)) {
			if (!take_ends(r))
				return false;
			continue;
		}
		if (!take_member(r) || (r->depth == depth && !take_ends(r)))
			return false;
	}
	skip_space(r);
	return r->at == r->end || fail(r, "something follows the object");
}

static void place(const char *text, const char *at, struct json_text_fault *fault)
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
	struct reader r = { .at = text, .end = text + n };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		size_t len = strlen(begins[i]);

		skip_space(&r);
		if ((size_t)(r.end - r.at) < len || memcmp(r.at, begins[i], len) != 0)
			return false;
		r.at += len;
	}
	return true;
}

int json_text_copy(const char *text, size_t n, struct strbuf *out, struct json_text_fault *fault)
{
	struct reader r = { .at = text, .end = text + n, .out = out };
	size_t before = out->len;

	if (!take_all(&r)) {
		strbuf_truncate(out, before);
		place(text, r.at, fault);
		fault->what = r.what;
		return -EBADMSG;
	}
	if (out->error)
		strbuf_truncate(out, before);
	return out->error;
}
