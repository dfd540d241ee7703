/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Map values that the programs of src/bpf share with their loader (src/probe).
 *
 * Compiled by clang for BPF and by the host's compiler; the asserts hold both to one layout. All
 * times are CLOCK_MONOTONIC nanoseconds. Counters only grow: the loader keeps the previous snapshot
 * and subtracts, so nothing is lost between two readings.
 */
#ifndef HOSTLAT_BPF_ABI_H
#define HOSTLAT_BPF_ABI_H

#include <linux/types.h>

/* ---- rows: one distribution from an origin to a stage, and its step ---- */

/* Histogram schema 3 up to 2^40 ns (18 minutes): upper bucket edges 2^(i/8) ns, i = 0..320. */
#define ROW_SCHEMA  3
#define ROW_BUCKETS 321

#define CELL_ZERO   0
#define CELL_OVER   1
#define CELL_BUCKET 2
#define CELL_MAX    (CELL_BUCKET + ROW_BUCKETS)

struct row_hist {
	__u64 sum;
	/* extremes in ns; the loader resets them to ~0 and 0 as each interval begins */
	__u64 min, max;
	union {
		struct {
			__u64 zero; /* values of exactly 0 */
			__u64 over; /* values above 2^40 ns */
			__u64 bucket[ROW_BUCKETS];
		};
		__u64 cell[CELL_MAX]; /* all counters, as one array */
	};
};

/*
 * A row: distributions of one stage on one CPU. Only that CPU writes the row; the loader resets
 * only the extremes.
 */
struct stage_row {
	struct row_hist latency; /* ns from the origin to the stage, with exceptions in SLOT_LIST */
	struct row_hist step;    /* ns since the previous measured stage of the same packet */
};

/*
 * List of slots, most frequent first: a slot is a stage, or a part of one with its own histograms.
 * Arguments of X: slot, stage, and the kinds (enum hist_dist) of the row's `latency` and `step`. A
 * row's index is (protocol, slot, origin). A stage is recorded if its first slot is selected.
 */
#define SLOT_LIST(X)                                                                             \
	X(SOCKET, STAGE_SOCKET, DIST_LATENCY, DIST_STEP)                                         \
	X(ENQUEUED, STAGE_ENQUEUED, DIST_LATENCY, DIST_STEP)                                     \
	/* READ: `latency`: reads of packets with one origin time; `step`: other reads, too. */  \
	X(READ, STAGE_READ, DIST_LATENCY, DIST_STEP)                                             \
	X(LINK, STAGE_LINK, DIST_LATENCY, DIST_STEP)                                             \
	X(TRANSPORT, STAGE_TRANSPORT, DIST_LATENCY, DIST_STEP)                                   \
	X(IP, STAGE_IP, DIST_LATENCY, DIST_STEP)                                                 \
	X(RUNNABLE, STAGE_RUNNABLE, DIST_LATENCY, DIST_STEP)                                     \
	X(RUNNING, STAGE_RUNNING, DIST_LATENCY, DIST_STEP)                                       \
	/*                                                                                       \
	 * READ_MIXED: reads of packets with several origin times. `latency` counts from the     \
	 * oldest packet's origin time, `step` from the youngest packet's.                       \
	 */                                                                                      \
	X(READ_MIXED, STAGE_READ, DIST_LATENCY, DIST_YOUNGEST)                                   \
	X(CPU_WAIT, STAGE_READ, DIST_CPU_WAIT, DIST_STEP)                                        \
	/*                                                                                       \
	 * EARLY: reads of datagrams before their sk_data_ready(). The program at                \
	 * sk_data_ready() records them: in a softirq, which may interrupt a reader's recording, \
	 * hence histograms of their own. Most steps are 0.                                      \
	 */                                                                                      \
	X(EARLY, STAGE_READ, DIST_LATENCY, DIST_STEP)                                            \
	X(HOL, STAGE_ENQUEUED, DIST_HOL, DIST_STEP)                                              \
	/* Sent packets: latency from the departure time; UDP and `segment`: the send call. */   \
	X(SEGMENT, STAGE_SEGMENT, DIST_LATENCY, DIST_STEP)                                       \
	X(QDISC, STAGE_QDISC, DIST_LATENCY, DIST_STEP)                                           \
	X(PACING, STAGE_QDISC, DIST_PACING, DIST_STEP)                                           \
	X(DRIVER, STAGE_DRIVER, DIST_LATENCY, DIST_STEP)                                         \
	X(SENT, STAGE_SENT, DIST_LATENCY, DIST_STEP)                                             \
	X(ACKED, STAGE_ACKED, DIST_LATENCY, DIST_STEP)                                           \
	X(FUNCTION, STAGE_PROBE, DIST_LATENCY, DIST_STEP) /* the stage of --probe */

