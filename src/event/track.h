/* SPDX-License-Identifier: Apache-2.0 */
/* The open spans of one core, for writers and readers of EV_EDGE (begins and ends of spans). */
#ifndef HOSTLAT_EVENT_TRACK_H
#define HOSTLAT_EVENT_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"

struct event_track {
	uint32_t depth;				/* number of open spans */
	struct event_open open[EVENT_DEPTH_MAX];	/* outermost first */
};

static inline uint8_t event_open_type(const struct event_open *open)
{
	return open->type & SPAN_TYPE_MASK;
}

/* Adds a span. Returns false, and adds nothing, at EVENT_DEPTH_MAX. */
bool event_track_begin(struct event_track *track, uint64_t time, uint32_t what, uint16_t arg,
		       uint8_t type);

/* Returns the depth of the innermost open span with this type and `what`; -1 if there is none. */
int event_track_find(const struct event_track *track, uint32_t what, uint8_t type);

/* Returns the depth of the innermost open span of this type; -1 if there is none. */
int event_track_find_type(const struct event_track *track, uint8_t type);

/*
 * Returns the edge that ends the innermost open span, which stays open until the caller lowers
 * `depth`. `flags`: SPAN_CONT cuts the span. The edge has the argument of the span's begin.
 */
struct event_edge event_track_end(const struct event_track *track, uint8_t flags);

/* Returns how many open spans of `track`, outermost first, equal the first of the `n` in `open`. */
uint32_t event_track_same(const struct event_track *track, const struct event_open *open,
			  uint32_t n);

/* Replaces all open spans by the `n` open spans of a block's begin; n <= EVENT_DEPTH_MAX. */
void event_track_set(struct event_track *track, const struct event_open *open, uint32_t n);

#endif
