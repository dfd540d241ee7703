/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the connections of a group, such as the connections of an application. */
#ifndef HOSTLAT_CONNS_CONN_AGGREGATE_H
#define HOSTLAT_CONNS_CONN_AGGREGATE_H

#include "conns/rtt.h"
#include "conns/view.h"
#include "report/report.h"

/* Sum over the connections of a group; zero-initialized. */
struct conn_aggregate {
	uint64_t connections, closed, troubled, lost_ns;
	uint64_t classes[CONN_CLASSES]; /* connections with a harmful problem of this class */
	struct event_conn sum;          /* a field is known if it is known of all connections */
	struct event_conn few;          /* samples of connections that have too few samples each */
	/* unknown ns of connections with too few samples, divided among limits by `few` */
	uint64_t few_ns;
	/* calls of all connections, estimated if only some are counted */
	double send_calls, recv_calls;
	struct rtt_sum rtts;            /* round trips of the connections where they are known */
	/*
	 * send_calls and recv_calls are known; missing for some connections; estimated from sampled
	 * ones
	 */
	bool calls_known, calls_missing, estimated;
};

/* Adds a connection, with its problems, to the sum. */
void conn_aggregate_add(struct conn_aggregate *sum, const struct conn_view *view);

/*
 * Finishes the sum. Connections with too few samples have unknown time, which is divided among the
 * limits by the samples of all these connections together. Excluding that time would favor
 * connections with problems, as they are sampled more often.
 */
void conn_aggregate_finish(struct conn_aggregate *sum);

/* Returns `ns` as a share of the known time of the sum; null if no time is known. */
struct value conn_aggregate_share(const struct event_conn *sum, uint64_t ns);

#endif
