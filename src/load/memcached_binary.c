/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcached's binary protocol: a header of 24 bytes, big endian, then as many as it says.
 *
 *	0 magic  1 opcode  2 key size  4 extras' size  5 data type  6 vbucket or status
 *	8 size of all behind the header  12 opaque  16 cas
 */
#include "load/memcached_binary.h"

#include <errno.h>
#include <string.h>

#include "load/memcached.h"
#include "load/wire.h"
#include "load/workload.h"

#define HEADER 24
#define SET_EXTRAS 8 /* flags, expiry */
#define REQUEST_MAGIC 0x80
#define REPLY_MAGIC 0x81
#define BODY_MAX (1U << 30)
#define NOT_FOUND 1

enum opcode { OPCODE_GET, OPCODE_SET };

struct state {
	uint8_t header[HEADER];
	uint32_t have; /* bytes of the header */
	uint32_t left; /* bytes behind it */
};

_Static_assert(sizeof(struct state) <= PROTOCOL_PARSER_BYTES, "the state has its limit");

/* The key is in its place already. */
static void put_header(uint8_t *p, enum opcode opcode, size_t key, size_t extras, size_t value,
		       uint32_t id)
{
	memset(p, 0, HEADER + extras);
	p[0] = REQUEST_MAGIC;
	p[1] = (uint8_t)opcode;
	wire_put16(p + 2, (uint16_t)key);
	p[4] = (uint8_t)extras;
	wire_put32(p + 8, (uint32_t)(extras + key + value));
	wire_put32(p + 12, id);
}

static int put_set(const struct workload *w, uint64_t key, uint32_t size, uint32_t id, void *buffer,
		   size_t cap, struct request *out)
{
	uint8_t *p = buffer;
	size_t key_size;

	if (cap < HEADER + SET_EXTRAS + WORKLOAD_KEY_MAX + (size_t)size)
		return -ENOBUFS;
	key_size = workload_key_text(w, key, (char *)p + HEADER + SET_EXTRAS);
	put_header(p, OPCODE_SET, key_size, SET_EXTRAS, size, id);
	memcpy(p + HEADER + SET_EXTRAS + key_size, workload_bytes(w), size);
	*out = (struct request){ .size = HEADER + SET_EXTRAS + key_size + size,
				 .type = MEMCACHED_SET, .id = id };
	return 0;
}

int memcached_binary_encode(const struct workload *w, struct rng *rng, uint32_t id, void *buffer,
			    size_t cap, struct request *out)
{
	uint64_t key = workload_key(w, rng);
	uint8_t *p = buffer;
	size_t key_size;

	if (!workload_is_read(w, rng))
		return put_set(w, key, workload_value_size(w, rng), id, buffer, cap, out);
	if (cap < HEADER + WORKLOAD_KEY_MAX)
		return -ENOBUFS;
	key_size = workload_key_text(w, key, (char *)p + HEADER);
	put_header(p, OPCODE_GET, key_size, 0, 0, id);
	*out = (struct request){ .size = HEADER + key_size, .type = MEMCACHED_GET, .id = id };
	return 0;
}

int memcached_binary_encode_store(const struct workload *w, uint64_t index, void *buffer,
				  size_t cap, struct request *out)
{
	return put_set(w, index, workload_stored_size(w, index), (uint32_t)index, buffer, cap, out);
}

static int take_header(struct state *s)
{
	uint32_t body = wire_get32(s->header + 8);

	if (s->header[0] != REPLY_MAGIC || s->header[1] > OPCODE_SET || body > BODY_MAX ||
	    (uint32_t)s->header[4] + wire_get16(s->header + 2) > body)
		return -EPROTO;
	s->left = body;
	return 0;
}

static enum reply_status status_of(uint16_t status)
{
	if (status == NOT_FOUND)
		return REPLY_MISS;
	return status ? REPLY_ERROR : REPLY_OK;
}

int memcached_binary_parse(struct parser *parser, uint16_t type, const void *data, size_t size,
			   size_t *used, struct reply *out)
{
	struct state *s = (struct state *)parser->state;
	size_t n = HEADER - s->have, rest;
	uint16_t status;

	(void)type;
	n = n < size ? n : size;
	*used = n;
	if (n) {
		memcpy(s->header + s->have, data, n);
		s->have += (uint32_t)n;
		if (s->have == HEADER && take_header(s))
			return -EPROTO;
	}
	if (s->have < HEADER)
		return 0;
	rest = s->left < size - n ? s->left : size - n;
	status = wire_get16(s->header + 6);
	if (status && n)
		said_begin(&parser->said);
	if (status && rest)
		said_add(&parser->said, (const char *)data + n, rest);
	s->left -= (uint32_t)rest;
	*used += rest;
	if (s->left)
		return 0;
	*out = (struct reply){ .status = status_of(status), .code = status,
			       .said = status ? &parser->said : NULL,
			       .id = wire_get32(s->header + 12) };
	s->have = 0;
	return 1;
}
