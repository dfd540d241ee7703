/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The part of bpf/abi.h that is before the stack; that includes it. */
#ifndef HOSTLAT_BPF_ABI_ARRIVAL_H
#define HOSTLAT_BPF_ABI_ARRIVAL_H

enum arrival_slot {
	ARRIVAL_IRQ,
	ARRIVAL_POLL,
	ARRIVAL_GRO,     /* at `link`: from the driver's hand-over on; in place of a latency */
	ARRIVAL_BACKLOG, /* ... the same of packets that passed a CPU's backlog */
	ARRIVAL_SLOTS,
};

#define ARRIVAL_ROW(slot) (ROWS + (slot)) /* for ROW_KEY() */

/* What came by one receive queue, on one CPU. */
struct arrival_queue {
	__u32 ifindex; /* 0: free */
	__u32 netns;   /* of the interface, inode */
	__u32 rxq;     /* its number + 1; 0 = not known */
	__u32 pad;
	__u64 polls, work, full; /* NAPI polls; packets by them; those of full budget */
	__u64 received, merged, passed; /* packets given to GRO; into one before; the others */
};

#define ARRIVAL_QUEUES 64
#define ARRIVAL_TRIES 4
/* Two places of their own: a CPU's backlog, which is of no device, and what found no place. */
#define ARRIVAL_OF_BACKLOG ARRIVAL_QUEUES
#define ARRIVAL_OF_OTHERS (ARRIVAL_QUEUES + 1)
#define ARRIVAL_PLACES (ARRIVAL_QUEUES + 2)

struct arrival_cpu {
	__u64 irq;         /* when the handler of the interrupt began; 0 = not in one */
	__u64 irq_asked;   /* ... and it has asked for the softirq already */
	__u64 raise;       /* the oldest not served: its handler's begin, or itself; or 0 */
	__u64 raised;      /* ... itself */
	__u64 raised_how;  /* RAISED_* */
	__u64 run;         /* when the softirq began; 0 = not in one; then: what it serves */
	__u64 run_raise, run_raised, run_how, run_polls;
	__u64 gro_skb;     /* the packet that GRO has just now; or 0 */
	__u32 gro_queue;   /* its place in queue[] */
	__u32 poll_rxq;    /* of the poll's last packet; number + 1 */
	__u64 displaced, negative; /* losses at `link` */
	struct stage_row row[ARRIVAL_SLOTS];
	struct arrival_queue queue[ARRIVAL_PLACES];
};

#define RAISED_BY_IRQ 1
#define RAISED_IN_RUN 2 /* what the softirq left over comes first then */

/* Packets between driver and `link`: two ways, as in the link table. */
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
