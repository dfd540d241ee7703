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
	uint64_t few_ns;                /* the time that the samples in `few` cover */
	double send_calls, recv_calls;  /* of all, from those that were followed */
	struct rtt_sum rtts;            /* of those whose round trips are known */
	bool calls_known, calls_missing, estimated; /* of some; not of some others */
};

/* A connection in a span, judged. */
void conn_aggregate_add(struct conn_aggregate *sum, const struct conn_view *view);

/*
 * Finishes the sum: divides time that is unknown for single connections, whose samples are too few,
 * by the samples of all. Leaving it out would favor connections with problems, as they are sampled
 * more often.
 */
void conn_aggregate_finish(struct conn_aggregate *sum);

/* Returns `ns` as a share of the sum's time; null if that time is unknown. */
struct value conn_aggregate_share(const struct event_conn *sum, uint64_t ns);

#endif
