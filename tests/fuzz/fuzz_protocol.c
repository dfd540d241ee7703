/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a server's replies. The first byte selects the protocol, the second the requests'
 * type, the third the splits: whatever they are, the replies and the end have to be the same. Of
 * datagrams, each begins with its length.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/rng.h"
#include "load/protocol.h"

#define REPLIES_MAX 512
#define ROWS 12 /* protocols without sessions; of the others see fuzz_h2.c */

struct run {
	const struct protocol *protocol;
	uint16_t type;
	struct reply_parser parser;
	struct reply replies[REPLIES_MAX];
	size_t n, used;
	bool garbled;
};

/* In memory of just its size, so that what is read beyond it is seen. */
static void feed(struct run *r, const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1), *p = bytes;
	struct reply reply;

	BUG_ON(!bytes);
	memcpy(bytes, data, size);
	while (size && !r->garbled && r->n < REPLIES_MAX) {
		size_t used = SIZE_MAX;
		int got = r->protocol->parse(&r->parser, r->type, p, size, &used, &reply);

		r->garbled = got < 0;
		BUG_ON(got < 0 && got != -EPROTO);
		if (r->garbled)
			break;
		BUG_ON(used > size || (got == 0 && used != size) || (got == 1 && used == 0));
		BUG_ON(got == 1 && reply.server_in_ns > reply.server_out_ns);
		if (got == 1)
			r->replies[r->n++] = reply;
		p += used;
		size -= used;
		r->used += used;
	}
	free(bytes);
}

static void finish(struct run *r)
{
	struct reply reply;
	size_t used;

	if (!r->garbled && r->n < REPLIES_MAX &&
	    r->protocol->parse(&r->parser, r->type, NULL, 0, &used, &reply) == 1)
		r->replies[r->n++] = reply;
}

static void datagrams(struct run *r, const uint8_t *data, size_t size)
{
	while (size) {
		size_t n = data[0] < size - 1 ? data[0] : size - 1;

		r->garbled = false;
		feed(r, data + 1, n);
		data += 1 + n;
		size -= 1 + n;
	}
}

static void compare(const struct run *a, const struct run *b)
{
	BUG_ON(a->n != b->n || a->garbled != b->garbled);
	for (size_t i = 0; i < a->n; i++) {
		const struct reply *x = &a->replies[i], *y = &b->replies[i];

		BUG_ON(x->status != y->status || x->close != y->close || x->id != y->id ||
		       x->server_in_ns != y->server_in_ns || x->server_out_ns != y->server_out_ns);
	}
}

static const struct protocol *row(unsigned int number)
{
	const struct protocol *p = protocols;

	for (;; p++) {
		BUG_ON(!p->name);
		if (!p->session && !number--)
			return p;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run whole, split;
	struct rng rng;

	if (size < 3)
		return 0;
	whole = split = (struct run){ .protocol = row(data[0] % ROWS),
				      .type = data[1] == 255 ? OPERATION_COMMAND :
					      data[1] % OPERATIONS };
	/* Nobody sends an operation that the protocol does not have. */
	if (whole.protocol->put && whole.type < OPERATIONS && !whole.protocol->put[whole.type])
		whole.type = split.type = OPERATION_GET;
	rng_init(&rng, data[2]);
	data += 3;
	size -= 3;
	if (whole.protocol->datagram) {
		datagrams(&whole, data, size);
		return 0;
	}
	feed(&whole, data, size);
	for (size_t at = 0, n; at < size; at += n) {
		n = rng_below(&rng, 2) ? 1 : 1 + rng_below(&rng, 40);
		n = n < size - at ? n : size - at;
		feed(&split, data + at, n);
	}
	finish(&whole);
	finish(&split);
	compare(&whole, &split);
	return 0;
}
