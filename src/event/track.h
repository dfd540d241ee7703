/* SPDX-License-Identifier: Apache-2.0 */
/* The spans that are open on one core: kept alike by who writes edges and by who reads them. */
#ifndef HOSTLAT_EVENT_TRACK_H
#define HOSTLAT_EVENT_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"

struct event_track {
	uint32_t depth;				/* open spans */
	struct event_open open[EVENT_DEPTH_MAX];	/* outermost first */
};

/* False, and nothing done, at EVENT_DEPTH_MAX. */
bool event_track_begin(struct event_track *track, uint64_t time, uint32_t what, uint16_t arg,
		       uint8_t type);

/* The innermost open span of this type and what, as its depth; -1 if there is none. */
int event_track_find(const struct event_track *track, uint32_t what, uint8_t type);

#endif
