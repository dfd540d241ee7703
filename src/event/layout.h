/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * The constants and payloads of the event model, as they are in memory, in BPF ring buffers and in
 * files. Compiled for user space and with -target bpf: widths are fixed, there is no implicit
 * padding, and every struct is asserted below, so that both compilers agree or neither builds.
 *
 * Rules of change. A struct without an array may grow at its end: readers ignore members they do
 * not know, and take members that an older file lacks for 0 (GROWN in event/kinds.c). Any other
 * change is a new version of the kind (event/kinds.c) or a new kind; readers skip and count unknown
 * ones. Values of enums are never reused. Padding is written as 0.
 *
 * Times are in the clock domain of the event's chunk, by default CLOCK_MONOTONIC in ns.
 */
#ifndef HOSTLAT_EVENT_LAYOUT_H
#define HOSTLAT_EVENT_LAYOUT_H

#ifndef __bpf__
#include <linux/types.h>
#include <stddef.h>
#elif !defined(offsetof)
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif

/*
 * Stages of a message in a host, in the order of its path: X(NAME, value, "name", "when a message
 * has reached the stage"). A value is never reused; a new stage takes the value of STAGE_MAX.
 */
#define ARRIVAL_STAGE_LIST(X) /* stages before the network stack */                                \
	X(IRQ, 2, "irq", "an interrupt handler has raised NET_RX_SOFTIRQ")                         \
	X(POLL, 3, "poll", "the softirq begins to poll; with link, GRO is measured as well")

#define INGRESS_STAGE_LIST(X)                                                                      \
	X(LINK, 4, "link", "the stack receives the packet")                                        \
	X(IP, 5, "ip", "IP processing starts")                                                     \
	X(TRANSPORT, 6, "transport", "TCP or UDP gets the packet")                                 \
	X(SOCKET, 20, "socket", "TCP processes the segment on its socket")                         \
	X(ENQUEUED, 7, "enqueued", "the payload is in the socket's queue")                         \
	X(RUNNABLE, 8, "runnable", "the reader was woken")                                         \
	X(RUNNING, 9, "running", "the reader got a CPU")                                           \
	X(READ, 10, "read", "the application has the bytes")

#define EGRESS_STAGE_LIST(X)                                                                       \
	X(SEGMENT, 12, "segment", "TCP: the packet's departure time; UDP: the packet goes to IP")  \
	X(QDISC, 13, "qdisc", "the packet enters the queueing discipline")                         \
	X(DRIVER, 14, "driver", "the driver's xmit is called")                                     \
	X(SENT, 15, "sent", "transmit completion")                                                 \
	X(ACKED, 17, "acked", "the peer acknowledged it")

#define STAGE_LIST(X)                                                                              \
	ARRIVAL_STAGE_LIST(X)                                                                      \
	INGRESS_STAGE_LIST(X)                                                                      \
	X(SEND, 11, "send", "the application enters its send call")                                \
	EGRESS_STAGE_LIST(X)                                                                       \
	X(PROBE, 18, "probe", "the function or tracepoint of --probe is called")                   \
	X(MARK, 19, "mark", "the application's end mark fires")                                    \
	/* Stages 1 and 16 are unused: meant for network cards' stamps, but never recorded. */     \
	X(FREE_1, 1, NULL, NULL)                                                                   \
	X(FREE_16, 16, NULL, NULL)

#define STAGE_VALUE(NAME, value, name, when) STAGE_##NAME = value,
enum stage { STAGE_NONE, STAGE_LIST(STAGE_VALUE) STAGE_MAX = 21 };
#undef STAGE_VALUE

