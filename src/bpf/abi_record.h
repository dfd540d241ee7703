/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * What `record` gets from its programs, as it lies in the rings: messages as they are read
 * (bpf/told.h), and what the CPUs did meanwhile (bpf/activity.bpf.c). Times: CLOCK_MONOTONIC, ns.
 */
#ifndef HOSTLAT_BPF_ABI_RECORD_H
#define HOSTLAT_BPF_ABI_RECORD_H

#include <linux/types.h>

/* ---- messages ---- */

#define TOLD_RING (4U << 20) /* bytes: 25,000 messages */

/* Told by all ones: not known. */
#define CORE_UNKNOWN 0xffff

/* What a record in the ring is: its first number. */
enum told_what {
	TOLD_MESSAGE,
	TOLD_SEND,
	TOLD_PACKET,
	TOLD_REQUEST,
	TOLD_MARK,
};

/* Whose it is. */
struct told_flow {
	__u64 sk;         /* the socket's address, or its cookie if it has one */
	__u32 netns;      /* inode */
	__u16 family;     /* AF_INET or AF_INET6 */
	__u16 local_port, remote_port; /* host order */
	__u8 proto;       /* enum row_proto */
	__u8 cookie;      /* `sk` is one */
	__u8 local[16];   /* IPv4 lies in the first four bytes */
	__u8 remote[16];
	__u8 pad[4];
};

/* One receive call that took at least one packet's first byte. */
struct told_message {
	__u32 told;       /* TOLD_MESSAGE */
	__u32 link;       /* ns before `enqueued` that the oldest came; all ones: or more */
	__u64 read;       /* when the call returned */
	__u64 enqueued;   /* its oldest packet */
	__u64 youngest;   /* when its youngest packet came */
	__u32 transport;  /* ns before `enqueued` that the oldest reached TCP or UDP; 0 = unknown */
	__u32 packets;
	__u32 seq;        /* TCP: sequence number of its first byte */
	__u32 bytes;      /* from the oldest packet's first byte on; 0 = unknown */
	__u32 pid, tid;   /* who read it; 0 = unknown */
	__u16 link_core, enqueued_core, read_core; /* CORE_UNKNOWN */
	__u16 pad;
	struct told_flow flow;
};

/* A request, as if it were one receive call's (TOLD_REQUEST); and its reply. */
struct told_request {
	struct told_message m;
	__u64 sent;       /* when the call was entered that sent its reply's first byte */
	__u16 sent_core;
	__u16 pad[3];
};

/* A send call that has ended; UDP: one datagram of it, as it is handed to IP. */
struct told_send {
	__u32 told;       /* TOLD_SEND */
	__u16 core;       /* where it was called */
	__u16 pad;
	__u64 sk, born;   /* the socket, as in struct tx_way */
	__u64 since, until; /* from its entry to its return; UDP: until it was handed over */
	__u32 seq, bytes;
	__u32 pid, tid;
	__u32 paced;      /* TCP: tx_writer's when it was entered */
	__u32 late;       /* ... the same */
	struct told_flow flow;
};

/* A packet's way out, as far as it has come. */
struct tx_way {
	__u64 sk;         /* the socket's address; 0: not told */
	__u64 born;       /* TCP: tells it from others that had that address; never 0 */
	union {
		__u64 since;      /* UDP: when the call began, which tells datagrams apart */
		struct {
			__u32 late;      /* TCP, if `queued`: tx_writer's when it left the socket */
			__u32 overdue;   /* ... and how late this packet's own timer was */
		};
	};
	__u64 segment, queued, given; /* when it passed these stages; 0 = not, or not known */
	__u32 seq, bytes; /* of its payload */
	__u16 queued_core, given_core;
	__u32 paced;      /* TCP, if `queued`: tx_writer's when it left the socket */
};

/* ... when nothing more is heard of it. `given` 0: it was dropped before. */
struct told_packet {
	__u32 told;       /* TOLD_PACKET */
	__u16 sent_core;
	__u16 pad;
	__u64 sent;       /* 0: not known, or given to its receiver (loopback, veth) */
	struct tx_way way;
};

/* A mark of the application itself has fired (bpf/marks.bpf.c). */
struct told_mark {
	__u32 told;       /* TOLD_MARK */
	__u16 core;
	__u8 end;         /* else: begin */
	__u8 has_id;      /* it has an argument, whose value is `id` */
	__u64 time;
	__u64 id;
	__u64 born;       /* when its thread came to be: tells it from others that had its number */
	__u64 lost;       /* records that found no room, so far */
	__u32 pid, tid;
};

