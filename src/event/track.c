// SPDX-License-Identifier: Apache-2.0
#include "event/track.h"

bool event_track_begin(struct event_track *track, uint64_t time, uint32_t what, uint16_t arg,
		       uint8_t type)
{
	if (track->depth == EVENT_DEPTH_MAX)
		return false;
	track->open[track->depth] = (struct event_open){
		.begin = time,
		.what = what,
		.arg = arg,
		.type = type,
		.depth = track->depth,
	};
	track->depth++;
	return true;
}

int event_track_find(const struct event_track *track, uint32_t what, uint8_t type)
{
	for (int depth = (int)track->depth - 1; depth >= 0; depth--) {
		const struct event_open *open = &track->open[depth];

		if (open->what == what && (open->type & SPAN_TYPE_MASK) == (type & SPAN_TYPE_MASK))
			return depth;
	}
	return -1;
}
