/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/* Work of a host in an interval. Part of event/layout.h, which includes it; its rules hold. */
#ifndef HOSTLAT_EVENT_LAYOUT_HOST_H
#define HOSTLAT_EVENT_LAYOUT_HOST_H

enum queue_of {
	QUEUE_OF_DEVICE,
	QUEUE_OF_BACKLOG,	/* a CPU's backlog queue: loopback, veth without GRO, RPS */
	QUEUE_OF_OTHERS,	/* devices beyond a limit, pooled */
	QUEUE_OF_MAX,
};

/* Counts of one interval. `received`, `merged`, `passed` are 0 where packets were not traced. */
struct event_queue {
	__u32 cpu;
	__u32 iface;		/* DICT_IFACE; 0: no interface, or removed */
	__u32 rxq;		/* number of the receive queue + 1; 0: not set by the driver */
	__u32 of;		/* enum queue_of */
	__u64 polls;		/* NAPI polls */
	__u64 work;		/* packets, as returned by the NAPI polls */
	__u64 full;		/* polls that used up their budget */
	__u64 received;		/* packets that the driver gave to GRO */
	__u64 merged;		/* packets merged into an earlier one */
	__u64 passed;		/* packets that entered the stack */
};

/* Increases of the counters of /proc/net/softnet_stat in one interval. */
struct event_softnet {
	__u32 cpu;
	__u32 pad;
	__u64 processed;
	__u64 dropped;		/* packets dropped: the backlog was full */
	__u64 squeezed;		/* softirqs that used up their budget or time */
	__u64 rps;		/* interrupts by which other CPUs pass packets on */
	__u64 flow_limit;	/* packets of one large flow that the backlog dropped */
};

/* Flags of unknown values, which are 0 in struct event_pressure. */
enum {
	PRESSURE_NO_BUSY = 1,
	PRESSURE_NO_STALL = 2,	/* the kernel has no PSI, or it is off */
	PRESSURE_NO_PACKETS = 4,
};

/* Load of the whole host in one interval. */
struct event_pressure {
	__u64 busy_ns;		/* busy time of all CPUs, without I/O wait; resolution: 1 tick */
	__u64 stall_ns;		/* PSI "some": a task waited for a CPU */
	__u64 packets;		/* received, for any destination */
	__u32 flags;		/* PRESSURE_NO_* */
	__u32 pad;
};

EVENT_ASSERT(event_queue, 64, passed, 56);
EVENT_ASSERT(event_softnet, 48, flow_limit, 40);
EVENT_ASSERT(event_pressure, 32, pad, 28);

#endif
