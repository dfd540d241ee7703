/* SPDX-License-Identifier: Apache-2.0 */
/* Attribution of a sent message: in its call, in its socket, in the device's queue. */
#include "diagnose/attrib_state.h"
#include "diagnose/thread_state.h"

/* Messages of one flow in transmission at once, at most; older messages count as not recorded. */
#define BEFORE_MAX 4096

static uint64_t attrib_tx_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- late pacing timer ---- */

/* Charges a late pacing timer to its core's activity, which delayed the timer and the packet. */
static void attrib_tx_late_part(struct attribution *a, const struct segment_part *part)
{
	const struct cpu_segment *segment = part->segment;
	const struct task_name *task = tasks_get(a->env->tasks, segment->task);
	struct slice slice = attrib_slice(a, part);

	slice.message = 0;
	if (segment->type == SEGMENT_NOT_RECORDED)
		attrib_not_recorded(a, part->end, part->core);
	else if (segment->type == SEGMENT_IDLE)
		attrib_charge(a, part->end, a->idle, &slice);
	else if (segment->type == SEGMENT_SOFTIRQ && segment->detail == SOFTIRQ_HRTIMER)
		attrib_charge(a, part->end, CAUSE_FUNCTION, &slice);
	else if (attrib_interrupt(a, part, part->end))
		return;
	else if (task->thread != THREAD_NONE && task->thread == a->thread)
		/* the sender runs in the kernel, which delays the timer */
		attrib_charge(a, part->end, CAUSE_FUNCTION, &slice);
	else
		attrib_other_task(a, part);
}

/* Charges the delay of a pacing timer that was due at `from` and ran at `to`. */
static void attrib_tx_late_timer(struct attribution *a, uint32_t core, uint64_t from, uint64_t to)
{
	a->queue = core;
	a->idle = attrib_idle_ns(a, core, from, to) > IDLE_EXIT_MAX_NS ? CAUSE_CORE_STALL :
									 CAUSE_IDLE_EXIT;
	attrib_each_segment(a, core, from > a->at ? from : a->at, to, attrib_tx_late_part);
}

static void attrib_tx_held_by_pacing(struct attribution *a, const struct departure *d,
				     uint64_t until, const struct slice *more)
{
	const uint64_t due = d->left - d->late_ns;

	attrib_charge(a, attrib_tx_min(d->held + d->early_ns, until), CAUSE_UNEXPLAINED, more);
	attrib_charge(a, attrib_tx_min(due, until), CAUSE_PACING, more);
	if (d->late_ns)
		attrib_tx_late_timer(a, d->core, due, attrib_tx_min(d->left, until));
}

/* ---- message in its socket, or waiting for buffer space ---- */

/*
 * Returns index + 1 of the flow's oldest message that left after a->at; if no earlier message did,
 * of this message. *more: still older ones may exist, beyond BEFORE_MAX.
 */
static uint32_t attrib_tx_oldest_before(const struct attribution *a, bool *more)
{
	const struct messages *messages = a->env->messages;
	uint32_t at = a->message + 1, before;

	*more = false;
	for (int i = 0; (before = messages->previous[at - 1]) &&
			messages->all.items[before - 1].read > a->at; i++) {
		*more = i == BEFORE_MAX;
		if (*more)
			break;
		at = before;
	}
	return at;
}

/* Charges time in which no earlier message of the flow is known to be in transmission. */
static void attrib_tx_nothing_before(struct attribution *a, uint64_t until,
				     const struct slice *more)
{
	if (a->env->lost_messages) /* a message that the recording lacks may be in transmission */
		attrib_not_recorded(a, until, CORE_UNKNOWN);
	else
		attrib_charge(a, until, CAUSE_WINDOW, more);
}

static void attrib_tx_unsent(struct attribution *a, uint64_t until, const struct slice *more)
{
	const struct messages *messages = a->env->messages;
	uint64_t own;
	uint32_t at;
	bool older;

	if (until > a->end)
		until = a->end;
	if (until <= a->at)
		return;
	at = attrib_tx_oldest_before(a, &older);
	if (older)
		attrib_not_recorded(a, attrib_tx_min(messages->departures[at - 1].held, until),
				    CORE_UNKNOWN);
	for (; at - 1 != a->message && a->at < until; at = messages->all.items[at - 1].next) {
		const struct departure *before = &messages->departures[at - 1];
		const uint64_t given = messages->all.items[at - 1].read;
		struct slice slice = *more;

		if (!before->held || before->held >= until)
			continue;
		slice.message = at;
		attrib_tx_nothing_before(a, before->held, more);
		attrib_tx_held_by_pacing(a, before, until, &slice);
		attrib_charge(a, attrib_tx_min(before->due, until), CAUSE_PACING, &slice);
		attrib_charge(a, attrib_tx_min(given, until), CAUSE_QDISC, &slice);
	}
	own = messages->departures[a->message].held;
	attrib_tx_nothing_before(a, own && own < until ? own : until, more);
	attrib_tx_held_by_pacing(a, &messages->departures[a->message], until, more);
	attrib_charge(a, until, CAUSE_PACING, more);
}

