/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The log of send and receive calls that `conns` keeps if it is asked to: maps and limits. */
#ifndef HOSTLAT_BPF_ABI_CALLS_H
#define HOSTLAT_BPF_ABI_CALLS_H

#include <linux/types.h>

#include "event/layout.h"

/* Of which connections: .rodata, so that without a log the programs have no code for it. */
enum calls_of {
	CALLS_OF_NONE,
	CALLS_OF_CHOSEN,	/* those whose cookie user space has put into `chosen` */
	CALLS_OF_ALL,
};

#define CALLS_RING (4U << 20)	/* bytes: 65,536 struct event_call */
/* Between two readings: half of the ring, so that it is never full. */
#define CALLS_GRANT_MAX (CALLS_RING / 2 / 64)
#define CALLS_CHOSEN 65536	/* cookies that wait for their connection to be visited */
#define CALLS_MARKS 8192	/* a power of two */

/* Beside a socket whose calls are logged. */
struct call_log {
	__u32 seq;		/* calls so far, but for those that were not looked for */
	__u32 period;		/* `calls_period` at the last one that was logged */
};

/* Calls that should have been logged and were not; a cache line for each CPU. */
struct calls_left_out {
	__u64 n;
	__u64 pad[7];
};

_Static_assert(sizeof(struct event_call) + 8 <= 64, "CALLS_GRANT_MAX");

#endif
