/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * The vocabulary and the payloads of the event model, as they lie in memory, in BPF ring buffers
 * and in files. Compiled for user space and with -target bpf: fixed widths, no implicit padding,
 * and every struct is asserted below, so that both compilers agree or neither builds.
 *
 * Rules of change. A struct without an array may grow at its end: readers ignore what is more than
 * they know, and take what an older file lacks for 0 (GROWN in event/kinds.c). Anything else is a
 * new version of that kind (event/kinds.c) or a new kind; readers skip and count what they don't
 * know. Values of enums are never reused. Padding is written as 0.
 *
 * Times are in the clock domain that the event's chunk names; without one, CLOCK_MONOTONIC in ns.
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
 * Stages of a message's way through a host, in the order of that way: X(NAME, value, "name", "when
 * a message has reached it"). A value is never reused; a new stage gets STAGE_MAX's.
 */
#define ARRIVAL_STAGE_LIST(X) /* before the stack */                                               \
	X(IRQ, 2, "irq", "an interrupt's handler has asked for the softirq")                       \
	X(POLL, 3, "poll", "the softirq begins to poll; with link, also what GRO does")

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
	X(SEGMENT, 12, "segment", "TCP lets the packet go, or UDP hands it to IP")                 \
	X(QDISC, 13, "qdisc", "the packet enters the queueing discipline")                         \
	X(DRIVER, 14, "driver", "the driver's xmit is called")                                     \
	X(SENT, 15, "sent", "transmit completion")                                                 \
	X(ACKED, 17, "acked", "the peer acknowledged it")

#define STAGE_LIST(X)                                                                              \
	ARRIVAL_STAGE_LIST(X)                                                                      \
	INGRESS_STAGE_LIST(X)                                                                      \
	X(SEND, 11, "send", "the application's send call enters")                                  \
	EGRESS_STAGE_LIST(X)                                                                       \
	X(PROBE, 18, "probe", "the function or tracepoint of --probe is called")                   \
	X(MARK, 19, "mark", "the application's end mark fires")                                    \
	/* Stamps of network cards, never recorded: values that are free. */                       \
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
/* The time between `poll` and `link` is measured with both. */
#define GRO_STAGES (1U << STAGE_POLL | 1U << STAGE_LINK)

/* The start of a latency. Distributions of different origins are never pooled. */
enum origin {
	ORIGIN_NONE,
	/* 1 is free: a network card's stamp, never recorded. */
	ORIGIN_RAISE = 2, ORIGIN_LINK, ORIGIN_STACK, ORIGIN_DELIVER, ORIGIN_SENDER,
	ORIGIN_DEPARTURE, ORIGIN_SEND,
	ORIGIN_MAX,
};

enum direction { DIR_INGRESS, DIR_EGRESS, DIR_MAX };

enum transport { PROTO_ANY, PROTO_TCP, PROTO_UDP, PROTO_MAX };

enum hist_dist {
	DIST_LATENCY,	/* from the origin, cumulative */
	DIST_STEP,	/* the same packet's time since the previous measured stage */
	DIST_YOUNGEST,	/* at `read` only: the age of the youngest byte */
	DIST_CPU_WAIT,	/* at `read` only: the time for which it waited for a CPU */
	DIST_PACING,	/* at `qdisc` only, of paced packets: how long before their departure */
	DIST_HOL,	/* at `enqueued` only: how long it waited behind a hole in TCP's sequence */
	DIST_GRO,	/* at `link` only, of no protocol: since the driver handed it over */
	DIST_BACKLOG,	/* DIST_GRO of packets that passed a CPU's backlog */
	DIST_MAX,
};

/* How TCP packets that arrived out of order are measured once the hole before them is filled. */
enum hol {
	HOL_EXCLUDE,	/* they are counted, and measured up to `transport` only */
	HOL_INCLUDE,	/* their time behind the hole is the stack's */
	HOL_SEPARATE,	/* it is DIST_HOL's, and the rest is as if they came after it */
};

enum count_what {
	COUNT_DROP,	/* packets that the kernel dropped */
	COUNT_LOSS,	/* what should have been measured and was not */
	COUNT_EXCLUDED,	/* what is not to be measured: pure ACKs, handshakes */
	COUNT_SUPPRESSED, /* slow messages beyond the limit of EV_SLOW's rate */
	COUNT_UNCOVERED, COUNT_FORWARDED, /* that no stage covers; the reason: the IP protocol */
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
	DICT_TASK,	/* "comm (pid/tid)": what a SPAN_TASK ran */
	DICT_MAX,
};

