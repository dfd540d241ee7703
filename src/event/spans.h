/* SPDX-License-Identifier: Apache-2.0 */
/* From the edges of one core to spans, block by block as a source yields them. */
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
	uint8_t depth;	/* spans around it */
	bool resumed;	/* its begin is where it went on, not where it began */
	bool cut;	/* its end is where it was interrupted, or all that is known of it */
};

struct event_walk {
	/*
	 * Open spans after the edges walked so far. Behind the last block of a window these are the
	 * spans that reach beyond it: their begins are exact, their ends unknown.
	 */
	struct event_track track;
	uint64_t broken;	/* spans whose end was in a block that is missing */
	const struct event_block *block;
	uint32_t at;
};

/*
 * Goes on with a block of EV_EDGE, which must stay valid until all of it is walked. Begin with a
 * zeroed walk. The block itself says what is open: nothing depends on those before it.
 */
void event_walk_block(struct event_walk *walk, const struct event_block *block);

/* The next span that ends in the block, inner ones first; false at the block's end. */
bool event_walk_next(struct event_walk *walk, struct event_span *span);

#endif
