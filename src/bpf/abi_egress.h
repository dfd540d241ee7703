/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Data of packets in transmission; bpf/abi.h includes this file. */
#ifndef HOSTLAT_BPF_ABI_EGRESS_H
#define HOSTLAT_BPF_ABI_EGRESS_H

/*
 * Sets of the table of packets in transmission, two entries each: a queueing discipline may hold
 * thousands of packets.
 */
#define TX_SETS 2048
/*
 * Flags in tx_entry.where, beside the device's index; without an index the packet is not in the
 * qdisc yet.
 */
#define TX_GIVEN 0x80000000U /* the driver has the packet */
#define TX_UDP   0x40000000U
#define TX_STAMPED 0x20000000U /* the application chose the datagram's departure time */
#define TX_INDEX 0x1fffffffU
#define TX_UNSAMPLED (~0ULL) /* tx_entry.base of a datagram that is not sampled */

struct tx_entry {
	__u64 skb;  /* the packet's address; 0 = free */
	/* departure time; UDP: time of the send call, or enum loss_reason if unknown */
	__u64 base;
	__u64 last; /* when the packet passed the previous stage */
	__u32 seq;  /* TCP: sequence number; UDP: low half of the socket's address */
	__u32 where;
};

struct tx_set {
	struct tx_entry e[2];
};

#define TX_RING 64 /* maximum of unacknowledged packets per socket */

struct tx_unacked {
	__u64 base;
	__u32 end; /* sequence number after the packet */
	__u32 group;
};

struct tx_socket {
	__u32 head, tail;
	__u32 end; /* sequence number after the newest packet */
	__u32 any; /* 1: `end` is valid, as a packet has been sent */
	__u32 segs; /* segments received when this end closed the connection */
	__u32 pad;
	struct tx_unacked ring[TX_RING];
};

#define TX_CALLS 64 /* maximum of send calls per socket whose bytes are not sent yet */
#define TX_NO_ROOM 0 /* `since` of a call without an entry: more than TX_CALLS calls were waiting */
#define TX_BEFORE 1  /* `since`: the bytes or the call are older than hostlat's programs */

struct tx_call {
	__u64 since; /* when the call began; TX_NO_ROOM or TX_BEFORE: unknown */
	__u32 seq;   /* sequence number of the call's first byte */
	__u32 pad;
};

struct tx_writer {
	__u32 head, tail;
	__u32 segmented; /* sequence number after the last byte that was sent at least once */
	__u32 end;       /* sequence number after the last byte of the last call that ended */
	__u32 calling;
	__u32 known;     /* 1: hostlat has seen a send call on the socket */
	__u64 caller;    /* pid and tgid of the task in the send call */
	/* Members for a recording: */
	__u64 born;      /* when the socket was first seen; 0 = not yet */
	/* msg_caller: task of the recorded call; cut: task whose record that call ended; 0: none */
	__u64 msg_caller, cut;
	__u64 began;     /* when the recorded call began; 0: unknown */
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

/* A task's UDP send call, or the first send call of a corked datagram. */
struct tx_datagram {
	__u64 sk; /* address of the socket; 0: no call */
	__u64 since;
};

_Static_assert(sizeof(struct tx_socket) <= STORAGE_MAX, "storage of what isn't acknowledged");
_Static_assert(sizeof(struct tx_writer) <= STORAGE_MAX, "storage of send calls");
_Static_assert(sizeof(struct tx_set) == 64, "one cache line per set");

#endif
