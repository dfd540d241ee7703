/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incast: packets that several hosts send to one receiver at once meet in one queue and are lost
 * together. It shows where several of the connections are: at the senders' host, if they begin to
 * write together and lose packets together; and at the receiver, if it sends requests together
 * whose replies are lost. A single sender cannot detect it.
 */
#ifndef HOSTLAT_CONNS_INCAST_H
#define HOSTLAT_CONNS_INCAST_H

#include "conns/problem.h"
#include "conns/state.h"

#define INCAST_MIN 3u            /* connections */
#define INCAST_WRITE_NS 10000000u  /* all begin to write within this time */
/* All lose within this time: timeouts of similar paths, in ticks of up to 10 ms. */
#define INCAST_LOSS_NS 20000000u
/* From the write to the loss; later ones are of something else. */
#define INCAST_BURST_NS 1000000000u

/* Adds the loss bursts of a single record: sums of records keep only one burst. 0 or -errno. */
int incast_add(struct conns *c, const struct conn *conn, const struct event_conn *e);

/* Looks through what was taken; keeps what it finds for both spans. 0 or -ENOMEM. */
int incast_find(struct conns *c);

void incast_explain(const struct conn_cross *cross, struct conn_finding *finding);

#endif
