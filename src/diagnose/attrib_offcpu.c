/* SPDX-License-Identifier: Apache-2.0 */
/* The time in which a message's reader has no CPU. */
#include "diagnose/attrib.h"

/* A waking may be seen before the sleep that it ends: the two are on different cores. */
#define WAKE_EARLY_NS (100 * NS_PER_US)

struct waiting {
	uint32_t queue; /* where it is queued */
	uint32_t core;	/* where it runs next */
};

/* Who has the core where it is queued: NULL if nobody, as on the one on which it runs next. */
static const struct cpu_segment *queued_behind(const struct attribution *a,
					       const struct waiting *wait, uint64_t time,
					       uint64_t *until)
{
	static const struct cpu_segment unknown = { .type = SEGMENT_NOT_RECORDED };
	const struct cpu_segment *segment;
	uint64_t number;

	*until = UINT64_MAX;
	if (wait->queue == wait->core)
		return NULL;
	if (!cpu_history_find(a->env->history, wait->queue, time, &number, until))
		return &unknown;
	*until = cpu_history_segment_end(a->env->history, wait->queue, number);
	segment = cpu_history_segment(a->env->history, wait->queue, number);
	return segment->type == SEGMENT_IDLE ? NULL : segment;
}

/* For how long of from <= t < to both cores are idle. */
static uint64_t idle_ns(const struct attribution *a, const struct waiting *wait, uint64_t from,
			uint64_t to)
{
	uint64_t number, end, idle = 0;

	if (!cpu_history_find(a->env->history, wait->core, from, &number, &end))
		return 0;
	for (; from < to; number++, from = end) {
		end = cpu_history_segment_end(a->env->history, wait->core, number);
		end = end < to ? end : to;
		if (cpu_history_segment(a->env->history, wait->core, number)->type != SEGMENT_IDLE)
			continue;
		while (from < end) {
			uint64_t until;
			const bool both = !queued_behind(a, wait, from, &until);

			until = until < end ? until : end;
			idle += both ? until - from : 0;
			from = until;
		}
	}
	return idle;
}

/* The core is idle, and yet it does not run. `cause`: if the other one is idle, too. */
static void runnable_idle(struct attribution *a, const struct waiting *wait,
			  const struct cpu_segment *segment, uint64_t begin, uint64_t end,
			  enum cause cause)
{
	struct slice slice = attrib_slice(a, wait->core, segment);

	slice.detail = 0;
	while (begin < end) {
		uint64_t until;
		const struct cpu_segment *other = queued_behind(a, wait, begin, &until);

		if (until > end)
			until = end;
		if (!other)
			attrib_charge(a, until, cause, &slice);
		else if (other->type == SEGMENT_NOT_RECORDED)
			attrib_not_recorded(a, until, wait->queue);
		else if (!attrib_interrupt(a, wait->queue, other, until))
			attrib_other_task(a, wait->queue, other, until);
		begin = until;
	}
}

/* It was so since `since`: how long that took in all says why, also of its end. */
static void runnable(struct attribution *a, uint64_t since, uint64_t to, const struct waiting *wait)
{
	uint64_t from = a->at, number, until;
	enum cause idle;

	if (from >= to)
		return;
	if (since > from || !cpu_history_find(a->env->history, wait->core, since, &number, &until))
		since = from;
	if (!cpu_history_find(a->env->history, wait->core, from, &number, &until)) {
		attrib_not_recorded(a, to, wait->core);
		return;
	}
	if (idle_ns(a, wait, since, to) <= IDLE_EXIT_MAX_NS)
		idle = CAUSE_IDLE_EXIT;
	else
		idle = a->env->throttles ? CAUSE_THROTTLED : CAUSE_CORE_STALL;
	for (; from < to; number++) {
		const struct cpu_segment *segment =
			cpu_history_segment(a->env->history, wait->core, number);
		uint64_t end = cpu_history_segment_end(a->env->history, wait->core, number);

		if (end > to)
			end = to;
		if (segment->type == SEGMENT_NOT_RECORDED)
			attrib_not_recorded(a, end, wait->core);
		else if (segment->type == SEGMENT_IDLE)
			runnable_idle(a, wait, segment, from, end, idle);
		else if (!attrib_interrupt(a, wait->core, segment, end))
			attrib_other_task(a, wait->core, segment, end);
		from = end;
	}
}

