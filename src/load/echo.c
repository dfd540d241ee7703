/* SPDX-License-Identifier: Apache-2.0 */
/* The echo and synthetic protocols: a header, then a payload whose bytes are only counted. */
#include "load/echo.h"

#include <errno.h>
#include <string.h>

#include "base/bug.h"
#include "load/synthetic.h"
#include "load/workload.h"

struct echo_state {
	uint8_t header[SYNTHETIC_REPLY_HEADER];
	uint32_t have; /* bytes of the header received */
	uint32_t left; /* bytes of the payload still to come */
	struct reply reply;
};

_Static_assert(sizeof(struct echo_state) <= PROTOCOL_PARSER_BYTES, "the state has its limit");

static int put_rest(const struct workload *w, uint8_t *buffer, size_t header, size_t size,
		    struct encoded_request *out)
{
	memcpy(buffer + header, workload_bytes(w), size - header);
	out->size = size;
	out->type = 0;
	return 0;
}

int echo_encode(const struct workload *w, struct rng *rng, void *buffer,
		size_t cap, struct encoded_request *out)
{
	struct echo_message m = { .id = out->id, .size = workload_request_size(w, rng) };

	if (m.size > cap)
		return -ENOBUFS;
	echo_put(buffer, &m);
	return put_rest(w, buffer, ECHO_HEADER, m.size, out);
}

int synthetic_encode(const struct workload *w, struct rng *rng,
		     void *buffer, size_t cap, struct encoded_request *out)
{
	struct synthetic_request r = { .id = out->id };

	r.size = workload_request_size(w, rng);
	r.reply_size = workload_reply_size(w, rng);
	if (r.size > cap)
		return -ENOBUFS;
	if (w->service.kind == DIST_KIND_NONE) {
		r.flags = SYNTHETIC_SERVER_DRAWS;
	} else {
		double ns = dist_draw(&w->service, rng) + 0.5;

		r.service_ns = ns < (double)SYNTHETIC_SERVICE_MAX ? (uint64_t)ns :
								    SYNTHETIC_SERVICE_MAX;
	}
	synthetic_put_request(buffer, &r);
	return put_rest(w, buffer, SYNTHETIC_REQUEST_HEADER, r.size, out);
}

static int read_echo(struct echo_state *s)
{
	struct echo_message m;
	int err = echo_get(s->header, &m);

	if (err)
		return err;
	s->left = m.size - ECHO_HEADER;
	s->reply = (struct reply){ .id = m.id };
	return 0;
}

static int read_synthetic(struct echo_state *s)
{
	struct synthetic_reply r;
	int err = synthetic_get_reply(s->header, &r);

	if (err)
		return err;
	s->left = r.size - SYNTHETIC_REPLY_HEADER;
	s->reply = (struct reply){
		.status = r.flags & SYNTHETIC_REFUSED ? REPLY_ERROR : REPLY_OK,
		.id = r.id, .server_in_ns = r.in_ns, .server_out_ns = r.out_ns,
	};
	return 0;
}

static int echo_parse_message(struct echo_state *s, uint32_t header,
			      int (*read)(struct echo_state *), const uint8_t *data, size_t size,
			      size_t *used, struct reply *out)
{
	size_t n = 0, rest;
	int err;

	*used = 0;
	if (s->have < header) {
		n = header - s->have < size ? header - s->have : size;
		if (n)
			memcpy(s->header + s->have, data, n);
		s->have += (uint32_t)n;
		*used = n;
		if (s->have < header)
			return 0;
		err = read(s);
		if (err)
			return err;
	}
	rest = s->left < size - n ? s->left : size - n;
	s->left -= (uint32_t)rest;
	*used += rest;
	if (s->left)
		return 0;
	*out = s->reply;
	s->have = 0;
	return 1;
}

int echo_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
	       size_t *used, struct reply *out)
{
	(void)type;
	return echo_parse_message((struct echo_state *)parser->state, ECHO_HEADER, read_echo, data,
				  size, used, out);
}

int synthetic_parse(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
		    size_t *used, struct reply *out)
{
	(void)type;
	return echo_parse_message((struct echo_state *)parser->state, SYNTHETIC_REPLY_HEADER,
				  read_synthetic, data, size, used, out);
}
