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

/* ---- a pacing timer that is late ---- */

/* Its core does something else, or nothing: what that is held the timer up, and so the packet. */
static void late_segment(struct way *w, uint32_t core, const struct cpu_segment *segment,
			 uint64_t number, uint64_t begin, uint64_t end)
{
	const struct task *task = tasks_get(w->p->tasks, segment->task);
	struct slice slice = way_about(w, core, segment);

	(void)number;
	(void)begin;
	slice.message = 0;
	if (segment->type == SEGMENT_NOT_RECORDED)
		way_blind(w, end, core);
	else if (segment->type == SEGMENT_IDLE)
		way_charge(w, end, w->stalled ? CAUSE_CORE_STALL : CAUSE_IDLE_EXIT, &slice);
	else if (segment->type == SEGMENT_SOFTIRQ && segment->what == SOFTIRQ_HRTIMER)
		way_charge(w, end, CAUSE_FUNCTION, &slice);
	else if (way_interrupt(w, core, segment, end))
		return;
	else if (task->thread != THREAD_NONE && task->thread == w->thread)
		way_charge(w, end, CAUSE_FUNCTION, &slice); /* it is in the kernel */
	else
		way_other(w, core, segment, end);
}

static uint64_t idle_ns(const struct way *w, uint32_t core, uint64_t from, uint64_t to)
{
	uint64_t number, end, idle = 0;

	if (from >= to || !cpu_history_find(w->p->history, core, from, &number, &end))
		return 0;
	for (; from < to; number++, from = end) {
		end = earlier(cpu_history_segment_end(w->p->history, core, number), to);
		if (cpu_history_segment(w->p->history, core, number)->type == SEGMENT_IDLE)
			idle += end - from;
	}
	return idle;
}

/* The timer was due at `from`, and did its work at `to`. */
static void late_timer(struct way *w, uint32_t core, uint64_t from, uint64_t to)
{
	w->stalled = idle_ns(w, core, from, to) > IDLE_EXIT_MAX_NS;
	way_each_segment(w, core, from > w->at ? from : w->at, to, late_segment);
}

static void held_by_pacing(struct way *w, const struct departure *d, uint64_t until,
			   const struct slice *more)
{
	const uint64_t due = d->left - d->late_ns;

	way_charge(w, earlier(d->held + d->early_ns, until), CAUSE_UNEXPLAINED, more);
	way_charge(w, earlier(due, until), CAUSE_PACING, more);
	if (d->late_ns)
		late_timer(w, d->core, due, earlier(d->left, until));
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
		held_by_pacing(w, before, until, &slice);
		way_charge(w, earlier(before->due, until), CAUSE_PACING, &slice);
		way_charge(w, earlier(given, until), CAUSE_QDISC, &slice);
	}
	own = messages->departures[w->message].held;
	nothing_before(w, own && own < until ? own : until, more);
	held_by_pacing(w, &messages->departures[w->message], until, more);
	way_charge(w, until, CAUSE_PACING, more);
}
