/* SPDX-License-Identifier: Apache-2.0 */
/* The time for which a sent message waits in its socket, or for room in it. */
#include "diagnose/way.h"

/* Messages of one flow that are on their way out at once, at most: what is before is blind. */
#define BEFORE_MAX 4096

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The flow's oldest message that left after w->at, up to the way's own; place + 1. */
static uint32_t oldest_before(const struct way *w, bool *more)
{
	const struct messages *messages = w->p->messages;
	uint32_t at = w->message + 1, before;

	*more = false;
	for (int i = 0; (before = messages->previous[at - 1]) &&
			messages->all.items[before - 1].read > w->at; i++) {
		*more = i == BEFORE_MAX;
		if (*more)
			break;
		at = before;
	}
	return at;
}

/* Nothing of its flow is known to be on its way out. */
static void nothing_before(struct way *w, uint64_t until, const struct slice *more)
{
	if (w->p->lost_messages) /* what isn't in the recording may be */
		way_blind(w, until, CORE_UNKNOWN);
	else
		way_charge(w, until, CAUSE_WINDOW, more);
}

void way_unsent(struct way *w, uint64_t until, const struct slice *more)
{
	const struct messages *messages = w->p->messages;
	uint64_t own;
	uint32_t at;
	bool older;

	if (until > w->end)
		until = w->end;
	if (until <= w->at)
		return;
	at = oldest_before(w, &older);
	if (older)
		way_blind(w, earlier(messages->departures[at - 1].held, until), CORE_UNKNOWN);
	for (; at - 1 != w->message && w->at < until;
	     at = messages->all.items[at - 1].next) {
		const struct departure *before = &messages->departures[at - 1];
		const uint64_t given = messages->all.items[at - 1].read;
		struct slice slice = *more;

		if (!before->held || before->held >= until)
			continue;
		slice.message = at;
		nothing_before(w, before->held, more);
		way_charge(w, earlier(before->due, until), CAUSE_PACING, &slice);
		way_charge(w, earlier(given, until), CAUSE_QDISC, &slice);
	}
	own = messages->departures[w->message].held;
	nothing_before(w, own && own < until ? own : until, more);
	way_charge(w, until, CAUSE_PACING, more);
}
