/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* State of a connection whose requests are followed (record --boundary request). */
#ifndef HOSTLAT_BPF_REQUEST_CONN_H
#define HOSTLAT_BPF_REQUEST_CONN_H

#include "bpf/abi.h"
#include "bpf/abi_record.h"
#include "bpf/record.bpf.h"
#include "bpf/stream_word.h"
#include "bpf/msg_event.bpf.h"

#define REQUESTS 32 /* maximum of requests that wait for their reply */
#define ARRIVALS 64 /* number of stored packet arrivals; a newer one overwrites the oldest */
#define CHUNK 64

const volatile __u32 requests = 0;

__u64 requests_missed[MISSED_MAX];

struct request_arrival {
	__u64 enqueued; /* when the packet entered the socket's receive queue; 0: unknown */
	__u32 link, transport; /* ns from arrival, and from TCP's entry or socket, to the queue */
	__u32 seq;
	__u16 link_core, enqueued_core;
};

struct request_pending {
	struct request_arrival first;
	__u64 last;     /* when the packet with the request's last byte arrived; 0: unknown */
	__u64 read;
	__u32 bytes;
	__u32 pid, tid;
	__u16 core;
	__u8 no_body;   /* HEAD request: the reply has no body */
	__u8 pad;
};

enum request_state { REQUESTS_NEW, REQUESTS_FOLLOWED, REQUESTS_ABANDONED };

struct request_side {
	struct stream_parser stream;
	__u32 next;     /* sequence number of the next byte to parse */
	__u32 busy;     /* 1: a program is parsing bytes of this direction */
	/*
	 * work of this call, in parsed bytes; on the stack, the verifier would track each value
	 */
	__u32 work;
	__u8 chunk[CHUNK];
};

struct request_conn {
	__u32 state;
	__u32 head, tail; /* waiting[]: positions of the oldest unanswered and the next request */
	__u32 arrivals;
	struct request_side in, out;
	struct request_arrival begins; /* arrival of the first byte of the incomplete request */
	__u64 since;    /* begin of the send call of the current reply */
	__u32 since_core, pad;
	struct request_arrival arrived[ARRIVALS];
	struct request_pending waiting[REQUESTS];
};

_Static_assert(sizeof(struct request_conn) <= STORAGE_MAX, "storage of a connection's requests");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct request_conn);
} request_conns SEC(".maps");

static __always_inline void request_missed(__u32 why)
{
	if (why < MISSED_MAX)
		__sync_fetch_and_add(&requests_missed[why], 1);
}

static __always_inline void requests_abandon(struct request_conn *r, __u32 why)
{
	r->state = REQUESTS_ABANDONED;
	request_missed(why);
}

/* Stores the arrival of a packet, as its first byte is read; under the socket's lock. */
static __always_inline void request_arrives(struct request_conn *r, const struct queued *q)
{
	struct request_arrival *a = &r->arrived[r->arrivals & (ARRIVALS - 1)];

	a->seq = q->s.seq;
	a->enqueued = q->s.flags & PKT_FORCED_MISS ? 0 : q->s.enqueued;
	a->link = q->link;
	a->transport = msg_transport_ns(q->transport, q->socket);
	a->link_core = q->cores;
	a->enqueued_core = q->cores >> 16;
	r->arrivals++;
}

#endif
