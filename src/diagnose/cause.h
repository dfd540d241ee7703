/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The causes that a message's time is charged to, and where it was. The names are the contract of
 * the command line and of the JSON; docs/design/diagnose.md has their rules.
 */
#ifndef HOSTLAT_DIAGNOSE_CAUSE_H
#define HOSTLAT_DIAGNOSE_CAUSE_H

/*
 * X(ID, name, kind, phrase). Kind: the phase of the analysis that finds the cause: "context",
 * "gap", "function", "overlap", "blind". Phrase: the cause in a sentence.
 */
#define CAUSES(X) \
	/* the reader was runnable and another task had the core */ \
	X(CPU_WAIT, "cpu-wait", "context", "waited for a CPU") \
	X(STOPPED, "stopped", "gap", "was stopped by a signal or a tracer") \
	/* runnable while both cores that it could have were idle: a quota kept it from them */ \
	X(THROTTLED, "throttled", "gap", "was kept from an idle CPU (quota)") \
	/* idle though no quota applied: the core did not start */ \
	X(CORE_STALL, "core-stall", "gap", "waited for a CPU that did not start") \
	X(LOCK, "lock", "gap", "waited for another thread") \
	X(IO_WAIT, "io-wait", "gap", "waited for a file or a device") \
	X(INTERRUPT, "interrupt", "context", "was interrupted") \
	X(SOFTIRQ, "softirq", "context", "gave way to softirqs") \
	X(PAGE_FAULT, "page-fault", "gap", "waited in a page fault") \
	X(IDLE_EXIT, "idle-exit", "gap", "waited for an idle CPU to wake up") \
	/* the reader served another message */ \
	X(HEAD_OF_LINE, "head-of-line", "overlap", "was behind another message") \
	/* receive work for other packets, on the reader's core */ \
	X(OTHER_RECEIVE, "other-receive", "overlap", "gave way to others' receive work") \
	/* other packets were before it in the same softirq */ \
	X(KERNEL_QUEUE, "kernel-queue", "overlap", "was behind other packets in the kernel") \
	/* the reader's own processing, or it waited for something else */ \
	X(APPLICATION, "application", "function", "waited for the application itself") \
	/* the kernel's work for this message */ \
	X(FUNCTION, "function", "function", "took the kernel longer") \
	/* in a socket: the peer's window, or the send buffer */ \
	X(WINDOW, "window", "gap", "waited for room to send") \
	X(PACING, "pacing", "gap", "was held back by pacing") \
	X(QDISC, "qdisc", "gap", "waited in the device's queue") \
	X(HOSTLAT, "hostlat", "context", "waited for hostlat itself") \
	/* a core's events are missing: "blind" is the old word for it, which the JSON keeps */ \
	X(NOT_RECORDED, "blind", "blind", "was not recorded") \
	/* the recording shows what happened but not why, or the time is within the noise */ \
	X(UNEXPLAINED, "unexplained", "blind", "is not explained") \
	/* the baseline's time of one part */ \
	X(EXPECTED, "expected", "function", "is what the reference takes") \
	/* below the baseline's time: of a part only, negative */ \
	X(OFFSET, "offset", "function", "was faster than in the reference")

#define CAUSE_ID(id, name, kind, phrase) CAUSE_##id,
enum cause {
	CAUSES(CAUSE_ID)
	CAUSE_MAX,
};
#undef CAUSE_ID

enum where {
	WHERE_APPLICATION, /* from the socket's queue to the read */
	WHERE_RECEIVE,     /* up to the socket's queue, and the hand-off */
	WHERE_TRANSMIT,    /* a sent message, all of it */
	WHERE_MAX,
};

/* Index of a cause and a WHERE in tables of both. */
#define CAUSE_PLACES (CAUSE_MAX * WHERE_MAX)
#define CAUSE_PLACE(cause, where) ((unsigned int)(cause) * WHERE_MAX + (unsigned int)(where))

const char *cause_name(unsigned int cause);
const char *cause_where_name(unsigned int where);

const char *cause_kind(unsigned int cause);
const char *cause_phrase(unsigned int cause);

#endif
