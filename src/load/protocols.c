/* SPDX-License-Identifier: Apache-2.0 */
/* The table of protocols, and the encoding of their operations as requests. */
#include <errno.h>
#include <string.h>

#include "load/echo.h"
#include "load/h2.h"
#include "load/http.h"
#include "load/http_put.h"
#include "load/memcached.h"
#include "load/memcached_binary.h"
#include "load/memcached_meta.h"
#include "load/memcached_udp.h"
#include "load/protocol.h"
#include "load/r2p2.h"
#include "load/replay.h"
#include "load/resp.h"
#include "load/resp_command.h"
#include "load/session.h"
#include "load/workload.h"

/* Masks of the workload settings that key-value, echo and synthetic requests use. */
#define OF_STORE                                                                                   \
	(1U << WORKLOAD_BASE | 1U << WORKLOAD_KEYS | 1U << WORKLOAD_POPULARITY |                   \
	 1U << WORKLOAD_KEY | 1U << WORKLOAD_VALUE)
#define OF_ECHO (1U << WORKLOAD_REQUEST)
#define OF_SYNTHETIC (1U << WORKLOAD_SERVICE | 1U << WORKLOAD_REQUEST | 1U << WORKLOAD_REPLY)

/* ---- operations ---- */

static bool has_keys(const struct protocol *p)
{
	return p->settings & 1U << WORKLOAD_KEYS;
}

static inline int encode_operation(const struct protocol *p, const struct workload *w,
				   const struct operation *o, char *buffer, size_t cap,
				   struct encoded_request *out)
{
	char *end;

	if (cap < w->request_overhead + o->size)
		return -ENOBUFS;
	end = p->put[o->kind](buffer + p->frame_size, w, o);
	*out = (struct encoded_request){ .size = (size_t)(end - buffer),
				 .type = (uint16_t)o->kind, .id = o->id };
	if (p->frame_size)
		p->put_frame((uint8_t *)buffer, out);
	return 0;
}

/*
 * Draws an operation. The order of the random draws must not change, or a seed would
 * produce another run.
 */
static inline void draw_operation(const struct workload *w, struct rng *rng, struct operation *o)
{
	if (w->key_of)
		o->key = workload_key(w, rng);
	o->kind = workload_operation(w, rng);
	if (w->value_of >> o->kind & 1)
		o->size = workload_value_size(w, rng);
	if (w->random_of >> o->kind & 1)
		o->random = rng_u64(rng);
}

/*
 * Makes a cas a gets if the number of its key's item is not known. `type` is that of the request if
 * it is encoded again, and decides.
 */
static void choose_cas(const struct workload *w, uint16_t type, struct operation *o)
{
	if (type ? type == OPERATION_CAS : workload_knows_cas(w, o->key))
		return;
	o->kind = OPERATION_GETS;
	o->size = 0;
}

static int encode_drawn(const struct protocol *p, const struct workload *w, struct rng *rng,
			void *buffer, size_t cap, struct encoded_request *out)
{
	struct operation o = { .id = out->id, .number = out->number };

	draw_operation(w, rng, &o);
	if (o.kind == OPERATION_CAS)
		choose_cas(w, out->type, &o);
	return encode_operation(p, w, &o, buffer, cap, out);
}

int protocol_submit(const struct protocol *p, const struct workload *w, struct rng *rng,
		    struct protocol_session *session, struct encoded_request *out)
{
	struct operation o = { .number = out->number };

	draw_operation(w, rng, &o);
	return p->session->submit(session, w, &o, out);
}

int protocol_encode(const struct protocol *p, const struct workload *w, struct rng *rng,
		    uint32_t id, void *buffer, size_t cap, struct encoded_request *out)
{
	out->id = id;
	if (w->commands)
		return p->encode_command(w, rng, buffer, cap, out);
	if (w->replay)
		return replay_encode(w, buffer, cap, out);
	return p->put ? encode_drawn(p, w, rng, buffer, cap, out) :
			p->encode(w, rng, buffer, cap, out);
}

