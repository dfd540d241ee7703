/* SPDX-License-Identifier: Apache-2.0 */
/* Computes shares of time from samples. */
#ifndef HOSTLAT_CONNS_CONN_SHARE_H
#define HOSTLAT_CONNS_CONN_SHARE_H

#include "event/layout.h"
#include "stats/proportion.h"

/* States with a share of the time: the limits that samples find, and a receive buffer unread. */
enum conn_share_kind {
	CONN_SHARE_SEND_BUFFER, CONN_SHARE_WINDOW, CONN_SHARE_DELAYED_ACK, CONN_SHARE_UNREAD,
	CONN_SHARES,
};

/* Returns the number of samples that found the state. */
uint32_t conn_share_hits(const struct event_conn *c, enum conn_share_kind kind);

/* Returns the share of the time in a state, and the number of equal samples that give it in *n. */
double conn_share_of(const struct event_conn *c, enum conn_share_kind kind, double *n);

/*
 * Returns the share of the time of `c` in a state that `hits` samples found, standing for `ns`: a
 * quotient of sums of weights (Hajek 1971), biased by the order of 1/n. Its confidence interval is
 * Wilson's (1927) for the number of equally weighted samples that gives the same variance; for a
 * share of 0 or 1, for Kish's effective number (1965). Equal weights are assumed for samples of a
 * state in one interval and, without weights, for all samples.
 */
struct proportion conn_share_sampled(const struct event_conn *c, uint64_t ns, uint32_t hits,
				     double confidence);

#endif
