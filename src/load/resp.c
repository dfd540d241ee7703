/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RESP2 and RESP3: a value is a type byte and a line. Data of the size in the line may follow, or
 * as many further values. Values in aggregates are only counted, at any depth: each aggregate adds
 * the number of its values to the number of values that are left.
 */
#include "load/resp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "load/text.h"
#include "load/workload.h"

#define LINE_BYTES 2048
#define BULK_MAX (1ULL << 30)
#define VALUES_MAX (1ULL << 32)
#define DIGITS_MAX 20

enum resp_phase { KIND, TEXT, SIZE, SIZE_END, DATA, DATA_END };

struct resp_state {
	uint8_t phase;
	uint8_t status; /* enum reply_status */
	char kind;      /* type byte of the current value */
	uint8_t form;   /* enum resp_form of the current value */
	bool begun;     /* the current value is the reply, or a value within it */
	uint8_t digits; /* characters parsed of the number, including its sign */
	uint8_t negative; /* the number is negative: as a size, the null value of RESP2 */
	uint8_t ends;   /* bytes of "\r\n" parsed */
	uint8_t cr;     /* the last byte of the text was '\r' */
	uint32_t line;  /* bytes parsed of the text */
	uint64_t left;  /* size or count; bytes left of the data; not 0 if an integer is not 0 */
	uint64_t values; /* values left within the reply, or within what precedes it */
};

_Static_assert(sizeof(struct resp_state) <= PROTOCOL_PARSER_BYTES, "the state has its limit");

/* ---- Requests ---- */

/* Writes "$SIZE\r\nKEY\r\n". */
static char *resp_put_key(char *p, const struct workload *w, uint64_t key)
{
	char text[WORKLOAD_KEY_MAX];
	size_t size = workload_key_text(w, key, text);

	*p++ = '$';
	p = text_put_u64(p, size);
	p = TEXT_PUT(p, "\r\n");
	p = text_put(p, text, size);
	return TEXT_PUT(p, "\r\n");
}

static char *resp_put_get(char *p, const struct workload *w, const struct operation *o)
{
	return resp_put_key(TEXT_PUT(p, "*2\r\n$3\r\nGET\r\n"), w, o->key);
}

static char *resp_put_set(char *p, const struct workload *w, const struct operation *o)
{
	p = resp_put_key(TEXT_PUT(p, "*3\r\n$3\r\nSET\r\n"), w, o->key);
	*p++ = '$';
	p = text_put_u64(p, o->size);
	p = TEXT_PUT(p, "\r\n");
	p = text_put(p, workload_bytes(w), o->size);
	return TEXT_PUT(p, "\r\n");
}

static char *resp_put_delete(char *p, const struct workload *w, const struct operation *o)
{
	return resp_put_key(TEXT_PUT(p, "*2\r\n$3\r\nDEL\r\n"), w, o->key);
}

const protocol_put resp_put[OPERATIONS] = {
	[OPERATION_GET] = resp_put_get,
	[OPERATION_SET] = resp_put_set,
	[OPERATION_DELETE] = resp_put_delete,
};

/* The greeting has at most both commands: user and password, and the database. */
_Static_assert(sizeof(((struct target *)0)->user) + sizeof(((struct target *)0)->password) + 128 <
		       PROTOCOL_GREETING_MAX, "both commands fit");

/* Writes one word of a command. Returns its end. */
static char *resp_put_word(char *p, const char *word)
{
	const size_t size = strlen(word);

	*p++ = '$';
	p = text_put_u64(p, size);
	p = TEXT_PUT(p, "\r\n");
	p = text_put(p, word, size);
	return TEXT_PUT(p, "\r\n");
}

/* Writes a command of `n` words. Returns its end. */
static char *resp_put_words(char *p, const char *const *words, size_t n)
{
	*p++ = '*';
	p = text_put_u64(p, n);
	p = TEXT_PUT(p, "\r\n");
	for (size_t i = 0; i < n; i++)
		p = resp_put_word(p, words[i]);
	return p;
}

/*
 * Writes AUTH, or HELLO with AUTH in it. A password alone is that of the user "default", whom HELLO
 * must name; servers before Redis 6 know only AUTH with a password.
 */
