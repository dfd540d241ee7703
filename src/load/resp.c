/* SPDX-License-Identifier: Apache-2.0 */
/* RESP: a reply is a type byte and a line; after "$", data of the size in the line follows. */
#include "load/resp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "load/text.h"
#include "load/workload.h"

#define LINE_BYTES 2048
#define BULK_MAX (1ULL << 30)

enum resp_phase { KIND, TEXT, SIZE, SIZE_END, DATA, DATA_END };

struct resp_state {
	uint8_t phase;
	uint8_t status; /* enum reply_status */
	uint8_t digits; /* characters parsed of the size, including its sign */
	uint8_t null;   /* the size is negative: the value is null */
	uint8_t integer; /* the number is the reply itself, not a size */
	uint8_t ends;   /* bytes of "\r\n" parsed */
	uint8_t cr;     /* the last byte of the text was '\r' */
	uint32_t line;  /* bytes parsed of the text */
	uint64_t left;
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

/* The greeting is AUTH with user and password, then SELECT. */
_Static_assert(sizeof(((struct target *)0)->user) + sizeof(((struct target *)0)->password) + 128 <
		       PROTOCOL_GREETING_MAX, "both commands fit");

size_t resp_greet(const struct target *t, char out[PROTOCOL_GREETING_MAX], unsigned int *replies)
{
	char number[16];
	size_t n = 0;

	*replies = 0;
	if (t->has_user) {
		n += (size_t)snprintf(out, PROTOCOL_GREETING_MAX, "*%d\r\n$4\r\nAUTH\r\n",
				      *t->user ? 3 : 2);
		if (*t->user)
			n += (size_t)snprintf(out + n, PROTOCOL_GREETING_MAX - n,
					      "$%zu\r\n%s\r\n", strlen(t->user), t->user);
		n += (size_t)snprintf(out + n, PROTOCOL_GREETING_MAX - n, "$%zu\r\n%s\r\n",
				      strlen(t->password), t->password);
		++*replies;
	}
	if (t->database) {
		snprintf(number, sizeof(number), "%u", t->database);
		n += (size_t)snprintf(out + n, PROTOCOL_GREETING_MAX - n,
				      "*2\r\n$6\r\nSELECT\r\n$%zu\r\n%s\r\n",
				      strlen(number), number);
		++*replies;
	}
	return n;
}

/* ---- Replies ---- */

/* Valid type bytes of the reply to each operation: $ value, + text, : number, _ null, - error. */
static const char *const kinds[OPERATIONS] = {
	[OPERATION_GET] = "$_-", [OPERATION_SET] = "+_-", [OPERATION_DELETE] = ":-",
};

static int resp_step_kind(struct resp_state *s, struct text_cursor *c, uint16_t type)
{
	const char kind = *c->p++, *known = kinds[type];

	while (*known && *known != kind)
		known++;
	s->integer = kind == ':';
	s->status = kind == '-' ? REPLY_ERROR : kind == '_' ? REPLY_MISS : REPLY_OK;
	s->phase = kind == '$' || kind == ':' ? SIZE : TEXT;
	if (kind == '-')
		error_text_begin(parser_error_text(s));
	return *known ? 0 : -EPROTO;
}

/* Parses text up to "\r\n". Returns 1 at its end. */
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
	if (s->status == REPLY_ERROR)
		error_text_add(parser_error_text(s), c->p, n);
	s->cr = c->p[n - 1] == '\r';
	s->line += (uint32_t)n;
	c->p += n;
	return newline != NULL;
}

/*
 * Parses the number after "$" (a size) or ":" (deleted keys). The size "-1" means the null value of
 * RESP2; a number of deleted keys must not be negative.
 */
static int resp_step_size(struct resp_state *s, struct text_cursor *c)
{
	for (; c->p < c->end && *c->p != '\r'; c->p++) {
		if (*c->p == '-' && !s->digits && !s->integer) {
			s->null = true;
		} else if (*c->p >= '0' && *c->p <= '9') {
			s->left = s->left * 10 + (uint64_t)(*c->p - '0');
		} else {
			return -EPROTO;
		}
		if (s->digits++ == 20 || s->left > BULK_MAX)
			return -EPROTO;
	}
	if (c->p == c->end)
		return 0;
	if (!s->digits || (s->null && (s->digits != 2 || s->left != 1)))
		return -EPROTO;
	s->phase = SIZE_END;
	return 0;
}

/* Parses the end of the reply. Returns 1 when it is complete. */
static int resp_step_end(struct resp_state *s, struct text_cursor *c)
{
	int err = text_line_end(c, &s->ends);

	if (err <= 0)
		return err;
	if (s->null || (s->integer && !s->left))
		s->status = REPLY_MISS;
	if (s->null || s->integer || s->phase == DATA_END)
		return 1;
	s->phase = s->left ? DATA : DATA_END;
	return 0;
}

static int resp_step(struct resp_state *s, struct text_cursor *c, uint16_t type)
{
	switch ((enum resp_phase)s->phase) {
	case KIND:
		return resp_step_kind(s, c, type);
	case TEXT:
		return resp_step_text(s, c);
	case SIZE:
		return resp_step_size(s, c);
	case DATA:
		if (text_skip(c, &s->left))
			s->phase = DATA_END;
		return 0;
	case SIZE_END:
	case DATA_END:
		return resp_step_end(s, c);
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
		*s = (struct resp_state){ 0 };
	}
	return done;
}
