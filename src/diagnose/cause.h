/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a message's time is charged to, and where. The words are the contract of the command line
 * and of the JSON; their meaning is in docs/design/diagnose.md.
 */
#ifndef HOSTLAT_DIAGNOSE_CAUSE_H
#define HOSTLAT_DIAGNOSE_CAUSE_H

enum cause {
	CAUSE_CPU_WAIT,      /* the reader was runnable and somebody else had the core */
	CAUSE_STOPPED,       /* by a signal or a tracer */
	CAUSE_THROTTLED,     /* runnable while both cores that it could have were idle: a quota */
	CAUSE_CORE_STALL,    /* the same where no quota kept it: the core did not come */
	CAUSE_LOCK,          /* asleep until another thread let it go on */
	CAUSE_IO_WAIT,       /* asleep for a device or a file */
	CAUSE_INTERRUPT,
	CAUSE_SOFTIRQ,
	CAUSE_PAGE_FAULT,
	CAUSE_IDLE_EXIT,     /* runnable, and the core was still asleep */
	CAUSE_HEAD_OF_LINE,  /* the reader served another message */
	CAUSE_OTHER_RECEIVE, /* receive work for other packets, on the reader's core */
	CAUSE_KERNEL_QUEUE,  /* other packets were ahead of it in the same softirq */
	CAUSE_APPLICATION,   /* the reader's own processing, or it waited for something else */
	CAUSE_FUNCTION,      /* the kernel's work for this message */
	CAUSE_WINDOW,        /* in a socket: the peer's window, or the send buffer */
	CAUSE_PACING,        /* it was not to leave yet */
	CAUSE_QDISC,         /* in a device's queueing discipline */
	CAUSE_HOSTLAT,       /* hostlat itself had the core */
	CAUSE_BLIND,         /* the recording has a hole here */
	CAUSE_UNEXPLAINED,   /* what happened is known, but not why; or it was within the noise */
	CAUSE_EXPECTED,      /* what the reference takes: of a part only */
	CAUSE_OFFSET,        /* what went faster than in the reference: of a part only, negative */
	CAUSE_MAX,
};

enum where {
	WHERE_APPLICATION, /* from the socket's queue to the read */
	WHERE_RECEIVE,     /* up to the socket's queue, and the hand-off */
	WHERE_TRANSMIT,    /* of a sent message: all of it */
	WHERE_MAX,
};

/* A place in a table by cause and where. */
#define CAUSE_PLACES (CAUSE_MAX * WHERE_MAX)
#define CAUSE_PLACE(cause, where) ((unsigned int)(cause) * WHERE_MAX + (unsigned int)(where))

const char *cause_name(unsigned int cause);
const char *where_name(unsigned int where);

/* The phase of the analysis that finds it: "context", "gap", "function", "overlap", "blind". */
const char *cause_kind(unsigned int cause);

/* In a sentence: "waited for a CPU". */
const char *cause_phrase(unsigned int cause);

#endif
