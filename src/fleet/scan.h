/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of fleet_at_once(): stretches of 1 to 30 intervals in which more connections of a resource
 * had a rare event than by chance. Connections are counted, not events.
 */
#ifndef HOSTLAT_FLEET_SCAN_H
#define HOSTLAT_FLEET_SCAN_H

#include <stdbool.h>

#include "base/rng.h"
#include "base/vec.h"
#include "fleet/units.h"

#define SCAN_WIDTHS 8u

/* A rare event: the first interval of a problem. */
struct scan_event {
	uint32_t child, conn, at;
};

/* The rare events of a resource, in order of child, connection, time. */
struct scan_events VEC_OF(struct scan_event);

/* For how many intervals so many of the connections, or children, have an event, by width. */
struct scan_cover {
	uint32_t intervals;
	int32_t *by_width[SCAN_WIDTHS]; /* [interval]: in it and the following width - 1 */
};

/* The stretch with the greatest likelihood ratio. */
struct scan_stretch {
	double llr;              /* log of the likelihood ratio; 0: no stretch has enough */
	double expected;         /* E: of the connections, at the rate of the rest then */
	uint32_t connections;    /* Y: with an event in the stretch */
	uint32_t from, width;
};

/* Buffers and counts for one class. */
struct scan {
	uint32_t intervals;
	struct scan_cover fleet; /* all connections with rare events */
	struct scan_cover rest;  /* those outside of the resource */
	struct scan_cover conns, children;
	size_t counted;          /* `conns` has all so many events of scan_leave_out() */
	uint32_t *times;         /* as many as the resource with most events has */
};

/* Return 0 or -ENOMEM; scan_release() follows in either case. */
int scan_init(struct scan *s, uint32_t intervals, size_t events);
void scan_release(struct scan *s);

/*
 * Adds to `cover`, for each width, the connections (or children) with an event in the stretch that
 * begins at each interval. Time is a circle; events of child number i of the list are `shifts[i]`
 * later, NULL: none is.
 */
void scan_add(struct scan *s, const struct scan_events *events, bool children,
	      const uint32_t *shifts, struct scan_cover *cover);

/*
 * Sets the rest of the fleet for a resource with these connections' events. Its tests follow, each
 * with a part of these events or all.
 */
void scan_leave_out(struct scan *s, const struct scan_events *events);

/* Finds the strongest stretch of a resource's events, shifted. */
struct scan_stretch scan_strongest(struct scan *s, const struct scan_events *events,
				   const uint32_t *shifts);

/*
 * Returns the chance of a ratio as great if children have their events independently: circular
 * shifts of children. `shifts` has an entry for each child.
 */
double scan_chance(struct scan *s, const struct scan_events *events, double llr, uint32_t *shifts,
		   struct rng *rng);

/* Returns the number of different children. */
uint32_t scan_children(const struct scan_events *events);

#endif
