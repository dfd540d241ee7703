/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes to the synthetic server: the first says the protocol, the second the size of pieces.
 * In pieces they must mean what they mean at once; replies have the size that was asked for.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bug.h"
#include "load/synthetic.h"
#include "serve_pair.h"

#define REPLIES_MAX (1 << 18)

struct outcome {
	size_t size;
	bool ended;
	uint64_t requests, refused, garbled;
	char replies[REPLIES_MAX];
};

static void talk(struct outcome *o, enum serve_protocol_number protocol, const uint8_t *data,
		 size_t size, size_t piece)
{
	struct serve_pair pair;

	serve_pair_open(&pair, protocol, 5);
	o->size = serve_pair_talk(&pair, data, size, piece, o->replies, sizeof(o->replies));
	o->ended = pair.ended;
	o->requests = pair.context->counts.requests;
	o->refused = pair.context->counts.refused;
	o->garbled = pair.context->counts.garbled;
	/* The other ways for a connection to end. */
	shutdown(pair.peer, size & 1 ? SHUT_WR : SHUT_RDWR);
	serve_pair_turn(&pair);
	serve_pair_close(&pair);
}

/* The server sends whole messages of the synthetic protocol; only the last one may be cut. */
static void check_synthetic(const struct outcome *o)
{
	size_t at = 0;

	while (o->size - at >= SYNTHETIC_REPLY_HEADER) {
		struct synthetic_reply r;

		BUG_ON(synthetic_get_reply(o->replies + at, &r));
		BUG_ON(r.in_ns == 0 || r.out_ns < r.in_ns);
		if (r.size > o->size - at)
			break;
		at += r.size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum serve_protocol_number streams[] = {
		SERVE_SYNTHETIC, SERVE_ECHO, SERVE_MEMCACHED, SERVE_REDIS, SERVE_HTTP,
	};
	enum serve_protocol_number protocol;
	struct outcome *whole, *pieces;
	uint64_t skip;
	size_t used = 0;

	if (size < 3)
		return 0;
	protocol = streams[data[0] % ARRAY_LEN(streams)];
	whole = malloc(sizeof(*whole));
	pieces = malloc(sizeof(*pieces));
	BUG_ON(!whole || !pieces);
	talk(whole, protocol, data + 2, size - 2, size);
	talk(pieces, protocol, data + 2, size - 2, (size_t)data[1] + 1);
	if (protocol == SERVE_SYNTHETIC) {
		check_synthetic(whole);
		check_synthetic(pieces);
	} else if (whole->size < REPLIES_MAX) {
		BUG_ON(whole->size != pieces->size || whole->ended != pieces->ended);
		BUG_ON(memcmp(whole->replies, pieces->replies, whole->size));
		BUG_ON(whole->requests != pieces->requests || whole->garbled != pieces->garbled);
	}
	free(whole);
	free(pieces);

	/* R2P2 comes in datagrams. */
	serve_protocols[SERVE_R2P2].parse(&(struct serve_state){ 0 }, (const char *)data, size,
					  &used, &skip, &(struct serve_request){ 0 });
	BUG_ON(used > size);
	return 0;
}
