/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The causes to which a message's time is charged, and where the message was meanwhile. The command
 * line and the JSON promise these names; docs/design/diagnose.md has their rules.
 */
#ifndef HOSTLAT_DIAGNOSE_CAUSE_H
#define HOSTLAT_DIAGNOSE_CAUSE_H

/*
 * X(ID, name, kind, phrase). Kind: the phase of the analysis that finds the cause: "context",
 * "gap", "function", "overlap", "blind". Phrase: the cause as part of a sentence.
 */
#define CAUSES(X) \
	/* cause: the reader was runnable and another task had the core */ \
	X(CPU_WAIT, "cpu-wait", "context", "waited for a CPU") \
	X(STOPPED, "stopped", "gap", "was stopped by a signal or a tracer") \
	/* cause: a CPU quota held the runnable reader; its queue's core and next core idled */ \
	X(THROTTLED, "throttled", "gap", "was throttled by a CPU quota") \
	/* cause: the runnable reader's core was idle and did not start, without any quota */ \
	X(CORE_STALL, "core-stall", "gap", \
	  "waited for an idle CPU that took over 1 ms to wake up") \
	X(LOCK, "lock", "gap", "waited for another thread") \
	X(IO_WAIT, "io-wait", "gap", "waited for a file or a device") \
	X(INTERRUPT, "interrupt", "context", "was interrupted") \
	X(SOFTIRQ, "softirq", "context", "gave way to softirqs") \
	X(PAGE_FAULT, "page-fault", "gap", "waited in a page fault") \
	X(IDLE_EXIT, "idle-exit", "gap", "waited for an idle CPU to wake up") \
	/* cause: the reader served another message */ \
	X(HEAD_OF_LINE, "head-of-line", "overlap", "was behind another message") \
	/* cause: receive work for other packets, on the reader's core */ \
	X(OTHER_RECEIVE, "other-receive", "overlap", "gave way to receive work for other packets") \
	/* cause: the softirq that received the message processed other packets first */ \
	X(KERNEL_QUEUE, "kernel-queue", "overlap", "was behind other packets in the kernel") \
	/* cause: the reader's own processing, or a wait without a more specific cause */ \
	X(APPLICATION, "application", "function", "waited for the application itself") \
	/* cause: the kernel took longer for its work for this message */ \
	X(FUNCTION, "function", "function", "took longer in the kernel") \
	/* cause: the peer's window or the send buffer's size held the data in the socket */ \
	X(WINDOW, "window", "gap", "waited for room to send") \
	X(PACING, "pacing", "gap", "was held back by pacing") \
	X(QDISC, "qdisc", "gap", "waited in the device's queue") \
	/* cause: between the client's and the server's stack; only in requests */ \
	X(NETWORK, "network", "gap", "was on its way") \
	X(HOSTLAT, "hostlat", "context", "waited for hostlat itself") \
	/* cause: a core's events are missing; the JSON keeps the old name "blind" */ \
	X(NOT_RECORDED, "blind", "blind", "was not recorded") \
	/* cause: the recording does not show why, or the time is within the noise */ \
	X(UNEXPLAINED, "unexplained", "blind", "is not explained") \
	/* not a cause: in the list of a message's parts, the baseline's latency */ \
	X(EXPECTED, "expected", "function", "is the baseline's time") \
	/* not a cause: in the list of a message's parts, minus the times below the baseline */ \
	X(OFFSET, "offset", "function", "was faster than the baseline")

#define CAUSE_ID(id, name, kind, phrase) CAUSE_##id,
enum cause {
	CAUSES(CAUSE_ID)
	CAUSE_MAX,
};
#undef CAUSE_ID

enum where {
	WHERE_APPLICATION, /* from the socket's queue to the read */
	WHERE_RECEIVE,     /* up to the socket's queue, and the reader's wakeup */
	WHERE_TRANSMIT,    /* all of a sent message */
	WHERE_CLIENT,      /* request: until it left the load generator; after the reply came */
	WHERE_NETWORK,     /* request: on its way, and the reply's way back */
	WHERE_MAX,
};

/* Index of a cause and an enum where in tables of both. */
#define CAUSE_PLACES (CAUSE_MAX * WHERE_MAX)
#define CAUSE_PLACE(cause, where) ((unsigned int)(cause) * WHERE_MAX + (unsigned int)(where))

const char *cause_name(unsigned int cause);
const char *cause_where_name(unsigned int where);

const char *cause_kind(unsigned int cause);
const char *cause_phrase(unsigned int cause);

#endif