static char *resp_put_login(char *p, const struct target *t)
{
	const char *const user = *t->user ? t->user : "default";
	const char *const hello[] = { "HELLO", "3", "AUTH", user, t->password };
	const char *const auth[] = { "AUTH", user, t->password }, *const old[] = { "AUTH",
										   t->password };

	if (t->resp3)
		return resp_put_words(p, hello, t->has_user ? 5 : 2);
	return *t->user ? resp_put_words(p, auth, 3) : resp_put_words(p, old, 2);
}

size_t resp_greet(const struct target *t, char out[PROTOCOL_GREETING_MAX], unsigned int *replies)
{
	char number[16], *p = out;

	*replies = 0;
	if (t->has_user || t->resp3) {
		p = resp_put_login(p, t);
		++*replies;
	}
	if (t->database) {
		snprintf(number, sizeof(number), "%u", t->database);
		p = resp_put_words(p, (const char *const[]){ "SELECT", number }, 2);
		++*replies;
	}
	return (size_t)(p - out);
}

/* ---- Replies ---- */

/* The form of a value, which its type byte determines. */
enum resp_form { UNKNOWN, LINE, INTEGER, SIZED, COUNTED };

static enum resp_form resp_form(char kind)
{
	switch (kind) {
	case '+': /* text */
	case '-': /* error */
	case '_': /* null */
	case '#': /* boolean */
	case ',': /* double */
	case '(': /* big number */
		return LINE;
	case ':':
		return INTEGER;
	case '$': /* value */
	case '=': /* verbatim text */
	case '!': /* error */
		return SIZED;
	case '*': /* array */
	case '~': /* set */
	case '%': /* map */
	case '|': /* attributes, before a value */
	case '>': /* push, between replies */
		return COUNTED;
	default:
		return UNKNOWN;
	}
}

/* Valid type bytes of the reply to each operation; attributes and pushes may precede any reply. */
static const char *const kinds[OPERATIONS] = {
	[OPERATION_GET] = "$_-!", [OPERATION_SET] = "+_-!", [OPERATION_DELETE] = ":-!",
};

/* Attributes describe the following value; pushes come between replies. */
static bool resp_is_prefix(char kind)
{
	return kind == '|' || kind == '>';
}

static bool resp_is_error(char kind)
{
	return kind == '-' || kind == '!';
}

/* Whether no value that the current one belongs to has begun. */
static bool resp_is_top(const struct resp_state *s)
{
	return !s->values;
}

static bool resp_is_valid(const struct resp_state *s, char kind, uint16_t type)
{
	if (kind == '|' || (kind == '>' && resp_is_top(s)))
		return true;
	if (resp_is_top(s) && type < OPERATIONS)
		return kind && kinds[type] && strchr(kinds[type], kind);
	return resp_form(kind) != UNKNOWN && kind != '>';
}

static int resp_step_kind(struct resp_state *s, struct text_cursor *c, uint16_t type)
{
	const char kind = *c->p++;

	if (!resp_is_valid(s, kind, type))
		return -EPROTO;
	s->kind = kind;
	s->left = s->line = s->digits = 0;
	s->negative = s->cr = false;
	s->form = resp_form(kind);
	s->phase = s->form == LINE ? TEXT : SIZE;
	if (resp_is_top(s) && !resp_is_prefix(kind)) {
		s->begun = true;
		s->status = resp_is_error(kind) ? REPLY_ERROR : kind == '_' ? REPLY_MISS : REPLY_OK;
		if (s->status == REPLY_ERROR)
			error_text_begin(parser_error_text(s));
	}
	return 0;
}

/* Ends the current value. Returns 1 if it is the last one of the reply. */
static int resp_end_value(struct resp_state *s)
{
	const bool pairs = s->kind == '%' || s->kind == '|';
	const uint64_t more = s->form == COUNTED && !s->negative ? s->left << pairs : 0;

	if (!resp_is_top(s) && !resp_is_prefix(s->kind))
		s->values--;
	s->values += more;
	s->phase = KIND;
	if (s->values > VALUES_MAX)
		return -EPROTO;
	return s->begun && !s->values && !resp_is_prefix(s->kind);
}

/* Whether the current value is an error reply, not an error within a reply. */
static bool resp_tells_error(const struct resp_state *s)
{
	return resp_is_top(s) && resp_is_error(s->kind);
}

