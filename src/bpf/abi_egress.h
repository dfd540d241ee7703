/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Packets on their way out: a part of bpf/abi.h, which includes it; its rules hold. */
#ifndef HOSTLAT_BPF_ABI_EGRESS_H
#define HOSTLAT_BPF_ABI_EGRESS_H

/* Two ways, as the link table; a queueing discipline may hold thousands of packets. */
#define TX_SETS 2048
/* In `where`, with the device's index; without an index it is not in the queue yet. */
#define TX_GIVEN 0x80000000U /* the driver has it */
#define TX_UDP   0x40000000U
#define TX_STAMPED 0x20000000U /* UDP: with a time of the application's choice */
#define TX_INDEX 0x1fffffffU
#define TX_UNSAMPLED (~0ULL) /* in UDP's `base`: it is not measured (--sample) */

struct tx_entry {
	__u64 skb;  /* the packet's address; 0 = free */
	__u64 base; /* its departure; UDP: the send call, or enum loss_reason: why that isn't known
		     */
	__u64 last; /* when it passed the stage before */
	__u32 seq;  /* UDP: the socket's address, its low half */
	__u32 where;
};

struct tx_set {
	struct tx_entry e[2];
};

#define TX_RING 64 /* packets that aren't acknowledged yet */

struct tx_unacked {
	__u64 base;
	__u32 end; /* sequence number behind it */
	__u32 group;
};

struct tx_socket {
	__u32 head, tail;
	__u32 end; /* of the newest */
	__u32 any; /* `end` is known */
	__u32 segs; /* segments received when the connection was closed here */
	__u32 pad;
	struct tx_unacked ring[TX_RING];
};

#define TX_CALLS 64 /* send calls whose bytes wait in the socket */
#define TX_NO_ROOM 0 /* more calls than that */
#define TX_BEFORE 1  /* its bytes, or the call itself, were there before it was watched */

struct tx_call {
	__u64 since; /* or TX_NO_ROOM, TX_BEFORE: unknown */
	__u32 seq;   /* of its first byte */
	__u32 pad;
};

struct tx_writer {
	__u32 head, tail;
	__u32 segmented; /* behind the last byte that was sent for the first time */
	__u32 end;       /* behind the last byte of the last call that ended */
	__u32 calling;
	__u32 known;     /* there was a call */
	__u64 caller;    /* the task that is calling */
	/* in a recording: */
	__u64 born;      /* when it was first seen; 0 = not yet */
	__u64 told_caller, cut; /* whose call it is, 0 = nobody's; whose was ended by that */
	__u64 began;     /* 0 = unknown */
	__u32 begin;     /* sequence number of the call's first byte */
	__u32 core;
	__u64 paced_to;  /* up to when what pacing has held is in `paced`; 0 = nothing has left */
	__u32 paced;     /* for how long TCP's own pacing has held the socket, modulo 2^32 ns */
	__u32 paced_begin; /* ... when the call began */
	__u32 late;      /* for how long it was held after a pacing timer was due, modulo 2^32 */
	__u32 late_begin; /* ... when the call began */
	struct tx_call ring[TX_CALLS];
};

/* UDP: the send call that a task is in; and, of data that wait for a later call, their first. */
struct tx_datagram {
	__u64 sk; /* 0 = in none */
	__u64 since;
};

_Static_assert(sizeof(struct tx_socket) <= STORAGE_MAX, "storage of what isn't acknowledged");
_Static_assert(sizeof(struct tx_writer) <= STORAGE_MAX, "storage of send calls");
_Static_assert(sizeof(struct tx_set) == 64, "one cache line per set");

#endif
