/* SPDX-License-Identifier: Apache-2.0 */
/* A problem of a connection, and its explanation. */
#ifndef HOSTLAT_CONNS_PROBLEM_H
#define HOSTLAT_CONNS_PROBLEM_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "conns/view.h"
#include "report/report.h"
#include "stats/proportion.h"

/* Linux's least retransmission timeout, in us. */
#define CONN_TIMER_US 200000u
/* Confidence level of the intervals of sampled shares. */
#define CONN_CONFIDENCE 0.95

/* Reason for a small receive window, from the receiving end's record. */
enum window_limit { WINDOW_UNKNOWN, WINDOW_NOT_READ, WINDOW_SET, WINDOW_GROWING };

/* Reason why a send buffer stays full, other than its size. */
enum buffer_drain { DRAIN_UNHELD, DRAIN_SIZING, DRAIN_PACING, DRAIN_PATH };

struct conn_problem {
	enum conn_class class;
	enum conn_harm harm;
	enum conn_confidence confidence;
	bool ours;                 /* true for ACKs that this end delayed, not the peer */
	enum window_limit limit;   /* why the receiver's window is small */
	enum buffer_drain drain;   /* why the send buffer stays full */
	bool elsewhere;            /* late ACKs: the peer's own record shows none */
	uint64_t lost_ns;          /* time lost, as far as known; 0 if harmless */
	uint64_t lost_lo_ns;       /* lower bound of lost_ns, by the interval of samples */
	/* share of samples that found the problem; only if CONN_SAMPLED */
	struct proportion sampled;
	/* Losses: retransmitted part of the bytes sent on the service's other connections. */
	double usual_losses;
	uint32_t service;          /* connections of the service; 0: unknown */
	bool excess;               /* losses: more than the service's other connections have */
};

struct conn_problems VEC_OF(struct conn_problem);

/*
 * Copies an earlier judgment into the view; `found` lists the problems of all connections in the
 * span, and must outlive the view.
 */
static inline void conn_view_judged(struct conn_view *view, const struct conn_judged *judged,
				    const struct conn_problems *found)
{
	view->judged = *judged;
	view->found = judged->n ? found->items + judged->first : NULL;
}

/* Sums over all connections with gauges, to compute a fair share of send-buffer memory. */
struct conn_sums {
	uint64_t sndbuf;           /* bytes */
	uint64_t window;           /* sum of the congestion windows, bytes */
};

/*
 * An explained problem: evidence for JSON, and sentences without a full stop for the text. An empty
 * advice means that nothing needs to be done.
 */
struct conn_finding {
	struct report *r;
	const struct conn_view *view;
	const struct conn_problem *problem;
	const struct conn_sums *sums;
	struct object *evidence;
	struct strbuf message, advice;
};

/* Returns the time for which the connection's limit is known, in ns. */
static inline uint64_t conn_known_ns(const struct event_conn *c)
{
	return c->sender_app_ns + c->send_buffer_ns + c->congestion_ns + c->receiver_window_ns +
	       c->delayed_ack_ns;
}

/*
 * Returns `ns` as a share of the connection's time, including unknown time. Shares of the known
 * time alone would overstate states that the kernel accounts for without samples.
 */
static inline double conn_share(const struct event_conn *c, uint64_t ns)
{
	const uint64_t all = conn_known_ns(c) + c->unknown_ns;

	return all ? (double)ns / (double)all : 0;
}

/*
 * Returns the number of retransmitted segments: by events or, if that is more, by bytes. A timeout
 * counts as one event but may retransmit several segments. A probe may send new data: if full
 * segments make up the other events' bytes, probes count as far as bytes are left for them.
 */
static inline uint64_t conn_retransmitted(const struct event_conn *c)
{
	const uint64_t others = (uint64_t)c->fast_retransmit + c->rto, events = others + c->tlp;
	const uint64_t segments = conn_knows(c, CONN_KNOWS_GAUGES) && c->mss ?
				  (c->bytes_retransmitted + c->mss - 1) / c->mss : 0;

	return segments >= events || (others && segments >= others) ? segments : events;
}

/* Returns how many retransmissions were found to be spurious, of those of the record. */
static inline uint64_t conn_spurious(const struct event_conn *c)
{
	const uint64_t all = conn_retransmitted(c);

	if (!conn_knows(c, CONN_KNOWS_SPURIOUS))
		return 0;
	/* a spurious one may belong to an earlier record */
	return c->spurious < all ? c->spurious : all;
}

/*
 * Returns how many retransmissions the peer may not have answered yet at the end of the record:
 * those of one repair, if the last retransmission is younger than the retransmission timeout.
 */
static inline uint64_t conn_unanswered(const struct event_conn *c)
{
	const uint64_t repairs = (uint64_t)c->recoveries + c->rto + c->tlp;
	const uint64_t timeout_ns = 1000 * (uint64_t)(c->rto_us ? c->rto_us : CONN_TIMER_US);

	if (!c->loss_last || c->to > c->loss_last + timeout_ns)
		return 0;
	return repairs ? (conn_retransmitted(c) + repairs - 1) / repairs : 1;
}

/*
 * Returns whether every retransmission was spurious: no segment was lost. The peer tells of the
 * last ones later; if nearly all others were spurious, they are taken to be, too.
 */
static inline bool conn_all_spurious(const struct event_conn *c)
{
	const uint64_t all = conn_retransmitted(c), arrived = conn_spurious(c);

	return arrived && (arrived == all || (4 * arrived >= 3 * all &&
					      arrived + conn_unanswered(c) >= all));
}

#endif
