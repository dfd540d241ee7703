/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts the edges (begins and ends of spans, EV_EDGE) of one core to spans, block by block as a
 * source returns them.
 */
#ifndef HOSTLAT_EVENT_SPANS_H
#define HOSTLAT_EVENT_SPANS_H

#include "event/source.h"
#include "event/track.h"

struct event_span {
	uint64_t begin;
	uint64_t end;
	uint32_t what;
	uint16_t arg;
	uint8_t type;	/* enum span_type */
	uint8_t depth;	/* number of spans around it */
	bool resumed;	/* the span began earlier: `begin` is where it continued after a cut */
	bool cut;	/* `end` is where the span was cut, or its last known time */
};

struct event_walk {
	/*
	 * Open spans after the edges (begins and ends of spans) walked so far. Behind the last
	 * block of a window, these are the spans that reach beyond the window: their begins are
	 * exact, their ends unknown.
	 */
	struct event_track track;
	uint64_t broken;	/* spans that ended in a missing block */
	const struct event_block *block;
	uint32_t at;
};

/*
 * Continues with a block of EV_EDGE, which must stay valid until the walk is through it. Begin with
 * a zeroed walk. Each block has its open spans, so earlier blocks may be missing.
 */
void event_walk_block(struct event_walk *walk, const struct event_block *block);

/* Returns the next span that ends in the block, inner ones first; false at the block's end. */
bool event_walk_next(struct event_walk *walk, struct event_span *span);

#endif
