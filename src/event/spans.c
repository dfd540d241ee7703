/* SPDX-License-Identifier: Apache-2.0 */
#include "event/spans.h"

#include "base/bug.h"

void event_walk_block(struct event_walk *walk, const struct event_block *block)
{
	BUG_ON(block->kind != EV_EDGE || block->n_open > EVENT_DEPTH_MAX);
	walk->broken += walk->track.depth -
			event_track_same(&walk->track, block->open, block->n_open);
	event_track_set(&walk->track, block->open, block->n_open);
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
			.type = event_open_type(open),
			.depth = open->depth,
			.resumed = open->type & SPAN_CONT,
			.cut = edge->type & SPAN_CONT,
		};
		return true;
	}
	return false;
}