/*
 * Kinds of events. Up to EV_RECORD_MAX they are records with their own header (low rate, or of
 * variable size); from EV_BLOCK_MIN on they come as blocks of fixed-size records.
 */
enum event_kind {
	EV_NONE,
	EV_FACT,		/* a fact of the set-up or of the run */
	EV_NAME,		/* a dictionary entry */
	EV_CLOCK,		/* realtime against monotonic */
	EV_HIST,		/* what a distribution gained in this interval */
	EV_COUNT,		/* what a counter gained in this interval */
	EV_BINDING,		/* the hook that measures a stage, or why there is none */
	EV_SHARE,		/* how the time between `enqueued` and `read` divides */
	EV_CULPRIT,		/* the task that had the CPU while readers waited for it */
	EV_INTERVAL,		/* closes an interval: the deltas before it belong to it */
	EV_GROUP,		/* the labels of a group number */
	EV_LOSS,		/* events that this stream has lost */
	EV_DOMAIN,		/* declares a clock domain */
	EV_CLOCK_PARAM,		/* from here on, how a domain's ticks become monotonic ns */
	EV_FLOW,		/* the netns and 4-tuple of a flow number */
	EV_MESSAGE,		/* a message's lifetime as a list of (core, interval) */
	/* 16 is free: never recorded. */
	EV_LOAD = 17,		/* a load generator's counters so far: closes a tick */
	EV_NOISE,		/* something else disturbed the load generator's host */
	EV_SLOW,		/* a message that took longer than was asked for */
	EV_QUEUE,		/* what came by a receive queue in this interval */
	EV_SOFTNET,		/* what the kernel counted of a CPU's receiving in this interval */
	EV_PRESSURE,		/* what all CPUs together had to do in this interval */
	EV_RECORD_MAX,

	EV_BLOCK_MIN = 64,
	EV_EDGE = EV_BLOCK_MIN,	/* begins and ends of CPU-activity spans */
	EV_SAMPLE,		/* one request of a load generator */
	EV_CONN,		/* what one connection did in an interval */
	EV_WAKE,		/* a task was woken */
	EV_CALL,		/* one send or receive call on a connection */
	EV_KIND_MAX,
};

/* -- records -------------------------------------------------------------------------------- */

/* Two strings follow, each with its NUL; the sizes count the NULs. */
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

enum { CLOCK_STEPPED = 1 };	/* realtime was stepped since the last EV_CLOCK */

struct event_clock {
	__u64 mono_ns;
	__s64 realtime_minus_mono_ns;
	__u64 error_ns;		/* bound of the difference's error */
	__s32 tai_offset_s;	/* TAI - UTC as the kernel has it; 0 when nobody set it */
	__u32 flags;		/* CLOCK_STEPPED */
};

enum { HIST_OVERFLOW_GROUP = 1 };	/* what did not fit into the group table, pooled */

/*
 * A delta: adding all EV_HIST of a row gives the row. Index as in Prometheus native histograms:
 * bucket i of schema s holds (2^((i-1)*2^-s), 2^(i*2^-s)] ns. count = zero + over + sum of counts.
 */
struct event_hist {
	__u8 stage;
	__u8 direction;
	__u8 protocol;
	__u8 origin;
	__u8 dist;
	__s8 schema;
	__u16 flags;		/* HIST_OVERFLOW_GROUP */
	__u32 group;		/* EV_GROUP; 0 = all in one */
	__u32 n;		/* struct event_bucket that follow */
	__u64 sum_ns;
	__u64 min_ns;		/* UINT64_MAX when empty */
	__u64 max_ns;		/* 0 when empty */
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
	__u64 count;		/* a delta */
	__u64 flags;		/* COUNT_EXACT */
};

struct event_binding {
	__u8 stage;
	__u8 direction;
	__u8 protocol;
	__u8 bound;		/* 0: not measured, see why */
	__u32 hook;		/* DICT_STRING, as are the next two */
	__u32 kind;		/* "tp_btf", "netfilter", ... */
	__u32 why;		/* 0 when bound */
};

