/* SPDX-License-Identifier: Apache-2.0 */
/* A connection in a span (interval or total), with its problems; for rules, filters and tables. */
#ifndef HOSTLAT_CONNS_VIEW_H
#define HOSTLAT_CONNS_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/layout.h"

/* Classes of problems, in the order of the report. Names: conn_class_name(). */
enum conn_class {
	CONN_SEND_BUFFER,
	CONN_FAST_RETRANSMIT,
	CONN_TIMEOUT,
	CONN_TAIL_LOSS_PROBE,
	CONN_SPURIOUS,
	CONN_RECEIVER_WINDOW,
	CONN_ZERO_WINDOW,
	CONN_RECEIVER_NOT_READING,
	CONN_DELAYED_ACK,
	CONN_DELAYED_REPAIR,
	CONN_NAGLE,
	CONN_SMALL_WRITES,
	CONN_TINY_SEND_BUFFER,
	CONN_BURST_AFTER_IDLE,
	CONN_SLOW_START_AFTER_IDLE,
	/* -- problems of several connections -- */
	CONN_INCAST,
	CONN_PIPELINE_PROXY,
	CONN_SPREAD_WRITES,
	CONN_CLASSES,
};

/* How a problem was found: counted, by Poisson samples, or inferred from a model. */
enum conn_confidence { CONN_OBSERVED, CONN_SAMPLED, CONN_INFERRED };

/* Whether data waited because of a problem. */
enum conn_harm { CONN_HARMLESS, CONN_HARMFUL, CONN_HARM_UNKNOWN };

struct conn_problem;
struct conn_service;

/* Result of judging a connection in a span (interval or total), stored to judge only once. */
struct conn_judged {
	uint32_t problems;             /* mask of 1 << enum conn_class */
	uint32_t harmful;              /* mask of problem classes for which data waited */
	uint64_t lost_ns;              /* time lost to harmful problems, as far as known */
	uint64_t lost_lo_ns;           /* lower bound of lost_ns, by the samples' confidence */
	uint32_t first, n; /* index of the first problem in the span's list; number of problems */
};

struct conn_view {
	const struct event_conn
		*c; /* record of the span; NULL (conns_report_call() only): unknown */
	const struct event_flow *flow; /* NULL: unknown */
	/* NULL: unknown */
	const char *app, *comm, *cgroup, *unit, *netns, *congestion_control;
	/* Whether the other end is on this host. Next: its cookie, and its record of the span. */
	bool joined;
	uint64_t peer_cookie;
	const struct event_conn *peer; /* record of the other end; NULL: none */
	/*
	 * The other end in another recording: its host; the time in ns that both records cover. If
	 * that time is too short, `peer` is NULL.
	 */
	const char *peer_host;         /* NULL: the other end is not in another recording */
	uint64_t common_ns;
	/* The service of the connection; NULL: unknown, it is judged by itself. Only to judge. */
	const struct conn_service *service;
	struct conn_judged judged;     /* set by rules_judge() or conn_view_judged(); else 0 */
	const struct conn_problem *found; /* the judged.n problems of this connection; borrowed */
	uint32_t problem_intervals;    /* intervals so far with a problem for which data waited */
};

static inline bool conn_knows(const struct event_conn *c, uint32_t known)
{
	return (c->known & known) == known;
}

/* Return a name such as "send-buffer"; "unknown" for other values. */
const char *conn_class_name(unsigned int class);
const char *conn_confidence_name(unsigned int confidence);

#endif
