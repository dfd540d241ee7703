/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/* Work of a host in an interval: a part of event/layout.h, which includes it; its rules hold. */
#ifndef HOSTLAT_EVENT_LAYOUT_HOST_H
#define HOSTLAT_EVENT_LAYOUT_HOST_H

enum queue_of {
	QUEUE_OF_DEVICE,
	QUEUE_OF_BACKLOG,	/* of a CPU: loopback, veth without GRO, RPS */
	QUEUE_OF_OTHERS,	/* devices beyond a limit, pooled */
	QUEUE_OF_MAX,
};

/* Deltas. `received`, `merged` and `passed` are 0 where packets were not followed. */
struct event_queue {
	__u32 cpu;
	__u32 iface;		/* DICT_IFACE; 0: none, or it is gone */
	__u32 rxq;		/* number + 1; 0: the driver doesn't say */
	__u32 of;		/* enum queue_of */
	__u64 polls;		/* NAPI polls */
	__u64 work;		/* packets, as the polls say */
	__u64 full;		/* polls that used up their budget */
	__u64 received;		/* packets that the driver gave to GRO */
	__u64 merged;		/* packets merged into an earlier one */
	__u64 passed;		/* packets that the stack receives */
};

/* Deltas of /proc/net/softnet_stat. */
struct event_softnet {
	__u32 cpu;
	__u32 pad;
	__u64 processed;
	__u64 dropped;		/* its backlog was full */
	__u64 squeezed;		/* a softirq ended with work left: budget or time was used up */
	__u64 rps;		/* interrupts from other CPUs that hand packets over */
	__u64 flow_limit;	/* dropped in the backlog as of one large flow */
};

/* Flags of unknown values, which are 0 in struct event_pressure. */
enum {
	PRESSURE_NO_BUSY = 1,
	PRESSURE_NO_STALL = 2,	/* the kernel has no PSI, or it is off */
	PRESSURE_NO_PACKETS = 4,
};

/* Deltas, of the whole host. */
struct event_pressure {
	__u64 busy_ns;		/* neither idle nor waiting for a disk, of all CPUs; in ticks */
	__u64 stall_ns;		/* at least one task waited for a CPU: PSI's "some" */
	__u64 packets;		/* received, whoever they were for */
	__u32 flags;		/* PRESSURE_NO_* */
	__u32 pad;
};

EVENT_ASSERT(event_queue, 64, passed, 56);
EVENT_ASSERT(event_softnet, 48, flow_limit, 40);
EVENT_ASSERT(event_pressure, 32, pad, 28);

#endif
