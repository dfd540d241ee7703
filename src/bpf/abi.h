/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * What the programs of src/bpf and their loader (src/probe) agree on: the values of their maps.
 *
 * Compiled by clang for BPF and by the host's compiler; the asserts hold both to one layout.
 * All times are CLOCK_MONOTONIC nanoseconds. Counters only ever grow: the loader keeps the
 * previous snapshot and subtracts, so nothing is lost between two readings.
 */
#ifndef HOSTLAT_BPF_ABI_H
#define HOSTLAT_BPF_ABI_H

#include <linux/types.h>

/* ---- rows: one distribution from an origin to a stage, and its step ---- */

/* Schema 3 up to 2^40 ns (18 minutes): upper edges 2^(i/8), i = 0..320. */
#define ROW_SCHEMA  3
#define ROW_BUCKETS 321

#define CELL_ZERO   0
#define CELL_OVER   1
#define CELL_BUCKET 2
#define CELL_MAX    (CELL_BUCKET + ROW_BUCKETS)

struct row_hist {
	__u64 sum;
	__u64 min, max; /* of the interval: the loader puts ~0 and 0 there when it begins */
	union {
		struct {
			__u64 zero; /* values of exactly 0 */
			__u64 over; /* values above 2^40 */
			__u64 bucket[ROW_BUCKETS];
		};
		__u64 cell[CELL_MAX]; /* the same, as one array */
	};
};

/* A row is written by one CPU only, but for its extremes. */
struct stage_row {
	struct row_hist latency; /* from the origin */
	struct row_hist step;    /* since the previous measured stage of the same packet */
};

/*
 * Rows are found by (protocol, slot, origin); a slot is a stage or a part of one. X(SLOT, its
 * stage, what the row's `latency` is, what its `step` is: enum hist_dist). The most frequent come
 * first; a stage's first slot is the one that says whether it is recorded.
 */
#define SLOT_LIST(X)                                                                               \
	X(SOCKET, STAGE_SOCKET, DIST_LATENCY, DIST_STEP)                                           \
	X(ENQUEUED, STAGE_ENQUEUED, DIST_LATENCY, DIST_STEP)                                       \
	/* Reads whose oldest byte is as old as the youngest; the steps of all reads. */           \
	X(READ, STAGE_READ, DIST_LATENCY, DIST_STEP)                                               \
	X(LINK, STAGE_LINK, DIST_LATENCY, DIST_STEP)                                               \
	X(TRANSPORT, STAGE_TRANSPORT, DIST_LATENCY, DIST_STEP)                                     \
	X(IP, STAGE_IP, DIST_LATENCY, DIST_STEP)                                                   \
	X(RUNNABLE, STAGE_RUNNABLE, DIST_LATENCY, DIST_STEP)                                       \
	X(RUNNING, STAGE_RUNNING, DIST_LATENCY, DIST_STEP)                                         \
	/* The other reads: the oldest byte's age, and the youngest's. */                          \
	X(READ_MIXED, STAGE_READ, DIST_LATENCY, DIST_YOUNGEST)                                     \
	X(CPU_WAIT, STAGE_READ, DIST_CPU_WAIT, DIST_STEP)                                          \
	/*                                                                                         \
	 * A datagram that was read before its announcement. That records it, in a softirq that    \
	 * may interrupt a reader's recording: hence a row of its own. Most of its steps are 0.    \
	 */                                                                                        \
	X(EARLY, STAGE_READ, DIST_LATENCY, DIST_STEP)                                              \
	X(HOL, STAGE_ENQUEUED, DIST_HOL, DIST_STEP)                                                \
	/* The transmit side: each has one origin, send at `segment` and departure behind it. */   \
	X(SEGMENT, STAGE_SEGMENT, DIST_LATENCY, DIST_STEP)                                         \
	X(QDISC, STAGE_QDISC, DIST_LATENCY, DIST_STEP)                                             \
	X(PACING, STAGE_QDISC, DIST_PACING, DIST_STEP)                                             \
	X(DRIVER, STAGE_DRIVER, DIST_LATENCY, DIST_STEP)                                           \
	X(SENT, STAGE_SENT, DIST_LATENCY, DIST_STEP)                                               \
	X(ACKED, STAGE_ACKED, DIST_LATENCY, DIST_STEP)                                             \
	X(FUNCTION, STAGE_PROBE, DIST_LATENCY, DIST_STEP) /* --probe */

