/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects incast: packets that several hosts send to one receiver at once meet in one queue and are
 * lost together. A host with several of the connections can detect it: the senders' host, if they
 * begin to write together and lose packets together; and the receiver, if it sends requests
 * together whose replies are lost. A host with a single sender cannot.
 */
#ifndef HOSTLAT_CONNS_INCAST_H
#define HOSTLAT_CONNS_INCAST_H

#include "conns/problem.h"
#include "conns/state.h"

/*
 * An address with more connections may be that of a load balancer or NAT: losers that also share
 * the remote port are a receiver of their own, besides the address.
 */
#define INCAST_SHARED 100u
#define INCAST_WRITE_NS 10000000u  /* ns within which all connections of an incast begin to write */
/*
 * All connections of an incast lose packets within this time (ns): it allows for timeouts of
 * similar paths, in ticks of up to 10 ms.
 */
#define INCAST_LOSS_NS 20000000u
/* Longest time in ns from the begin of the writes to a loss; later losses are no incast. */
#define INCAST_BURST_NS 1000000000u

/*
 * Adds the loss bursts of one record to the interval's bursts; a sum of records would have only
 * one. Returns 0 or -errno.
 */
int incast_add(struct conns *c, const struct conn *conn, const struct event_conn *e);

/*
 * Finds incast in the interval's loss bursts and stores it for the interval and for the totals.
 * Returns 0 or -ENOMEM.
 */
int incast_find(struct conns *c);

void incast_explain(const struct conn_cross *cross, struct conn_finding *finding);

#endif