#define SLOT_NAME(SLOT, stage, latency, step) SLOT_##SLOT,
enum row_slot { SLOT_LIST(SLOT_NAME) SLOT_MAX };
#undef SLOT_NAME

/*
 * Origins: the events from which latencies count. In one run, a stage has two of these at most:
 * ROW_LINK and ROW_STACK; the stage `link` ROW_SENDER and ROW_STACK; with --origin, only the
 * requested origin. The lowest bit tells the two apart: the last index of cpu_state.row[][][].
 */
enum row_origin {
	ROW_LINK,
	ROW_STACK,
	ROW_SENDER,
	ROW_DELIVER,
	ROW_ORIGINS,
};
#define ORIGINS_AT_ONCE 2

enum row_proto {
	ROW_TCP,
	ROW_UDP,
	ROW_PROTOS,
};

#define ROWS (ROW_PROTOS * SLOT_MAX * ORIGINS_AT_ONCE)

/*
 * Table from short latencies to histogram cells (counters), one entry per 8 ns from SHORT_MIN on,
 * as no 8 values span two bucket edges. The value's low 3 bits are added to the entry; the sum with
 * its low 3 bits cleared is the cell's byte offset. An entry is 8 times the cell of its first
 * value, plus an amount that makes the sum carry at the value where the next cell begins.
 */
#define SHORT_MIN 72
#define SHORT_MAX 65535
#define SHORT_ENTRIES 8192 /* a power of two: the index is masked */
#define SHORT_OFFSET 0x7f8

/* ---- groups (--by): separate rows, beside the rows of all packets ---- */

/*
 * Properties that all packets of a group share; 0: --by does not list the property. Groups are
 * compared as 64-bit words.
 */
struct group_traits {
	__u64 cgroup; /* id of the socket's cgroup2 */
	__u32 netns;  /* inode of the socket's network namespace */
	__u32 packet; /* fields of enum packet_trait, packed */
	__u32 device; /* inode of the network namespace of the interface in `packet` */
	__u16 port;   /* local port */
	__u16 read;   /* 1: `comm` is known, as a thread has read the packets */
	char comm[16]; /* name of the reading thread */
};

#define GROUP_WORDS (sizeof(struct group_traits) / 8)

/*
 * Fields of a packet's interface, CPU and receive queue, packed into 32 bits. All ones: the number
 * does not fit. A queue is stored as its number + 1; 0 means none.
 */
enum packet_trait {
	TRAIT_IFINDEX,
	TRAIT_CPU,
	TRAIT_RXQ,
	TRAIT_FIELDS,
};

enum group_state {
	GROUP_FREE,
	GROUP_BUSY,    /* a program is writing the group's table entry */
	GROUP_LEAVING, /* user space is about to free the group's table entry */
	GROUP_READY, /* the entry's `traits` are valid until user space frees the entry */
};

struct group_place {
	__u32 state;
	__u32 generation; /* number of times that user space has freed this table entry */
	struct group_traits traits;
	__u64 used; /* --by comm: set when a packet looks up the group; user space resets it */
};

/* Keys of --by (enum group_key of event/layout.h) that are in group_traits.packet. */
#define BY_PACKET_TRAIT (1U << GROUP_IFINDEX | 1U << GROUP_CPU | 1U << GROUP_RXQ)

#define GROUP_WAYS 4
#define GROUP_SETS 1024

struct group_set {
	struct group_place at[GROUP_WAYS];
	__u64 pad[GROUP_WAYS];
};

