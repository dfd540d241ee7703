/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes and decodes headers of the echo and synthetic protocols. */
#include "load/synthetic.h"

#include <errno.h>

#include "load/wire.h"

/* All headers start with the same 12 bytes: magic, version, flags, id, size. */
#define ECHO_MAGIC 0x4845
#define REQUEST_MAGIC 0x4851
#define REPLY_MAGIC 0x4852

static void put_start(uint8_t *p, uint16_t magic, uint8_t flags, uint32_t id, uint32_t size)
{
	wire_put16(p, magic);
	p[2] = SYNTHETIC_VERSION;
	p[3] = flags;
	wire_put32(p + 4, id);
	wire_put32(p + 8, size);
}

static int get_start(const uint8_t *p, uint16_t magic, uint32_t header, uint8_t known_flags)
{
	uint32_t size = wire_get32(p + 8);

	if (wire_get16(p) != magic || p[2] != SYNTHETIC_VERSION || (p[3] & ~known_flags))
		return -EPROTO;
	return size < header || size > SYNTHETIC_SIZE_MAX ? -EPROTO : 0;
}

void echo_put(void *to, const struct echo_message *message)
{
	put_start(to, ECHO_MAGIC, 0, message->id, message->size);
}

int echo_get(const void *from, struct echo_message *out)
{
	const uint8_t *p = from;
	int err = get_start(p, ECHO_MAGIC, ECHO_HEADER, 0);

	if (!err)
		*out = (struct echo_message){ wire_get32(p + 4), wire_get32(p + 8) };
	return err;
}

void synthetic_put_request(void *to, const struct synthetic_request *request)
{
	uint8_t *p = to;

	put_start(p, REQUEST_MAGIC, request->flags, request->id, request->size);
	wire_put32(p + 12, request->reply_size);
	wire_put64(p + 16, request->service_ns);
}

int synthetic_get_request(const void *from, struct synthetic_request *out)
{
	const uint8_t *p = from;
	struct synthetic_request r;
	int err;

	err = get_start(p, REQUEST_MAGIC, SYNTHETIC_REQUEST_HEADER, SYNTHETIC_SERVER_DRAWS);
	if (err)
		return err;
	r.flags = p[3];
	r.id = wire_get32(p + 4);
	r.size = wire_get32(p + 8);
	r.reply_size = wire_get32(p + 12);
	r.service_ns = wire_get64(p + 16);
	if (r.reply_size < SYNTHETIC_REPLY_HEADER || r.reply_size > SYNTHETIC_SIZE_MAX ||
	    r.service_ns > SYNTHETIC_SERVICE_MAX)
		return -EPROTO;
	*out = r;
	return 0;
}

void synthetic_put_reply(void *to, const struct synthetic_reply *reply)
{
	uint8_t *p = to;

	put_start(p, REPLY_MAGIC, reply->flags, reply->id, reply->size);
	wire_put32(p + 12, 0);
	wire_put64(p + 16, reply->service_ns);
	wire_put64(p + 24, reply->in_ns);
	wire_put64(p + 32, reply->out_ns);
}

int synthetic_get_reply(const void *from, struct synthetic_reply *out)
{
	const uint8_t *p = from;
	struct synthetic_reply r;
	int err;

	err = get_start(p, REPLY_MAGIC, SYNTHETIC_REPLY_HEADER, SYNTHETIC_REFUSED);
	if (err || wire_get32(p + 12))
		return -EPROTO;
	r.flags = p[3];
	r.id = wire_get32(p + 4);
	r.size = wire_get32(p + 8);
	r.service_ns = wire_get64(p + 16);
	r.in_ns = wire_get64(p + 24);
	r.out_ns = wire_get64(p + 32);
	if (r.service_ns > SYNTHETIC_SERVICE_MAX || r.in_ns > r.out_ns)
		return -EPROTO;
	*out = r;
	return 0;
}