/* Deltas. The times add up to the time from `enqueued` to `read` of these packets. */
struct event_share {
	__u8 protocol;
	__u8 pad[7];
	__u64 packets;
	__u64 waited;		/* packets that waited for a CPU that some other task held */
	__u64 busy_ns;		/* the application did something else */
	__u64 wake_ns;		/* from `enqueued` to the wakeup */
	__u64 wait_ns;		/* runnable, without a CPU */
	__u64 run_ns;		/* on the CPU, to `read` */
	__u64 stopped_ns;	/* stopped by a signal or a tracer */
};

#define EVENT_COMM_LEN 16

struct event_culprit {
	__u32 pid;
	__u32 tid;
	char comm[EVENT_COMM_LEN];
	__u64 ns;		/* a delta, as is count */
	__u64 count;
};

enum {
	INTERVAL_LAST = 1,	/* the run ends here */
	INTERVAL_PARTIAL = 2,	/* something was lost or not measured */
	INTERVAL_NO_BPF_COST = 4, /* own_bpf_ns is unknown */
	INTERVAL_BPF_ESTIMATE = 8, /* it is not by the kernel's statistics */
	INTERVAL_SHED = 16,	/* the programs were taken off: --max-overhead */
	INTERVAL_UNSEEN = 32,	/* connections were not sampled in it */
};

struct event_interval {
	__u64 seq;		/* from 0 */
	__u64 from_ns;
	__u64 to_ns;
	__u64 own_user_ns;	/* CPU time of hostlat itself in the interval */
	__u64 own_bpf_ns;	/* CPU time of its BPF programs */
	__u32 ncpus;
	__u32 flags;
	__u64 one_in;		/* of so many packets one was measured: the deltas are its; 0 = 1 */
};

enum group_key {
	GROUP_NONE,
	GROUP_CGROUP, GROUP_NETNS, GROUP_IFINDEX, GROUP_PORT, GROUP_CPU, GROUP_RXQ, GROUP_COMM,
	GROUP_KEY_MAX,
};

/* A label's value if the group's packets do not have it. */
#define GROUP_UNKNOWN UINT64_MAX

struct event_group {
	__u32 id;		/* from 1 */
	__u32 n;		/* struct event_label that follow */
};

struct event_label {
	__u32 key;		/* enum group_key */
	__u32 name;		/* in the key's dictionary; 0: `value` is the label */
	__u64 value;		/* the kernel's number: inode, ifindex, port, ... */
};

enum event_loss_why {
	LOSS_NONE,
	LOSS_SIZE_LIMIT,	/* the file reached its size limit */
	/* 2 is free: never recorded. */
	LOSS_DICT_FULL = 3,	/* names beyond the dictionary's limit */
	LOSS_OUT_OF_ORDER,	/* a core's time went backwards: the record was not taken */
	LOSS_TOO_DEEP,		/* spans nested deeper than EVENT_DEPTH_MAX */
	LOSS_PRODUCER,		/* the producer's own buffers were full */
	LOSS_WHY_MAX,
};

struct event_loss {
	__u32 why;		/* enum event_loss_why */
	__u32 kind;		/* of the lost events; EV_NONE = various */
	__u64 records;
	__u64 bytes;		/* before compression */
};

/* -- clocks --------------------------------------------------------------------------------- */

enum { EVENT_DOMAIN_MONOTONIC = 0 };	/* needs no EV_DOMAIN: ns, error 0 */

struct event_domain {
	__u32 id;		/* 1..65535: the number that chunks carry */
	__u32 type;		/* enum clock_domain of clock/domain.h */
	__u64 ticks_per_second;	/* nominal */
	__u64 error_ns;		/* bound of what a conversion to monotonic adds */
	__u32 name;		/* DICT_STRING, such as the interface of a PHC */
	__u32 pad;
};

enum {
	PARAM_STEP = 1,		/* the clock was set: times before and after don't compare */
	PARAM_LOST = 2,		/* what held since the domain's last one is not known */
	PARAM_HOLDS = 4,	/* no change: the line so far held up to here at least */
};

/*
 * mono_ns + (((ticks - from_ticks) * mult + fraction) >> shift), until the domain's next
 * EV_CLOCK_PARAM; what comes after its last one is not known. The product has up to 126 bits.
 */
