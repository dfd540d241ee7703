/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches kernel time stamps to requests by byte offsets, as in Lancet (USENIX ATC'19, section 5).
 *
 * A stamp of sent bytes has the number of the last byte that the kernel stamped. Numbers count the
 * connection's bytes and wrap at 2^32, so they are compared by serial arithmetic (RFC 1982). A
 * request expects the number of its own last byte. A stamp covers every request up to its number
 * without a stamp of that kind, as requests may share a packet. A stamp that covers no request
 * repeats an older number: those bytes were sent again, and the first stamp stands. If a stamp
 * never comes, its request has none, or gets that of a later packet, which the caller rejects when
 * it lies after the reply.
 *
 * At most 2^31 bytes may be outstanding. For datagrams, numbers count datagrams instead of bytes.
 * Pure: no clock, no socket, no memory of its own.
 */
#ifndef HOSTLAT_LOAD_MATCH_H
#define HOSTLAT_LOAD_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "load/list.h"

#define MATCH_KINDS 4 /* one per enum net_stamp_kind */

/* The stamps that a request expects. Owned by the caller; must stay until match_forget(). */
struct match_tx {
	struct link link;
	uint64_t ns[MATCH_KINDS]; /* 0: none yet; NIC stamps are by the NIC's clock */
	uint32_t last;            /* number of the request's last byte */
	bool again;               /* bytes of the request were sent more than once */
};

struct match {
	struct link list;                     /* requests in order of sending */
	struct match_tx *without[MATCH_KINDS]; /* oldest request without a stamp of that kind */
};

void match_init(struct match *match);

/* Adds a request that was sent; `last` is the number of its last byte. */
void match_expect(struct match *match, struct match_tx *tx, uint32_t last);

/* Adds a stamp; ns > 0. Returns the number of requests it covered. */
unsigned int match_stamp(struct match *match, unsigned int kind, uint32_t id, uint64_t ns);

/* Removes a request that waits for stamps; others are ignored. */
void match_forget(struct match *match, struct match_tx *tx);

/*
 * Returns the distance from `from` to `to` for a sample (struct event_sample); 0 if unknown: a
 * stamp is missing, the two are out of order by more than `error`, or too far apart.
 */
uint32_t match_distance(uint64_t from, uint64_t to, uint64_t error);

/*
 * Places a stretch of exact `length`, measured by another clock, between `sent` and `done`. It
 * began at `at`, converted, with an error of up to `error`, which is narrowed since it must lie
 * between the two. Sets *before and *after, both > 0, such that *before + length + *after = done -
 * sent. Returns false if it cannot lie there, or too far from either end.
 */
bool match_place(uint64_t sent, uint64_t done, uint64_t at, uint64_t error, uint64_t length,
		 uint32_t *before, uint32_t *after);

#endif
