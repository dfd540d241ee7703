/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether chance alone brings losing bursts to one receiver together. Connections that lose packets
 * independently do so at the same time now and then: a scan statistic (Naus 1965) says how often,
 * at the receiver's own rate of losing bursts in the last minute.
 */
#ifndef HOSTLAT_CONNS_INCAST_CHANCE_H
#define HOSTLAT_CONNS_INCAST_CHANCE_H

#include "conns/state.h"

#define INCAST_MIN 3u            /* least number of connections in an incast */
/* Time over which a receiver's losing bursts are counted, in ns; a longer interval counts whole. */
#define INCAST_MINUTE_NS 60000000000u
/*
 * Incasts are reported if chance brings fewer than this number of them in a minute, at all
 * addresses of a host, or at all ports of shared addresses.
 */
#define INCAST_BY_CHANCE 0.01

/*
 * Adds `bursts` losing bursts to the receiver in this interval; `together`: they are one group of
 * several connections and are counted once more, without `together`. Returns 0 or -ENOMEM.
 */
int incast_chance_add(struct conns *c, const struct conn_receiver *receiver, uint32_t bursts,
		      bool together);

/* Drops what is older than a minute. Call it after the interval's bursts have been added. */
void incast_chance_sort(struct conns *c);

/*
 * Returns whether chance may have brought together a group of `members` connections that began to
 * write to the receiver within `within_ns`. The group has been added with `together`.
 */
bool incast_chance_explains(const struct conns *c, const struct conn_receiver *receiver,
			    uint32_t members, uint64_t within_ns);

#endif