struct event_clock_param {
	__u32 domain;
	__u32 flags;		/* PARAM_* */
	__u64 from_ticks;
	__u64 mono_ns;
	__u64 mult;
	__u32 shift;
	__u32 seq;		/* of the domain's parameters, from 1; 0: not numbered */
	__u64 error_ns;
	__u64 fraction;		/* of a ns, in 2^-shift: with it, exact where error_ns is 0 */
};

/* -- messages, flows ------------------------------------------------------------------------ */

/*
 * Samples, messages and connections name their flow by number: a 4-tuple is 36 bytes, and a file
 * has few of them. Local is this host's side. IPv4 lies in the first four bytes. Network order.
 */
struct event_flow {
	__u32 id;		/* from 1 */
	__u8 family;		/* AF_INET or AF_INET6; 0: no address (Unix socket) */
	__u8 protocol;
	__u16 pad;
	__u64 netns_cookie;	/* 0 = unknown */
	__u64 sock_cookie;	/* 0 = unknown */
	__u8 local[16];
	__u8 remote[16];
	__u16 local_port;	/* host order, as is the next */
	__u16 remote_port;
	__u32 netns;		/* DICT_NETNS */
};

enum piece_role {
	PIECE_NONE,
	PIECE_RECEIVE,		/* interrupt and softirq side */
	PIECE_BACKLOG,		/* protocol work in the socket owner's context */
	PIECE_APPLICATION,	/* from hand-off to read */
	PIECE_TRANSMIT,
	PIECE_PACED,		/* sent: in the socket, by TCP's own pacing */
	PIECE_LATE,		/* sent: in the socket, after its pacing timer was due; without a
				 * core: so long in all, of earlier packets of the message */
	PIECE_ROLE_MAX,
};

/*
 * In time order, without gaps; their n follow the struct. The event's time is the end of the last
 * piece. A stage that was not measured ends no piece. What is sent: STAGE_SEGMENT before
 * STAGE_QDISC is the wait for the window, for small queues and for more data; behind it, pacing.
 */
struct event_piece {
	__u64 begin;
	__u64 end;
	__u32 core;
	__u16 role;		/* enum piece_role */
	__u16 flags;		/* enum stage: what was reached at `end`; 0 = unknown, older file */
};

/*
 * Received: a receive call that took at least one packet's first byte, from that packet's arrival
 * on. Sent: a send call, from its entry until its last byte has left.
 */
struct event_message {
	__u64 id;
	__u32 flow;
	__u32 tid;		/* of the reader or writer; 0 = unknown */
	__u64 offset;		/* of its first byte in the flow's direction */
	__u32 bytes;
	__u32 fd;
	__u64 first;		/* when its first byte arrived; egress: when the call was entered */
	__u64 last;		/* when its last byte did; egress: when the call returned, which may
				 * be after its last byte has left */
	__u8 direction;
	__u8 protocol;
	__u16 flags;
	__u32 n;		/* struct event_piece that follow */
};

/* The stages of struct event_slow. */
#define SLOW_STAGES (STAGE_READ - STAGE_LINK + 1)
#define SLOW_AT(stage) ((stage) - STAGE_LINK)

enum slow_flags {
	SLOW_WAITS_UNKNOWN = 1,	/* hostlat did not know the reader when the message came */
	SLOW_WAITS_PARTIAL = 2,	/* wait_ns and stopped_ns are of the last waits, not of all */
};

/* The packets of one read: its times are those of the oldest byte. */
struct event_slow {
	__u8 direction;
	__u8 protocol;
	__u8 origin;
	__u8 flags;		/* enum slow_flags */
	__u16 family;		/* AF_INET or AF_INET6 */
	__u16 local_port;	/* host order, as is the next */
	__u16 remote_port;	/* 0: the socket is not connected */
	__u16 pad2;
	__u32 netns;		/* inode */
	__u8 local[16];		/* IPv4 lies in the first four bytes */
	__u8 remote[16];
	__u32 packets;
	__u32 pid;		/* the reader; 0 = unknown */
	__u32 tid;
	char comm[EVENT_COMM_LEN];
	__u32 culprit_pid;	/* had the CPU most in the longest wait for it; tid 0 = nobody */
	__u32 culprit_tid;
	char culprit[EVENT_COMM_LEN];
	__u32 pad3;
	__u64 culprit_ns;	/* that wait */
	__u64 wait_ns;		/* all waits for a CPU, from `enqueued` on */
	__u64 stopped_ns;	/* stopped by a signal or a tracer */
	__u64 read_ns;		/* when it was read */
	__u64 at_ns[SLOW_STAGES]; /* since the origin; 0 = not measured, or not on its way */
	__u64 at_socket_ns;	/* the same of STAGE_SOCKET */
};

