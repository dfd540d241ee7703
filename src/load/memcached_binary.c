/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcached's binary protocol: a header of 24 bytes, big endian, then a body of the given size.
 *
 * 	0 magic  1 opcode  2 key size  4 extras' size  5 data type  6 vbucket or status
 * 	8 size of the body  12 opaque  16 cas
 */
#include "load/memcached_binary.h"

#include <errno.h>
#include <string.h>

#include "load/wire.h"
#include "load/workload.h"

#define HEADER 24
#define SET_EXTRAS 8 /* bytes of a Set's extras: flags, expiry */
#define REQUEST_MAGIC 0x80
#define REPLY_MAGIC 0x81
#define BODY_MAX (1U << 30)
#define NOT_FOUND 1
#define SASL_AUTH 0x21
#define MECHANISM "PLAIN"

static const uint8_t opcodes[OPERATIONS] = {
	[OPERATION_GET] = 0, [OPERATION_SET] = 1, [OPERATION_DELETE] = 4,
};

struct memcached_binary_state {
	uint8_t header[HEADER];
	uint32_t have; /* bytes of the header received */
	uint32_t left; /* bytes of the body still to come */
};

_Static_assert(sizeof(struct memcached_binary_state) <= PROTOCOL_PARSER_BYTES,
	       "the state has its limit");

/* Writes a request; requests with a value have extras. */
static char *memcached_binary_put_request(char *to, const struct workload *w,
					  const struct operation *o)
{
	const size_t extras = operation_rows[o->kind].has_value ? SET_EXTRAS : 0;
	uint8_t *p = (uint8_t *)to;
	size_t key = workload_key_text(w, o->key, to + HEADER + extras);

	memset(p, 0, HEADER + extras);
	p[0] = REQUEST_MAGIC;
	p[1] = opcodes[o->kind];
	wire_put16(p + 2, (uint16_t)key);
	p[4] = (uint8_t)extras;
	wire_put32(p + 8, (uint32_t)(extras + key + o->size));
	wire_put32(p + 12, o->id);
	to += HEADER + extras + key;
	memcpy(to, workload_bytes(w), o->size);
	return to + o->size;
}

const protocol_put memcached_binary_put[OPERATIONS] = {
	[OPERATION_GET] = memcached_binary_put_request,
	[OPERATION_SET] = memcached_binary_put_request,
	[OPERATION_DELETE] = memcached_binary_put_request,
};

/* SASL PLAIN (RFC 4616): an empty authorization identity, the user and the password. */
size_t memcached_binary_greet(const struct target *t, char out[PROTOCOL_GREETING_MAX],
			      unsigned int *replies)
{
	const size_t user = strlen(t->user), password = strlen(t->password);
	const size_t key = strlen(MECHANISM), body = key + 1 + user + 1 + password;
	char *p = out + HEADER;

	*replies = t->has_user;
	if (!t->has_user)
		return 0;
	memset(out, 0, HEADER + body);
	out[0] = (char)REQUEST_MAGIC;
	out[1] = SASL_AUTH;
	wire_put16(out + 2, (uint16_t)key);
	wire_put32(out + 8, (uint32_t)body);
	memcpy(p, MECHANISM, key);
	memcpy(p + key + 1, t->user, user);
	memcpy(p + key + 1 + user + 1, t->password, password);
	return HEADER + body;
}

static bool memcached_binary_is_known(uint8_t opcode)
{
	return opcode == SASL_AUTH || memchr(opcodes, opcode, sizeof(opcodes));
}

static int memcached_binary_check_header(struct memcached_binary_state *s)
{
	uint32_t body = wire_get32(s->header + 8);

	if (s->header[0] != REPLY_MAGIC || body > BODY_MAX ||
	    !memcached_binary_is_known(s->header[1]) ||
	    (uint32_t)s->header[4] + wire_get16(s->header + 2) > body)
		return -EPROTO;
	s->left = body;
	return 0;
}

static enum reply_status memcached_binary_status(uint16_t status)
{
	if (status == NOT_FOUND)
		return REPLY_MISS;
	return status ? REPLY_ERROR : REPLY_OK;
}

int memcached_binary_parse(struct reply_parser *parser, uint16_t type, const void *data,
			   size_t size, size_t *used, struct reply *out)
{
	struct memcached_binary_state *s = (struct memcached_binary_state *)parser->state;
	size_t n = HEADER - s->have, rest;
	uint16_t status;

	(void)type;
	n = n < size ? n : size;
	*used = n;
	if (n) {
		memcpy(s->header + s->have, data, n);
		s->have += (uint32_t)n;
		if (s->have == HEADER && memcached_binary_check_header(s))
			return -EPROTO;
	}
	if (s->have < HEADER)
		return 0;
	rest = s->left < size - n ? s->left : size - n;
	status = wire_get16(s->header + 6);
	if (status && n)
		error_text_begin(&parser->error_text);
	if (status && rest)
		error_text_add(&parser->error_text, (const char *)data + n, rest);
	s->left -= (uint32_t)rest;
	*used += rest;
	if (s->left)
		return 0;
	*out = (struct reply){ .status = memcached_binary_status(status), .code = status,
			       .error_text = status ? &parser->error_text : NULL,
			       .id = wire_get32(s->header + 12) };
	s->have = 0;
	return 1;
}
