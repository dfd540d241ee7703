/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcached's ASCII protocol. A reply is a line of words; after "VALUE", data follows whose size
 * the line gives. All parts have a size limit, so that parsing garbage ends.
 */
#include "load/memcached.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "load/text.h"
#include "load/workload.h"

#define WORD_MAX 12           /* bytes of the longest first word, CLIENT_ERROR */
#define LINE_MAX_BYTES 2048   /* bytes of the text of an error reply */
#define CAS_DIGITS 20         /* digits of an item's number, with leading zeros */
#define COUNT_MAX 20          /* digits of the reply to incr */
#define ITEM_MAX (1ULL << 30) /* largest value of memcached's -I, in bytes */

enum memcached_phase { WORD, KEY, FLAGS, BYTES, CAS, LINE_END, DATA, DATA_END, TEXT,
	COUNT };

struct memcached_state {
	uint8_t phase;
	uint8_t status;   /* enum reply_status, once known */
	uint8_t known;    /* the reply ends with the current line */
	uint8_t value;    /* the reply had a VALUE line */
	uint8_t digits;   /* digits parsed of the current number */
	uint8_t ends;     /* bytes of "\r\n" parsed */
	uint8_t word_len;
	char word[WORD_MAX];
	uint32_t line;    /* bytes parsed of the key or error text */
	uint64_t left;    /* bytes left of the value */
	uint64_t key, cas; /* reply to gets: numbers of the key and of its item */
};

_Static_assert(sizeof(struct memcached_state) <= PROTOCOL_PARSER_BYTES, "the state has its limit");

/* ---- Requests ---- */

static char *memcached_put_get(char *p, const struct workload *w, const struct operation *o)
{
	p = TEXT_PUT(p, "get ");
	p += workload_key_text(w, o->key, p);
	return TEXT_PUT(p, "\r\n");
}

static char *memcached_put_value(char *p, const struct workload *w, const struct operation *o)
{
	p = TEXT_PUT(p, "\r\n");
	p = text_put(p, workload_bytes(w), o->size);
	return TEXT_PUT(p, "\r\n");
}

static char *memcached_put_set(char *p, const struct workload *w, const struct operation *o)
{
	p = TEXT_PUT(p, "set ");
	p += workload_key_text(w, o->key, p);
	p = TEXT_PUT(p, " 0 0 ");
	p = text_put_u64(p, o->size);
	return memcached_put_value(p, w, o);
}

static char *memcached_put_gets(char *p, const struct workload *w, const struct operation *o)
{
	p = TEXT_PUT(p, "gets ");
	p += workload_key_text(w, o->key, p);
	return TEXT_PUT(p, "\r\n");
}

/*
 * Writes the item's number with leading zeros: if the rest of the request is encoded again after
 * another thread has noted a new number, the size is still the same.
 */
static char *memcached_put_cas(char *p, const struct workload *w, const struct operation *o)
{
	uint64_t number = workload_take_cas(w, o->key);

	p = TEXT_PUT(p, "cas ");
	p += workload_key_text(w, o->key, p);
	p = TEXT_PUT(p, " 0 0 ");
	p = text_put_u64(p, o->size);
	*p++ = ' ';
	for (int i = CAS_DIGITS - 1; i >= 0; i--, number /= 10)
		p[i] = (char)('0' + number % 10);
	return memcached_put_value(p + CAS_DIGITS, w, o);
}

static char *memcached_put_delete(char *p, const struct workload *w, const struct operation *o)
{
	p = TEXT_PUT(p, "delete ");
	p += workload_key_text(w, o->key, p);
	return TEXT_PUT(p, "\r\n");
}

const protocol_put memcached_put[OPERATIONS] = {
	[OPERATION_GET] = memcached_put_get,
	[OPERATION_SET] = memcached_put_set,
	[OPERATION_DELETE] = memcached_put_delete,
	[OPERATION_GETS] = memcached_put_gets,
	[OPERATION_CAS] = memcached_put_cas,
};

/* Over UDP, replies do not tell which request they answer: gets and cas are left out. */
const protocol_put memcached_datagram_put[OPERATIONS] = {
	[OPERATION_GET] = memcached_put_get,
	[OPERATION_SET] = memcached_put_set,
	[OPERATION_DELETE] = memcached_put_delete,
};

/*
 * The login is the value "USER PASSWORD" of any key. A server without logins stores it as an item
 * that has expired, so nobody can read it.
 */
