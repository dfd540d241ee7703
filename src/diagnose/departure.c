/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/departure.h"

static uint64_t between(uint64_t time, uint64_t from, uint64_t to)
{
	return time < from ? from : time > to ? to : time;
}

struct departure_times departure_of(const struct event_piece *pieces, uint32_t n, uint64_t first,
				    uint64_t end)
{
	struct departure_times out = { 0 };
	uint64_t segment = 0, held = UINT64_MAX, paced = 0, late = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t time = between(pieces[i].end, first, end);

		if (held == UINT64_MAX &&
		    (pieces[i].role == PIECE_PACED || pieces[i].role == PIECE_LATE))
			held = between(pieces[i].begin, first, end);
		if (pieces[i].role == PIECE_LATE && pieces[i].flags == STAGE_NONE)
			paced = time;
		if (pieces[i].role == PIECE_LATE && pieces[i].flags == STAGE_SEGMENT) {
			late = between(pieces[i].begin, first, end);
			out.core = pieces[i].core;
		}
		if (pieces[i].flags == STAGE_SEGMENT) {
			segment = time;
			out.known = true;
		} else if (pieces[i].flags == STAGE_QDISC) {
			out.queued = time;
			out.seen = true;
		}
	}
	if (!out.seen)
		out.queued = segment;
	/* a departure behind the queue's begin is one that was put off */
	out.left = segment < out.queued ? segment : out.queued;
	out.due = segment > out.queued ? segment : out.queued;
	out.held = held < out.queued ? held : out.queued;
	out.late = late < out.left ? late : out.left;
	out.paced = paced > out.held ? paced : out.held;
	return out;
}

uint64_t departure_end(const struct event_piece *pieces, uint32_t n, uint64_t end)
{
	for (uint32_t i = 0; i < n; i++)
		if (pieces[i].flags == STAGE_DRIVER && pieces[i].end < end)
			return pieces[i].end;
	return end;
}
