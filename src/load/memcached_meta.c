/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reply is a line of a code and flags; after "VA", data follows whose size the line gives. Errors
 * have the words of the older commands.
 */
#include "load/memcached_meta.h"

#include <errno.h>
#include <string.h>

#include "base/bug.h"
#include "load/text.h"
#include "load/workload.h"

#define WORD_MAX 12           /* bytes of the longest first word, CLIENT_ERROR */
#define LINE_MAX_BYTES 2048   /* bytes of flags, or of the text of an error reply */
#define ITEM_MAX (1ULL << 30) /* largest value of memcached's -I, in bytes */

enum meta_phase { WORD, SIZE, FLAGS, LINE_END, DATA, DATA_END, TEXT };

struct meta_state {
	uint8_t phase;
	uint8_t status; /* enum reply_status */
	uint8_t value;  /* data follows the line */
	uint8_t digits; /* digits parsed of the size */
	uint8_t ends;   /* bytes of "\r\n" parsed */
	uint8_t word_len;
	char word[WORD_MAX];
	uint32_t line;  /* bytes parsed of the flags or text */
	uint64_t left;  /* bytes left of the value */
};

_Static_assert(sizeof(struct meta_state) <= PROTOCOL_PARSER_BYTES, "the state has its limit");

/* ---- Requests ---- */

static char *meta_put_get(char *p, const struct workload *w, const struct operation *o)
{
	p = TEXT_PUT(p, "mg ");
	p += workload_key_text(w, o->key, p);
	return TEXT_PUT(p, " v\r\n");
}

static char *meta_put_set(char *p, const struct workload *w, const struct operation *o)
{
	p = TEXT_PUT(p, "ms ");
	p += workload_key_text(w, o->key, p);
	p = TEXT_PUT(p, " ");
	p = text_put_u64(p, o->size);
	p = TEXT_PUT(p, "\r\n");
	p = text_put(p, workload_bytes(w), o->size);
	return TEXT_PUT(p, "\r\n");
}

static char *meta_put_delete(char *p, const struct workload *w, const struct operation *o)
{
	p = TEXT_PUT(p, "md ");
	p += workload_key_text(w, o->key, p);
	return TEXT_PUT(p, "\r\n");
}

const protocol_put memcached_meta_put[OPERATIONS] = {
	[OPERATION_GET] = meta_put_get,
	[OPERATION_SET] = meta_put_set,
	[OPERATION_DELETE] = meta_put_delete,
};

/* ---- Replies ---- */

#define ANY OPERATIONS /* instead of an operation: the reply may answer any operation */
/* First words of replies, with the operation that the reply answers and the next parser phase. */
static const struct meta_answer {
	char word[WORD_MAX + 1]; /* padded with zero bytes */
	uint8_t operation, status, phase;
} meta_answers[] = {
	{ "VA", OPERATION_GET, REPLY_OK, SIZE },
	{ "EN", OPERATION_GET, REPLY_MISS, FLAGS },
	{ "HD", OPERATION_SET, REPLY_OK, FLAGS },
	{ "HD", OPERATION_DELETE, REPLY_OK, FLAGS },
	{ "NF", OPERATION_DELETE, REPLY_MISS, FLAGS },
	{ "NS", OPERATION_SET, REPLY_ERROR, TEXT },
	{ "STORED", OPERATION_SET, REPLY_OK, LINE_END }, /* the answer to a login */
	{ "ERROR", ANY, REPLY_ERROR, TEXT },
	{ "CLIENT_ERROR", ANY, REPLY_ERROR, TEXT },
	{ "SERVER_ERROR", ANY, REPLY_ERROR, TEXT },
};

static const struct meta_answer *meta_find_answer(const char word[WORD_MAX], uint16_t type)
{
	for (size_t i = 0; i < ARRAY_LEN(meta_answers); i++) {
		const struct meta_answer *a = &meta_answers[i];

		if (memcmp(a->word, word, WORD_MAX) == 0 &&
		    (a->operation == ANY || a->operation == type))
			return a;
	}
	return NULL;
}

