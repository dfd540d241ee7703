/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Layout of the rings of `record`: messages as they are read (bpf/msg_event.bpf.h), and CPU
 * activity (bpf/activity.bpf.c). Times: CLOCK_MONOTONIC, ns.
 */
#ifndef HOSTLAT_BPF_ABI_RECORD_H
#define HOSTLAT_BPF_ABI_RECORD_H

#include <linux/types.h>

/* ---- messages ---- */

#define MSG_RING_BYTES (4U << 20) /* bytes; holds 25,000 messages */

/* Number of an unknown CPU. */
#define CORE_UNKNOWN 0xffff

/* Type of a record in the message ring: the first member of each record. */
enum msg_type {
	MSG_TYPE_READ,
	MSG_TYPE_SEND,
	MSG_TYPE_PACKET,
	MSG_TYPE_REQUEST,
	MSG_TYPE_MARK,
};

/* The socket and the addresses of a recorded message. */
struct msg_flow {
	__u64 sk;         /* address of the socket, or the socket's cookie: see `cookie` */
	__u32 netns;      /* inode of the network namespace */
	__u16 family;     /* AF_INET or AF_INET6 */
	__u16 local_port, remote_port; /* host order */
	__u8 proto;       /* enum row_proto */
	__u8 cookie;      /* 1: `sk` is the socket's cookie, not its address */
	__u8 local[16];   /* IPv4: the first four bytes */
	__u8 remote[16];
	__u8 pad[4];
};

/* One receive call that took at least one packet's first byte. */
struct msg_record {
	__u32 type;       /* MSG_TYPE_READ */
	__u32 link;       /* ns from the oldest packet's arrival until enqueued, at most 2^32 - 1 */
	__u64 read;       /* when the call returned */
	__u64 enqueued;   /* when the oldest packet was enqueued */
	__u64 youngest;   /* when the youngest packet arrived */
	/* ns from the oldest packet's entry into TCP or UDP until enqueued; 0: unknown */
	__u32 transport;
	__u32 packets;
	__u32 seq;        /* TCP: sequence number of the first byte */
	__u32 bytes;      /* bytes from the oldest packet's first byte on; 0: unknown */
	__u32 pid, tid;   /* reading process and thread; 0: unknown */
	__u16 link_core, enqueued_core, read_core; /* CPU; or CORE_UNKNOWN */
	__u16 pad;
	struct msg_flow flow;
};

/* MSG_TYPE_REQUEST: a request, as if it were one receive call, and its reply. */
struct msg_request {
	struct msg_record m;
	__u64 sent;       /* begin of the send call that sent the reply's first byte */
	__u16 sent_core;
	__u16 pad[3];
};

/* A send call that has ended; UDP: one datagram of a call, when IP gets the datagram. */
struct msg_send {
	__u32 type;       /* MSG_TYPE_SEND */
	__u16 core;       /* CPU of the call */
	__u16 pad;
	__u64 sk, born;   /* the socket's address; TCP: when hostlat first saw the socket */
	__u64 since, until; /* begin and end of the call; UDP: `until` is the hand-over to IP */
	__u32 seq, bytes;
	__u32 pid, tid;
	/* TCP: ns for which pacing had held the socket when the call began, modulo 2^32 */
	__u32 paced;
	/* TCP: ns for which late pacing timers had held the socket at time `since`, modulo 2^32 */
	__u32 late;
	struct msg_flow flow;
};

/* Transmit times of a packet so far. */
struct tx_times {
	__u64 sk;         /* the socket's address; 0: the packet is not recorded */
	__u64 born;       /* TCP: when hostlat first saw socket `sk`: addresses are reused; not 0 */
	union {
		__u64 since;      /* UDP: begin of the call, which distinguishes datagrams */
		struct {
			/*
			 * TCP, if `queued` is not 0: ns for which late pacing timers had held the
			 * socket at `segment`, modulo 2^32
			 */
			__u32 late;
			__u32 overdue;   /* ns by which the packet's pacing timer was late */
		};
	};
	__u64 segment, queued, given; /* time of each stage; 0: not reached or unknown */
	__u32 seq, bytes; /* sequence number and bytes of the payload */
	__u16 queued_core, given_core;
	/* TCP, if `queued` is not 0: ns of pacing up to `segment`, modulo 2^32 */
	__u32 paced;
};

/* A packet to transmit, with its final times. times.given 0: it was dropped before the driver. */
struct msg_packet {
	__u32 type;       /* MSG_TYPE_PACKET */
	__u16 sent_core;
	__u16 pad;
	/* when the driver freed the packet; 0: unknown, or passed on by loopback or veth */
	__u64 sent;
	struct tx_times times;
};

/* Record of a mark (a USDT probe in the application) that a thread passed: bpf/marks.bpf.c. */
struct msg_mark {
	__u32 type;       /* MSG_TYPE_MARK */
	__u16 core;
	__u8 end;         /* 1: end of a span; 0: begin */
	__u8 has_id;      /* the mark has an argument: `id` */
	__u64 time;
	__u64 id;
	__u64 born;       /* start time of the thread: distinguishes threads that had this tid */
	__u64 lost;       /* message records lost so far */
	__u32 pid, tid;
};

