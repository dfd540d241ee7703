/* SPDX-License-Identifier: Apache-2.0 */
/* Connections added up, whatever they have in common. */
#ifndef HOSTLAT_CONNS_CONN_AGGREGATE_H
#define HOSTLAT_CONNS_CONN_AGGREGATE_H

#include "conns/rtt.h"
#include "conns/view.h"
#include "report/report.h"

/* Begins zeroed. */
struct conn_aggregate {
	uint64_t connections, closed, troubled, lost_ns;
	uint64_t classes[CONN_CLASSES]; /* connections with this one, harmful */
	struct event_conn sum;          /* what is known of it is known of all */
	struct event_conn few;          /* samples of those that have too few each */
	uint64_t few_ns;                /* ... and the time that these are of */
	double send_calls, recv_calls;  /* of all, from those that were followed */
	struct rtt_sum rtts;            /* of those whose round trips are known */
	bool calls_known, calls_missing, estimated; /* of some; not of some others */
};

/* A connection in a span, judged. */
void conn_aggregate_add(struct conn_aggregate *sum, const struct conn_view *view);

/*
 * When all are in: time that is unknown of each, as its samples are too few, is known of them
 * together. To leave it out would give those with problems more than their share: they are sampled
 * more often.
 */
void conn_aggregate_finish(struct conn_aggregate *sum);

/* Of the sum's time; null if nothing is known of that. */
struct value conn_aggregate_share(const struct event_conn *sum, uint64_t ns);

#endif
