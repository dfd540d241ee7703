/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of a connection that are both on this host. */
#ifndef HOSTLAT_CONNS_JOIN_H
#define HOSTLAT_CONNS_JOIN_H

#include "conns/state.h"

/*
 * Looks for the other end of a connection that has none yet: addresses the other way round, lives
 * that overlap, and sequence numbers that fit. Addresses alone are not enough: namespaces repeat
 * them, and ports are used again. Of several that fit none is taken.
 */
void conns_join(struct conns *c, uint32_t conn);

/* Whether what one end has sent can be what the other one has received, both directions. */
bool join_sequences_fit(const struct event_conn *a, const struct event_conn *b);

#endif
