/* SPDX-License-Identifier: Apache-2.0 */
/* The time for which a sent message waits in its socket, or for room in it. */
#include "diagnose/attrib.h"

/* Messages of one flow that are on their way out at once, at most: what is before is blind. */
#define BEFORE_MAX 4096

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The flow's oldest message that left after w->at, up to the way's own; place + 1. */
static uint32_t oldest_before(const struct attribution *a, bool *more)
{
	const struct messages *messages = a->env->messages;
	uint32_t at = a->message + 1, before;

	*more = false;
	for (int i = 0;
	     (before = messages->previous[at - 1]) && messages->all.items[before - 1].read > a->at;
	     i++) {
		*more = i == BEFORE_MAX;
		if (*more)
			break;
		at = before;
	}
	return at;
}

/* Nothing of its flow is known to be on its way out. */
static void nothing_before(struct attribution *a, uint64_t until, const struct slice *more)
{
	if (a->env->lost_messages) /* what isn't in the recording may be */
		attrib_not_recorded(a, until, CORE_UNKNOWN);
	else
		attrib_charge(a, until, CAUSE_WINDOW, more);
}

/* ---- a pacing timer that is late ---- */

/* Its core does something else, or nothing: what that is held the timer up, and so the packet. */
static void late_segment(struct attribution *a, uint32_t core, const struct cpu_segment *segment,
			 uint64_t number, uint64_t begin, uint64_t end)
{
	const struct task *task = tasks_get(a->env->tasks, segment->task);
	struct slice slice = attrib_slice(a, core, segment);

	(void)number;
	(void)begin;
	slice.message = 0;
	if (segment->type == SEGMENT_NOT_RECORDED)
		attrib_not_recorded(a, end, core);
	else if (segment->type == SEGMENT_IDLE)
		attrib_charge(a, end, a->stalled ? CAUSE_CORE_STALL : CAUSE_IDLE_EXIT, &slice);
	else if (segment->type == SEGMENT_SOFTIRQ && segment->detail == SOFTIRQ_HRTIMER)
		attrib_charge(a, end, CAUSE_FUNCTION, &slice);
	else if (attrib_interrupt(a, core, segment, end))
		return;
	else if (task->thread != THREAD_NONE && task->thread == a->thread)
		attrib_charge(a, end, CAUSE_FUNCTION, &slice); /* it is in the kernel */
	else
		attrib_other_task(a, core, segment, end);
}

static uint64_t idle_ns(const struct attribution *a, uint32_t core, uint64_t from, uint64_t to)
{
	uint64_t number, end, idle = 0;

	if (from >= to || !cpu_history_find(a->env->history, core, from, &number, &end))
		return 0;
	for (; from < to; number++, from = end) {
		end = earlier(cpu_history_segment_end(a->env->history, core, number), to);
		if (cpu_history_segment(a->env->history, core, number)->type == SEGMENT_IDLE)
			idle += end - from;
	}
	return idle;
}

/* The timer was due at `from`, and did its work at `to`. */
static void late_timer(struct attribution *a, uint32_t core, uint64_t from, uint64_t to)
{
	a->stalled = idle_ns(a, core, from, to) > IDLE_EXIT_MAX_NS;
	attrib_each_segment(a, core, from > a->at ? from : a->at, to, late_segment);
}

static void held_by_pacing(struct attribution *a, const struct departure *d, uint64_t until,
			   const struct slice *more)
{
	const uint64_t due = d->left - d->late_ns;

	attrib_charge(a, earlier(d->held + d->early_ns, until), CAUSE_UNEXPLAINED, more);
	attrib_charge(a, earlier(due, until), CAUSE_PACING, more);
	if (d->late_ns)
		late_timer(a, d->core, due, earlier(d->left, until));
}

void attrib_unsent(struct attribution *a, uint64_t until, const struct slice *more)
{
	const struct messages *messages = a->env->messages;
	uint64_t own;
	uint32_t at;
	bool older;

	if (until > a->end)
		until = a->end;
	if (until <= a->at)
		return;
	at = oldest_before(a, &older);
	if (older)
		attrib_not_recorded(a, earlier(messages->departures[at - 1].held, until),
				    CORE_UNKNOWN);
	for (; at - 1 != a->message && a->at < until; at = messages->all.items[at - 1].next) {
		const struct departure *before = &messages->departures[at - 1];
		const uint64_t given = messages->all.items[at - 1].read;
		struct slice slice = *more;

		if (!before->held || before->held >= until)
			continue;
		slice.message = at;
		nothing_before(a, before->held, more);
		held_by_pacing(a, before, until, &slice);
		attrib_charge(a, earlier(before->due, until), CAUSE_PACING, &slice);
		attrib_charge(a, earlier(given, until), CAUSE_QDISC, &slice);
	}
	own = messages->departures[a->message].held;
	nothing_before(a, own && own < until ? own : until, more);
	held_by_pacing(a, &messages->departures[a->message], until, more);
	attrib_charge(a, until, CAUSE_PACING, more);
}
