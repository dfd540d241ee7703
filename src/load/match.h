/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which request a kernel stamp belongs to: the byte-offset matching of Lancet (USENIX ATC'19, 5).
 *
 * A stamp of sent bytes names the last byte of what the kernel stamped, by a number that counts
 * the connection's bytes and wraps at 2^32, so that numbers are compared by serial arithmetic
 * (RFC 1982). A request expects the number of its own last byte. A stamp covers every request up
 * to its number that had none of its kind: several were coalesced into one packet. One that covers
 * nothing repeats an older number: those bytes were sent again, and the first time stands. One
 * that never comes leaves its request without, or with the time of a later one, which the caller
 * refuses when it lies after the reply.
 *
 * Not more than 2^31 bytes may be outstanding. Datagrams are counted instead of bytes. Pure: no
 * clock, no socket, no memory of its own.
 */
#ifndef HOSTLAT_LOAD_MATCH_H
#define HOSTLAT_LOAD_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "load/list.h"

#define MATCH_KINDS 4 /* as enum net_stamp_kind */

/* What one request expects. Owned by the caller; must stay until match_forget(). */
struct match_tx {
	struct link link;
	uint64_t ns[MATCH_KINDS]; /* 0: none yet; each kind by its own clock */
	uint32_t last;            /* number of its last byte */
	bool again;               /* its bytes were sent more than once */
};

struct match {
	struct link list;                     /* in order of sending */
	struct match_tx *without[MATCH_KINDS]; /* the oldest that has no stamp of that kind */
};

void match_init(struct match *match);

/* A request has been sent whose last byte has this number. */
void match_expect(struct match *match, struct match_tx *tx, uint32_t last);

/* Takes a stamp; ns > 0. Returns how many requests it covered. */
unsigned int match_stamp(struct match *match, unsigned int kind, uint32_t id, uint64_t ns);

/* This one waits no longer. Nothing happens to one that doesn't. */
void match_forget(struct match *match, struct match_tx *tx);

/*
 * The distance that a sample keeps (struct event_sample): from `from` to `to`, or 0 if it can't be
 * known: no stamp, out of order by more than `error`, or too far.
 */
uint32_t match_distance(uint64_t from, uint64_t to, uint64_t error);

/*
 * Where something that took `length` by another clock lies between `sent` and `done`. It began at
 * `at`, converted, which may be `error` off; that it lies between the two narrows this. Its length
 * stays exact: *before + length + *after = done - sent, neither of the two 0. False if it can't lie
 * there, or too far from either.
 */
bool match_place(uint64_t sent, uint64_t done, uint64_t at, uint64_t error, uint64_t length,
		 uint32_t *before, uint32_t *after);

#endif
