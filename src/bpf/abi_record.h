/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Layout of the rings of `record`: messages as they are read (bpf/msg_event.bpf.h), and CPU
 * activity (bpf/activity.bpf.c). Times: CLOCK_MONOTONIC, ns.
 */
#ifndef HOSTLAT_BPF_ABI_RECORD_H
#define HOSTLAT_BPF_ABI_RECORD_H

#include <linux/types.h>

/* ---- messages ---- */

#define MSG_RING_BYTES (4U << 20) /* bytes: 25,000 messages */

/* A core that is not known. */
#define CORE_UNKNOWN 0xffff

/* The type of a record in the message ring: its first member. */
enum msg_type {
	MSG_TYPE_READ,
	MSG_TYPE_SEND,
	MSG_TYPE_PACKET,
	MSG_TYPE_REQUEST,
	MSG_TYPE_MARK,
};

/* The connection of a record. */
struct msg_flow {
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
struct msg_record {
	__u32 type;       /* MSG_TYPE_READ */
	__u32 link;       /* ns from the oldest packet's arrival to `enqueued`; all ones: or more */
	__u64 read;       /* when the call returned */
	__u64 enqueued;   /* its oldest packet */
	__u64 youngest;   /* when its youngest packet came */
	__u32 transport;  /* ns from the oldest reaching TCP or UDP to `enqueued`; 0 = unknown */
	__u32 packets;
	__u32 seq;        /* TCP: sequence number of its first byte */
	__u32 bytes;      /* from the oldest packet's first byte on; 0 = unknown */
	__u32 pid, tid;   /* the reader; 0 = unknown */
	__u16 link_core, enqueued_core, read_core; /* CORE_UNKNOWN */
	__u16 pad;
	struct msg_flow flow;
};

/* MSG_TYPE_REQUEST: a request, as if it were one receive call, and its reply. */
struct msg_request {
	struct msg_record m;
	__u64 sent;       /* when the call was entered that sent its reply's first byte */
	__u16 sent_core;
	__u16 pad[3];
};

/* A send call that has ended; UDP: one of its datagrams, when IP gets it. */
struct msg_send {
	__u32 type;       /* MSG_TYPE_SEND */
	__u16 core;       /* of the call */
	__u16 pad;
	__u64 sk, born;   /* the socket, as in struct tx_times */
	__u64 since, until; /* from its entry to its return; UDP: until it was handed over */
	__u32 seq, bytes;
	__u32 pid, tid;
	__u32 paced;      /* TCP: `paced` of tx_writer at its entry */
	__u32 late;       /* TCP: `late` of tx_writer at its entry */
	struct msg_flow flow;
};

/* Times of a packet on transmit, as far as it has come. */
struct tx_times {
	__u64 sk;         /* the socket's address; 0: not recorded */
	__u64 born;       /* TCP: distinguishes sockets that had that address; never 0 */
	union {
		__u64 since;      /* UDP: begin of the call, which distinguishes datagrams */
		struct {
			__u32 late;      /* TCP, if `queued`: tx_writer's `late` then */
			__u32 overdue;   /* how late this packet's own pacing timer was */
		};
	};
	__u64 segment, queued, given; /* when it passed these stages; 0 = not, or not known */
	__u32 seq, bytes; /* of its payload */
	__u16 queued_core, given_core;
	__u32 paced;      /* TCP, if `queued`: tx_writer's `paced` then */
};

/* A packet with its final times. `given` 0: it was dropped before the driver. */
struct msg_packet {
	__u32 type;       /* MSG_TYPE_PACKET */
	__u16 sent_core;
	__u16 pad;
	__u64 sent;       /* 0: not known, or given to its receiver (loopback, veth) */
	struct tx_times times;
};

/* A mark of the application has fired (bpf/marks.bpf.c). */
struct msg_mark {
	__u32 type;       /* MSG_TYPE_MARK */
	__u16 core;
	__u8 end;         /* else: begin */
	__u8 has_id;      /* the mark has an argument: `id` */
	__u64 time;
	__u64 id;
	__u64 born;       /* start time of its thread: distinguishes threads that had its number */
	__u64 lost;       /* records lost so far */
	__u32 pid, tid;
};

/*
 * Names that were recorded, by task. Not in task storage: a switch holds the run queue's lock,
 * under which memory must not be allocated. A name that was displaced is recorded again.
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

_Static_assert(sizeof(struct msg_flow) == 56, "struct msg_flow");
_Static_assert(sizeof(struct msg_record) == 120, "struct msg_record");
_Static_assert(sizeof(struct msg_request) == 136, "struct msg_request");
_Static_assert(sizeof(struct msg_send) == 120, "struct msg_send");
_Static_assert(sizeof(struct tx_times) == 64, "one cache line per packet");
_Static_assert(sizeof(struct msg_packet) == 80, "struct msg_packet");
_Static_assert(sizeof(struct msg_mark) == 48, "struct msg_mark");

/* Why requests are not recorded. All but the first two end the tracking of a connection. */
enum request_missed {
	MISSED_NO_REPLY,   /* a request that asks for no reply */
	MISSED_ARRIVAL,    /* the arrival of its first or last byte is not known */
	MISSED_OLDER,      /* in use before the start: replies cannot be assigned */
	MISSED_PROTOCOL,   /* begins with no known request, or this end sends first */
	MISSED_UNFOLLOWED, /* unsupported: errors, quiet commands, subscriptions */
	MISSED_CALL,       /* read or sent by a call with an unknown buffer (io_uring, splice) */
	MISSED_BUFFER,     /* the buffer could not be read */
	MISSED_BYTES,      /* bytes are missing: another call read them at the same time */
	MISSED_REQUEST,    /* a reply without a request */
	MISSED_FULL,       /* more requests at once than REQUESTS */
	MISSED_LARGE,      /* more to parse in one call than REQUEST_WORK */
	MISSED_MAX,
};

/* ---- CPU activity ---- */

enum act_type {
	ACT_NONE,         /* the place is empty */
	ACT_NAME,         /* a task's name: precedes its first ACT_SWITCH */
	ACT_SWITCH,       /* a = the task that leaves, b = the next; arg = state, ACT_PREEMPTED */
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

/* Flags in `arg`, above the states of include/linux/sched.h. */
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
			__u32 lost; /* events lost on this CPU so far */
			__u64 pad2;
		};
		char comm[16];
	};
};

/* One per CPU. Positions run on and on; a place is position % ACT_RING. */
#define ACT_RING 65536
/* Entries kept free for interrupts between the check for room and the reservation. */
#define ACT_SPARE 64

struct act_ring {
	__u64 head;         /* next entry; written by programs */
	__u64 lost;         /* events lost */
	__u32 task;         /* the current task; written by programs */
	__u32 reads;        /* its system calls and faults are recorded */
	__u64 room;         /* there is room at least up to here; written by programs */
	__u64 pad[4];
	__u64 tail;         /* read up to here; written by user space */
	__u64 pad2[7];
	struct act at[ACT_RING];
};

_Static_assert(sizeof(struct act) == 32, "struct act");

#endif
