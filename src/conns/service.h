/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services: the connections to one remote address and port, or those that one listener accepted.
 * Losses and limits that are usual for a service are no problem of one of its connections.
 */
#ifndef HOSTLAT_CONNS_SERVICE_H
#define HOSTLAT_CONNS_SERVICE_H

#include "conns/conn_share.h"
#include "conns/state.h"
#include "stats/shrink.h"

struct conn_service {
	uint32_t connections;
	struct shrink_sum sums[CONN_SHARES];
	struct shrink_law laws[CONN_SHARES]; /* laws of the connections' shares of time */
	double retransmitted;          /* segments, without those that had arrived */
	double episodes;               /* recoveries, timeouts and probes that sent them */
	double bytes;                  /* bytes sent */
};

struct conn_services {
	struct conn_service_items VEC_OF(struct conn_service) items;
	uint32_t *of;                  /* by connection: index in `items` + 1; 0: unknown */
	size_t n;                      /* number of connections in `of` */
};

/*
 * Adds up the services of the span's records. Returns 0 or -ENOMEM; call service_release() in
 * either case.
 */
int service_gather(const struct conns *c, enum conns_span span, struct conn_services *out);
void service_release(struct conn_services *services);

/* Returns the service of the connection with this index in conns.all; NULL: unknown. */
const struct conn_service *service_of(const struct conn_services *services, uint32_t conn);

/* Returns the number of retransmitted segments, without those that had arrived. */
uint64_t service_lost(const struct event_conn *e);

/*
 * Returns the probability that a connection of the service loses segments as often as `e`, or more
 * often, if its rate per byte is that of the others: a binomial test of two Poisson rates. Segments
 * of one episode are lost together and count as one.
 */
double service_loss_chance(const struct conn_service *service, const struct event_conn *e);

/* Returns the segments retransmitted per byte sent of the service's connections other than `e`. */
double service_other_losses(const struct conn_service *service, const struct event_conn *e);

#endif
