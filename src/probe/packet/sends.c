/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/packet/sends.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "bpf/abi.h"

#define CHAINS 16384

/* A call or a packet that waits for the other. In two lists: of its chain, and by age. */
struct node {
	struct node *next, *before;  /* in the chain, oldest first */
	struct node *older, *younger;
	uint32_t chain;
	uint32_t told; /* TOLD_SEND or TOLD_PACKET */
	union {
		struct told_send call;
		struct told_packet packet;
	};
};

struct list {
	struct node *first, *last;
};

struct sends {
	struct node nodes[SENDS_NODES];
	struct list chains[CHAINS];
	struct node *free;           /* by `next` */
	struct node *oldest, *youngest;
	uint64_t forgotten;
	sends_done *done;
	void *ctx;
};

/* TCP's sequence numbers wrap around. */
static bool after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

static uint32_t chain_of(uint64_t sk)
{
	const uint64_t golden = 0x9e3779b97f4a7c15ULL;

	return (uint32_t)(sk * golden >> 50) & (CHAINS - 1);
}

int sends_new(struct sends **out, sends_done *done, void *ctx)
{
	struct sends *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return -ENOMEM;
	s->done = done;
	s->ctx = ctx;
	for (uint32_t i = 0; i < SENDS_NODES; i++) {
		s->nodes[i].next = s->free;
		s->free = &s->nodes[i];
	}
	return 0;
}

void sends_free(struct sends *s)
{
	free(s);
}

uint64_t sends_forgotten(const struct sends *s)
{
	return s->forgotten;
}

static void leave(struct sends *s, struct node *n)
{
	struct list *chain = &s->chains[n->chain];

	*(n->before ? &n->before->next : &chain->first) = n->next;
	*(n->next ? &n->next->before : &chain->last) = n->before;
	*(n->older ? &n->older->younger : &s->oldest) = n->younger;
	*(n->younger ? &n->younger->older : &s->youngest) = n->older;
	n->next = s->free;
	s->free = n;
}

static struct node *enter(struct sends *s, uint64_t sk, uint32_t told)
{
	struct list *chain = &s->chains[chain_of(sk)];
	struct node *n;

	if (!s->free) {
		s->forgotten += s->oldest->told == TOLD_SEND;
		leave(s, s->oldest);
	}
	n = s->free;
	s->free = n->next;
	*n = (struct node){ .chain = chain_of(sk), .told = told, .before = chain->last,
			    .older = s->youngest };
	*(chain->last ? &chain->last->next : &chain->first) = n;
	*(s->youngest ? &s->youngest->younger : &s->oldest) = n;
	chain->last = s->youngest = n;
	return n;
}

static bool same_socket(const struct told_send *call, const struct tx_way *way)
{
	return call->sk == way->sk && call->born == way->born;
}

/* Is the call's last byte in the packet? A datagram is told by when its call began. */
static bool ends(const struct told_send *call, const struct tx_way *way)
{
	uint32_t end = call->seq + call->bytes;

	if (!call->born)
		return call->since == way->since;
	return after(end, way->seq) && !after(end, way->seq + way->bytes);
}

int sends_call(struct sends *s, const struct told_send *call)
{
	const uint32_t end = call->seq + call->bytes;
	struct told_packet found;
	bool any = false;

	for (struct node *n = s->chains[chain_of(call->sk)].first, *next; n; n = next) {
		const struct tx_way *way = &n->packet.way;

		next = n->next;
		if (n->told != TOLD_PACKET || !same_socket(call, way))
			continue;
		if (!any && ends(call, way)) {
			found = n->packet;
			any = true;
		}
		if (!after(way->seq + way->bytes, end)) /* it ends no later call */
			leave(s, n);
	}
	if (any)
		return s->done(s->ctx, call, &found);
	enter(s, call->sk, TOLD_SEND)->call = *call;
	return 0;
}

int sends_packet(struct sends *s, const struct told_packet *packet)
{
	const struct tx_way *way = &packet->way;
	const uint32_t end = way->seq + way->bytes;
	bool useful = way->born; /* of a datagram's call is told first */

	for (struct node *n = s->chains[chain_of(way->sk)].first, *next; n; n = next) {
		struct told_send call;
		int err;

		next = n->next;
		if (n->told != TOLD_SEND || !same_socket(&n->call, way))
			continue;
		call = n->call;
		if (call.born && !after(end, call.seq + call.bytes))
			useful = false; /* calls up to its end have ended */
		if (!ends(&call, way))
			continue;
		leave(s, n);
		err = way->given ? s->done(s->ctx, &call, packet) : 0;
		if (err)
			return err;
	}
	if (useful)
		enter(s, way->sk, TOLD_PACKET)->packet = *packet;
	return 0;
}