/* Masks of 1 << enum stage. */
#define STAGE_MASK(NAME, value, name, when) | 1U << value
#define ARRIVAL_STAGES (0U ARRIVAL_STAGE_LIST(STAGE_MASK))
#define INGRESS_STAGES (0U INGRESS_STAGE_LIST(STAGE_MASK))
#define EGRESS_STAGES (0U EGRESS_STAGE_LIST(STAGE_MASK))
/* Stages of a packet until it has left this host. */
#define SENDING_STAGES (EGRESS_STAGES & ~(1U << STAGE_ACKED))
/* Stages that must both be measured to get DIST_GRO and DIST_BACKLOG. */
#define GRO_STAGES (1U << STAGE_POLL | 1U << STAGE_LINK)

/* The start of a latency. Distributions of different origins are never pooled. */
enum origin {
	ORIGIN_NONE,
	/* Origin 1 is unused: meant for network cards' stamps, but never recorded. */
	ORIGIN_RAISE = 2, ORIGIN_LINK, ORIGIN_STACK, ORIGIN_DELIVER, ORIGIN_SENDER,
	ORIGIN_DEPARTURE, ORIGIN_SEND,
	ORIGIN_MAX,
};

enum direction { DIR_INGRESS, DIR_EGRESS, DIR_MAX };

enum transport { PROTO_ANY, PROTO_TCP, PROTO_UDP, PROTO_MAX };

enum hist_dist {
	DIST_LATENCY,	/* time from the origin to the stage */
	DIST_STEP,	/* time since the packet's previous measured stage */
	DIST_YOUNGEST,	/* at stage `read` only: the age of the youngest byte */
	DIST_CPU_WAIT,	/* at stage `read` only: the reader's wait for a CPU */
	DIST_PACING,	/* at stage `qdisc` only: time until a paced packet's departure */
	DIST_HOL,	/* at stage `enqueued` only: wait behind a hole in TCP's sequence */
	DIST_GRO,	/* at stage `link` only, any protocol: since the driver's hand-over */
	DIST_BACKLOG,	/* DIST_GRO of packets that were in a CPU's backlog */
	DIST_MAX,
};

/* How TCP packets that arrived out of order are measured once the hole before them is filled. */
enum hol {
	/* out-of-order packets are counted, but not measured from stage `enqueued` on */
	HOL_EXCLUDE,
	HOL_INCLUDE,	/* the wait behind a hole in TCP's sequence counts as the stack's time */
	HOL_SEPARATE,	/* the wait behind a hole in TCP's sequence is in DIST_HOL only */
};

enum count_what {
	COUNT_DROP,	/* packets that the kernel dropped */
	COUNT_LOSS,	/* events that should have been measured and were not */
	COUNT_EXCLUDED,	/* packets excluded by design: pure ACKs, handshakes */
	COUNT_SUPPRESSED, /* slow messages beyond the rate limit of EV_SLOW */
	/* Unmeasured packets: received, but not TCP or UDP; or forwarded. reason: IP protocol. */
	COUNT_UNCOVERED, COUNT_FORWARDED,
	COUNT_MAX,
};

/* Dictionaries: each numbers its strings from 1; 0 is "none". */
enum event_dict_id {
	DICT_STRING,	/* hooks, reasons, kinds of hooks */
	DICT_IFACE,
	DICT_CGROUP,
	DICT_NETNS,
	DICT_UNIT,	/* systemd unit or container */
	DICT_SYMBOL,	/* a function's name */
	DICT_TASK,	/* "comm (pid/tid)": the task of a SPAN_TASK */
	DICT_MAX,
};

/*
 * Kinds of events. Kinds below EV_RECORD_MAX are records with their own header (low rate, or of
 * variable size); kinds from EV_BLOCK_MIN on are in blocks of fixed-size records.
 */
