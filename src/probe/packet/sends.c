/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/packet/sends.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "bpf/abi.h"

#define CHAINS 16384

/* A call or packet that waits for its counterpart, in its hash chain and in the list by age. */
struct sends_node {
	struct sends_node *next, *before;  /* in the hash chain, oldest first */
	struct sends_node *older, *younger;
	uint32_t chain;
	uint32_t type; /* MSG_TYPE_SEND or MSG_TYPE_PACKET */
	union {
		struct msg_send call;
		struct msg_packet packet;
	};
};

struct sends_list {
	struct sends_node *first, *last;
};

struct sends {
	struct sends_node nodes[SENDS_NODES];
	struct sends_list chains[CHAINS];
	struct sends_node *free;           /* unused nodes, linked by `next` */
	struct sends_node *oldest, *youngest;
	uint64_t forgotten;
	sends_done *done;
	void *ctx;
};

/* Compares TCP's sequence numbers, which wrap around. */
static bool sends_seq_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

static uint32_t sends_chain(uint64_t sk)
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

static void sends_remove(struct sends *s, struct sends_node *n)
{
	struct sends_list *chain = &s->chains[n->chain];

	*(n->before ? &n->before->next : &chain->first) = n->next;
	*(n->next ? &n->next->before : &chain->last) = n->before;
	*(n->older ? &n->older->younger : &s->oldest) = n->younger;
	*(n->younger ? &n->younger->older : &s->youngest) = n->older;
	n->next = s->free;
	s->free = n;
}

static struct sends_node *sends_add(struct sends *s, uint64_t sk, uint32_t type)
{
	struct sends_list *chain = &s->chains[sends_chain(sk)];
	struct sends_node *n;

	if (!s->free) {
		s->forgotten += s->oldest->type == MSG_TYPE_SEND;
		sends_remove(s, s->oldest);
	}
	n = s->free;
	s->free = n->next;
	*n = (struct sends_node){ .chain = sends_chain(sk), .type = type, .before = chain->last,
			    .older = s->youngest };
	*(chain->last ? &chain->last->next : &chain->first) = n;
	*(s->youngest ? &s->youngest->younger : &s->oldest) = n;
	chain->last = s->youngest = n;
	return n;
}

static bool sends_same_socket(const struct msg_send *call, const struct tx_times *times)
{
	return call->sk == times->sk && call->born == times->born;
}

/*
 * Returns true if the packet has the last byte of the send call. TCP: by sequence number; UDP: by
 * the call's begin time, which its datagram has, too.
 */
static bool sends_call_ends_in(const struct msg_send *call, const struct tx_times *times)
{
	uint32_t end = call->seq + call->bytes;

	if (!call->born)
		return call->since == times->since;
	return sends_seq_after(end, times->seq) && !sends_seq_after(end, times->seq + times->bytes);
}

int sends_call(struct sends *s, const struct msg_send *call)
{
	const uint32_t end = call->seq + call->bytes;
	struct msg_packet found;
	bool any = false;

	for (struct sends_node *n = s->chains[sends_chain(call->sk)].first, *next; n; n = next) {
		const struct tx_times *times = &n->packet.times;

		next = n->next;
		if (n->type != MSG_TYPE_PACKET || !sends_same_socket(call, times))
			continue;
		if (!any && sends_call_ends_in(call, times)) {
			found = n->packet;
			any = true;
		}
		/* Removes packets that end no later than this call: no later call ends in them. */
		if (!sends_seq_after(times->seq + times->bytes, end))
			sends_remove(s, n);
	}
	if (any)
		return s->done(s->ctx, call, &found);
	sends_add(s, call->sk, MSG_TYPE_SEND)->call = *call;
	return 0;
}

int sends_packet(struct sends *s, const struct msg_packet *packet)
{
	const struct tx_times *times = &packet->times;
	const uint32_t end = times->seq + times->bytes;
	/* Keeps a TCP packet (born != 0) for calls recorded later; a datagram's call is earlier. */
	bool useful = times->born;

	for (struct sends_node *n = s->chains[sends_chain(times->sk)].first, *next; n; n = next) {
		struct msg_send call;
		int err;

		next = n->next;
		if (n->type != MSG_TYPE_SEND || !sends_same_socket(&n->call, times))
			continue;
		call = n->call;
		if (call.born && !sends_seq_after(end, call.seq + call.bytes))
			useful = false; /* it ends by this call's end: no later call ends in it */
		if (!sends_call_ends_in(&call, times))
			continue;
		sends_remove(s, n);
		err = times->given ? s->done(s->ctx, &call, packet) : 0;
		if (err)
			return err;
	}
	if (useful)
		sends_add(s, times->sk, MSG_TYPE_PACKET)->packet = *packet;
	return 0;
}
