/* SPDX-License-Identifier: Apache-2.0 */
/* Binary protocols with a fixed header; payload is skipped in requests, padding in replies. */
#include "load/serve_binary.h"

#include <errno.h>

#include "load/r2p2.h"
#include "load/synthetic.h"

#define OUT_NS_AT 32 /* offset of a reply's departure time: docs/design/synthetic-protocol.md */

int serve_echo_parse(struct serve_state *state, const char *data, size_t size, size_t *used,
		     uint64_t *skip, struct serve_request *out)
{
	struct echo_message m;

	(void)state;
	if (size < ECHO_HEADER)
		return 0;
	if (echo_get(data, &m))
		return -EPROTO;
	*used = ECHO_HEADER;
	*skip = m.size - ECHO_HEADER;
	out->id = m.id;
	out->size = m.size;
	out->service_ns = SERVE_DRAWN;
	return 1;
}

/* The echo protocol has no error reply, so a refused request gets no reply. */
void serve_echo_write(const struct serve_settings *settings, const struct serve_request *request,
		      char *to, struct serve_reply *out)
{
	struct echo_message m = { .id = request->id, .size = request->size };

	(void)settings;
	*out = (struct serve_reply){ 0 };
	if (request->refused)
		return;
	echo_put(to, &m);
	out->head = ECHO_HEADER;
	out->fill = m.size - ECHO_HEADER;
}

int serve_synthetic_parse(struct serve_state *state, const char *data, size_t size, size_t *used,
			  uint64_t *skip, struct serve_request *out)
{
	struct synthetic_request r;

	(void)state;
	if (size < SYNTHETIC_REQUEST_HEADER)
		return 0;
	if (synthetic_get_request(data, &r))
		return -EPROTO;
	*used = SYNTHETIC_REQUEST_HEADER;
	*skip = r.size - SYNTHETIC_REQUEST_HEADER;
	out->id = r.id;
	out->size = r.reply_size;
	out->service_ns = r.flags & SYNTHETIC_SERVER_DRAWS ? SERVE_DRAWN : r.service_ns;
	return 1;
}

void serve_synthetic_write(const struct serve_settings *settings,
			   const struct serve_request *request, char *to, struct serve_reply *out)
{
	struct synthetic_reply r = {
		.flags = request->refused ? SYNTHETIC_REFUSED : 0,
		.id = request->id,
		.size = request->refused ? SYNTHETIC_REPLY_HEADER : request->size,
		.service_ns = request->refused ? 0 : request->service_ns,
		.in_ns = request->in_ns,
	};

	(void)settings;
	synthetic_put_reply(to, &r);
	*out = (struct serve_reply){
		.head = SYNTHETIC_REPLY_HEADER,
		.fill = r.size - SYNTHETIC_REPLY_HEADER,
		.stamp = OUT_NS_AT,
	};
}

int serve_r2p2_parse(struct serve_state *state, const char *data, size_t size, size_t *used,
		     uint64_t *skip, struct serve_request *out)
{
	enum r2p2_type type;
	uint16_t id;

	if (r2p2_get(data, size, &type, &id) || type != R2P2_REQUEST ||
	    serve_synthetic_parse(state, data + R2P2_HEADER, size - R2P2_HEADER, used, skip,
				  out) != 1)
		return -EPROTO;
	*used += R2P2_HEADER;
	/* The low 16 bits of the message's id must equal the packet's id. */
	return (uint16_t)out->id == id ? 1 : -EPROTO;
}

void serve_r2p2_write(const struct serve_settings *settings, const struct serve_request *request,
		      char *to, struct serve_reply *out)
{
	serve_synthetic_write(settings, request, to + R2P2_HEADER, out);
	r2p2_put(to, R2P2_RESPONSE, (uint16_t)request->id);
	out->head += R2P2_HEADER;
	out->stamp += R2P2_HEADER;
}