size_t protocol_key(const struct workload *w, struct rng *rng, uint64_t number, char *to)
{
	struct operation o = { .number = number };

	if (w->commands)
		return resp_command_key(w, rng, number, to);
	draw_operation(w, rng, &o);
	return workload_key_text(w, o.key, to);
}

/* ---- the table ---- */

/* Initializers that variants of a protocol share: redis, rediss; http, https; h2, h2c ... */
#define RESP                                                                                       \
	.default_port = "6379", .settings = OF_STORE,                                              \
	.put = resp_put, .parse = resp_parse, .pushes = true,                                      \
	.encode_command = resp_command_encode,                                                     \
	.greet = resp_greet, .greeting_type = OPERATION_COMMAND
#define HTTP                                                                                       \
	.http = true, .has_path = true,                                                            \
	.put = http_put, .parse = http_parse, .replays = REPLAY_HTTP
#define H2                                                                                         \
	.has_path = true, .matched_by_id = true, .put = http_put, .parse = h2_parse,               \
	.session = &h2_session_ops
#define H2_HTTP H2, .http = true
#define GRPC H2, .grpc = true, .default_port = "50051"

const struct protocol protocols[] = {
	{ .name = "memcached", .default_port = "11211",
	  .settings = OF_STORE,
	  .put = memcached_put, .parse = memcached_parse, .replays = REPLAY_CACHE,
	  .greet = memcached_greet, .greeting_type = OPERATION_SET },
	{ .name = "memcached-binary", .default_port = "11211", .matched_by_id = true,
	  .settings = OF_STORE,
	  .put = memcached_binary_put,
	  .parse = memcached_binary_parse, .greet = memcached_binary_greet },
	{ .name = "udp+memcached", .default_port = "11211", .matched_by_id = true, .datagram = true,
	  .settings = OF_STORE,
	  .put = memcached_datagram_put, .parse = memcached_udp_parse,
	  .frame_size = MEMCACHED_UDP_FRAME, .put_frame = memcached_udp_put_frame },
	{ .name = "redis", RESP },
	{ .name = "rediss", .tls = true, RESP },
	{ .name = "http", .default_port = "80", HTTP },
	{ .name = "https", .default_port = "443", .tls = true, HTTP },
	{ .name = "h2", .default_port = "443", .tls = true, H2_HTTP },
	{ .name = "h2c", .default_port = "80", H2_HTTP },
	{ .name = "grpc", GRPC },
	{ .name = "grpcs", .tls = true, GRPC },
	{ .name = "echo", .default_port = "4300", .matched_by_id = true,
	  .settings = OF_ECHO,
	  .encode = echo_encode, .parse = echo_parse },
	{ .name = "synthetic", .default_port = "4300", .matched_by_id = true,
	  .settings = OF_SYNTHETIC,
	  .encode = synthetic_encode, .parse = synthetic_parse },
	{ .name = "r2p2", .default_port = "4300", .matched_by_id = true, .datagram = true,
	  .settings = OF_SYNTHETIC,
	  .encode = r2p2_encode, .parse = r2p2_parse },
	{ .name = "memcached-meta", .default_port = "11211",
	  .settings = OF_STORE,
	  .put = memcached_meta_put, .parse = memcached_meta_parse,
	  .greet = memcached_greet, .greeting_type = OPERATION_SET },
	{ .name = "null", .matched_by_id = true, .no_network = true,
	  .settings = OF_ECHO,
	  .encode = echo_encode, .parse = echo_parse },
	{ .name = NULL },
};

const struct protocol *protocol_find(const char *scheme)
{
	for (const struct protocol *p = protocols; p->name; p++) {
		if (strcmp(p->name, scheme) == 0)
			return p;
	}
	return NULL;
}

bool protocol_stores(const struct protocol *p)
{
	return p->put && has_keys(p);
}

int protocol_encode_store(const struct protocol *p, const struct workload *w, uint64_t key,
			  void *buffer, size_t cap, struct encoded_request *out)
{
	const struct operation o = {
		.kind = OPERATION_SET, .key = key, .size = workload_stored_size(w, key),
		.id = (uint32_t)key,
	};

	return encode_operation(p, w, &o, buffer, cap, out);
}