#define SLOT_NAME(SLOT, stage, latency, step) SLOT_##SLOT,
enum row_slot { SLOT_LIST(SLOT_NAME) SLOT_MAX };
#undef SLOT_NAME

/*
 * At one time a slot has two origins at most: `link` and `stack`, at `link` `sender` and `stack`,
 * and with --origin that one. The lowest bit tells them apart, and is the row's index.
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
 * The cells of short latencies by table, with an entry for each multiple of 8 from SHORT_MIN on: no
 * 8 values hold two buckets' edges there. To the entry the value's lowest three bits are added; the
 * sum without its own lowest three is the cell's offset in bytes. So an entry is 8 x the cell of
 * the first value, and if another cell begins within the 8, as much more as makes that value carry.
 */
#define SHORT_MIN 72
#define SHORT_MAX 65535
#define SHORT_ENTRIES 8192 /* as many as a mask needs */
#define SHORT_OFFSET 0x7f8

/* ---- groups (--by): rows of their own, beside those of all packets ---- */

/* What a group's packets have in common; what is not asked for is 0. Compared as numbers. */
struct group_traits {
	__u64 cgroup; /* the socket's, in cgroup2 */
	__u32 netns;  /* the socket's, inode */
	__u32 packet; /* enum packet_trait, packed */
	__u32 device; /* the namespace of the interface in `packet`, inode */
	__u16 port;   /* local */
	__u16 read;   /* `comm` is known */
	char comm[16]; /* of the reading thread */
};

#define GROUP_WORDS (sizeof(struct group_traits) / 8)

/*
 * What is known of a packet when it is received, in as many bits as there are for it: all ones
 * stands for a number that has no room. The queue is 0 if there is none, else its number + 1.
 */
enum packet_trait {
	TRAIT_IFINDEX,
	TRAIT_CPU,
	TRAIT_RXQ,
	TRAIT_FIELDS,
};

enum group_state {
	GROUP_FREE,
	GROUP_BUSY,    /* being written */
	GROUP_LEAVING, /* user space is about to free it */
	GROUP_READY, /* `traits` hold until user space frees the place */
};

struct group_place {
	__u32 state;
	__u32 generation; /* how often it was freed */
	struct group_traits traits;
	__u64 used;       /* by packets that have no row of it; user space resets it */
};

/* Keys of --by (enum group_key of event/layout.h) that are of the packet, and in `packet`. */
#define BY_PACKET_TRAIT (1U << GROUP_IFINDEX | 1U << GROUP_CPU | 1U << GROUP_RXQ)

#define GROUP_WAYS 4
#define GROUP_SETS 1024

struct group_set {
	struct group_place at[GROUP_WAYS];
	__u64 pad[GROUP_WAYS];
};

/* A group's number: its place + 1, and the lower bits of the place's generation. 0 = none. */
#define GROUP_BITS 13
#define GROUP_NUMBER(place, generation) (((generation) << GROUP_BITS) | ((place) + 1))
#define GROUP_PLACE(number) (((number) & ((1U << GROUP_BITS) - 1)) - 1)

/* Whose a row is: (CPU, the row's place in struct cpu_state, group's number). 0 = nobody's. */
#define ROW_KEY(cpu, id, group) (1ULL << 63 | (__u64)(cpu) << 40 | (__u64)(id) << 32 | (group))
#define ROW_KEY_CPU(key) ((key) >> 40 & 0x7fffff)
#define ROW_KEY_ID(key) ((key) >> 32 & 0xff)
#define ROW_KEY_GROUP(key) ((__u32)(key))
#define ROW_LEAVING (~0ULL) /* on its way out */

#define ROW_WAYS 8

struct row_set {
	__u64 key[ROW_WAYS];
};

/* ---- counters ---- */

