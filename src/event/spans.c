// SPDX-License-Identifier: Apache-2.0
#include "event/spans.h"

#include <string.h>

#include "base/bug.h"

static bool same(const struct event_open *a, const struct event_open *b)
{
	return a->begin == b->begin && a->what == b->what && a->type == b->type;
}

void event_walk_block(struct event_walk *walk, const struct event_block *block)
{
	uint32_t known = 0;

	BUG_ON(block->kind != EV_EDGE || block->n_open > EVENT_DEPTH_MAX);
	while (known < walk->track.depth && known < block->n_open &&
	       same(&walk->track.open[known], &block->open[known]))
		known++;
	walk->broken += walk->track.depth - known;
	walk->track.depth = block->n_open;
	if (block->n_open)
		memcpy(walk->track.open, block->open, block->n_open * sizeof(*block->open));
	walk->block = block;
	walk->at = 0;
}

bool event_walk_next(struct event_walk *walk, struct event_span *span)
{
	const struct event_block *block = walk->block;
	struct event_track *track = &walk->track;

	while (walk->at < block->count) {
		const struct event_edge *edge = (const void *)((const char *)block->data +
							       walk->at * block->record_size);
		const uint64_t time = block->first + edge->dt;
		const struct event_open *open;

		walk->at++;
		if (!(edge->type & SPAN_END)) {
			event_track_begin(track, time, edge->what, edge->arg, edge->type);
			continue;
		}
		BUG_ON(track->depth == 0);
		open = &track->open[--track->depth];
		*span = (struct event_span){
			.begin = open->begin,
			.end = time,
			.what = open->what,
			.arg = open->arg,
			.type = open->type & SPAN_TYPE_MASK,
			.depth = open->depth,
			.resumed = open->type & SPAN_CONT,
			.cut = edge->type & SPAN_CONT,
		};
		return true;
	}
	return false;
}
