/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Stages before the stack: part of bpf/abi.h, which includes this file. */
#ifndef HOSTLAT_BPF_ABI_ARRIVAL_H
#define HOSTLAT_BPF_ABI_ARRIVAL_H

enum arrival_slot {
	ARRIVAL_IRQ,
	ARRIVAL_POLL,
	ARRIVAL_GRO,     /* at `link`: time since the driver's hand-over, in place of a latency */
	ARRIVAL_BACKLOG, /* as ARRIVAL_GRO, for packets that passed a CPU's backlog */
	ARRIVAL_SLOTS,
};

#define ARRIVAL_ROW(slot) (ROWS + (slot)) /* for ROW_KEY() */

/* Counters of one receive queue on one CPU. */
struct arrival_queue {
	__u32 ifindex; /* 0: free */
	__u32 netns;   /* inode of the interface's network namespace */
	__u32 rxq;     /* queue number + 1; 0 = unknown */
	__u32 pad;
	__u64 polls, work, full; /* NAPI polls; packets in them; polls that used their budget */
	/* packets given to GRO; merged into an earlier one; others */
	__u64 received, merged, passed;
};

#define ARRIVAL_QUEUES 64
#define ARRIVAL_TRIES 4
/* Two more entries: a CPU's backlog, which has no device, and queues without an entry. */
#define ARRIVAL_OF_BACKLOG ARRIVAL_QUEUES
#define ARRIVAL_OF_OTHERS (ARRIVAL_QUEUES + 1)
#define ARRIVAL_PLACES (ARRIVAL_QUEUES + 2)

struct arrival_cpu {
	__u64 irq;         /* when the interrupt handler began; 0 = not in one */
	__u64 irq_asked;   /* this handler has already raised the softirq */
	/* oldest unserved request: begin of its handler, or `raised`; 0 = none */
	__u64 raise;
	__u64 raised;      /* when that request raised the softirq */
	__u64 raised_how;  /* RAISED_* */
	/* when the softirq began; 0 = not in one. Below: the request that it serves */
	__u64 run;
	__u64 run_raise, run_raised, run_how, run_polls;
	__u64 gro_skb;     /* packet that GRO is handling; or 0 */
	__u32 gro_queue;   /* index in queue[] */
	__u32 poll_rxq;    /* queue number + 1 of the poll's last packet */
	__u64 displaced, negative; /* packets lost at `link` */
	struct stage_row row[ARRIVAL_SLOTS];
	struct arrival_queue queue[ARRIVAL_PLACES];
};

#define RAISED_BY_IRQ 1
#define RAISED_IN_RUN 2 /* leftover packets of the running softirq are polled first */

/* Table of packets between driver and `link`: two entries per set, as in the link table. */
#define ARRIVAL_SETS 2048

struct arrival_packet {
	__u64 skb; /* 0 = free */
	__u64 since;
	__u32 cpu;
	__u32 slot; /* enum arrival_slot */
};

struct arrival_set {
	struct arrival_packet e[2];
};

#endif
