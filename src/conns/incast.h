/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many to one: what several hosts send to one receiver at once meets in one queue, and is lost
 * together. It is seen where several of the connections are: where they are sent, if they begin to
 * write together and lose packets together; and at the receiver, if it sends requests together
 * whose replies are lost. One sender alone can't tell.
 */
#ifndef HOSTLAT_CONNS_INCAST_H
#define HOSTLAT_CONNS_INCAST_H

#include "conns/problem.h"
#include "conns/state.h"

#define INCAST_MIN 3u            /* connections */
#define INCAST_WRITE_NS 10000000u  /* all begin to write within this time */
/* ... and lose within this one: timeouts of paths alike, in ticks of up to 10 ms. */
#define INCAST_LOSS_NS 20000000u
/* From the write to the loss; later ones are of something else. */
#define INCAST_BURST_NS 1000000000u

/* A record of the interval: each tells of a burst, their sum would of one. 0 or -errno. */
int incast_add(struct conns *c, const struct conn *conn, const struct event_conn *e);

/* Looks through what was taken; keeps what it finds for both spans. 0 or -ENOMEM. */
int incast_find(struct conns *c);

void incast_explain(const struct conn_cross *cross, struct conn_finding *finding);

#endif