enum event_kind {
	EV_NONE,
	EV_FACT,		/* a fact about the setup or the run */
	EV_NAME,		/* a dictionary entry */
	EV_CLOCK,		/* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	EV_HIST,		/* a distribution's delta in this interval */
	EV_COUNT,		/* a counter's delta in this interval */
	EV_BINDING,		/* the hook that measures a stage, or why there is none */
	EV_SHARE,		/* parts of the time between stages `enqueued` and `read` */
	EV_CULPRIT,		/* the task that had the CPU while readers waited */
	EV_INTERVAL,		/* closes an interval, to which the deltas before it belong */
	EV_GROUP,		/* labels of a packet group, to which other events refer by id */
	EV_LOSS,		/* events that this stream lost */
	EV_DOMAIN,		/* declares a clock domain */
	EV_CLOCK_PARAM,		/* how a domain's ticks convert to monotonic ns from here on */
	EV_FLOW,		/* the netns and 4-tuple of a flow number */
	EV_MESSAGE,		/* a message's lifetime as a list of (core, interval) */
	/* Value 16 is unused: never recorded. */
	EV_LOAD = 17,		/* a load generator's counters since its start, every 100 ms */
	EV_NOISE,		/* a disturbance of the load generator's host */
	EV_SLOW,		/* a message slower than the requested limit */
	EV_QUEUE,		/* counters of a receive queue in this interval */
	EV_SOFTNET,		/* the kernel's receive counters of a CPU in this interval */
	EV_PRESSURE,		/* the host's busy time, CPU stalls and packets in this interval */
	EV_TASK,		/* the control group in which a task ran */
	EV_RECORD_MAX,

	EV_BLOCK_MIN = 64,
	EV_EDGE = EV_BLOCK_MIN,	/* begins and ends of CPU-activity spans */
	EV_SAMPLE,		/* a load generator's request */
	EV_CONN,		/* a connection's counters and state in an interval */
	EV_WAKE,		/* a task was woken */
	EV_CALL,		/* a connection's send or receive call */
	EV_KIND_MAX,
};

/* ---- records ---- */

/* A fact: the strings key and value follow, each with its NUL, which the sizes include. */
struct event_fact {
	__u16 key_size;
	__u16 value_size;
	__u32 pad;
	char text[];
};

/* A string with its NUL follows. */
struct event_name {
	__u32 dict;		/* enum event_dict_id */
	__u32 id;		/* from 1 */
	char text[];
};

/* Where a task runs. The last one of a task is valid. */
struct event_task {
	__u32 task;		/* DICT_TASK */
	__u32 cgroup;		/* its path in the cgroup2 hierarchy, in DICT_CGROUP; 0: unknown */
	__u32 unit;		/* DICT_UNIT: "cron.service", "docker 0123456789ab"; 0: none */
	__u32 pad;
};

enum { CLOCK_STEPPED = 1 };	/* CLOCK_REALTIME was stepped since the last EV_CLOCK */

struct event_clock {
	__u64 mono_ns;
	__s64 realtime_minus_mono_ns;
	__u64 error_ns;		/* bound of the error of realtime_minus_mono_ns */
	__s32 tai_offset_s;	/* the kernel's TAI - UTC; 0: not set */
	__u32 flags;		/* CLOCK_STEPPED */
};

enum { HIST_OVERFLOW_GROUP = 1 };	/* pools groups that did not fit into the group table */

/*
 * A distribution's samples of one interval: all EV_HIST with equal stage, direction, protocol,
 * origin, dist, group and flags sum to the run's distribution. Index as in Prometheus native
 * histograms: bucket i of schema s holds (2^((i-1)*2^-s), 2^(i*2^-s)] ns. count = zero + over +
 * sum of counts.
 */
struct event_hist {
	__u8 stage;
	__u8 direction;
	__u8 protocol;
	__u8 origin;
	__u8 dist;
	__s8 schema;
	__u16 flags;		/* HIST_OVERFLOW_GROUP */
	__u32 group;		/* id of an EV_GROUP; 0: all packets */
	__u32 n;		/* number of struct event_bucket that follow */
	__u64 sum_ns;
	__u64 min_ns;		/* UINT64_MAX if empty */
	__u64 max_ns;		/* 0 if empty */
	__u64 zero;		/* samples of 0 ns */
	__u64 over;		/* samples above the highest bucket */
};

struct event_bucket {
	__s32 index;
	__u32 pad;
	__u64 count;
};