/*
 * Names that were told, by task. Not in task storage: a switch holds the run queue's lock, under
 * which the kernel must not be asked for memory. A name that lost its place is told once more.
 */
#define NAME_SETS_LOG2 11
#define NAME_SETS (1 << NAME_SETS_LOG2)

struct act_name {
	__u64 id;      /* pid | tgid << 32; 0 = free */
	__u64 started; /* the task's start: ids are used again */
	__u64 comm[2];
};

struct act_names {
	struct act_name at[2]; /* the one used last comes first */
};

_Static_assert(sizeof(struct told_flow) == 56, "struct told_flow");
_Static_assert(sizeof(struct told_message) == 120, "struct told_message");
_Static_assert(sizeof(struct told_request) == 136, "struct told_request");
_Static_assert(sizeof(struct told_send) == 120, "struct told_send");
_Static_assert(sizeof(struct tx_way) == 64, "one cache line per packet");
_Static_assert(sizeof(struct told_packet) == 80, "struct told_packet");
_Static_assert(sizeof(struct told_mark) == 48, "struct told_mark");

/* Why requests are not told: a connection that is given up, but for the first two. */
enum request_missed {
	MISSED_NO_REPLY,   /* a request that asks for no reply */
	MISSED_ARRIVAL,    /* ... whose first or last byte's arrival is not known */
	MISSED_OLDER,      /* read from before: which reply is whose isn't known */
	MISSED_PROTOCOL,   /* it begins with no request that is known, or this end speaks first */
	MISSED_UNFOLLOWED, /* what can't be followed: errors, quiet commands, subscriptions */
	MISSED_CALL,       /* read or sent by a call whose buffer is not known (io_uring, splice) */
	MISSED_BUFFER,     /* the buffer could not be read */
	MISSED_BYTES,      /* bytes are missing: taken by another call at the same time */
	MISSED_REQUEST,    /* a reply to nothing */
	MISSED_FULL,       /* more requests at once than REQUESTS */
	MISSED_LARGE,      /* more to look at in one call than REQUEST_WORK */
	MISSED_MAX,
};

/* ---- CPU activity ---- */

enum act_type {
	ACT_NONE,         /* the place is empty */
	ACT_NAME,         /* what a task is called: precedes its first ACT_SWITCH */
	ACT_SWITCH,       /* a = the task that leaves, b = that comes; arg = state, ACT_PREEMPTED */
	ACT_WAKE,         /* a = the task that is woken; arg = CPU; b, here and below: the task that
			   * has the CPU */
	ACT_IRQ,          /* a = interrupt */
	ACT_IRQ_END,
	ACT_VECTOR,       /* a = enum span_vector */
	ACT_VECTOR_END,
	ACT_SOFTIRQ,      /* a = vector */
	ACT_SOFTIRQ_END,
	ACT_IDLE,         /* a = state */
	ACT_IDLE_END,
	ACT_SYSCALL,      /* a = number */
	ACT_SYSCALL_END,
	ACT_FAULT,
	ACT_MAX,
};

/* Flags in `arg` of ACT_SWITCH, above the task states of include/linux/sched.h. */
#define ACT_PREEMPTED 0x4000
#define ACT_IOWAIT    0x8000

/* `type` is written last, and set to ACT_NONE again by the reader. */
struct act {
	union {
		__u64 time;
		__u64 tgid;         /* ACT_NAME */
	};
	__u32 a;
	__u16 arg;
	__u8 type;
	__u8 pad;
	union {
		struct {
			__u32 b;
			__u32 lost; /* of this CPU so far, as it is when this is written */
			__u64 pad2;
		};
		char comm[16];
	};
};

/* One per CPU. Positions run on and on; a place is position % ACT_RING. */
#define ACT_RING 65536
/* Left free, so that interrupts between a look at the room and taking it find some. */
#define ACT_SPARE 64

struct act_ring {
	__u64 head;         /* the next place: the programs' */
	__u64 lost;         /* events that found no room */
	__u32 task;         /* that the last switch brought: the programs' */
	__u32 reads;        /* its system calls and faults are told */
	__u64 room;         /* there is room up to here, at least: the programs' */
	__u64 pad[4];
	__u64 tail;         /* read up to here: user space's */
	__u64 pad2[7];
	struct act at[ACT_RING];
};

_Static_assert(sizeof(struct act) == 32, "struct act");

#endif