/*
 * Number of a group: its index + 1 in the low GROUP_BITS bits, the entry's generation above. 0 =
 * none.
 */
#define GROUP_BITS 13
#define GROUP_NUMBER(place, generation) (((generation) << GROUP_BITS) | ((place) + 1))
#define GROUP_PLACE(number) (((number) & ((1U << GROUP_BITS) - 1)) - 1)

/* Owner of histograms: CPU, index in cpu_state.row[][][] or ARRIVAL_ROW(), group; 0: free. */
#define ROW_KEY(cpu, id, group) (1ULL << 63 | (__u64)(cpu) << 40 | (__u64)(id) << 32 | (group))
#define ROW_KEY_ID(key) ((key) >> 32 & 0xff)
#define ROW_KEY_GROUP(key) ((__u32)(key))
#define ROW_LEAVING (~0ULL) /* value instead of ROW_KEY(): user space is freeing the histograms */

#define ROW_WAYS 8

struct row_set {
	__u64 key[ROW_WAYS];
};

/* ---- counters ---- */

/* Reason why a packet that should have been measured at a stage was not. */
enum loss_reason {
	/* time at `link` unknown: the packet did not pass `link`, or lost its table entry */
	LOSS_NO_LINK_STAMP,
	LOSS_STAMP_ZERO,      /* --origin requires a kernel stamp, and the packet had none */
	/* the stamp is of a clock that cannot be converted, or older than 10 s */
	LOSS_STAMP_FOREIGN,
	LOSS_STAMP_FUTURE,    /* the receive stamp is later than the current time */
	/* the realtime clock was set, and user space has not updated the offset yet */
	LOSS_CLOCK_UNSETTLED,
	LOSS_NO_STORAGE,      /* no memory for a socket's state, or no entry for a task's state */
	LOSS_FIFO_FULL,       /* more pending packets or calls of one socket than hostlat stores */
	LOSS_OOO_FULL,        /* more than OOO_MAX - 1 out-of-order packets on one socket */
	LOSS_OOO_UNMATCHED,   /* out-of-order data that TCP merged or trimmed */
	LOSS_NOT_ESTABLISHED, /* payload in a TCP state for which tcp_probe doesn't fire */
	LOSS_LOWAT,           /* SO_RCVLOWAT > 1: TCP skips sk_data_ready() for some packets */
	/* at `ip` or `transport`: hostlat has no hook in this network namespace */
	LOSS_NOT_COVERED,
	/* two CPUs delivered to one socket, and the packet cannot be identified */
	LOSS_RACE,
	LOSS_DESYNC,          /* hostlat's FIFO did not match its socket's queue, and was reset */
	LOSS_UNSUPPORTED_SPLICE, /* the packet was partly read by splice(), at an unknown time */
	LOSS_MIXED_ORIGIN,    /* one read call took packets with different origins of latency */
	LOSS_MIXED_GROUP,     /* one read call took packets of several groups */
	LOSS_CULPRITS_FULL,   /* no free entry among CULPRIT_MAX for the task that held the CPU */
	LOSS_NEGATIVE,        /* a measured difference was negative: the clocks disagreed */
	LOSS_DISPLACED,       /* more packets in transmission than hostlat's table of them holds */
	/* the packet's send call began before hostlat's start, or there was no send call */
	LOSS_NO_CALL,
	LOSS_MPTCP,           /* packet of an MPTCP subflow: MPTCP moves it to its own queue */
	LOSS_QUEUE_UNKNOWN,   /* --min-queue: how many packets the socket has unread is unknown */
	LOSS_MAX,
};

