/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcached's UDP frame header, big endian: request id, datagram number, number of datagrams, 0. A
 * reply of one datagram is parsed as in the stream protocol. Datagrams of a longer reply (a large
 * value) arrive in any order, mixed with other replies; they are counted, not stored.
 */
#include "load/memcached_udp.h"

#include <errno.h>
#include <string.h>

#include "load/memcached.h"
#include "load/wire.h"

#define HEADER MEMCACHED_UDP_FRAME
#define PENDING_MAX 20

/* A reply in several datagrams, of which some are missing. All zero: unused. */
struct partial_reply {
	uint16_t id, total, seen;
	uint32_t sum; /* sum of the datagram numbers seen, which shows duplicates */
};

struct memcached_udp_state {
	uint32_t next; /* if pending[] is full, the reply at index next % PENDING_MAX is lost */
	struct partial_reply pending[PENDING_MAX];
};

_Static_assert(sizeof(struct memcached_udp_state) <= PROTOCOL_PARSER_BYTES,
	       "the state has its limit");

void memcached_udp_put_frame(uint8_t *frame, struct encoded_request *out)
{
	out->id = (uint16_t)out->id;
	wire_put16(frame, (uint16_t)out->id);
	wire_put16(frame + 2, 0);
	wire_put16(frame + 4, 1);
	wire_put16(frame + 6, 0);
}

static int parse_whole(const uint8_t *text, size_t size, struct error_text *error,
		       struct reply *out)
{
	struct reply_parser parser = { 0 };
	/* Replies may overtake each other: the first word determines the operation, not `type`. */
	const uint16_t type = memcached_answered(text, size);
	size_t used;

	if (memcached_parse(&parser, type, text, size, &used, out) != 1)
		return -EPROTO;
	if (out->error_text) {
		*error = *out->error_text;
		out->error_text = error;
	}
	return used == size ? 1 : -EPROTO;
}

static struct partial_reply *memcached_udp_find(struct memcached_udp_state *s, uint16_t id,
						uint16_t total)
{
	struct partial_reply *p, *free_one = NULL;

	for (p = s->pending; p < s->pending + PENDING_MAX; p++) {
		if (p->total == total && p->id == id)
			return p;
		if (!p->total)
			free_one = p;
	}
	if (!free_one)
		free_one = &s->pending[s->next++ % PENDING_MAX];
	*free_one = (struct partial_reply){ .id = id, .total = total };
	return free_one;
}

static int count_part(struct memcached_udp_state *s, uint16_t id, uint16_t number, uint16_t total)
{
	struct partial_reply *p = memcached_udp_find(s, id, total);

	p->seen++;
	p->sum += number;
	if (p->seen < total)
		return 0;
	/* If a datagram came twice, another one is missing: the reply is lost, not complete. */
	number = p->sum == (uint32_t)total * (total - 1U) / 2;
	*p = (struct partial_reply){ 0 };
	return number;
}

int memcached_udp_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
			size_t *used, struct reply *out)
{
	const uint8_t *p = data;
	uint16_t id, number, total;
	int done;

	(void)type;
	*used = size;
	if (!size)
		return 0;
	if (size <= HEADER)
		return -EPROTO;
	id = wire_get16(p);
	number = wire_get16(p + 2);
	total = wire_get16(p + 4);
	*out = (struct reply){ 0 };
	if (number >= total || (!number && total > 1 && p[HEADER] != 'V'))
		return -EPROTO;
	done = total == 1 ? parse_whole(p + HEADER, size - HEADER, &parser->error_text, out) :
		count_part((struct memcached_udp_state *)parser->state, id, number, total);
	out->id = id;
	return done;
}
