/* SPDX-License-Identifier: Apache-2.0 */
/* The time in which a message's reader has no CPU. */
#include "diagnose/way.h"

/* A waking may be seen before the sleep that it ends: the two are on different cores. */
#define WAKE_EARLY_NS (100 * NS_PER_US)

struct waiting {
	uint32_t queue; /* where it is queued */
	uint32_t core;  /* where it runs next */
};

/* Who has the core where it is queued: NULL if nobody, as on the one on which it runs next. */
static const struct cpu_segment *queued_behind(const struct way *w, const struct waiting *wait,
					       uint64_t time, uint64_t *until)
{
	static const struct cpu_segment unknown = { .type = SEGMENT_NOT_RECORDED };
	const struct cpu_segment *segment;
	uint64_t number;

	*until = UINT64_MAX;
	if (wait->queue == wait->core)
		return NULL;
	if (!cpu_history_find(w->p->history, wait->queue, time, &number, until))
		return &unknown;
	*until = cpu_history_segment_end(w->p->history, wait->queue, number);
	segment = cpu_history_segment(w->p->history, wait->queue, number);
	return segment->type == SEGMENT_IDLE ? NULL : segment;
}

/* For how long of from <= t < to both cores are idle. */
static uint64_t idle_ns(const struct way *w, const struct waiting *wait, uint64_t from,
			uint64_t to)
{
	uint64_t number, end, idle = 0;

	if (!cpu_history_find(w->p->history, wait->core, from, &number, &end))
		return 0;
	for (; from < to; number++, from = end) {
		end = cpu_history_segment_end(w->p->history, wait->core, number);
		end = end < to ? end : to;
		if (cpu_history_segment(w->p->history, wait->core, number)->type != SEGMENT_IDLE)
			continue;
		while (from < end) {
			uint64_t until;
			const bool both = !queued_behind(w, wait, from, &until);

			until = until < end ? until : end;
			idle += both ? until - from : 0;
			from = until;
		}
	}
	return idle;
}

/* The core is idle, and yet it does not run. `cause`: if the other one is idle, too. */
static void runnable_idle(struct way *w, const struct waiting *wait,
			  const struct cpu_segment *segment, uint64_t begin, uint64_t end,
			  enum cause cause)
{
	struct slice slice = way_about(w, wait->core, segment);

	slice.what = 0;
	while (begin < end) {
		uint64_t until;
		const struct cpu_segment *other = queued_behind(w, wait, begin, &until);

		if (until > end)
			until = end;
		if (!other)
			way_charge(w, until, cause, &slice);
		else if (other->type == SEGMENT_NOT_RECORDED)
			way_blind(w, until, wait->queue);
		else if (!way_interrupt(w, wait->queue, other, until))
			way_other(w, wait->queue, other, until);
		begin = until;
	}
}

/* It was so since `since`: how long that took in all says why, also of its end. */
static void runnable(struct way *w, uint64_t since, uint64_t to, const struct waiting *wait)
{
	uint64_t from = w->at, number, until;
	enum cause idle;

	if (from >= to)
		return;
	if (since > from || !cpu_history_find(w->p->history, wait->core, since, &number, &until))
		since = from;
	if (!cpu_history_find(w->p->history, wait->core, from, &number, &until)) {
		way_blind(w, to, wait->core);
		return;
	}
	if (idle_ns(w, wait, since, to) <= IDLE_EXIT_MAX_NS)
		idle = CAUSE_IDLE_EXIT;
	else
		idle = w->p->throttles ? CAUSE_THROTTLED : CAUSE_CORE_STALL;
	for (; from < to; number++) {
		const struct cpu_segment *segment =
			cpu_history_segment(w->p->history, wait->core, number);
		uint64_t end = cpu_history_segment_end(w->p->history, wait->core, number);

		if (end > to)
			end = to;
		if (segment->type == SEGMENT_NOT_RECORDED)
			way_blind(w, end, wait->core);
		else if (segment->type == SEGMENT_IDLE)
			runnable_idle(w, wait, segment, from, end, idle);
		else if (!way_interrupt(w, wait->core, segment, end))
			way_other(w, wait->core, segment, end);
		from = end;
	}
}