/* Counts all packets, even if only some are measured (event_interval.one_in). */
enum { COUNT_EXACT = 1 };

struct event_count {
	__u8 what;		/* enum count_what */
	__u8 stage;
	__u8 protocol;
	__u8 direction;
	__u32 reason;		/* DICT_STRING */
	__u64 count;		/* delta in this interval */
	__u64 flags;		/* COUNT_EXACT */
};

struct event_binding {
	__u8 stage;
	__u8 direction;
	__u8 protocol;
	__u8 bound;		/* 1: a hook measures the stage; 0: none does */
	__u32 hook;		/* name of the hook, in DICT_STRING */
	__u32 kind;		/* kind of the hook, in DICT_STRING: "tp_btf", ... */
	__u32 why;		/* reason for no hook, in DICT_STRING; 0 if bound */
};

/* Sums over one interval. Times add up to the packets' time from stage `enqueued` to `read`. */
struct event_share {
	__u8 protocol;
	__u8 pad[7];
	__u64 packets;
	__u64 waited;		/* packets that waited for a CPU that another task held */
	__u64 busy_ns;		/* time in which the application did other work */
	__u64 wake_ns;		/* time from stage `enqueued` to the wakeup of the reader */
	__u64 wait_ns;		/* time runnable, waiting for a CPU */
	__u64 run_ns;		/* time on the CPU, until stage `read` */
	__u64 stopped_ns;	/* time stopped by a signal or a tracer */
};

#define EVENT_COMM_LEN 16

struct event_culprit {
	__u32 pid;
	__u32 tid;
	char comm[EVENT_COMM_LEN];
	__u64 ns; /* total time of the CPU waits charged to this task in the interval */
	__u64 count;
};

enum {
	INTERVAL_LAST = 1,	/* last interval of the run */
	INTERVAL_PARTIAL = 2,	/* events were lost or not measured */
	INTERVAL_NO_BPF_COST = 4, /* the CPU time of hostlat's BPF programs is unknown */
	INTERVAL_BPF_ESTIMATE = 8, /* BPF programs' CPU time: estimate, not kernel statistics */
	INTERVAL_SHED = 16,	/* BPF programs were detached: --max-overhead */
	INTERVAL_UNSEEN = 32,	/* connections were not sampled in this interval */
	/* over 10 % of the latest 60 passes over connections waited over 1 ms for a CPU */
	INTERVAL_LATE = 64,
};

struct event_interval {
	__u64 seq;		/* number of the interval, from 0 */
	__u64 from_ns;
	__u64 to_ns;
	__u64 own_user_ns;	/* CPU time of hostlat's threads in the interval */
	__u64 own_bpf_ns;	/* CPU time of hostlat's BPF programs */
	__u32 ncpus;
	__u32 flags;
	/* 1 in so many packets was measured for the counts of this interval; 0: all */
	__u64 one_in;
};

enum group_key {
	GROUP_NONE,
	GROUP_CGROUP, GROUP_NETNS, GROUP_IFINDEX, GROUP_PORT, GROUP_CPU, GROUP_RXQ, GROUP_COMM,
	GROUP_KEY_MAX,
};

/* Value of a label that the group's packets do not have. */
#define GROUP_UNKNOWN UINT64_MAX

struct event_group {
	__u32 id;		/* from 1 */
	__u32 n;		/* number of struct event_label that follow */
};

struct event_label {
	__u32 key;		/* enum group_key */
	__u32 name;		/* number in the dictionary for `key`; 0: the label is `value` */
	__u64 value;		/* the kernel's number: inode, ifindex, port, ... */
};

enum event_loss_why {
	LOSS_NONE,
	LOSS_SIZE_LIMIT,	/* the file reached its size limit */
	/* Value 2 is unused: never recorded. */
	LOSS_DICT_FULL = 3,	/* names beyond the dictionary's limit */
	LOSS_OUT_OF_ORDER,	/* a core's time went backwards: the record was dropped */
	LOSS_TOO_DEEP,		/* spans nested deeper than EVENT_DEPTH_MAX */
	LOSS_PRODUCER,		/* the producer's buffers were full */
	LOSS_WHY_MAX,
};

