/* SPDX-License-Identifier: Apache-2.0 */
#include "event/track.h"

#include <string.h>

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

		if (open->what == what && event_open_type(open) == (type & SPAN_TYPE_MASK))
			return depth;
	}
	return -1;
}

int event_track_find_type(const struct event_track *track, uint8_t type)
{
	int depth = (int)track->depth - 1;

	while (depth >= 0 && event_open_type(&track->open[depth]) != type)
		depth--;
	return depth;
}

struct event_edge event_track_end(const struct event_track *track, uint8_t flags)
{
	const struct event_open *open = &track->open[track->depth - 1];

	return (struct event_edge){
		.what = open->what,
		.arg = open->arg,
		.type = event_open_type(open) | SPAN_END | flags,
		.depth = track->depth - 1,
	};
}

uint32_t event_track_same(const struct event_track *track, const struct event_open *open,
			  uint32_t n)
{
	uint32_t same = 0;

	while (same < track->depth && same < n && track->open[same].begin == open[same].begin &&
	       track->open[same].what == open[same].what &&
	       track->open[same].type == open[same].type)
		same++;
	return same;
}

void event_track_set(struct event_track *track, const struct event_open *open, uint32_t n)
{
	track->depth = n;
	if (n)
		memcpy(track->open, open, n * sizeof(*open));
}