/* ---- send call ---- */

/* Charges the time in which the sender has a CPU: it works on the send call. */
static void attrib_tx_call_part(struct attribution *a, const struct segment_part *part)
{
	struct slice slice = attrib_slice(a, part);

	if (thread_state_on_core(part->segment, a->env->tasks, a->thread) == THREAD_UNKNOWN)
		attrib_not_recorded(a, part->end, part->core);
	else if (part->segment->type == SEGMENT_FAULT)
		attrib_charge(a, part->end, CAUSE_PAGE_FAULT, &slice);
	else if (!attrib_interrupt(a, part, part->end))
		attrib_charge(a, part->end, CAUSE_FUNCTION, &slice);
}

/* Charges a sleep in the send call: only the wait for buffer space is an interruptible sleep. */
static void attrib_tx_asleep(struct attribution *a, uint64_t to, const struct oncpu *next,
			     const struct waking *woken, struct slice *slice)
{
	if (next->left_before == LEFT_IO) {
		attrib_charge(a, to, CAUSE_IO_WAIT, slice);
	} else if (next->left_before == LEFT_BLOCKED) {
		slice->culprit = woken->flags & WAKE_INTERRUPT ? 0 : woken->waker;
		attrib_charge(a, to, CAUSE_LOCK, slice);
	} else {
		attrib_tx_unsent(a, to, slice);
	}
}

/*
 * Charges the send call up to `to`. If the sender sleeps then, its next stretch on a CPU shows why.
 */
static int attrib_tx_in_call(struct attribution *a, uint64_t to, uint64_t returned)
{
	const uint64_t end = a->end;
	int err;

	if (to <= a->at)
		return 0;
	if (a->thread == THREAD_NONE) {
		attrib_not_recorded(a, to, CORE_UNKNOWN);
		return 0;
	}
	a->end = to;
	err = attrib_thread(a, a->at, to, returned, attrib_tx_call_part);
	attrib_not_recorded(a, to, CORE_UNKNOWN);
	a->end = end;
	return err;
}

/* ---- after the send call ---- */

/* Charges the time from the socket to the device's queue, by the core's activity. */
static void attrib_tx_stack_part(struct attribution *a, const struct segment_part *part)
{
	struct slice slice = attrib_slice(a, part);

	if (part->segment->type == SEGMENT_NOT_RECORDED)
		attrib_not_recorded(a, part->end, part->core);
	else if (part->segment->type == SEGMENT_IDLE) /* the packet waits, e.g. for ARP */
		attrib_charge(a, part->end, CAUSE_UNEXPLAINED, &slice);
	else if (part->segment->type == SEGMENT_HARDIRQ)
		attrib_interrupt(a, part, part->end);
	else
		attrib_charge(a, part->end, CAUSE_FUNCTION, &slice);
}

static uint32_t attrib_tx_core(const struct subject *subject, uint64_t time)
{
	for (uint32_t i = 0; i < subject->n; i++)
		if (subject->pieces[i].end >= time)
			return subject->pieces[i].core;
	return CORE_UNKNOWN;
}

int attrib_sent(struct attribution *a, const struct subject *subject)
{
	const struct departure_times out =
		messages_departure_times(subject->pieces, subject->n, a->at, a->end);
	const uint64_t stack = out.known && out.enqueued ? out.queued : a->end;
	const struct slice queue = attrib_slice(a, NULL);
	int err;

	a->where = WHERE_TRANSMIT;
	a->asleep = attrib_tx_asleep;
	err = attrib_tx_in_call(a, subject->returned < stack ? subject->returned : stack,
				subject->returned);
	if (err || !out.known) {
		attrib_not_recorded(a, a->end, CORE_UNKNOWN);
		return err;
	}
	attrib_tx_unsent(a, out.left, &queue);
	attrib_each_segment(a, attrib_tx_core(subject, out.queued), a->at, out.queued,
			    attrib_tx_stack_part);
	attrib_charge(a, out.due, CAUSE_PACING, &queue);
	attrib_charge(a, a->end, CAUSE_QDISC, &queue);
	return 0;
}