enum excluded {
	EXCL_PURE_ACK,
	EXCL_DUPLICATE,      /* the payload had already been received */
	EXCL_READER_RUNNING, /* at `runnable`, `running`: the reader was running, no wakeup */
	EXCL_READER_EARLY,   /* at `runnable`, `running`: datagram read before sk_data_ready() */
	EXCL_HOL,            /* the packet waited behind a missing segment (--hol exclude) */
	EXCL_SENT_ACK,       /* transmit side: a segment without payload */
	EXCL_NO_DEPARTURE,   /* transmit side: a datagram, where no hook sees the send call */
	/* transmit side: the packet reached `qdisc` before its departure: pacing is no latency */
	EXCL_PACED,
	/* transmit side: packet at `driver` before its departure time: the qdisc does not pace */
	EXCL_NOT_PACED,
	EXCL_STACKED,        /* transmit side: seen again, at a device below its VLAN or bond */
	/* transmit side: piece of a packet split after the qdisc: no step recorded at `driver` */
	EXCL_SPLIT,
	EXCL_PARENT,         /* transmit side: the original of a packet that was split */
	EXCL_NO_COMPLETION,  /* transmit side: loopback or veth passed the packet to its receiver */
	/* transmit side: the driver freed the packet without reporting whether it was sent */
	EXCL_UNSPECIFIED,
	EXCL_ENCAPSULATED,   /* transmit side: the packet reappeared inside a tunnel's packet */
	EXCL_NOT_RECEIVED,   /* --probe: the packet is transmitted, or not received yet */
	EXCL_OTHER_PROTOCOL, /* --probe: the packet is neither TCP nor UDP */
	EXCL_FRAGMENT,       /* transmit side: a fragment of a datagram */
	EXCL_SHORT_QUEUE,    /* --min-queue: fewer unread packets than required */
	EXCL_NO_INTERRUPT,   /* at `irq`: a task, a softirq or another CPU raised the softirq */
	EXCL_IRQ_DEVICE,     /* at `irq`: a filter needs the device, which is unknown */
	/* at `poll`: a softirq's second or later poll: when its device requested it is unknown */
	EXCL_BEHIND_OTHER,
	EXCL_NO_RAISE,       /* at `poll`: softirq raised while it ran, or before hostlat began */
	EXCL_BUSY_POLL,      /* at `poll`: a task polled, no softirq was raised */
	EXCL_THREADED,       /* at `poll`: a kernel thread polled, no softirq was raised */
	EXCL_POLL_DEVICE,    /* at `poll`: a filter needs the device, which is unknown */
	EXCL_GRO_CONSUMED,   /* at `link`: GRO passed the packet to another consumer */
	EXCL_MAX,
};

/* drop reasons of subsystems have larger numbers and share the last entry */
#define DROP_REASONS 256

struct cpu_counters {
	__u64 loss[SLOT_MAX][LOSS_MAX][ROW_PROTOS];
	__u64 excluded[EXCL_MAX][ROW_PROTOS];
	__u64 suppressed[ROW_PROTOS]; /* slow messages dropped because the ring was full */
	__u64 drop[SLOT_MAX][DROP_REASONS];
};

/* Packets that no stage covers, by IP protocol. */
struct cpu_uncovered {
	__u64 local[256];     /* packets for this host that are neither TCP nor UDP */
	__u64 forwarded[256];
};

/* Sums over packets of the ns between the stages `enqueued` and `read`, divided by cause. */
struct cpu_share {
	__u64 packets;
	__u64 waited; /* packets that waited for a CPU that another task held */
	__u64 busy, wake, wait, run, stopped;
};

/* ---- packets on the receive path ---- */

#define PKT_IFACE    1  /* the packet came by an interface that the filter selects */
#define PKT_USED     2  /* the packet was enqueued or dropped: its link_table entry may be reused */
#define PKT_LINK     16 /* the latency at stage `link` is known */
#define PKT_SKIP 32        /* not measured, but stored in the FIFO of its socket's unread packets */
#define PKT_FORCED_MISS 64 /* the packet lacks the time of --origin's event; reason: stamp.why */
#define TAG(flags) ((flags) << 16) /* PKT_* flags as a mask for stamp.tag */

/* Data of one packet while the packet waits in a socket's queue. */
struct stamp {
	__u64 base;      /* time of the origin, from which latencies count */
	union {
		__u64 enqueued;
		__u64 group; /* --by: group number of a TCP packet, until the packet is enqueued */
	};
	union {
		struct {
			__u8 origin; /* origin of `base`: enum row_origin */
			__u8 link_origin;
			__u8 flags;  /* PKT_* */
			__u8 why;    /* enum loss_reason: why PKT_FORCED_MISS is set */
		};
		__u32 tag; /* origin, link_origin, flags and why as one word */
	};
	/*
	 * TCP: sequence number of the first payload byte; before `socket`: low half of the kernel's
	 * receive stamp, or 0
	 */
	__u32 seq;
} __attribute__((aligned(8)));

