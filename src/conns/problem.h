/* SPDX-License-Identifier: Apache-2.0 */
/* One problem of one connection, and its explanation. */
#ifndef HOSTLAT_CONNS_PROBLEM_H
#define HOSTLAT_CONNS_PROBLEM_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "conns/view.h"
#include "report/report.h"
#include "stats/proportion.h"

/* Confidence level of the intervals around sampled shares. */
#define CONN_CONFIDENCE 0.95

/* Reason for a small receive window, from the receiving end's record. */
enum window_limit { WINDOW_UNKNOWN, WINDOW_NOT_READ, WINDOW_SET, WINDOW_GROWING };

struct conn_problem {
	enum conn_class class;
	enum conn_harm harm;
	enum conn_confidence confidence;
	bool ours;                 /* delayed ACKs: this end's, not the peer's */
	enum window_limit limit;   /* receiver window */
	uint64_t lost_ns;          /* as far as it is known; 0 if harmless */
	struct proportion sampled; /* of the samples that found it; of CONN_SAMPLED */
};

struct conn_problems VEC_OF(struct conn_problem);

/* Fills in the view as it was judged before; `found` is the span's list. */
static inline void conn_view_judged(struct conn_view *view, const struct conn_judged *judged,
				    const struct conn_problems *found)
{
	view->judged = *judged;
	view->found = judged->n ? found->items + judged->first : NULL;
}

/* Sums over all connections with gauges, to compute a fair share of send-buffer memory. */
struct conn_sums {
	uint64_t sndbuf;           /* bytes */
	uint64_t window;           /* congestion windows, bytes */
};

/*
 * An explained problem: evidence for programs, and for people sentences without a full stop. An
 * empty advice means that nothing needs to be done.
 */
struct conn_finding {
	struct report *r;
	const struct conn_view *view;
	const struct conn_problem *problem;
	const struct conn_sums *sums;
	struct object *evidence;
	struct strbuf message, advice;
};

/* Returns the connection's time whose limit is known, in ns. */
static inline uint64_t conn_known_ns(const struct event_conn *c)
{
	return c->sender_app_ns + c->send_buffer_ns + c->congestion_ns + c->receiver_window_ns +
	       c->delayed_ack_ns;
}

/*
 * Returns `ns` as a share of the connection's time, unknown time included. Shares of the known time
 * alone would overstate states that the kernel accounts for without samples.
 */
static inline double conn_share(const struct event_conn *c, uint64_t ns)
{
	const uint64_t all = conn_known_ns(c) + c->unknown_ns;

	return all ? (double)ns / (double)all : 0;
}

/*
 * Segments that were retransmitted: by the events, or by the bytes where a timeout has made more
 * of them than it is itself.
 */
static inline uint64_t conn_retransmitted(const struct event_conn *c)
{
	const uint64_t events = (uint64_t)c->fast_retransmit + c->rto + c->tlp;
	const uint64_t segments = conn_knows(c, CONN_KNOWS_GAUGES) && c->mss ?
				  (c->bytes_retransmitted + c->mss - 1) / c->mss : 0;

	return events > segments ? events : segments;
}

/* Nothing was lost: what was sent again had arrived. */
static inline bool conn_all_spurious(const struct event_conn *c)
{
	return conn_knows(c, CONN_KNOWS_SPURIOUS) && c->spurious >= conn_retransmitted(c);
}

#endif
