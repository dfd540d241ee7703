/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcached's ASCII protocol. A reply is words up to a line's end, and after "VALUE" as many bytes
 * as the line says, whatever they are. A reply's parts are bounded, so that garbage ends.
 */
#include "load/memcached.h"

#include <errno.h>
#include <string.h>

#include "load/text.h"
#include "load/workload.h"

#define OVERHEAD 64
#define WORD_MAX 12           /* CLIENT_ERROR and SERVER_ERROR */
#define LINE_MAX_BYTES 2048   /* of an error's text */
#define ITEM_MAX (1ULL << 30) /* memcached -I takes no more */

enum phase { WORD, KEY, FLAGS, BYTES, CAS, LINE_END, DATA, DATA_END, TEXT };

struct state {
	uint8_t phase;
	uint8_t status;   /* enum reply_status, once known */
	uint8_t known;    /* the line's end is the reply's */
	uint8_t value;    /* a VALUE was seen */
	uint8_t digits;   /* of the number */
	uint8_t word_len;
	char word[WORD_MAX];
	uint32_t line;    /* bytes of the key or the text */
	uint64_t left;    /* bytes of the value, and its line's end */
};

_Static_assert(sizeof(struct state) <= PROTOCOL_PARSER_BYTES, "the state has its limit");

const char *memcached_type_name(uint16_t type)
{
	return type == MEMCACHED_SET ? "set" : "get";
}

/* --- Requests --- */

static int put_set(const struct workload *w, uint64_t key, uint32_t size, char *buffer, size_t cap,
		   struct request *out)
{
	char *p = buffer;

	if (cap < WORKLOAD_KEY_MAX + OVERHEAD + (size_t)size)
		return -ENOBUFS;
	p = TEXT_PUT(p, "set ");
	p += workload_key_text(w, key, p);
	p = TEXT_PUT(p, " 0 0 ");
	p = text_put_u64(p, size);
	p = TEXT_PUT(p, "\r\n");
	p = text_put(p, workload_bytes(w), size);
	p = TEXT_PUT(p, "\r\n");
	*out = (struct request){ .size = (size_t)(p - buffer), .type = MEMCACHED_SET };
	return 0;
}

int memcached_encode(const struct workload *w, struct rng *rng, uint32_t id, void *buffer,
		     size_t cap, struct request *out)
{
	uint64_t key = workload_key(w, rng);
	char *p = buffer;

	(void)id;
	if (!workload_is_read(w, rng))
		return put_set(w, key, workload_value_size(w, rng), buffer, cap, out);
	if (cap < WORKLOAD_KEY_MAX + OVERHEAD)
		return -ENOBUFS;
	p = TEXT_PUT(p, "get ");
	p += workload_key_text(w, key, p);
	p = TEXT_PUT(p, "\r\n");
	*out = (struct request){ .size = (size_t)(p - (char *)buffer), .type = MEMCACHED_GET };
	return 0;
}

int memcached_encode_store(const struct workload *w, uint64_t index, void *buffer, size_t cap,
			   struct request *out)
{
	return put_set(w, index, workload_stored_size(w, index), buffer, cap, out);
}

/* --- Replies --- */

static bool word_is(const struct state *s, const char *word)
{
	return strlen(word) == s->word_len && memcmp(s->word, word, s->word_len) == 0;
}

/* The first word of a line is complete. Errors may follow anything. */
static int take_word(struct state *s, uint16_t type)
{
	struct said *said = parser_said(s);

	s->known = true;
	s->status = REPLY_OK;
	if (word_is(s, "ERROR") || word_is(s, "CLIENT_ERROR") || word_is(s, "SERVER_ERROR")) {
		s->status = REPLY_ERROR;
		s->phase = TEXT;
		said_begin(said);
		said_add(said, s->word, s->word_len);
		said_add(said, " ", 1);
		return 0;
	}
	s->phase = LINE_END;
	if (type == MEMCACHED_SET) {
		if (!word_is(s, "STORED")) {
			s->status = REPLY_ERROR;
			said_begin(said);
			said_add(said, s->word, s->word_len);
		}
		return word_is(s, "STORED") || word_is(s, "NOT_STORED") ? 0 : -EPROTO;
	}
	if (word_is(s, "END")) {
		s->status = s->value ? REPLY_OK : REPLY_MISS;
		return 0;
	}
	if (!word_is(s, "VALUE") || s->value)
		return -EPROTO;
	s->known = false;
	s->value = true;
	s->phase = KEY;
	return 0;
}

