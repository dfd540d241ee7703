/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the two ends of a connection if both are on this host. */
#ifndef HOSTLAT_CONNS_JOIN_H
#define HOSTLAT_CONNS_JOIN_H

#include "conns/state.h"

/*
 * Joins a connection that is not joined yet with its other end: addresses are reversed, lifetimes
 * overlap, and sequence numbers fit. Addresses alone are not enough: namespaces repeat addresses,
 * and ports are reused. If several connections fit, none is joined.
 */
void conns_join(struct conns *c, uint32_t conn);

enum join_fit {
	JOIN_FITS,
	JOIN_CONTRADICTS,
	/* between the reads of both ends, more bytes may have moved than 32-bit numbers show */
	JOIN_UNKNOWN,
};

/* Returns whether the record has sequence numbers. */
bool join_has_sequences(const struct event_conn *c);

/*
 * Returns whether each end can have received the bytes that the other sent, by the sequence numbers
 * at the end of both records. `error_ns`: bound of the difference of the two clocks.
 */
enum join_fit join_fit_end(const struct event_conn *a, const struct event_conn *b,
			   uint64_t error_ns);

/*
 * Returns whether the sequence numbers fit at the begin of both records: both ends' byte counts
 * agree, except for bytes in flight and bytes that moved while only one end was recorded.
 */
enum join_fit join_fit_begin(const struct event_conn *a, const struct event_conn *b,
			     uint64_t error_ns);

#endif
