/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and replies of any bytes: whatever they are, the walk ends, events come in an order that
 * makes sense, and it makes no difference in which parts bodies are passed over.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/bug.h"
#include "bpf/stream.h"

struct walk {
	struct stream_parser s;
	uint32_t ends, heads, bad;
	uint64_t last_end;
};

static void note(struct walk *w, uint32_t events, uint64_t at)
{
	if (events & STREAM_BAD)
		w->bad = 1;
	w->heads += !!(events & STREAM_HEAD);
	if (!(events & STREAM_END))
		return;
	BUG_ON(at <= w->last_end); /* none is empty */
	BUG_ON(w->s.state != AT_START || w->s.skip || w->s.flags);
	w->last_end = at;
	w->ends++;
}

static void walk(struct walk *w, const uint8_t *data, size_t size, int reply, uint64_t part)
{
	for (uint64_t at = 0; at < size && !w->bad;) {
		uint64_t n = w->s.skip;

		if (n > part)
			n = part;
		if (n > size - at)
			n = size - at;
		if (n)
			note(w, stream_skip(&w->s, n), at + n);
		else
			note(w, reply ? stream_reply(&w->s, data[at], false) :
					stream_request(&w->s, data[at]), at + 1);
		at += n ? n : 1;
		BUG_ON(w->heads > w->ends + 1);
		BUG_ON(reply && w->heads < w->ends && !w->bad);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct walk whole = {}, parts = {};
	int reply;

	if (!size)
		return 0;
	reply = data[0] & 3;
	whole.s.protocol = parts.s.protocol = (uint8_t)reply; /* 0: requests */
	walk(&whole, data + 1, size - 1, reply, size);
	walk(&parts, data + 1, size - 1, reply, 1);
	BUG_ON(whole.ends != parts.ends || whole.heads != parts.heads || whole.bad != parts.bad ||
	       whole.last_end != parts.last_end);
	return 0;
}