/* Why the reader sleeps, by the call that it goes on in, by how it left, and by who woke it. */
static void asleep_reader(struct attribution *a, uint64_t to, const struct oncpu *next,
			  const struct waking *woken)
{
	const enum call_class class =
		next->call ? calls_class(a->env->calls, next->call - 1) : CALL_OTHER;
	const bool by_task = !(woken->flags & WAKE_INTERRUPT);
	struct slice slice = attrib_slice(a, CORE_UNKNOWN, NULL);
	enum cause cause = CAUSE_APPLICATION;

	slice.detail = next->call;
	slice.segment_type = SEGMENT_IDLE;
	if (next->left_before == LEFT_STOPPED) {
		cause = CAUSE_STOPPED;
	} else if (next->from_fault) {
		cause = CAUSE_PAGE_FAULT;
	} else if (class == CALL_WAIT ||
		   (class == CALL_RECEIVE && next->left_before == LEFT_ASLEEP)) {
		/* it was ready for the message: this is the way to its waking */
		cause = by_task ? CAUSE_APPLICATION : CAUSE_FUNCTION;
		if (!by_task)
			slice.where = WHERE_RECEIVE;
		slice.message = 0;
	} else if (class == CALL_LOCK) {
		cause = by_task ? CAUSE_LOCK : CAUSE_APPLICATION;
		slice.culprit = by_task ? woken->waker : 0;
	} else if (next->left_before == LEFT_IO || class == CALL_FILE ||
		   (class == CALL_RECEIVE && next->left_before == LEFT_BLOCKED)) {
		cause = CAUSE_IO_WAIT;
	} else if (class == CALL_SEND) {
		cause = CAUSE_WINDOW;
	} else if (!next->call) {
		cause = CAUSE_UNEXPLAINED;
	} else if (next->left_before == LEFT_BLOCKED) {
		cause = CAUSE_LOCK;
		slice.culprit = by_task ? woken->waker : 0;
	}
	attrib_charge(a, to, cause, &slice);
}

/* It is in its send call; the one sleep there that a signal may end is for room. */
static void asleep_in_send(struct attribution *a, uint64_t to, const struct oncpu *next,
			   const struct waking *woken)
{
	struct slice slice = attrib_slice(a, CORE_UNKNOWN, NULL);

	slice.detail = next->call;
	slice.segment_type = SEGMENT_IDLE;
	if (next->left_before == LEFT_STOPPED) {
		attrib_charge(a, to, CAUSE_STOPPED, &slice);
	} else if (next->from_fault) {
		attrib_charge(a, to, CAUSE_PAGE_FAULT, &slice);
	} else if (next->left_before == LEFT_IO) {
		attrib_charge(a, to, CAUSE_IO_WAIT, &slice);
	} else if (next->left_before == LEFT_BLOCKED) {
		slice.culprit = woken->flags & WAKE_INTERRUPT ? 0 : woken->waker;
		attrib_charge(a, to, CAUSE_LOCK, &slice);
	} else {
		attrib_unsent(a, to, &slice);
	}
}

static void asleep(struct attribution *a, uint64_t to, const struct oncpu *next,
		   const struct waking *woken)
{
	if (a->sends)
		asleep_in_send(a, to, next, woken);
	else
		asleep_reader(a, to, next, woken);
}

/*
 * Asleep since `since` until `woken`, but for what of it some core was out of sight: there it may
 * have run. What it slept in behind the last gap, `next` says; a stop is one from both its ends.
 */
static void asleep_outside_gaps(struct attribution *a, uint64_t since, const struct oncpu *next,
				const struct waking *woken)
{
	const struct trace_gap *gap = cpu_history_trace_gap(a->env->history, since, woken->time);
	uint64_t end = since;

	for (; gap; gap = end < woken->time
				  ? cpu_history_trace_gap(a->env->history, end, woken->time)
				  : NULL) {
		if (next->left_before == LEFT_STOPPED)
			asleep(a, gap->begin, next, woken);
		end = gap->end < woken->time ? gap->end + 1 : woken->time;
		attrib_lose_reader(a, end, next->core);
	}
	asleep(a, woken->time, next, woken);
}