size_t memcached_greet(const struct target *t, char out[PROTOCOL_GREETING_MAX],
		       unsigned int *replies)
{
	int n;

	*replies = t->has_user;
	if (!t->has_user)
		return 0;
	n = snprintf(out, PROTOCOL_GREETING_MAX, "set login 0 -1 %zu\r\n%s %s\r\n",
		     strlen(t->user) + 1 + strlen(t->password), t->user, t->password);
	return (size_t)n;
}

/* ---- Replies ---- */

#define ANY OPERATIONS /* instead of an operation: the reply may answer any operation */
/* Instead of an operation: a recorded write whose success depends on what is stored. */
#define CONDITIONAL (OPERATIONS + 1)
/* First words of replies, with the operation that the reply answers and the next parser phase. */
static const struct memcached_answer {
	char word[WORD_MAX + 1]; /* padded with zero bytes */
	uint8_t operation, status, phase;
} answers[] = {
	{ "VALUE", OPERATION_GET, REPLY_OK, KEY },
	{ "END", OPERATION_GET, REPLY_MISS, LINE_END },
	{ "STORED", OPERATION_SET, REPLY_OK, LINE_END },
	{ "NOT_STORED", OPERATION_SET, REPLY_ERROR, LINE_END },
	{ "DELETED", OPERATION_DELETE, REPLY_OK, LINE_END },
	{ "NOT_FOUND", OPERATION_DELETE, REPLY_MISS, LINE_END },
	{ "VALUE", OPERATION_GETS, REPLY_OK, KEY },
	{ "END", OPERATION_GETS, REPLY_MISS, LINE_END },
	{ "STORED", OPERATION_CAS, REPLY_OK, LINE_END },
	{ "EXISTS", OPERATION_CAS, REPLY_MISS, LINE_END },
	{ "NOT_FOUND", OPERATION_CAS, REPLY_MISS, LINE_END },
	{ "STORED", CONDITIONAL, REPLY_OK, LINE_END },
	{ "NOT_STORED", CONDITIONAL, REPLY_MISS, LINE_END },
	{ "NOT_FOUND", CONDITIONAL, REPLY_MISS, LINE_END },
	{ "ERROR", ANY, REPLY_ERROR, TEXT },
	{ "CLIENT_ERROR", ANY, REPLY_ERROR, TEXT },
	{ "SERVER_ERROR", ANY, REPLY_ERROR, TEXT },
};

/*
 * Returns the table entry of a reply's first word, if that word may answer operation `type` (or
 * `type` is ANY); otherwise NULL.
 */
static const struct memcached_answer *find_answer(const char word[WORD_MAX], uint16_t type)
{
	const uint16_t operation = type >= OPERATION_COMMAND ? CONDITIONAL : type;

	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		const struct memcached_answer *a = &answers[i];

		if (memcmp(a->word, word, WORD_MAX) == 0 &&
		    (type == ANY || a->operation == ANY || a->operation == operation))
			return a;
	}
	return NULL;
}

uint16_t memcached_answered(const void *text, size_t size)
{
	const char *from = text;
	char word[WORD_MAX] = "";
	const struct memcached_answer *a;

	for (size_t i = 0; i < size && i < WORD_MAX && from[i] != ' ' && from[i] != '\r'; i++)
		word[i] = from[i];
	a = find_answer(word, ANY);
	return a && a->operation != ANY ? a->operation : OPERATION_GET;
}

/* Handles the first word of a line. After a VALUE, only END or an error may follow. */
static int memcached_end_word(struct memcached_state *s, uint16_t type)
{
	const struct memcached_answer *a = find_answer(s->word, type);
	struct error_text *text = parser_error_text(s);

	if (!a || (s->value && a->phase == KEY))
		return -EPROTO;
	s->phase = a->phase;
	s->known = a->phase != KEY;
	s->status = a->status == REPLY_MISS && s->value ? REPLY_OK : a->status;
	s->value |= a->phase == KEY;
	if (a->status == REPLY_ERROR) {
		error_text_begin(text);
		error_text_add(text, s->word, s->word_len);
	}
	if (a->phase == TEXT)
		error_text_add(text, " ", 1);
	return 0;
}

