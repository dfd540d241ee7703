/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches kernel time stamps to requests by byte numbers, as in Lancet (USENIX ATC'19, section 5).
 *
 * A transmit stamp has the number of the last byte that the kernel stamped. Numbers count the
 * connection's bytes and wrap at 2^32, so they are compared by serial arithmetic (RFC 1982). A
 * request expects the number of its own last byte. As requests may share a packet, a stamp covers
 * all requests up to its number that lack a stamp of that kind. A stamp that covers no request
 * repeats an older number: those bytes were sent again, and the first stamp is kept. If a stamp
 * never arrives, the request has none or gets the stamp of a later packet, which the caller rejects
 * if it lies after the reply.
 *
 * At most 2^31 bytes may be outstanding. For datagrams, numbers count datagrams instead of bytes.
 * The functions use no clock, no socket and no memory of their own.
 */
#ifndef HOSTLAT_LOAD_MATCH_H
#define HOSTLAT_LOAD_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "load/list.h"

#define MATCH_KINDS 4 /* number of kinds of time stamps (enum net_stamp_kind) */

/* Transmit stamps of a request. Owned by the caller; must stay valid until match_forget(). */
struct match_tx {
	struct link link;
	uint64_t ns[MATCH_KINDS]; /* stamp times (NET_STAMP_NIC: by the NIC's clock); 0: none yet */
	uint32_t last;            /* number of the request's last byte */
	bool again;               /* bytes of the request were sent again (retransmitted) */
};

struct match {
	struct link list;                     /* requests waiting for stamps, in order of sending */
	struct match_tx *without[MATCH_KINDS]; /* oldest request without a stamp of each kind */
};

void match_init(struct match *match);

/* Adds a request that was sent; `last` is the number of its last byte. */
void match_expect(struct match *match, struct match_tx *tx, uint32_t last);

/*
 * Stores the time stamp, ns > 0, of byte number `id` in the requests that it covers. Returns the
 * number of these requests.
 */
unsigned int match_stamp(struct match *match, unsigned int kind, uint32_t id, uint64_t ns);

/* Removes a request from the list of waiting requests. Ignores a request that is not in it. */
void match_forget(struct match *match, struct match_tx *tx);

/*
 * Returns the time from `from` to `to` in ns, for a struct event_sample. Returns 0 if unknown: a
 * time is missing, `to` precedes `from` by more than `error`, or the distance exceeds 32 bits.
 */
uint32_t match_distance(uint64_t from, uint64_t to, uint64_t error);

/*
 * Places an interval of exact `length`, measured by another clock, between `sent` and `done`. `at`
 * is its converted begin, with an error of up to `error`; `sent` and `done` bound it further. Sets
 * *before and *after, both > 0, such that *before + length + *after = done - sent. Returns false if
 * the interval does not fit, or if a distance exceeds 32 bits.
 */
bool match_place(uint64_t sent, uint64_t done, uint64_t at, uint64_t error, uint64_t length,
		 uint32_t *before, uint32_t *after);

#endif
