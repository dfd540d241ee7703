/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Maps and limits of the log of send and receive calls (`conns --calls`). */
#ifndef HOSTLAT_BPF_ABI_CALLS_H
#define HOSTLAT_BPF_ABI_CALLS_H

#include <linux/types.h>

#include "event/layout.h"

/* Connections whose calls are logged. In .rodata: the verifier removes unused logging code. */
enum calls_of {
	CALLS_OF_NONE,
	CALLS_OF_CHOSEN,	/* connections whose cookie user space has put into `chosen` */
	CALLS_OF_ALL,
};

#define CALLS_RING (4U << 20)	/* bytes: 65,536 struct event_call */
/* Maximum of logged calls per period: half of the ring, so that the ring is never full. */
#define CALLS_GRANT_MAX (CALLS_RING / 2 / 64)
/* maximum of entries of the map `chosen`: cookies of connections whose log has not begun yet */
#define CALLS_CHOSEN 65536
#define CALLS_MARKS 8192	/* entries of calls_marks[]; a power of two */

/* Log state of a socket whose calls are logged. */
struct call_log {
	__u32 seq;		/* calls so far, logged or lost because the ring was full */
	__u32 period;		/* period of the last logged call; at first, of the log's begin */
};

/* Calls that should have been logged and were not; one cache line per CPU. */
struct calls_left_out {
	__u64 n;
	__u64 pad[7];
};

_Static_assert(sizeof(struct event_call) + 8 <= 64, "CALLS_GRANT_MAX");

#endif