/* Why a packet that should have been measured at a slot was not. */
enum loss_reason {
	LOSS_NO_LINK_STAMP,   /* not in the link table: displaced, or it took another way in */
	LOSS_STAMP_ZERO,      /* the origin asked for is a kernel stamp, and the packet had none */
	LOSS_STAMP_FOREIGN,   /* ... of a clock that can't be converted, or older than 10 s */
	LOSS_STAMP_FUTURE,    /* ... later than now */
	LOSS_CLOCK_UNSETTLED, /* the realtime clock was set; user space hasn't caught up yet */
	LOSS_NO_STORAGE,      /* no memory for a socket's state, or no place for a task's */
	LOSS_FIFO_FULL,       /* more unread packets on one socket than the FIFO holds */
	LOSS_OOO_FULL,        /* more out-of-order packets on one socket than remembered */
	LOSS_OOO_UNMATCHED,   /* out-of-order data that TCP merged or trimmed */
	LOSS_NOT_ESTABLISHED, /* payload in a TCP state for which tcp_probe doesn't fire */
	LOSS_LOWAT,           /* SO_RCVLOWAT > 1: TCP doesn't announce each packet */
	LOSS_NOT_COVERED,     /* at `ip` or `transport`: a namespace without our hook */
	LOSS_RACE,            /* two CPUs delivered to one socket and the packet couldn't be told */
	LOSS_DESYNC,          /* the FIFO disagreed with the socket's queue and was reset */
	LOSS_UNSUPPORTED_SPLICE, /* read partly by splice: read, but when is not known */
	LOSS_MIXED_ORIGIN,    /* packets of two origins in one read */
	LOSS_MIXED_GROUP,     /* ... of two groups: not of the oldest's */
	LOSS_CULPRITS_FULL,   /* of a wait for a CPU: who had it is in none of CULPRIT_MAX places */
	LOSS_NEGATIVE,        /* two clocks disagreed: the difference was below zero */
	LOSS_DISPLACED,       /* more packets on their way out than the table holds */
	LOSS_NO_CALL,         /* sent by a call from before the start, or not by a send call */
	LOSS_MPTCP,           /* of a subflow: MPTCP queues and announces it elsewhere */
	LOSS_QUEUE_UNKNOWN,   /* --min-queue: not all that is unread is in the FIFO */
	LOSS_MAX,
};

enum excluded {
	EXCL_PURE_ACK,
	EXCL_DUPLICATE,      /* payload that had already been received */
	EXCL_READER_RUNNING, /* at `runnable`, `running`: the reader needed no waking for it */
	EXCL_READER_EARLY,   /* the same, of SLOT_EARLY */
	EXCL_HOL,            /* it waited behind a hole, and HOL_EXCLUDE is asked for */
	EXCL_SENT_ACK,       /* transmit side: no payload */
	EXCL_NO_DEPARTURE,   /* ... a datagram, where no hook sees the send call */
	EXCL_PACED,          /* ... at `qdisc` before its departure: pacing is no latency */
	EXCL_NOT_PACED,      /* ... the same at `driver`: its queueing discipline doesn't pace */
	EXCL_STACKED,        /* ... again, at a device below the one where it was measured */
	EXCL_SPLIT,          /* ... a piece of a packet that was split behind the queue: no step */
	EXCL_PARENT,         /* ... what was split */
	EXCL_NO_COMPLETION,  /* ... given to its receiver: loopback, veth */
	EXCL_UNSPECIFIED,    /* ... freed by the driver without a word: sent or dropped */
	EXCL_ENCAPSULATED,   /* ... again, in a tunnel's packet */
	EXCL_NOT_RECEIVED,   /* --probe: called with a packet that isn't received, or not yet */
	EXCL_OTHER_PROTOCOL, /* ... neither of TCP nor of UDP */
	EXCL_FRAGMENT,       /* transmit side: of a datagram that IP has cut */
	EXCL_SHORT_QUEUE,    /* --min-queue: it found fewer unread packets */
	EXCL_NO_INTERRUPT,   /* at `irq`: a task, a softirq or another CPU asked for it */
	EXCL_IRQ_DEVICE,     /* ... which device's it is, isn't known, and a filter asks */
	EXCL_BEHIND_OTHER,   /* at `poll`: its softirq had polled before: when it was asked for? */
	EXCL_NO_RAISE,       /* ... asked for while its softirq ran, or before the start */
	EXCL_BUSY_POLL,      /* ... by a task: nothing was raised */
	EXCL_THREADED,       /* ... by a thread of the kernel: the same */
	EXCL_POLL_DEVICE,    /* ... as at `irq` */
	EXCL_GRO_CONSUMED,   /* at `link`: GRO gave it to somebody else */
	EXCL_MAX,
};