static int memcached_step_word(struct memcached_state *s, struct text_cursor *c, uint16_t type)
{
	while (c->p < c->end) {
		char byte = *c->p;

		if (byte == ' ' || byte == '\r') {
			c->p += byte == ' ';
			if (memcached_end_word(s, type))
				return -EPROTO;
			/* END, STORED and so on must end the line; a key must follow "VALUE". */
			if ((s->phase == LINE_END && byte == ' ') ||
			    (s->phase == KEY && byte == '\r'))
				return -EPROTO;
			return 0;
		}
		/* The reply to incr and decr is a number: the new value. */
		if (type >= OPERATION_COMMAND && !s->word_len && parse_is_digit(byte)) {
			s->phase = COUNT;
			return 0;
		}
		if (s->word_len == WORD_MAX || ((byte < 'A' || byte > 'Z') && byte != '_'))
			return -EPROTO;
		s->word[s->word_len++] = byte;
		c->p++;
	}
	return 0;
}

/* Adds digits of a key of the workload, which is a number with leading zeros. */
static void memcached_add_key(struct memcached_state *s, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s->key = s->key * 10 + (uint64_t)(from[i] - '0');
}

static int memcached_step_key(struct memcached_state *s, struct text_cursor *c, uint16_t type)
{
	size_t n = (size_t)(c->end - c->p);
	const char *space = memchr(c->p, ' ', n);

	n = space ? (size_t)(space - c->p) : n;
	if (n > WORKLOAD_KEY_MAX - s->line || memchr(c->p, '\n', n))
		return -EPROTO;
	if (type == OPERATION_GETS)
		memcached_add_key(s, c->p, n);
	s->line += (uint32_t)n;
	c->p += n;
	if (space) {
		c->p++;
		s->phase = FLAGS;
	}
	return 0;
}

/* Parses flags, size or cas, up to a space or the end of the line. Only the size is used. */
static int memcached_step_number(struct memcached_state *s, struct text_cursor *c)
{
	for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++) {
		if (s->digits++ == 20)
			return -EPROTO;
		if (s->phase == BYTES)
			s->left = s->left * 10 + (uint64_t)(*c->p - '0');
		else if (s->phase == CAS)
			s->cas = s->cas * 10 + (uint64_t)(*c->p - '0');
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

/* Parses the end of a line. Returns 1 if the reply is complete. */
static int memcached_step_line_end(struct memcached_state *s, struct text_cursor *c)
{
	int err = text_line_end(c, &s->ends);

	if (err <= 0)
		return err;
	if (s->known)
		return 1;
	s->phase = s->phase == DATA_END ? WORD : s->left ? DATA : DATA_END;
	s->word_len = 0;
	memset(s->word, 0, sizeof(s->word));
	return 0;
}

/* Parses a number that is the whole reply. */
static int memcached_step_count(struct memcached_state *s, struct text_cursor *c)
{
	for (; c->p < c->end && parse_is_digit(*c->p); c->p++) {
		if (s->digits++ == COUNT_MAX)
			return -EPROTO;
	}
	if (c->p < c->end) {
		s->known = true;
		s->phase = LINE_END;
	}
	return 0;
}

static int memcached_step_text(struct memcached_state *s, struct text_cursor *c)
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

static int memcached_step(struct memcached_state *s, struct text_cursor *c, uint16_t type)
{
	switch ((enum memcached_phase)s->phase) {
	case WORD:
		return memcached_step_word(s, c, type);
	case KEY:
		return memcached_step_key(s, c, type);
	case FLAGS:
	case BYTES:
	case CAS:
		return memcached_step_number(s, c);
	case DATA:
		if (text_skip(c, &s->left))
			s->phase = DATA_END;
		return 0;
	case LINE_END:
	case DATA_END:
		return memcached_step_line_end(s, c);
	case TEXT:
		return memcached_step_text(s, c);
	case COUNT:
		return memcached_step_count(s, c);
	}
	return -EPROTO;
}

int memcached_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
		    size_t *used, struct reply *out)
{
	struct memcached_state *s = (struct memcached_state *)parser->state;
	struct text_cursor c = { data, size ? (const char *)data + size : data };
	int done = 0;

	while (!done && c.p < c.end)
		done = memcached_step(s, &c, type);
	*used = (size_t)(c.p - (const char *)data);
	if (done == 1) {
		*out = (struct reply){ .status = s->status };
		if (type == OPERATION_GETS) {
			out->key = s->key;
			out->cas = s->cas;
		}
		if (s->status == REPLY_ERROR)
			out->error_text = &parser->error_text;
		*s = (struct memcached_state){ 0 };
	}
	return done;
}