/* Parses text up to "\r\n". */
static int resp_step_text(struct resp_state *s, struct text_cursor *c)
{
	size_t n = (size_t)(c->end - c->p);
	const char *newline = memchr(c->p, '\n', n);
	bool cr = s->cr;

	if (newline) {
		n = (size_t)(newline + 1 - c->p);
		if (n > 1)
			cr = newline[-1] == '\r';
	}
	if (n > LINE_BYTES - s->line || (newline && !cr))
		return -EPROTO;
	if (resp_tells_error(s))
		error_text_add(parser_error_text(s), c->p, n);
	s->cr = c->p[n - 1] == '\r';
	s->line += (uint32_t)n;
	c->p += n;
	return newline ? resp_end_value(s) : 0;
}

/* Adds a digit: to a size or count; of an integer, only whether it is 0 is stored. */
static int resp_add_digit(struct resp_state *s, char digit)
{
	if (s->form == INTEGER)
		s->left |= digit != '0';
	else
		s->left = s->left * 10 + (uint64_t)(digit - '0');
	return s->left > BULK_MAX ? -EPROTO : 0;
}

/*
 * Returns whether the number is complete and valid. The size or count -1 means the null value of
 * RESP2; a number of deleted keys must not be negative.
 */
static bool resp_number_is_valid(const struct resp_state *s, uint16_t type)
{
	if (s->digits <= s->negative)
		return false;
	if (!s->negative)
		return true;
	if (s->form == INTEGER)
		return type != OPERATION_DELETE || !resp_is_top(s);
	return (s->kind == '$' || s->kind == '*') && s->digits == 2 && s->left == 1;
}

/* Parses the number after ":" (an integer), or another type with a size or count. */
static int resp_step_size(struct resp_state *s, struct text_cursor *c, uint16_t type)
{
	for (; c->p < c->end && *c->p != '\r'; c->p++) {
		if (s->digits == DIGITS_MAX)
			return -EPROTO;
		if (*c->p == '-' && !s->digits)
			s->negative = true;
		else if (*c->p < '0' || *c->p > '9' || resp_add_digit(s, *c->p))
			return -EPROTO;
		s->digits++;
	}
	if (c->p == c->end)
		return 0;
	s->phase = SIZE_END;
	return resp_number_is_valid(s, type) ? 0 : -EPROTO;
}

/* Parses the end of a number's line, or of data. */
static int resp_step_end(struct resp_state *s, struct text_cursor *c, uint16_t type)
{
	int err = text_line_end(c, &s->ends);

	if (err <= 0)
		return err;
	if (s->phase == DATA_END || s->form != SIZED || s->negative) {
		const bool zero = s->form == INTEGER && type == OPERATION_DELETE && !s->left;

		if (resp_is_top(s) && (zero || (s->negative && s->form != INTEGER)))
			s->status = REPLY_MISS;
		return resp_end_value(s);
	}
	s->phase = s->left ? DATA : DATA_END;
	return 0;
}

static void resp_step_data(struct resp_state *s, struct text_cursor *c)
{
	const char *from = c->p;

	if (text_skip(c, &s->left))
		s->phase = DATA_END;
	if (resp_tells_error(s))
		error_text_add(parser_error_text(s), from, (size_t)(c->p - from));
}

static int resp_step(struct resp_state *s, struct text_cursor *c, uint16_t type)
{
	switch ((enum resp_phase)s->phase) {
	case KIND:
		return resp_step_kind(s, c, type);
	case TEXT:
		return resp_step_text(s, c);
	case SIZE:
		return resp_step_size(s, c, type);
	case DATA:
		resp_step_data(s, c);
		return 0;
	case SIZE_END:
	case DATA_END:
		return resp_step_end(s, c, type);
	}
	return -EPROTO;
}

int resp_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
	       size_t *used, struct reply *out)
{
	struct resp_state *s = (struct resp_state *)parser->state;
	struct text_cursor c = { data, size ? (const char *)data + size : data };
	int done = 0;

	while (!done && c.p < c.end)
		done = resp_step(s, &c, type);
	*used = (size_t)(c.p - (const char *)data);
	if (done == 1) {
		*out = (struct reply){ .status = s->status };
		if (s->status == REPLY_ERROR)
			out->error_text = &parser->error_text;
	}
	if (done == 1 || (s->phase == KIND && !s->begun && !s->values))
		*s = (struct resp_state){ 0 };
	return done;
}