/*
 * Recorded task names, by task. Not in task storage: a switch holds the run queue's lock, under
 * which memory must not be allocated. A displaced name is recorded again.
 */
#define NAME_SETS_LOG2 11
#define NAME_SETS (1 << NAME_SETS_LOG2)

struct act_name {
	__u64 id;      /* pid | tgid << 32; 0 = free */
	__u64 started; /* start time of the task, as the kernel reuses ids */
	__u64 comm[2];
	__u64 cgroups; /* address of its css_set, another one once the task is moved */
};

struct act_names {
	struct act_name at[2]; /* the most recently used name comes first */
};

_Static_assert(sizeof(struct msg_flow) == 56, "struct msg_flow");
_Static_assert(sizeof(struct msg_record) == 120, "struct msg_record");
_Static_assert(sizeof(struct msg_request) == 136, "struct msg_request");
_Static_assert(sizeof(struct msg_send) == 120, "struct msg_send");
_Static_assert(sizeof(struct tx_times) == 64, "one cache line per packet");
_Static_assert(sizeof(struct msg_packet) == 80, "struct msg_packet");
_Static_assert(sizeof(struct msg_mark) == 48, "struct msg_mark");

/* Why requests are not recorded. All but the first two end the tracking of a connection. */
enum request_missed {
	MISSED_NO_REPLY,   /* the request asks for no reply */
	MISSED_ARRIVAL,    /* the arrival of the request's first or last byte is unknown */
	MISSED_OLDER, /* the connection is older than the recording: replies cannot be assigned */
	MISSED_PROTOCOL, /* the connection begins with no known request, or this end sends first */
	MISSED_UNFOLLOWED, /* unsupported by the tracking: error, quiet command, subscription */
	MISSED_CALL,       /* read or sent by a call with an unknown buffer (io_uring, splice) */
	MISSED_BUFFER,     /* the buffer could not be read */
	MISSED_BYTES,      /* bytes are missing: another call read them at the same time */
	MISSED_REQUEST,    /* a reply without a request */
	MISSED_FULL,       /* more than REQUESTS requests wait for a reply */
	MISSED_LARGE,      /* one call takes more than REQUEST_WORK of parsing */
	MISSED_MAX,
};

/* ---- CPU activity ---- */

enum act_type {
	ACT_NONE,         /* the entry is empty */
	ACT_NAME,         /* name of a task, before the task's first ACT_SWITCH */
	/* act.a: task that leaves the CPU; act.b: next task; act.arg: state, ACT_PREEMPTED */
	ACT_SWITCH,
	/*
	 * act.a: woken task; act.arg: its wake_cpu; act.b, here and in later types: the task on the
	 * CPU that recorded the event
	 */
	ACT_WAKE,
	ACT_IRQ,          /* act.a: number of the interrupt */
	ACT_IRQ_END,
	ACT_VECTOR,       /* act.a: enum span_vector */
	ACT_VECTOR_END,
	ACT_SOFTIRQ,      /* act.a: softirq vector */
	ACT_SOFTIRQ_END,
	ACT_IDLE,         /* act.a: cpuidle state */
	ACT_IDLE_END,
	ACT_SYSCALL,      /* act.a: number of the system call */
	ACT_SYSCALL_END,
	ACT_FAULT,
	ACT_MAX,
};

/* Flags in `arg`, above the states of include/linux/sched.h. */
#define ACT_PREEMPTED 0x4000
#define ACT_IOWAIT    0x8000

/* An event. Programs write `type` last; user space resets it to ACT_NONE after reading. */
struct act {
	union {
		__u64 time;
		struct {
			__u32 tgid; /* ACT_NAME: process id */
			/*
			 * ACT_NAME: low bits of the id of the task's cgroup in the default
			 * hierarchy, whose high bits are in `arg`; 0: unknown
			 */
			__u32 cgroup;
		};
	};
	__u32 a;
	__u16 arg;
	__u8 type;
	__u8 pad;
	union {
		struct {
			__u32 b;
			__u32 lost; /* events lost on this CPU so far */
			__u64 pad2;
		};
		char comm[16];
	};
};

/* Entries of a CPU's ring. Positions only grow; an entry's index is position % ACT_RING. */
#define ACT_RING 65536
/* Entries kept free for interrupts between act_has_room() and the claim of an entry. */
#define ACT_SPARE 64

struct act_ring {
	__u64 head;         /* position of the next entry; written by programs */
	__u64 lost;         /* events lost */
	__u32 task;         /* the current task; written by programs */
	__u32 reads;        /* 1: system calls and faults of `task` are recorded */
	__u64 room;         /* entries before this position are free; written by programs */
	__u64 pad[4];
	__u64 tail;         /* position up to which user space has read; written by user space */
	__u64 pad2[7];
	struct act at[ACT_RING];
};

_Static_assert(sizeof(struct act) == 32, "struct act");

#endif