/* Data of a packet on its way up the stack. */
struct packet {
	struct stamp s;
	__u64 link;      /* `link`, `ip`, `transport`: time at that stage; 0: not (yet) measured */
	__u64 ip;
	__u64 transport;
	/* ns from the event s.link_origin to `link`; upper 16 bits in a recording: the CPU */
	__u64 link_ns;
	union {
		__u64 socket; /* TCP: time of the stage `socket`; UDP: 0 */
		__u64 skb;    /* in the link table: the packet's address; 0 = the entry is free */
	};
};

/*
 * A packet in a socket's queue. Times of earlier stages are stored only for --pid and
 * --slower-than, which decide at `read`, and if `enqueued` is not selected: the next step then
 * begins at an earlier stage.
 */
struct queued {
	struct stamp s;
	/* ns from each stage to `enqueued`, at most 2^32 - 1; 0: not reached or not measured */
	__u32 link, ip, transport;
	__u32 link_ns;
	union { /* `group` with --by, `cores` in a recording: a recording has no groups */
		__u32 group; /* --by: number of the group */
		__u32 cores; /* in a recording: CPU at `link`; upper 16 bits: CPU at `enqueued` */
	};
	__u32 socket; /* ns from stage `socket` to stage `enqueued`, at most 2^32 - 1; 0: unknown */
};

struct link_entry {
	union {
		struct packet p;
		struct {
			__u64 words[7];
			__u64 skb; /* the packet's address: the same member as p.skb */
		};
	};
};

/*
 * Forms of a program's fast path. loader_is_fast_path() lists the settings that it assumes.
 * FAST_PATH_HELPER: the kernel lacks bpf_rdonly_cast().
 */
enum fast_path {
	FAST_PATH_NONE,
	FAST_PATH_HELPER,
	FAST_PATH,
};

/*
 * Sets of the link table, two entries each. Adjacent slab objects get different sets; the second
 * entry absorbs collisions.
 */
#define LINK_SETS 4096

#define SWITCH_RING 8
struct cpu_switch {
	__u64 since;
	__u32 pid, tgid;
	char comm[16];
};

struct cpu_state {
	__u64 udp_skb;     /* address of the datagram that last passed LOCAL_IN */
	/* udp_skb after its sk_data_ready(), while copies of that packet may follow; else 0 */
	__u64 udp_last;
	/* last identified datagram: time of its sk_data_ready(); unsampled: `datagrams` */
	__u64 udp_time;
	/* 1: packet udp_skb may become several datagrams (GSO, multicast); not set before 6.18 */
	__u64 udp_many;
	__u64 announced;   /* time of an sk_data_ready() whose wakeup may still follow; 0: none */
	__u64 clock_check; /* when the realtime offset was verified last */
	__u64 datagrams;   /* datagrams for which --sample has decided so far */
	__u64 departures;  /* runs of the transmit programs that run for every packet */
	__u64 linked;      /* address of the packet that last passed `link` */
	/* the most frequent rows come first: the offset of a BPF load is below 32 KiB */
	struct stage_row row[ROW_PROTOS][SLOT_MAX][ORIGINS_AT_ONCE];
	struct cpu_counters count;
	struct cpu_share share[ROW_PROTOS];
	__u32 switches, pad;
	/* last tasks that had this CPU; the newest is at switches - 1 */
	struct cpu_switch ring[SWITCH_RING];
	struct cpu_uncovered uncovered;
};

/* ---- queues of stamps beside the sockets' queues of packets ---- */

#define TCP_RING 16   /* queued packets in a TCP socket's own storage */
#define EXT_RING 4096 /* packets in a ring that a TCP socket borrows if its reader is far behind */
#define EXT_MAX  32
#define OOO_MAX  64
/* datagram slots in a UDP socket's own storage; all sockets share a table of more slots */
#define UDP_NEAR 16
#define UDP_DEEP 4096 /* maximum of one socket's unread datagrams whose times are stored */

