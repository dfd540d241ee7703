/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline of one message, to be drawn: its slices in order, without gap or overlap, from its
 * first to its last. There are at most DRAWN_MAX: of more, the shortest are merged with a
 * neighbor, never left out, so that a timeline always spans the whole latency.
 *
 *	drawn_init(&drawn);
 *	err = drawn_add(&drawn, &slice); ...
 *	drawn_finish(&drawn);
 *	drawn_release(&drawn);
 *
 * Memory: 64 KiB a message.
 */
#ifndef HOSTLAT_DIAGNOSE_DRAWN_H
#define HOSTLAT_DIAGNOSE_DRAWN_H

#include "base/vec.h"
#include "diagnose/attrib.h"

#define DRAWN_MAX 400u /* slices in the timeline of one message, at most */

struct drawn_slice {
	/* all but its times is of the longest slice of those that were merged */
	struct slice slice;
	uint64_t own_ns;  /* time of that slice and of like neighbors, in ns; at least 1 */
	uint32_t merged;  /* number of slices that differ from it and were merged with it */
};

struct drawn VEC_OF(struct drawn_slice);

void drawn_init(struct drawn *drawn);

/* Adds the slice that begins where the last one ended. Returns 0 or -ENOMEM. */
int drawn_add(struct drawn *drawn, const struct slice *slice);

/* Merges what is beyond DRAWN_MAX; call it once, behind the last slice. */
void drawn_finish(struct drawn *drawn);

void drawn_release(struct drawn *drawn);

#endif
