/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of connections of any group. */
#ifndef HOSTLAT_CONNS_CONN_AGGREGATE_H
#define HOSTLAT_CONNS_CONN_AGGREGATE_H

#include "conns/rtt.h"
#include "conns/view.h"
#include "report/report.h"

/* A sum of connections; zeroed before the first. */
struct conn_aggregate {
	uint64_t connections, closed, troubled, lost_ns;
	uint64_t classes[CONN_CLASSES]; /* connections with a harmful problem of this class */
	struct event_conn sum;          /* a field is known if all connections know it */
	struct event_conn few;          /* samples of connections that have too few samples each */
	uint64_t few_ns;                /* the time that the samples in `few` cover */
	double send_calls, recv_calls;  /* over all connections, weighted */
	struct rtt_sum rtts;            /* connections whose round trips are known */
	bool calls_known, calls_missing, estimated; /* calls: known; missing for some; weighted */
};

/* Adds a judged connection to the sum. */
void conn_aggregate_add(struct conn_aggregate *sum, const struct conn_view *view);

/*
 * Finishes the sum: divides time that is unknown for single connections, which have too few
 * samples, by the samples of all these connections. Excluding that time would favor connections
 * with problems, as they are sampled more often.
 */
void conn_aggregate_finish(struct conn_aggregate *sum);

/* Returns `ns` as a share of the known time of the sum; null if no time is known. */
struct value conn_aggregate_share(const struct event_conn *sum, uint64_t ns);

#endif