struct event_loss {
	__u32 why;		/* enum event_loss_why */
	__u32 kind;		/* kind of the lost events; EV_NONE: various */
	__u64 records;
	__u64 bytes;		/* bytes of the lost events, before compression */
};

/* ---- clocks ---- */

enum { EVENT_DOMAIN_MONOTONIC = 0 };	/* clock without EV_DOMAIN: in ns, error 0 */

struct event_domain {
	__u32 id;		/* number of the clock domain in its chunks, 1 to 65535 */
	__u32 type;		/* enum clock_domain of clock/domain.h */
	__u64 ticks_per_second;	/* nominal */
	__u64 error_ns;		/* error bound of the conversion to monotonic */
	__u32 name;		/* DICT_STRING, such as a PHC's interface */
	__u32 pad;
};

enum {
	PARAM_STEP = 1,		/* the clock was set: times before and after do not compare */
	PARAM_LOST = 2,		/* the clock is unknown since the previous parameter */
	PARAM_HOLDS = 4,	/* the previous conversion held up to here at least */
};

/*
 * Monotonic time of `ticks`: mono_ns + (((ticks - from_ticks) * mult + fraction) >> shift), until
 * the domain's next EV_CLOCK_PARAM; unknown after its last one. The product has up to 126 bits.
 */
struct event_clock_param {
	__u32 domain;
	__u32 flags;		/* PARAM_* */
	__u64 from_ticks;
	__u64 mono_ns;
	__u64 mult;
	__u32 shift;
	__u32 seq;		/* number of this EV_CLOCK_PARAM in its domain, from 1; 0: none */
	__u64 error_ns;
	__u64 fraction;		/* sub-ns part of mono_ns, in 2^-shift ns: exact if error_ns is 0 */
};

/* ---- messages, flows ---- */

/*
 * Samples, messages and connections refer to their flow by number: a 4-tuple has 36 bytes, a file
 * has few. `local` is this host's side. IPv4 is in the first 4 bytes. Network order.
 */
struct event_flow {
	__u32 id;		/* from 1 */
	__u8 family;		/* AF_INET or AF_INET6; 0: no address (Unix socket) */
	__u8 protocol;
	__u16 pad;
	__u64 netns_cookie;	/* 0: unknown */
	__u64 sock_cookie;	/* 0: unknown */
	__u8 local[16];
	__u8 remote[16];
	__u16 local_port;	/* host byte order, as is remote_port */
	__u16 remote_port;
	__u32 netns;		/* DICT_NETNS */
};

enum piece_role {
	PIECE_NONE,
	PIECE_RECEIVE,		/* processing of a received message in interrupts and softirqs */
	PIECE_BACKLOG,		/* protocol work in the socket owner's context */
	PIECE_APPLICATION,	/* received message: from stage `enqueued` to the read */
	PIECE_TRANSMIT,
	PIECE_PACED,		/* sent message: held in the socket by TCP's pacing */
	PIECE_LATE,		/* sent message: in the socket after the pacing timer was due; a
				 * piece without a core sums this time of earlier packets */
	PIECE_ROLE_MAX,
};

/*
 * A piece of a message's time, on one core or on none. event_message.n pieces follow struct
 * event_message, in time order, without gaps. The event's time is the end of the last piece. A
 * stage that is not measured ends no piece. Of a sent message, the piece that ends at STAGE_SEGMENT
 * is the wait for the window, TCP small queues and more data; pacing comes next.
 */
struct event_piece {
	__u64 begin;
	__u64 end;
	__u32 core;
	__u16 role;		/* enum piece_role */
	__u16 flags;		/* enum stage reached at the piece's end; 0: unknown, older file */
};

/*
 * Received: a receive call that read at least one packet's first byte, from that packet's arrival
 * on. Sent: a send call, from its entry until its last byte has left.
 */
