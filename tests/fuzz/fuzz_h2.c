/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an HTTP/2 server's. The first byte selects the protocol, the second the number of
 * requests, the third the splits: whatever they are, the replies have to be the same. Output is
 * taken now and then, as a socket would.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/rng.h"
#include "load/protocol.h"
#include "load/session.h"
#include "load/workload.h"

#define REPLIES_MAX 64

struct run {
	const struct protocol *protocol;
	struct reply_parser parser;
	struct reply replies[REPLIES_MAX];
	size_t n, used;
	bool garbled;
};

static void drain(struct run *r)
{
	static char to[SESSION_PIECE_MAX];
	struct session_piece piece;

	while (r->protocol->session->output(r->parser.session, to, &piece) > 0)
		BUG_ON(piece.last && !piece.id);
}

static void begin(struct run *r, const struct workload *w, unsigned int requests)
{
	struct encoded_request request;
	struct rng rng;

	rng_init(&rng, 1);
	r->parser.session = r->protocol->session->open(r->protocol, w);
	BUG_ON(!r->parser.session);
	drain(r);
	for (unsigned int i = 0; i < requests; i++)
		BUG_ON(protocol_submit(r->protocol, w, &rng, r->parser.session, &request));
	drain(r);
}

/* In memory of just its size, so that what is read beyond it is seen. */
static void feed(struct run *r, const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1), *p = bytes;
	struct reply reply;

	BUG_ON(!bytes);
	memcpy(bytes, data, size);
	while ((size || r->parser.session->replies_ready) && !r->garbled) {
		size_t used = SIZE_MAX;
		int got = r->protocol->parse(&r->parser, 0, p, size, &used, &reply);

		r->garbled = got < 0;
		BUG_ON(got < 0 && got != -EPROTO);
		BUG_ON(used > size || (got == 0 && used != size));
		if (got == 1) {
			BUG_ON(r->n == REPLIES_MAX || !reply.id);
			r->replies[r->n++] = reply;
		}
		p += used;
		size -= used;
		r->used += used;
	}
	free(bytes);
}

static void compare(const struct run *a, const struct run *b)
{
	BUG_ON(a->n != b->n || a->garbled != b->garbled);
	BUG_ON(a->parser.session->going_away != b->parser.session->going_away);
	BUG_ON(a->parser.session->replies_begun != b->parser.session->replies_begun);
	for (size_t i = 0; i < a->n; i++) {
		const struct reply *x = &a->replies[i], *y = &b->replies[i];

		BUG_ON(x->status != y->status || x->code != y->code || x->id != y->id);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const urls[] = { "h2c://a/", "grpc://a/b/c" };
	static struct run whole, split;
	struct strbuf why = STRBUF_INIT(1024);
	struct workload w;
	struct target target;
	unsigned int requests;
	struct rng rng;

	if (size < 3)
		return 0;
	BUG_ON(target_parse(urls[data[0] % 2], &target, &why) ||
	       workload_parse(&w, NULL, &target, &why));
	requests = data[1] % 8;
	whole = split = (struct run){ .protocol = target.protocol };
	rng_init(&rng, data[2]);
	data += 3;
	size -= 3;
	begin(&whole, &w, requests);
	begin(&split, &w, requests);
	feed(&whole, data, size);
	for (size_t at = 0, n; at < size; at += n) {
		n = rng_below(&rng, 2) ? 1 : 1 + rng_below(&rng, 40);
		n = n < size - at ? n : size - at;
		feed(&split, data + at, n);
	}
	compare(&whole, &split);
	if (!whole.garbled)
		drain(&whole);
	whole.protocol->session->cancel(whole.parser.session, 1);
	whole.protocol->session->finish(whole.parser.session);
	drain(&whole);
	whole.protocol->session->close(whole.parser.session);
	split.protocol->session->close(split.parser.session);
	workload_release(&w);
	strbuf_release(&why);
	return 0;
}