enum next {
	NEXT_NONE,
	NEXT_MEASURED,
	NEXT_MISS, /* the packet lacks the origin that --origin asks for */
	NEXT_UNSAMPLED, /* --sample: the packet is not sampled */
};

struct tcp_socket {
	__u32 head, tail;         /* positions in ring[] */
	__u32 ext_head, ext_tail; /* positions in the borrowed ring */
	union {
		struct {
			__u32 ext;   /* number of the borrowed ring + 1; 0: no ring */
			__u32 n_ooo; /* packets in the out-of-order queue */
		};
		__u64 needs_slow_path; /* `ext` and `n_ooo` as one word; 0: no slow path needed */
	};
	__u8 ours;                /* --pid: the selected process has read from the socket */
	/* --min-queue: 1: `missing` and missing_seq are valid */
	__u8 counted;
	/* --min-queue: 1: some unread packets up to sequence number missing_seq are not stored */
	__u8 missing;
	__u8 pad;
	__u32 missing_seq;
	/* Members passed from tcp_probe to sk_data_ready(); both run under the socket's lock. */
	struct packet next;       /* the fast path sets only its base, tag, seq and `socket` */
	__u32 next_end;           /* sequence number after the payload of `next` */
	__u32 next_is;            /* state of `next`: enum next */
	struct queued ring[TCP_RING];
};

/*
 * Table of socket states by address, several times faster than socket storage. An entry belongs to
 * its socket until the socket is destroyed; a socket whose entry is taken uses socket storage.
 */
#define TCP_TABLE_LOG2 10
#define TCP_TABLE (1 << TCP_TABLE_LOG2)
struct tcp_entry {
	__u64 sk; /* address of the socket; 0: the entry is free */
	struct tcp_socket s;
};

struct ext_ring {
	struct queued ring[EXT_RING];
};

struct ooo_queue {
	struct packet q[OOO_MAX]; /* out-of-order packets, sorted by sequence number */
};

struct udp_slot {
	__u64 state; /* low 3 bits: UDP_*; rest: udp_socket.seed + position, or udp_early() */
	struct queued q;
};

/* States up to UDP_EARLY_OTHER mark a free slot, which the next datagram takes. */
#define UDP_FREE        0
#define UDP_EARLY       1 /* the datagram was read before its sk_data_ready() */
#define UDP_EARLY_OTHER 2 /* UDP_EARLY by a process that --pid does not select */
#define UDP_BUSY        3 /* a program that has claimed the slot is writing or reading it */
#define UDP_PUSHED      4
/* added to UDP_EARLY, UDP_EARLY_OTHER: the reader came while a program wrote the slot */
#define UDP_LEFT        4

#define UDP_KNOWN (1 << 30)

struct udp_socket {
	__u64 head, tail; /* positions of the next read and the next sk_data_ready() */
	/* UDP_KNOWN + unread datagrams older than this state; 0: not known yet */
	__s64 before;
	__u64 seed;       /* tag of a datagram = seed + position */
	__u32 full;       /* datagrams for which no slot was free; 0 once they have been read */
	__u32 full_end;   /* low half of the position after the last datagram without a slot */
	__u64 ours;       /* --pid: the selected process has read from the socket */
	/* since when the FIFO has had entries although the queue is empty; 0: they match */
	__u64 stuck_since;
	struct udp_slot ring[UDP_NEAR];
};

/* Limits of the number of slots in the table for long UDP queues. */
#define UDP_FAR_MIN 512
#define UDP_FAR_MAX 32768

/*
 * Newer kernels (7.2; not yet 6.18) allocate no more than two pages for a socket's storage,
 * including some 100 bytes of the kernel's own.
 */
#define STORAGE_MAX (8192 - 256)

#include "bpf/abi_egress.h"
#include "bpf/abi_arrival.h"

/* ---- tasks that read ---- */