/* Handles the first word of a line; `end`: the byte after the word. */
static int meta_end_word(struct meta_state *s, uint16_t type, char end)
{
	const struct meta_answer *a = meta_find_answer(s->word, type);
	struct error_text *text = parser_error_text(s);

	if (!a || (a->phase == SIZE && end != ' ') || (a->phase == LINE_END && end == ' '))
		return -EPROTO;
	s->phase = a->phase;
	s->status = a->status;
	s->value = a->phase == SIZE;
	if (a->status == REPLY_ERROR) {
		error_text_begin(text);
		error_text_add(text, s->word, s->word_len);
		error_text_add(text, " ", 1);
	}
	return 0;
}

static int meta_step_word(struct meta_state *s, struct text_cursor *c, uint16_t type)
{
	while (c->p < c->end) {
		const char byte = *c->p;

		if (byte == ' ' || byte == '\r') {
			c->p += byte == ' ';
			return meta_end_word(s, type, byte);
		}
		if (s->word_len == WORD_MAX || ((byte < 'A' || byte > 'Z') && byte != '_'))
			return -EPROTO;
		s->word[s->word_len++] = byte;
		c->p++;
	}
	return 0;
}

static int meta_step_size(struct meta_state *s, struct text_cursor *c)
{
	for (; c->p < c->end && parse_is_digit(*c->p); c->p++) {
		s->left = s->left * 10 + (uint64_t)(*c->p - '0');
		if (s->digits++ == 20 || s->left > ITEM_MAX)
			return -EPROTO;
	}
	if (c->p == c->end)
		return 0;
	if (!s->digits || (*c->p != ' ' && *c->p != '\r'))
		return -EPROTO;
	s->phase = FLAGS;
	return 0;
}

/* Skips flags up to "\r\n". */
static int meta_step_flags(struct meta_state *s, struct text_cursor *c)
{
	size_t n = (size_t)(c->end - c->p);
	const char *cr = memchr(c->p, '\r', n);

	n = cr ? (size_t)(cr - c->p) : n;
	if (n > LINE_MAX_BYTES - s->line || memchr(c->p, '\n', n))
		return -EPROTO;
	s->line += (uint32_t)n;
	c->p += n;
	if (cr)
		s->phase = LINE_END;
	return 0;
}

/* Parses the end of a line or of data. Returns 1 if the reply is complete. */
static int meta_step_line_end(struct meta_state *s, struct text_cursor *c)
{
	int err = text_line_end(c, &s->ends);

	if (err <= 0)
		return err;
	if (!s->value || s->phase == DATA_END)
		return 1;
	s->phase = s->left ? DATA : DATA_END;
	return 0;
}

static int meta_step_text(struct meta_state *s, struct text_cursor *c)
{
	size_t n = (size_t)(c->end - c->p);
	const char *newline = memchr(c->p, '\n', n);

	n = newline ? (size_t)(newline + 1 - c->p) : n;
	if (n > LINE_MAX_BYTES - s->line)
		return -EPROTO;
	error_text_add(parser_error_text(s), c->p, n);
	s->line += (uint32_t)n;
	c->p += n;
	return newline != NULL;
}

static int meta_step(struct meta_state *s, struct text_cursor *c, uint16_t type)
{
	switch ((enum meta_phase)s->phase) {
	case WORD:
		return meta_step_word(s, c, type);
	case SIZE:
		return meta_step_size(s, c);
	case FLAGS:
		return meta_step_flags(s, c);
	case DATA:
		if (text_skip(c, &s->left))
			s->phase = DATA_END;
		return 0;
	case LINE_END:
	case DATA_END:
		return meta_step_line_end(s, c);
	case TEXT:
		return meta_step_text(s, c);
	}
	return -EPROTO;
}

int memcached_meta_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
			 size_t *used, struct reply *out)
{
	struct meta_state *s = (struct meta_state *)parser->state;
	struct text_cursor c = { data, size ? (const char *)data + size : data };
	int done = 0;

	while (!done && c.p < c.end)
		done = meta_step(s, &c, type);
	*used = (size_t)(c.p - (const char *)data);
	if (done == 1) {
		*out = (struct reply){ .status = s->status };
		if (s->status == REPLY_ERROR)
			out->error_text = &parser->error_text;
		*s = (struct meta_state){ 0 };
	}
	return done;
}
