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

enum join_fit {
	JOIN_FITS,
	JOIN_CONTRADICTS,
	JOIN_UNKNOWN, /* between the two readings more may have moved than numbers that wrap show */
};

/* Whether it has sequence numbers. */
bool join_has_sequences(const struct event_conn *c);

/*
 * Whether each end can have received what the other sent, by the sequence numbers at the end of
 * both records. `error_ns`: bound of the clocks' difference.
 */
enum join_fit join_fit_end(const struct event_conn *a, const struct event_conn *b,
			   uint64_t error_ns);

/*
 * The same at the begins: both ends' byte counts agree, except for bytes in flight and bytes that
 * moved while only one end was recorded.
 */
enum join_fit join_fit_begin(const struct event_conn *a, const struct event_conn *b,
			     uint64_t error_ns);

#endif
