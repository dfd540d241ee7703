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

#define INCAST_MIN 3u            /* connections that make an incast */
#define INCAST_WRITE_NS 10000000u  /* ns within which all begin to write */
/* All lose packets within this time (ns): timeouts of similar paths, in ticks of up to 10 ms. */
#define INCAST_LOSS_NS 20000000u
/* Longest time from the write to the loss, in ns; later losses have another cause. */
#define INCAST_BURST_NS 1000000000u

/* Adds the loss bursts of a single record; sums have only one. Returns 0 or -errno. */
int incast_add(struct conns *c, const struct conn *conn, const struct event_conn *e);

/* Finds incast in the interval's bursts and stores it for both spans. Returns 0 or -ENOMEM. */
int incast_find(struct conns *c);

void incast_explain(const struct conn_cross *cross, struct conn_finding *finding);

#endif
