/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/attrib_tx.h"

#include <errno.h>

#include "diagnose/departure.h"

/* ---- in the call ---- */

/* The sender has a CPU: what it does there is the call. */
static void call_segment(struct attribution *a, uint32_t core, const struct cpu_segment *segment,
			 uint64_t number, uint64_t begin, uint64_t end)
{
	const bool own = tasks_get(a->env->tasks, segment->task)->thread == a->thread;
	struct slice slice = attrib_slice(a, core, segment);

	(void)number;
	(void)begin;
	if (segment->type == SEGMENT_NOT_RECORDED || !own)
		attrib_not_recorded(a, end, core);
	else if (segment->type == SEGMENT_FAULT)
		attrib_charge(a, end, CAUSE_PAGE_FAULT, &slice);
	else if (!attrib_interrupt(a, core, segment, end))
		attrib_charge(a, end, CAUSE_FUNCTION, &slice);
}

/* Up to `to`, which may be before the call's end: who sleeps then is known by how it goes on. */
static int in_call(struct attribution *a, uint64_t to, uint64_t returned)
{
	const uint64_t from = a->at, end = a->end;
	const struct oncpu *last = NULL;
	int err;

	if (to <= from)
		return 0;
	if (a->thread == THREAD_NONE) {
		attrib_not_recorded(a, to, CORE_UNKNOWN);
		return 0;
	}
	a->end = to;
	a->since = from;
	err = attrib_collect_oncpus(a, from, returned);
	if (err == -E2BIG) {
		attrib_not_recorded(a, (*vec_last(&a->env->oncpus))->begin, CORE_UNKNOWN);
		err = 0;
	}
	if (!err)
		err = attrib_collect_wakings(a, returned);
	for (size_t i = a->env->oncpus.len; !err && a->at < to && i--;) {
		const struct oncpu *oncpu = a->env->oncpus.items[i];
		const uint64_t begin = oncpu->begin > from ? oncpu->begin : from;

		if (oncpu->begin > from)
			attrib_offcpu(a, oncpu, last);
		attrib_each_segment(a, oncpu->core, begin, oncpu->end < to ? oncpu->end : to,
				    call_segment);
		last = oncpu;
	}
	attrib_not_recorded(a, to, CORE_UNKNOWN);
	a->end = end;
	return err;
}

/* ---- behind it ---- */

/* The packet is on its way from the socket to the queue: whoever has the core brings it there. */
static void stack_segment(struct attribution *a, uint32_t core, const struct cpu_segment *segment,
			  uint64_t number, uint64_t begin, uint64_t end)
{
	struct slice slice = attrib_slice(a, core, segment);

	(void)number;
	(void)begin;
	if (segment->type == SEGMENT_NOT_RECORDED)
		attrib_not_recorded(a, end, core);
	else if (segment->type == SEGMENT_IDLE) /* such as for the neighbour's address */
		attrib_charge(a, end, CAUSE_UNEXPLAINED, &slice);
	else if (segment->type == SEGMENT_HARDIRQ)
		attrib_interrupt(a, core, segment, end);
	else
		attrib_charge(a, end, CAUSE_FUNCTION, &slice);
}

static uint32_t core_at(const struct subject *subject, uint64_t time)
{
	for (uint32_t i = 0; i < subject->n; i++)
		if (subject->pieces[i].end >= time)
			return subject->pieces[i].core;
	return CORE_UNKNOWN;
}

int attrib_sent(struct attribution *a, const struct subject *subject)
{
	const struct departure_times out = departure_of(subject->pieces, subject->n, a->at, a->end);
	const uint64_t stack = out.known && out.seen ? out.queued : a->end;
	const struct slice queue = attrib_slice(a, CORE_UNKNOWN, NULL);
	int err;

	a->where = WHERE_TRANSMIT;
	a->sends = true;
	err = in_call(a, subject->returned < stack ? subject->returned : stack, subject->returned);
	if (err || !out.known) {
		attrib_not_recorded(a, a->end, CORE_UNKNOWN);
		return err;
	}
	attrib_unsent(a, out.left, &queue);
	attrib_each_segment(a, core_at(subject, out.queued), a->at, out.queued, stack_segment);
	attrib_charge(a, out.due, CAUSE_PACING, &queue);
	attrib_charge(a, a->end, CAUSE_QDISC, &queue);
	return 0;
}
