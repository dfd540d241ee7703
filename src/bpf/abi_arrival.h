/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Data of the stages before the stack; bpf/abi.h includes this file. */
#ifndef HOSTLAT_BPF_ABI_ARRIVAL_H
#define HOSTLAT_BPF_ABI_ARRIVAL_H

enum arrival_slot {
	ARRIVAL_IRQ,
	ARRIVAL_POLL,
	ARRIVAL_GRO,     /* at `link`: ns since the driver passed the packet to GRO */
	ARRIVAL_BACKLOG, /* at `link`: ns since the driver's hand-over, for packets via a backlog */
	ARRIVAL_SLOTS,
};

/* index of the histograms of an enum arrival_slot, as `id` in ROW_KEY() */
#define ARRIVAL_ROW(slot) (ROWS + (slot))

/* Counters of one receive queue on one CPU. */
struct arrival_queue {
	__u32 ifindex; /* interface index; 0: the entry is free */
	__u32 netns;   /* inode of the interface's network namespace */
	__u32 rxq;     /* queue number + 1; 0 = unknown */
	__u32 pad;
	/* NAPI polls; packets in these polls; polls that used their budget */
	__u64 polls, work, full;
	/* packets given to GRO; merged into an earlier packet; not merged */
	__u64 received, merged, passed;
};

#define ARRIVAL_QUEUES 64
#define ARRIVAL_TRIES 4
/* Two more entries of queue[]: the CPU's backlog (no device), and all queues without an entry. */
#define ARRIVAL_OF_BACKLOG ARRIVAL_QUEUES
#define ARRIVAL_OF_OTHERS (ARRIVAL_QUEUES + 1)
#define ARRIVAL_PLACES (ARRIVAL_QUEUES + 2)

struct arrival_cpu {
	__u64 irq;         /* when the current interrupt handler began; 0: none is running */
	__u64 irq_asked;   /* 1: the current interrupt handler has already raised the softirq */
	/* begin of the interrupt that raised the pending NET_RX, else `raised`; 0: none pending */
	__u64 raise;
	__u64 raised;      /* when the request in `raise` raised the softirq */
	__u64 raised_how;  /* origin of the request: RAISED_* */
	/* begin of the running softirq, 0: none; its request: run_raise, run_raised, run_how */
	__u64 run;
	__u64 run_raise, run_raised, run_how, run_polls;
	__u64 gro_skb;     /* address of the packet that GRO is handling; 0: none */
	__u32 gro_queue;   /* index in queue[] of gro_skb's queue */
	__u32 poll_rxq;    /* queue number + 1 of the poll's last packet */
	__u64 displaced, negative; /* packets lost at `link`: LOSS_DISPLACED; LOSS_NEGATIVE */
	struct stage_row row[ARRIVAL_SLOTS];
	struct arrival_queue queue[ARRIVAL_PLACES];
};

#define RAISED_BY_IRQ 1
/* raised while the softirq ran: the next run first polls packets that this run has left */
#define RAISED_IN_RUN 2

/* Sets of the table of packets between driver and `link`; a set has two entries. */
#define ARRIVAL_SETS 2048

struct arrival_packet {
	__u64 skb; /* the packet's address; 0: the entry is free */
	__u64 since;
	__u32 cpu;
	__u32 slot; /* enum arrival_slot */
};

struct arrival_set {
	struct arrival_packet e[2];
};

#endif