/* -- blocks --------------------------------------------------------------------------------- */

enum span_type {
	SPAN_NONE,
	SPAN_TASK,		/* what = DICT_TASK; arg = enum task_left */
	SPAN_IDLE,		/* what = 0: nobody has the core; in it, state + 1: it sleeps */
	SPAN_HARDIRQ,		/* what = irq, or SPAN_VECTOR + span_vector */
	SPAN_SOFTIRQ,		/* what = vector */
	/* 5 is free: never recorded. */
	SPAN_SYSCALL = 6,	/* what = number */
	SPAN_FUNCTION,		/* what = DICT_SYMBOL */
	SPAN_FAULT,		/* what = 0 user, 1 kernel */
	SPAN_BLIND,		/* nothing is known: its begin cuts every open span of the core */
	SPAN_TYPE_MAX,
	SPAN_TYPE_MASK = 0x3f,
	SPAN_CONT = 0x40,	/* begin: goes on from earlier; end: cut, not over */
	SPAN_END = 0x80,
};

/* How a task left its core: of the end of a SPAN_TASK; of its begin: how it had left the last. */
enum task_left {
	LEFT_UNKNOWN,
	LEFT_RUNNABLE,		/* preempted, or it yielded */
	LEFT_ASLEEP,		/* interruptible */
	LEFT_BLOCKED,		/* uninterruptible */
	LEFT_IO,		/* uninterruptible, waiting for a device */
	LEFT_STOPPED,		/* by a signal or a tracer */
	LEFT_ENDED,
	LEFT_MAX,
};

/* Interrupts without a number of their own: SPAN_VECTOR + enum span_vector. */
#define SPAN_VECTOR 0x10000u
enum span_vector {
	VECTOR_TIMER,		/* the CPU's own timer */
	VECTOR_RESCHEDULE,	/* another CPU has a task for this one */
	VECTOR_CALL,		/* another CPU asks many CPUs to run a function */
	VECTOR_CALL_SINGLE,	/* another CPU asks this one to run a function */
	VECTOR_IRQ_WORK,
	VECTOR_MAX,
};
#define EVENT_DEPTH_MAX 64	/* spans open on one core at a time */

/*
 * A span is two edges: 24 bytes. Edges, not finished spans, because a reader that starts in the
 * middle then knows the whole call path at once: each block opens with the spans that were open
 * (struct event_open), and nothing has to be looked for in later blocks.
 */
struct event_edge {
	__u32 dt;		/* ticks since the block's first time */
	__u32 what;		/* by type; repeated at the end */
	__u16 arg;
	__u8 type;		/* enum span_type, SPAN_CONT, SPAN_END */
	__u8 depth;		/* 0..EVENT_DEPTH_MAX-1: open spans around it */
};

/* A span that was open when its block began. They lie before the records, outermost first. */
struct event_open {
	__u64 begin;
	__u32 what;
	__u16 arg;
	__u8 type;
	__u8 depth;
};

enum wake_flags {
	WAKE_INTERRUPT = 1,	/* by an interrupt or softirq: `waker` only had the core then */
};

/* A task is runnable from `time` on. The block's core is the waker's. */
struct event_wake {
	__u64 time;
	__u32 task;		/* DICT_TASK, as is the next; 0 = none */
	__u32 waker;
	__u32 core;		/* where it ran last, or may run next */
	__u32 flags;		/* enum wake_flags */
};

#define EVENT_ASSERT(type, size, last, at)						\
	_Static_assert(sizeof(struct type) == (size), "size of struct " #type);		\
	_Static_assert(offsetof(struct type, last) == (at), "layout of struct " #type)

EVENT_ASSERT(event_fact, 8, text, 8);
EVENT_ASSERT(event_name, 8, text, 8);
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
