/* SPDX-License-Identifier: Apache-2.0 */
/* When a sent message's last byte left, by what a recording says of its way. */
#ifndef HOSTLAT_DIAGNOSE_DEPARTURE_H
#define HOSTLAT_DIAGNOSE_DEPARTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"

/* Of a message between `first` and `end`, and all of them between the two. */
struct departure_times {
	bool known;       /* else none of these is */
	bool seen;        /* its packet came into the queue as it is: no shaper has cut it */
	uint64_t held;    /* from here on nothing but its pacing held it; none: as `queued` */
	uint64_t paced;   /* ... up to here by late timers of the message's earlier packets */
	uint64_t late;    /* ... and from here on by its own timer; not late: as `left` */
	uint32_t core;    /* ... on which that one ran late */
	uint64_t left;    /* the socket let go of its last byte */
	uint64_t queued;  /* a device's queue had it; if that was not seen: as `left` */
	uint64_t due;     /* it was to leave that */
};

struct departure_times departure_of(const struct event_piece *pieces, uint32_t n, uint64_t first,
			  uint64_t end);

/* Its end: what follows, up to its completion, is the device's and not the queues'. */
uint64_t departure_end(const struct event_piece *pieces, uint32_t n, uint64_t end);

#endif