static int step_word(struct state *s, struct text_cursor *c, uint16_t type)
{
	while (c->p < c->end) {
		char byte = *c->p;

		if (byte == ' ' || byte == '\r') {
			c->p += byte == ' ';
			if (take_word(s, type))
				return -EPROTO;
			/* Only these two go on in the line. */
			if ((s->phase == LINE_END && byte == ' ') ||
			    (s->phase == KEY && byte == '\r'))
				return -EPROTO;
			return 0;
		}
		if (s->word_len == WORD_MAX || ((byte < 'A' || byte > 'Z') && byte != '_'))
			return -EPROTO;
		s->word[s->word_len++] = byte;
		c->p++;
	}
	return 0;
}

static int step_key(struct state *s, struct text_cursor *c)
{
	size_t n = (size_t)(c->end - c->p);
	const char *space = memchr(c->p, ' ', n);

	n = space ? (size_t)(space - c->p) : n;
	if (n > WORKLOAD_KEY_MAX - s->line || memchr(c->p, '\n', n))
		return -EPROTO;
	s->line += (uint32_t)n;
	c->p += n;
	if (space) {
		c->p++;
		s->phase = FLAGS;
	}
	return 0;
}

/* A number up to a space or the line's end; of the three, only the size is of interest. */
static int step_number(struct state *s, struct text_cursor *c)
{
	for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++) {
		if (s->digits++ == 20)
			return -EPROTO;
		if (s->phase == BYTES)
			s->left = s->left * 10 + (uint64_t)(*c->p - '0');
		if (s->left > ITEM_MAX)
			return -EPROTO;
	}
	if (c->p == c->end)
		return 0;
	if (!s->digits)
		return -EPROTO;
	s->digits = 0;
	if (*c->p == ' ' && s->phase != CAS) {
		s->phase++;
		c->p++;
		return 0;
	}
	if (s->phase == FLAGS)
		return -EPROTO;
	s->phase = LINE_END;
	return 0;
}

/* "\r\n"; what comes after it depends on the line. Returns 1 when the reply is complete. */
static int step_line_end(struct state *s, struct text_cursor *c)
{
	if (*c->p++ != "\r\n"[s->digits])
		return -EPROTO;
	if (++s->digits < 2)
		return 0;
	s->digits = 0;
	if (s->known)
		return 1;
	s->phase = s->phase == DATA_END ? WORD : s->left ? DATA : DATA_END;
	s->word_len = 0;
	return 0;
}

static int step_text(struct state *s, struct text_cursor *c)
{
	size_t n = (size_t)(c->end - c->p);
	const char *newline = memchr(c->p, '\n', n);

	n = newline ? (size_t)(newline + 1 - c->p) : n;
	if (n > LINE_MAX_BYTES - s->line)
		return -EPROTO;
	said_add(parser_said(s), c->p, n);
	s->line += (uint32_t)n;
	c->p += n;
	return newline != NULL;
}

static int step(struct state *s, struct text_cursor *c, uint16_t type)
{
	switch ((enum phase)s->phase) {
	case WORD:
		return step_word(s, c, type);
	case KEY:
		return step_key(s, c);
	case FLAGS:
	case BYTES:
	case CAS:
		return step_number(s, c);
	case DATA:
		if (text_skip(c, &s->left))
			s->phase = DATA_END;
		return 0;
	case LINE_END:
	case DATA_END:
		return step_line_end(s, c);
	case TEXT:
		return step_text(s, c);
	}
	return -EPROTO;
}

int memcached_parse(struct parser *parser, uint16_t type, const void *data, size_t size,
		    size_t *used, struct reply *out)
{
	struct state *s = (struct state *)parser->state;
	struct text_cursor c = { data, size ? (const char *)data + size : data };
	int done = 0;

	while (!done && c.p < c.end)
		done = step(s, &c, type);
	*used = (size_t)(c.p - (const char *)data);
	if (done == 1) {
		*out = (struct reply){ .status = s->status };
		if (s->status == REPLY_ERROR)
			out->said = &parser->said;
		*s = (struct state){ 0 };
	}
	return done;
}