#define DROP_REASONS 256 /* reasons of subsystems (numbers above) share the last one */

struct cpu_counters {
	__u64 loss[SLOT_MAX][LOSS_MAX][ROW_PROTOS];
	__u64 excluded[EXCL_MAX][ROW_PROTOS];
	__u64 suppressed[ROW_PROTOS]; /* slow messages that found no room in the ring */
	__u64 drop[SLOT_MAX][DROP_REASONS];
};

/* Packets that no stage covers, by IP protocol. */
struct cpu_uncovered {
	__u64 local[256];     /* for this host, neither TCP nor UDP */
	__u64 forwarded[256];
};

/* How the time between `enqueued` and `read` divides; sums over packets, nanoseconds. */
struct cpu_share {
	__u64 packets;
	__u64 waited; /* packets that waited for a CPU that another task held */
	__u64 busy, wake, wait, run, stopped;
};

/* ---- the way of a packet ---- */

#define PKT_IFACE    1  /* came by the interface of the filter */
#define PKT_USED     2  /* the entry is done with: enqueued, or dropped */
#define PKT_LINK     16 /* `link`'s own latency is known */
#define PKT_SKIP 32        /* not to be measured, but it has its place in a FIFO */
#define PKT_FORCED_MISS 64 /* the origin asked for is not there; `why` says why */
#define TAG(flags) ((flags) << 16) /* in `tag` */

/* What is needed of a packet once it is in a socket's queue. */
struct stamp {
	__u64 base;      /* the origin's time */
	union {
		__u64 enqueued;
		__u64 group; /* --by, of TCP's packets until then */
	};
	union {
		struct {
			__u8 origin; /* enum row_origin */
			__u8 link_origin;
			__u8 flags;  /* PKT_* */
			__u8 why;    /* enum loss_reason, if PKT_FORCED_MISS */
		};
		__u32 tag; /* all four */
	};
	__u32 seq;       /* TCP: sequence number of the first payload byte; until then the kernel's
			  * stamp, its low half, or 0 */
} __attribute__((aligned(8)));

/* What is known of it on its way up. */
struct packet {
	struct stamp s;
	__u64 link;      /* stage times; 0 = not passed or not measured */
	__u64 ip;
	__u64 transport;
	__u64 link_ns;   /* latency at `link`, from link_origin; LINK_CORE */
	union {
		__u64 socket; /* TCP: the time of `socket`; UDP: 0 */
		__u64 skb;    /* in the link table: the packet's address; 0 = the entry is free */
	};
};

/*
 * In a queue. The rest of the way is kept only for --pid, which judges at `read`, for
 * --slower-than, which does so, too, and without `enqueued`, where the next step begins earlier.
 */
struct queued {
	struct stamp s;
	__u32 link, ip, transport; /* ns before `enqueued`, at most 2^32 - 1; 0 = as above */
	__u32 link_ns;
	union { /* a recording of messages has no --by */
		__u32 group; /* its number, with --by */
		__u32 cores; /* in a recording: at `link`, and << 16 at `enqueued` */
	};
	__u32 socket; /* as link, ip and transport */
};

struct link_entry {
	union {
		struct packet p;
		struct {
			__u64 words[7];
			__u64 skb; /* p.skb */
		};
	};
};

/*
 * Settings that allow the short form of a program, which knows what is not asked for: no --pid, no
 * --ifname, no --origin, no `ip`; but TCP's socket, enqueued and read.
 */
enum fast_path {
	FAST_PATH_NONE,
	FAST_PATH_HELPER,  /* the kernel has no bpf_rdonly_cast() */
	FAST_PATH,
};

/* Two-way: consecutive slab objects fall into different sets, two ways absorb the rest. */
#define LINK_SETS 4096

#define SWITCH_RING 8
struct cpu_switch {
	__u64 since;
	__u32 pid, tgid;
	char comm[16];
};