struct event_message {
	__u64 id;
	__u32 flow;
	__u32 tid;		/* reader or writer; 0: unknown */
	__u64 offset;		/* position of the message's first byte in the flow, in bytes */
	__u32 bytes;
	__u32 fd;
	__u64 first;		/* arrival of the first byte; egress: entry of the call */
	__u64 last;		/* arrival of the last byte; egress: return of the call, which may
				 * be after the last byte has left */
	__u8 direction;
	__u8 protocol;
	__u16 flags;
	__u32 n;		/* number of struct event_piece that follow */
};

/* Number of stages with a time in struct event_slow, without STAGE_SOCKET. */
#define SLOW_STAGES (STAGE_READ - STAGE_LINK + 1)
#define SLOW_AT(stage) ((stage) - STAGE_LINK)

enum slow_flags {
	SLOW_WAITS_UNKNOWN = 1,	/* hostlat did not know the reader when the message arrived */
	SLOW_WAITS_PARTIAL = 2,	/* CPU-wait and stopped times cover the last waits only */
};

/* A slow read of one or more packets. Times are those of its oldest byte. */
struct event_slow {
	__u8 direction;
	__u8 protocol;
	__u8 origin;
	__u8 flags;		/* enum slow_flags */
	__u16 family;		/* AF_INET or AF_INET6 */
	__u16 local_port;	/* host byte order, as is remote_port */
	__u16 remote_port;	/* 0: the socket is not connected */
	__u16 pad2;
	__u32 netns;		/* inode of the namespace */
	__u8 local[16];		/* IPv4 is in the first four bytes */
	__u8 remote[16];
	__u32 packets;
	__u32 pid;		/* reader; 0: unknown */
	__u32 tid;
	char comm[EVENT_COMM_LEN];
	/* task that ran most in the reader's longest CPU wait with a known task; tid 0: none */
	__u32 culprit_pid;
	__u32 culprit_tid;
	char culprit[EVENT_COMM_LEN];
	__u32 pad3;
	__u64 culprit_ns;	/* length of the CPU wait in which the culprit ran most */
	__u64 wait_ns;		/* all waits of the reader for a CPU since stage `enqueued` */
	__u64 stopped_ns;	/* time in which the reader was stopped by a signal or a tracer */
	__u64 read_ns;		/* time of the read */
	/* by stage: ns since the origin; 0: not measured, or not reached */
	__u64 at_ns[SLOW_STAGES];
	__u64 at_socket_ns;	/* at STAGE_SOCKET: ns since the origin */
};

/* ---- blocks ---- */

enum span_type {
	SPAN_NONE,
	SPAN_TASK,		/* a task: what = entry of DICT_TASK; arg = enum task_left */
	SPAN_IDLE,		/* no task runs: what = 0; a SPAN_IDLE inside it: the core sleeps,
				 * what = number of the idle state + 1 */
	SPAN_HARDIRQ,		/* interrupt: what = its number, or SPAN_VECTOR + span_vector */
	SPAN_SOFTIRQ,		/* softirq: what = its vector */
	/* Value 5 is unused: never recorded. */
	SPAN_SYSCALL = 6,	/* system call: what = its number */
	SPAN_FUNCTION,		/* call of a function: what = its entry of DICT_SYMBOL */
	SPAN_FAULT,		/* page fault: what = 0 in user space, 1 in the kernel */
	SPAN_BLIND,		/* nothing is recorded; its begin cuts all open spans */
	SPAN_TYPE_MAX,
	SPAN_TYPE_MASK = 0x3f,
	SPAN_CONT = 0x40,	/* begin edge: the span continues; end edge: it is cut, not over */
	SPAN_END = 0x80,
};

/* How a task left its core. The begin of a SPAN_TASK says how the task left its previous core. */
enum task_left {
	LEFT_UNKNOWN,
	LEFT_RUNNABLE,		/* preempted, or yielded */
	LEFT_ASLEEP,		/* interruptible */
	LEFT_BLOCKED,		/* uninterruptible */
	LEFT_IO,		/* uninterruptible, waiting for a device */
	LEFT_STOPPED,		/* stopped by a signal or a tracer */
	LEFT_ENDED,
	LEFT_MAX,
};

