/* SPDX-License-Identifier: Apache-2.0 */
/* One connection in a span (interval or total), for rules, filters and tables, with its problems.
 */
#ifndef HOSTLAT_CONNS_VIEW_H
#define HOSTLAT_CONNS_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/layout.h"

/* The order is that of the report. Names: conn_class_name(). */
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
	CONN_NAGLE,
	CONN_SMALL_WRITES,
	CONN_BURST_AFTER_IDLE,
	CONN_SLOW_START_AFTER_IDLE,
	/* -- from here on it takes several connections to see it -- */
	CONN_INCAST,
	CONN_PIPELINE_PROXY,
	CONN_SPREAD_WRITES,
	CONN_CLASSES,
};

/* How sure a problem is: it was counted, found by Poisson samples, or follows from a model. */
enum conn_confidence { CONN_OBSERVED, CONN_SAMPLED, CONN_INFERRED };

/* Whether data waited because of a problem. */
enum conn_harm { CONN_HARMLESS, CONN_HARMFUL, CONN_HARM_UNKNOWN };

struct conn_problem;

/* A connection's judgement in a span, stored so that it is made once. */
struct conn_judged {
	uint32_t problems;             /* 1 << enum conn_class */
	uint32_t harmful;              /* problems for which data waited */
	uint64_t lost_ns;              /* time lost to harmful problems, as far as it is known */
	uint32_t first, n;             /* in the span's list of problems */
};

struct conn_view {
	const struct event_conn
		*c; /* of the span; NULL (conns_report_call() only): unknown */
	const struct event_flow *flow; /* NULL: unknown */
	/* NULL: unknown */
	const char *app, *comm, *cgroup, *unit, *netns, *congestion_control;
	/* The other end, where it is on this host: its cookie, and what it did in the span. */
	bool joined;
	uint64_t peer_cookie;
	const struct event_conn *peer; /* NULL: not joined, or without a record in the span */
	/* The peer is in another recording: its host, and the time that both recordings cover. If
	 * that is too little of the span, `peer` is NULL. */
	const char *peer_host;         /* NULL: not in another recording */
	uint64_t common_ns;
	struct conn_judged judged;     /* set by rules_judge() or conn_view_judged(); 0 before */
	const struct conn_problem *found; /* the judged.n problems of this connection; borrowed */
	uint32_t problem_intervals;    /* intervals so far with a problem for which data waited */
};

static inline bool conn_knows(const struct event_conn *c, uint32_t known)
{
	return (c->known & known) == known;
}

/* Returns a name such as "send-buffer"; "unknown" for other values. */
const char *conn_class_name(unsigned int class);
const char *conn_confidence_name(unsigned int confidence);

#endif