/* The reader's last one before a run; NULL: none is known. */
static const struct waking *last_waking(struct attribution *a, const struct oncpu *next)
{
	const struct slice_wakings *wakings = &a->env->wakings;

	while (a->wakings && wakings->items[a->wakings - 1]->time <= next->begin)
		a->wakings--;
	return a->wakings < wakings->len ? wakings->items[a->wakings] : NULL;
}

/* What ended the sleep between two runs; NULL if that, or that it was one sleep, isn't known. */
static const struct waking *woken_by(struct attribution *a, const struct oncpu *next,
				     const struct oncpu *last)
{
	const struct slice_wakings *wakings = &a->env->wakings;
	const struct waking *woken = last_waking(a, next), *before;

	if (!woken || !last)
		return woken;
	/* the one that it ran for, then, is not the one that it runs for now */
	if (woken->time <= last->begin || woken->time + WAKE_EARLY_NS < last->end)
		return NULL;
	before = a->wakings + 1 < wakings->len ? wakings->items[a->wakings + 1] : NULL;
	return before && before->time > last->end ? NULL : woken;
}

static bool left_is_doubtful(const struct oncpu *next, const struct oncpu *last)
{
	return next->left_before == LEFT_UNKNOWN || next->left_before >= LEFT_ENDED ||
	       (last && last->left != next->left_before);
}

/*
 * Runnable from `since` to `to`, but for what of it some core was out of sight: there it may have
 * run. Whatever it did, it was runnable again behind: else a waking would have been seen.
 */
static void runnable_outside_gaps(struct attribution *a, uint64_t since, uint64_t to,
				  const struct waiting *wait)
{
	const struct trace_gap *gap;

	if (to > a->end)
		to = a->end;
	while (since < to && (gap = cpu_history_trace_gap(a->env->history, since, to - 1))) {
		const uint64_t end = gap->end < to - 1 ? gap->end + 1 : to;

		runnable(a, since, gap->begin, wait);
		if (end > a->at)
			attrib_lose_reader(a, end, wait->core);
		since = end;
	}
	runnable(a, since, to, wait);
}

/* It left as runnable; a waking behind a gap says that it slept meanwhile. */
static void preempted(struct attribution *a, const struct oncpu *next, const struct oncpu *last,
		      const struct waiting *wait)
{
	const struct waking *woken = last_waking(a, next);
	uint64_t since = last ? last->end : a->since;

	if (woken && woken->time > since &&
	    cpu_history_trace_gap(a->env->history, since, woken->time)) {
		attrib_lose_reader(a, woken->time, wait->core);
		since = woken->time;
	}
	runnable_outside_gaps(a, since, next->begin, wait);
}

void attrib_offcpu(struct attribution *a, const struct oncpu *next, const struct oncpu *last)
{
	struct waiting wait = { .queue = last ? last->core : next->core, .core = next->core };
	const uint64_t since = last ? last->end : a->since;
	const struct waking *woken;

	if (next->call && calls_class(a->env->calls, next->call - 1) == CALL_WAIT)
		attrib_serve_none(a, next->begin);
	if (left_is_doubtful(next, last) ||
	    (next->begin <= a->at && cpu_history_trace_gap(a->env->history, since, next->begin))) {
		attrib_lose_reader(a, next->begin, next->core);
		return;
	}
	if (next->begin <= a->at)
		return;
	if (next->left_before == LEFT_RUNNABLE) {
		preempted(a, next, last, &wait);
		return;
	}
	woken = woken_by(a, next, last);
	if (!woken) {
		attrib_lose_reader(a, next->begin, next->core);
		return;
	}
	wait.queue = woken->core;
	asleep_outside_gaps(a, since, next, woken);
	runnable_outside_gaps(a, woken->time, next->begin, &wait);
}