struct cpu_state {
	__u64 udp_skb;     /* the datagram that passed LOCAL_IN last */
	__u64 udp_last;    /* the same once it was announced: its copies may follow; or 0 */
	__u64 udp_time;    /* when it, or its last copy, was announced */
	__u64 udp_many;    /* several may be made of it; where that has to be known before */
	__u64 announced;   /* when sk_data_ready fired; 0 once its call chain must be over */
	__u64 clock_check; /* when the realtime offset was verified last */
	__u64 datagrams;   /* of which sampling has drawn, or not */
	__u64 departures;  /* runs of the transmit side's programs that see every packet */
	__u64 linked;      /* the packet that passed `link` last */
	/* an instruction reaches 32 KiB: the most frequent come first, as do their slots */
	struct stage_row row[ROW_PROTOS][SLOT_MAX][ORIGINS_AT_ONCE];
	struct cpu_counters count;
	struct cpu_share share[ROW_PROTOS];
	__u32 switches, pad;
	struct cpu_switch ring[SWITCH_RING]; /* who had this CPU; newest at switches - 1 */
	struct cpu_uncovered uncovered;
};

/* ---- queues of stamps beside the sockets' queues of packets ---- */

#define TCP_RING 16   /* in the socket's own storage */
#define EXT_RING 4096 /* borrowed by a TCP socket whose reader is far behind */
#define EXT_MAX  32
#define OOO_MAX  64
#define UDP_NEAR 16   /* in the socket's own storage; the others in a table of all sockets */
#define UDP_DEEP 4096 /* unread datagrams of one socket beyond which none are followed */

enum next {
	NEXT_NONE,
	NEXT_MEASURED,
	NEXT_MISS, /* without the origin that was asked for */
	NEXT_UNSAMPLED, /* it is not among those that are measured (--sample) */
};

struct tcp_socket {
	__u32 head, tail;         /* ring[] */
	__u32 ext_head, ext_tail; /* of the borrowed ring */
	union {
		struct {
			__u32 ext;   /* which, + 1; 0 = none */
			__u32 n_ooo; /* of the out-of-order queue */
		};
		__u64 needs_slow_path; /* both */
	};
	__u8 ours;                /* --pid: the process has read from it */
	/* --min-queue: */
	__u8 counted;             /* what is unread is in the FIFO, but for what `untold` says */
	__u8 untold;              /* up to this byte, something may not be: */
	__u8 pad;
	__u32 untold_seq;
	/* Between tcp_probe and sk_data_ready, both under the socket's lock. */
	struct packet next;       /* .ip only if `socket` doesn't serve instead */
	__u32 next_end;           /* sequence number behind its payload */
	__u32 next_is;            /* enum next */
	struct queued ring[TCP_RING];
};

/*
 * Most sockets find their state here, by address, which is several times faster than socket
 * storage. An entry is its socket's until that is destroyed; sockets that come upon another's
 * have socket storage instead.
 */
#define TCP_TABLE_LOG2 10
#define TCP_TABLE (1 << TCP_TABLE_LOG2)
struct tcp_entry {
	__u64 sk; /* 0 = free */
	struct tcp_socket s;
};

struct ext_ring {
	struct queued ring[EXT_RING];
};

struct ooo_queue {
	struct packet q[OOO_MAX]; /* by seq */
};

struct udp_slot {
	__u64 state; /* UDP_* | 8 x the datagram's tag; of an early reader udp_early() */
	struct queued q;
};

/* Up to UDP_EARLY_OTHER, a slot is free: the next datagram takes it. */
#define UDP_FREE        0
#define UDP_EARLY       1 /* its datagram was read before it was announced */
#define UDP_EARLY_OTHER 2 /* the same, by a process that the filter leaves out */
#define UDP_BUSY        3 /* being written or read by the program that claimed it */
#define UDP_PUSHED      4
#define UDP_LEFT        4 /* + UDP_EARLY*: read while its announcement was writing, who has it */

#define UDP_KNOWN (1 << 30)

struct udp_socket {
	__u64 head, tail; /* positions: of the next read, of the next announcement */
	__s64 before;     /* UDP_KNOWN + unread datagrams from before our time; 0: not known yet */
	__u64 seed;       /* a datagram's tag is this + its position */
	__u32 full;       /* datagrams that had no place, unless all of them have been read, */
	__u32 full_end;   /* and the position behind the last of them, its low half */
	__u64 ours;       /* --pid: the process has read from it */
	__u64 stuck_since; /* the FIFO has held something ever since, with an empty queue */
	struct udp_slot ring[UDP_NEAR];
};

/* Slots of the table for long queues. */
#define UDP_FAR_MIN 512
#define UDP_FAR_MAX 32768

