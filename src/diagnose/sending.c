/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/sending.h"

#include <errno.h>

#include "diagnose/departure.h"

/* ---- in the call ---- */

/* The sender has a CPU: what it does there is the call. */
static void call_segment(struct way *w, uint32_t core, const struct cpu_segment *segment,
			 uint64_t number, uint64_t begin, uint64_t end)
{
	const bool own = tasks_get(w->p->tasks, segment->task)->thread == w->thread;
	struct slice slice = way_about(w, core, segment);

	(void)number;
	(void)begin;
	if (segment->type == SEGMENT_NOT_RECORDED || !own)
		way_blind(w, end, core);
	else if (segment->type == SEGMENT_FAULT)
		way_charge(w, end, CAUSE_PAGE_FAULT, &slice);
	else if (!way_interrupt(w, core, segment, end))
		way_charge(w, end, CAUSE_FUNCTION, &slice);
}

/* Up to `to`, which may be before the call's end: who sleeps then is known by how it goes on. */
static int in_call(struct way *w, uint64_t to, uint64_t returned)
{
	const uint64_t from = w->at, end = w->end;
	const struct oncpu *last = NULL;
	int err;

	if (to <= from)
		return 0;
	if (w->thread == THREAD_NONE) {
		way_blind(w, to, CORE_UNKNOWN);
		return 0;
	}
	w->end = to;
	w->since = from;
	err = way_collect_oncpus(w, from, returned);
	if (err == -E2BIG) {
		way_blind(w, (*vec_last(&w->p->oncpus))->begin, CORE_UNKNOWN);
		err = 0;
	}
	if (!err)
		err = way_collect_wakings(w, returned);
	for (size_t i = w->p->oncpus.len; !err && w->at < to && i--;) {
		const struct oncpu *oncpu = w->p->oncpus.items[i];
		const uint64_t begin = oncpu->begin > from ? oncpu->begin : from;

		if (oncpu->begin > from)
			way_gap(w, oncpu, last);
		way_each_segment(w, oncpu->core, begin, oncpu->end < to ? oncpu->end : to,
				 call_segment);
		last = oncpu;
	}
	way_blind(w, to, CORE_UNKNOWN);
	w->end = end;
	return err;
}

/* ---- behind it ---- */

/* The packet is on its way from the socket to the queue: whoever has the core brings it there. */
static void stack_segment(struct way *w, uint32_t core, const struct cpu_segment *segment,
			  uint64_t number, uint64_t begin, uint64_t end)
{
	struct slice slice = way_about(w, core, segment);

	(void)number;
	(void)begin;
	if (segment->type == SEGMENT_NOT_RECORDED)
		way_blind(w, end, core);
	else if (segment->type == SEGMENT_IDLE) /* such as for the neighbour's address */
		way_charge(w, end, CAUSE_UNEXPLAINED, &slice);
	else if (segment->type == SEGMENT_HARDIRQ)
		way_interrupt(w, core, segment, end);
	else
		way_charge(w, end, CAUSE_FUNCTION, &slice);
}

static uint32_t core_at(const struct subject *subject, uint64_t time)
{
	for (uint32_t i = 0; i < subject->n; i++)
		if (subject->pieces[i].end >= time)
			return subject->pieces[i].core;
	return CORE_UNKNOWN;
}

int sending(struct way *w, const struct subject *subject)
{
	const struct way_out out = way_out_of(subject->pieces, subject->n, w->at, w->end);
	const uint64_t stack = out.known && out.seen ? out.queued : w->end;
	const struct slice queue = way_about(w, CORE_UNKNOWN, NULL);
	int err;

	w->where = WHERE_TRANSMIT;
	w->sends = true;
	err = in_call(w, subject->returned < stack ? subject->returned : stack,
		      subject->returned);
	if (err || !out.known) {
		way_blind(w, w->end, CORE_UNKNOWN);
		return err;
	}
	way_unsent(w, out.left, &queue);
	way_each_segment(w, core_at(subject, out.queued), w->at, out.queued, stack_segment);
	way_charge(w, out.due, CAUSE_PACING, &queue);
	way_charge(w, w->end, CAUSE_QDISC, &queue);
	return 0;
}