#define WAIT_RING 8
#define WAIT_STOPPED 0 /* the task was stopped (SIGSTOP, or a tracer): not a wait for a CPU */
struct wait {
	__u64 start, end;
	__u32 pid, tgid; /* the task that had the CPU; pid 0: idle, the wait is an idle exit */
	char comm[16];
	/* start of the part of the wait that is charged to task `pid`; or WAIT_STOPPED */
	__u64 blamed;
};

struct task_state {
	__u64 runnable_since; /* time of the wakeup or preemption; 0: on a CPU, or asleep */
	__u64 stopped_since;  /* time when the task was stopped; 0: not stopped */
	__u64 net_wake;       /* time of the last wakeup by sk_data_ready() */
	__u64 net_run;        /* when the task got a CPU after `net_wake` */
	__u32 net;            /* a packet caused the wakeup that is in progress */
	__u32 waits;
	struct wait wait[WAIT_RING]; /* last waits; the newest is at (waits - 1) % WAIT_RING */
	/* socket of the read in progress, whose packets are not yet returned to the application */
	__u64 sk;
	__u32 n;
	__u32 copied; /* TCP: the socket's read position after the last copy */
	struct stamp oldest;
	/* without stage `enqueued`: begin of the oldest packet's step (before_reader()) */
	__u64 before;
	__u64 youngest; /* origin time (`base`) of the youngest packet */
	/* Members for --slower-than: */
	/* times of the oldest packet, as in struct queued */
	__u32 link, ip, transport, socket, cores;
	__u64 since;               /* time before which waits are unknown */
	__u32 group;               /* --by: group of the oldest packet */
	/*
	 * --by comm: group of the packets that the thread read last; group made of that group and
	 * the thread's name; number of freed groups then
	 */
	__u32 read_of, read_group, freed;
	__u64 comm[2];
};

/* Reader states by task address; if its entry is taken, a reader uses the map `tasks`. */
#define TASK_TABLE_LOG2 9
#define TASK_TABLE (1 << TASK_TABLE_LOG2)
struct task_entry {
	/* the task's address; 0: never used, so the map `tasks` has no task of this entry */
	__u64 task;
	struct task_state s;
};

#define TASK_GONE 1 /* value of task_entry.task: the entry is free again */

/* Limits of the number of entries of map `tasks`; the kernel adds TASK_OVERHEAD bytes to each. */
#define TASKS_MIN 8
#define TASKS_MAX 8192
#define TASK_OVERHEAD 80

struct culprit {
	__u64 ns, count;
	__u32 tgid, pad;
	char comm[16];
};

#define CULPRIT_MAX 1024

/* Ring of slow messages, in bytes: about 300 messages per interval. */
#define SLOW_RING (1 << 16)

#define NO_TEST_PORT (~0U) /* a number that is no port */

_Static_assert(sizeof(struct stage_row) == 2 * 8 * (5 + ROW_BUCKETS), "struct stage_row");
_Static_assert(SHORT_OFFSET / 8 < CELL_MAX, "SHORT_OFFSET");
_Static_assert(sizeof(struct packet) == 64, "struct packet");
_Static_assert(__builtin_offsetof(struct link_entry, skb) ==
	       __builtin_offsetof(struct packet, skb), "skb");
_Static_assert(sizeof(struct link_entry) == 64, "one cache line per packet");
_Static_assert(sizeof(struct queued) == 48, "struct queued");
_Static_assert(sizeof(struct group_traits) == 40, "struct group_traits");
_Static_assert(sizeof(struct group_set) == 256, "struct group_set");
_Static_assert(1 << GROUP_BITS > GROUP_SETS * GROUP_WAYS, "GROUP_BITS");
_Static_assert(ROWS + ARRIVAL_SLOTS <= 256, "ROW_KEY");
/*
 * The kernel charges socket storage to net.core.optmem_max (20 KiB before 6.7), and adds 72 bytes.
 */
_Static_assert(sizeof(struct udp_socket) + 72 <= 1024, "1 KiB per UDP socket");
_Static_assert(sizeof(struct ooo_queue) <= STORAGE_MAX, "storage of what waits behind a hole");
_Static_assert(sizeof(struct tcp_socket) <= 1024, "1 KiB per connection");

#endif