/*
 * Newer kernels (7.2; not yet 6.18) allocate no more than two pages for a socket's storage, some
 * 100 bytes of their own in front.
 */
#define STORAGE_MAX (8192 - 256)

#include "bpf/abi_egress.h"
#include "bpf/abi_arrival.h"

/* ---- tasks that read ---- */

#define WAIT_RING 8
#define WAIT_STOPPED 0 /* not a wait for a CPU at all: SIGSTOP, or a tracer */
struct wait {
	__u64 start, end;
	__u32 pid, tgid; /* who had the CPU; pid 0 = idle: not a wait for a CPU, an idle exit */
	char comm[16];
	__u64 blamed;    /* from here to `end` it is among the culprit's; or WAIT_STOPPED */
};

struct task_state {
	__u64 runnable_since; /* woken or preempted, and not yet on a CPU; 0 = on one, or asleep */
	__u64 stopped_since;  /* 0 = it isn't */
	__u64 net_wake;       /* the last waking that a packet's announcement caused */
	__u64 net_run;        /* when the task got its CPU after that */
	__u32 net;            /* the waking under way is such a one */
	__u32 waits;
	struct wait wait[WAIT_RING]; /* newest at (waits - 1) % WAIT_RING */
	/* the read under way: popped from the socket, not yet returned to the application */
	__u64 sk;
	__u32 n;
	__u32 copied; /* TCP: the socket's read position after the last copy */
	struct stamp oldest;
	__u64 before;   /* of the oldest: before_reader(), if `enqueued` is not selected */
	__u64 youngest; /* base */
	/* for --slower-than */
	__u32 link, ip, transport, socket, cores; /* of the oldest: as in struct queued */
	__u64 since;               /* no wait before is known */
	__u32 group;               /* --by: of the oldest */
	/* --by comm: what the thread was called when it last read of a group, and that group's */
	__u32 read_of, read_group, freed;
	__u64 comm[2];
};

/* Most readers find their state here, by address, as in tcp_table; the others in a map. */
#define TASK_TABLE_LOG2 9
#define TASK_TABLE (1 << TASK_TABLE_LOG2)
struct task_entry {
	__u64 task; /* 0 = free, and always was: no task of this place is in the map of tasks */
	struct task_state s;
};

#define TASK_GONE 1 /* free again */

/* Places of the map for the others; the kernel adds TASK_OVERHEAD bytes to each. */
#define TASKS_MIN 8
#define TASKS_MAX 8192
#define TASK_OVERHEAD 80

struct culprit {
	__u64 ns, count;
	__u32 tgid, pad;
	char comm[16];
};

#define CULPRIT_MAX 1024

/* Bytes of slow messages that an interval has room for: about 300. */
#define SLOW_RING (1 << 16)

#define NO_TEST_PORT (~0U) /* no socket's */

_Static_assert(sizeof(struct stage_row) == 2 * 8 * (5 + ROW_BUCKETS), "struct stage_row");
_Static_assert(SHORT_OFFSET / 8 < CELL_MAX, "SHORT_OFFSET");
_Static_assert(sizeof(struct packet) == 64, "struct packet");
_Static_assert(__builtin_offsetof(struct link_entry, skb) ==
	       __builtin_offsetof(struct packet, skb), "skb");
_Static_assert(sizeof(struct link_entry) == 64, "one cache line per packet");
_Static_assert(sizeof(struct queued) == 48, "struct queued");
_Static_assert(sizeof(struct group_traits) == 40, "struct group_traits");
_Static_assert(sizeof(struct group_set) == 256, "struct group_set");
_Static_assert(GROUP_SETS * GROUP_WAYS < 1 << GROUP_BITS, "GROUP_BITS");
_Static_assert(ROWS + ARRIVAL_SLOTS <= 256, "ROW_KEY");
/* Socket storage is charged to net.core.optmem_max: 20 KiB before 6.7. The kernel adds 72 bytes. */
_Static_assert(sizeof(struct udp_socket) + 72 <= 1024, "1 KiB per UDP socket");
_Static_assert(sizeof(struct ooo_queue) <= STORAGE_MAX, "storage of what waits behind a hole");
_Static_assert(sizeof(struct tcp_socket) <= 1024, "1 KiB per connection");

#endif
