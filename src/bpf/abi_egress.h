/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Packets being sent: part of bpf/abi.h, which includes this file. */
#ifndef HOSTLAT_BPF_ABI_EGRESS_H
#define HOSTLAT_BPF_ABI_EGRESS_H

/* Two entries per set, as the link table; a queueing discipline may hold thousands of packets. */
#define TX_SETS 2048
/*
 * Flags in `where`, beside the device's index; without an index the packet is not in the queue yet.
 */
#define TX_GIVEN 0x80000000U /* the driver has it */
#define TX_UDP   0x40000000U
#define TX_STAMPED 0x20000000U /* UDP: the application chose its departure time */
#define TX_INDEX 0x1fffffffU
#define TX_UNSAMPLED (~0ULL) /* UDP's `base`: the datagram is not sampled */

struct tx_entry {
	__u64 skb;  /* the packet's address; 0 = free */
	/* departure time; UDP: the send call's, or enum loss_reason if that is unknown */
	__u64 base;
	__u64 last; /* when it passed the previous stage */
	__u32 seq;  /* TCP: sequence number; UDP: low half of the socket's address */
	__u32 where;
};

struct tx_set {
	struct tx_entry e[2];
};

#define TX_RING 64 /* packets that aren't acknowledged yet */

struct tx_unacked {
	__u64 base;
	__u32 end; /* sequence number after it */
	__u32 group;
};

struct tx_socket {
	__u32 head, tail;
	__u32 end; /* end of the newest packet */
	__u32 any; /* `end` is valid */
	__u32 segs; /* segments received when this end closed the connection */
	__u32 pad;
	struct tx_unacked ring[TX_RING];
};

#define TX_CALLS 64 /* send calls whose bytes wait in the socket */
#define TX_NO_ROOM 0 /* `since`: more than TX_CALLS calls were waiting */
#define TX_BEFORE 1  /* `since`: the bytes or the call are from before the first program */

struct tx_call {
	__u64 since; /* when the call began; TX_NO_ROOM or TX_BEFORE: unknown */
	__u32 seq;   /* sequence number of its first byte */
	__u32 pad;
};

struct tx_writer {
	__u32 head, tail;
	__u32 segmented; /* sequence number after the last byte that was sent once */
	__u32 end;       /* sequence number after the last byte of the last call that ended */
	__u32 calling;
	__u32 known;     /* there has been a call */
	__u64 caller;    /* task in the send call */
	/* Members for a recording: */
	__u64 born;      /* when the socket was first seen; 0 = not yet */
	/* task whose call is recorded, 0 = none; task whose call that one ended */
	__u64 msg_caller, cut;
	__u64 began;     /* when the call began; 0 = unknown */
	__u32 begin;     /* sequence number of the call's first byte */
	__u32 core;
	__u64 paced_to;  /* time up to which `paced` is complete; 0 = no packet has left */
	__u32 paced;     /* ns for which TCP's pacing has held the socket, modulo 2^32 */
	__u32 paced_begin; /* `paced` when the call began */
	/* ns for which the socket was held after a pacing timer was due, modulo 2^32 */
	__u32 late;
	__u32 late_begin; /* `late` when the call began */
	struct tx_call ring[TX_CALLS];
};

/* UDP: the send call of a task; and the first send call of a corked datagram. */
struct tx_datagram {
	__u64 sk; /* 0 = no call */
	__u64 since;
};

_Static_assert(sizeof(struct tx_socket) <= STORAGE_MAX, "storage of what isn't acknowledged");
_Static_assert(sizeof(struct tx_writer) <= STORAGE_MAX, "storage of send calls");
_Static_assert(sizeof(struct tx_set) == 64, "one cache line per set");

#endif
