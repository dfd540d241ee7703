/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and parses R2P2 headers, which precede messages of the synthetic protocol. */
#include "load/r2p2.h"

#include <errno.h>

#include "load/echo.h"
#include "load/wire.h"

#define MAGIC 0xcc
#define FIRST_AND_LAST 0xc0

void r2p2_put(void *to, enum r2p2_type type, uint16_t id)
{
	uint8_t *p = to;

	p[0] = MAGIC;
	p[1] = R2P2_HEADER;
	p[2] = (uint8_t)(type << 4);
	p[3] = FIRST_AND_LAST;
	wire_put16(p + 4, id);
	wire_put16(p + 6, 1);
}

/*
 * Requires the flags FIRST and LAST, as of a one-packet message. Ignores the policy and all other
 * flags, which concern only the other side.
 */
int r2p2_get(const void *from, size_t size, enum r2p2_type *type, uint16_t *id)
{
	const uint8_t *p = from;

	if (size < R2P2_HEADER || p[0] != MAGIC || p[1] != R2P2_HEADER || p[2] >> 4 > R2P2_DROP ||
	    (p[3] & FIRST_AND_LAST) != FIRST_AND_LAST)
		return -EPROTO;
	*type = (enum r2p2_type)(p[2] >> 4);
	*id = wire_get16(p + 4);
	return 0;
}

int r2p2_encode(const struct workload *w, struct rng *rng, void *buffer,
		size_t cap, struct encoded_request *out)
{
	uint8_t *at = buffer;
	int err;

	if (cap < R2P2_HEADER)
		return -ENOBUFS;
	err = synthetic_encode(w, rng, at + R2P2_HEADER, cap - R2P2_HEADER, out);
	if (err)
		return err;
	out->id = (uint16_t)out->id;
	r2p2_put(at, R2P2_REQUEST, (uint16_t)out->id);
	out->size += R2P2_HEADER;
	return 0;
}

/*
 * Parses a datagram. Returns 1 for a reply, -EPROTO for what is none, and 0 for feedback and
 * acknowledgments, which are for switches and for requests of several packets.
 */
int r2p2_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
	       size_t *used, struct reply *out)
{
	struct reply_parser fresh = { 0 };
	enum r2p2_type message;
	size_t rest;
	uint16_t id;

	(void)parser;
	*used = size;
	if (!size)
		return 0;
	if (r2p2_get(data, size, &message, &id) || message == R2P2_REQUEST)
		return -EPROTO;
	if (message == R2P2_FEEDBACK || message == R2P2_ACK)
		return 0;
	*out = (struct reply){ .status = REPLY_ERROR };
	if (message == R2P2_RESPONSE &&
	    (synthetic_parse(&fresh, type, (const uint8_t *)data + R2P2_HEADER, size - R2P2_HEADER,
			     &rest, out) != 1 ||
	     rest != size - R2P2_HEADER || (uint16_t)out->id != id))
		return -EPROTO;
	out->id = id;
	return 1;
}