/* Interrupts without a number of their own: SPAN_VECTOR + enum span_vector. */
#define SPAN_VECTOR 0x10000u
enum span_vector {
	VECTOR_TIMER,		/* the CPU's own timer */
	VECTOR_RESCHEDULE,	/* another CPU has a task for this one */
	VECTOR_CALL,		/* another CPU makes many CPUs run a function */
	VECTOR_CALL_SINGLE,	/* another CPU makes this one run a function */
	VECTOR_IRQ_WORK,
	VECTOR_MAX,
};
#define EVENT_DEPTH_MAX 64	/* spans open on one core at a time */

/*
 * A span is two edges: 24 bytes. Edges instead of finished spans let a reader that starts in the
 * middle know the whole call path at once: each block begins with its open spans (struct
 * event_open), so that no later block need be searched.
 */
struct event_edge {
	__u32 dt;		/* ticks since the block's begin (event_block.first) */
	__u32 what; /* meaning depends on the span's type; both edges have the same value */
	__u16 arg;
	__u8 type;		/* enum span_type, SPAN_CONT, SPAN_END */
	__u8 depth;		/* 0 to EVENT_DEPTH_MAX - 1: open spans around it */
};

/* A span that was open when its block began; before the records, outermost first. */
struct event_open {
	__u64 begin;
	__u32 what;
	__u16 arg;
	__u8 type;
	__u8 depth;
};

enum wake_flags {
	WAKE_INTERRUPT = 1,	/* an interrupt or softirq woke the task, while `waker` ran */
};

/* A task becomes runnable at `time`. The block's core is the core of the waker. */
struct event_wake {
	__u64 time;
	__u32 task;		/* DICT_TASK, as is `waker`; 0: none */
	__u32 waker;
	__u32 core;		/* core on which the task ran last, or may run next */
	__u32 flags;		/* enum wake_flags */
};

#define EVENT_ASSERT(type, size, last, at)						\
	_Static_assert(sizeof(struct type) == (size), "size of struct " #type);		\
	_Static_assert(offsetof(struct type, last) == (at), "layout of struct " #type)

EVENT_ASSERT(event_fact, 8, text, 8);
EVENT_ASSERT(event_name, 8, text, 8);
EVENT_ASSERT(event_task, 16, unit, 8);
EVENT_ASSERT(event_clock, 32, flags, 28);
EVENT_ASSERT(event_hist, 56, over, 48);
EVENT_ASSERT(event_bucket, 16, count, 8);
EVENT_ASSERT(event_count, 24, flags, 16);
EVENT_ASSERT(event_binding, 16, why, 12);
EVENT_ASSERT(event_share, 64, stopped_ns, 56);
EVENT_ASSERT(event_culprit, 40, count, 32);
EVENT_ASSERT(event_interval, 56, one_in, 48);
EVENT_ASSERT(event_group, 8, n, 4);
EVENT_ASSERT(event_label, 16, value, 8);
EVENT_ASSERT(event_loss, 24, bytes, 16);
EVENT_ASSERT(event_domain, 32, pad, 28);
EVENT_ASSERT(event_clock_param, 56, fraction, 48);
EVENT_ASSERT(event_flow, 64, netns, 60);
EVENT_ASSERT(event_piece, 24, flags, 22);
EVENT_ASSERT(event_message, 56, n, 52);
EVENT_ASSERT(event_slow, 200, at_ns, 136);
EVENT_ASSERT(event_edge, 12, depth, 11);
EVENT_ASSERT(event_open, 16, depth, 15);
EVENT_ASSERT(event_wake, 24, flags, 20);

#include "event/layout_call.h"
#include "event/layout_conn.h"
#include "event/layout_host.h"
#include "event/layout_load.h"

#endif