/* Why the reader sleeps, by the call that it goes on in, by how it left, and by who woke it. */
static void asleep_reader(struct way *w, uint64_t to, const struct oncpu *next,
			  const struct waking *woken)
{
	const enum call_class class = next->call ? calls_class(w->p->calls, next->call - 1) :
				      CALL_OTHER;
	const bool by_task = !(woken->flags & WAKE_INTERRUPT);
	struct slice slice = way_about(w, CORE_UNKNOWN, NULL);
	enum cause cause = CAUSE_APPLICATION;

	slice.what = next->call;
	slice.seen = SEGMENT_IDLE;
	if (next->left_before == LEFT_STOPPED) {
		cause = CAUSE_STOPPED;
	} else if (next->from_fault) {
		cause = CAUSE_PAGE_FAULT;
	} else if (class == CALL_WAIT || (class == CALL_RECEIVE &&
					  next->left_before == LEFT_ASLEEP)) {
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
	way_charge(w, to, cause, &slice);
}

/* It is in its send call; the one sleep there that a signal may end is for room. */
static void asleep_in_send(struct way *w, uint64_t to, const struct oncpu *next,
			   const struct waking *woken)
{
	struct slice slice = way_about(w, CORE_UNKNOWN, NULL);

	slice.what = next->call;
	slice.seen = SEGMENT_IDLE;
	if (next->left_before == LEFT_STOPPED) {
		way_charge(w, to, CAUSE_STOPPED, &slice);
	} else if (next->from_fault) {
		way_charge(w, to, CAUSE_PAGE_FAULT, &slice);
	} else if (next->left_before == LEFT_IO) {
		way_charge(w, to, CAUSE_IO_WAIT, &slice);
	} else if (next->left_before == LEFT_BLOCKED) {
		slice.culprit = woken->flags & WAKE_INTERRUPT ? 0 : woken->waker;
		way_charge(w, to, CAUSE_LOCK, &slice);
	} else {
		way_unsent(w, to, &slice);
	}
}

static void asleep(struct way *w, uint64_t to, const struct oncpu *next, const struct waking *woken)
{
	if (w->sends)
		asleep_in_send(w, to, next, woken);
	else
		asleep_reader(w, to, next, woken);
}

/*
 * Asleep since `since` until `woken`, but for what of it some core was out of sight: there it may
 * have run. What it slept in behind the last gap, `next` says; a stop is one from both its ends.
 */
static void asleep_outside_gaps(struct way *w, uint64_t since, const struct oncpu *next,
				const struct waking *woken)
{
	const struct trace_gap *gap = cpu_history_trace_gap(w->p->history, since, woken->time);
	uint64_t end = since;

	for (; gap; gap = end < woken->time ? cpu_history_trace_gap(w->p->history, end, woken->time)
					    : NULL) {
		if (next->left_before == LEFT_STOPPED)
			asleep(w, gap->begin, next, woken);
		end = gap->end < woken->time ? gap->end + 1 : woken->time;
		way_lose_reader(w, end, next->core);
	}
	asleep(w, woken->time, next, woken);
}

/* The reader's last one before a run; NULL: none is known. */
static const struct waking *last_waking(struct way *w, const struct oncpu *next)
{
	const struct slice_wakings *wakings = &w->p->wakings;

	while (w->wakings && wakings->items[w->wakings - 1]->time <= next->begin)
		w->wakings--;
	return w->wakings < wakings->len ? wakings->items[w->wakings] : NULL;
}

/* What ended the sleep between two runs; NULL if that, or that it was one sleep, isn't known. */
static const struct waking *woken_by(struct way *w, const struct oncpu *next,
				     const struct oncpu *last)
{
	const struct slice_wakings *wakings = &w->p->wakings;
	const struct waking *woken = last_waking(w, next), *before;

	if (!woken || !last)
		return woken;
	/* the one that it ran for, then, is not the one that it runs for now */
	if (woken->time <= last->begin || woken->time + WAKE_EARLY_NS < last->end)
		return NULL;
	before = w->wakings + 1 < wakings->len ? wakings->items[w->wakings + 1] : NULL;
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
static void runnable_outside_gaps(struct way *w, uint64_t since, uint64_t to,
				  const struct waiting *wait)
{
	const struct trace_gap *gap;

	if (to > w->end)
		to = w->end;
	while (since < to && (gap = cpu_history_trace_gap(w->p->history, since, to - 1))) {
		const uint64_t end = gap->end < to - 1 ? gap->end + 1 : to;

		runnable(w, since, gap->begin, wait);
		if (end > w->at)
			way_lose_reader(w, end, wait->core);
		since = end;
	}
	runnable(w, since, to, wait);
}

/* It left as runnable; a waking behind a gap says that it slept meanwhile. */
static void preempted(struct way *w, const struct oncpu *next, const struct oncpu *last,
		      const struct waiting *wait)
{
	const struct waking *woken = last_waking(w, next);
	uint64_t since = last ? last->end : w->since;

	if (woken && woken->time > since &&
	    cpu_history_trace_gap(w->p->history, since, woken->time)) {
		way_lose_reader(w, woken->time, wait->core);
		since = woken->time;
	}
	runnable_outside_gaps(w, since, next->begin, wait);
}

void way_gap(struct way *w, const struct oncpu *next, const struct oncpu *last)
{
	struct waiting wait = { .queue = last ? last->core : next->core, .core = next->core };
	const uint64_t since = last ? last->end : w->since;
	const struct waking *woken;

	if (next->call && calls_class(w->p->calls, next->call - 1) == CALL_WAIT)
		way_serve_none(w, next->begin);
	if (left_is_doubtful(next, last) ||
	    (next->begin <= w->at && cpu_history_trace_gap(w->p->history, since, next->begin))) {
		way_lose_reader(w, next->begin, next->core);
		return;
	}
	if (next->begin <= w->at)
		return;
	if (next->left_before == LEFT_RUNNABLE) {
		preempted(w, next, last, &wait);
		return;
	}
	woken = woken_by(w, next, last);
	if (!woken) {
		way_lose_reader(w, next->begin, next->core);
		return;
	}
	wait.queue = woken->core;
	asleep_outside_gaps(w, since, next, woken);
	runnable_outside_gaps(w, woken->time, next->begin, &wait);
}
