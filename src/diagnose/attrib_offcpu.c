/* SPDX-License-Identifier: Apache-2.0 */
/* Charges slices: other work of a core, and the time in which a thread has no core. */
#include <errno.h>

#include "diagnose/attrib_state.h"
#include "diagnose/thread_state.h"

/* ---- charging slices ---- */

void attrib_charge(struct attribution *a, uint64_t until, enum cause cause,
		   const struct slice *more)
{
	struct slice slice = *more;

	if (until > a->end)
		until = a->end;
	if (until <= a->at)
		return;
	slice.begin = a->at;
	slice.end = until;
	slice.cause = (uint8_t)cause;
	if (slice.where == WHERE_MAX)
		slice.where = (uint8_t)a->where;
	a->env->emit(a->env->ctx, &slice);
	a->at = until;
}

struct slice attrib_slice(const struct attribution *a, const struct segment_part *part)
{
	const struct cpu_segment *segment = part ? part->segment : NULL;
	struct slice slice = { .core = part ? part->core : CORE_UNKNOWN, .where = WHERE_MAX,
			       .message = a->serving };

	if (segment) {
		slice.segment_type = segment->type;
		slice.core_task = segment->task;
		if (segment->type == SEGMENT_HARDIRQ || segment->type == SEGMENT_SOFTIRQ)
			slice.detail = segment->detail;
		else
			slice.detail = segment->call;
	}
	return slice;
}

void attrib_not_recorded(struct attribution *a, uint64_t until, uint32_t core)
{
	const struct slice slice = { .core = core, .where = WHERE_MAX };

	attrib_charge(a, until, CAUSE_NOT_RECORDED, &slice);
}

/*
 * Longest time, in ns, in which a softirq brings a packet to its socket's queue. A slower packet
 * waited elsewhere, e.g. for a retransmission: no softirq time is charged to it.
 */
#define TO_QUEUE_MAX_NS (20 * NS_PER_MS)

static struct slice attrib_packets_cause(const struct attribution *a,
					 const struct segment_part *part, uint32_t place)
{
	const struct message *m = &a->env->messages->all.items[place];
	struct slice slice = attrib_slice(a, part);

	slice.culprit = tasks_by_tid(a->env->tasks, m->tid);
	slice.message = place + 1;
	if (m->flow && m->flow < DETAIL_FLOW)
		slice.detail = DETAIL_FLOW | m->flow;
	return slice;
}

void attrib_receive_work(struct attribution *a, const struct segment_part *part, uint64_t until,
			 enum cause cause,
			 void (*plain)(struct attribution *a, const struct segment_part *part,
				       uint64_t until))
{
	const struct messages *messages = a->env->messages;
	const struct message *all = messages->all.items;
	const uint64_t own =
		a->message == ATTRIB_NO_MESSAGE ? 0 : message_queued(&all[a->message]);
	size_t at = messages_queued(messages, part->core, a->at);

	if (until > a->end)
		until = a->end;
	for (; messages->by_queued && at < messages->all.len && a->at < until; at++) {
		const uint32_t place = messages->by_queued[at];
		const struct message *m = &all[place];
		const bool later = message_queued(m) > until;
		struct slice slice;

		/*
		 * The loop ends at the message whose time is charged, at one of another core, or at
		 * one that arrived at `until` or later. A packet ahead of the message counts in
		 * CAUSE_KERNEL_QUEUE even if an interrupt divides its processing at `until`.
		 */
		if (m->core != part->core || place == a->message || m->first >= until ||
		    (cause == CAUSE_KERNEL_QUEUE && later && message_queued(m) > own))
			break;
		if (m->queued_ns > TO_QUEUE_MAX_NS ||
		    (cause == CAUSE_KERNEL_QUEUE && m->first > all[a->message].first))
			continue;
		if (m->first > a->at)
			plain(a, part, m->first);
		slice = attrib_packets_cause(a, part, place);
		attrib_charge(a, later ? until : message_queued(m), cause, &slice);
		if (later)
			break;
	}
	if (a->at < until)
		plain(a, part, until);
}

static void attrib_others_packets(struct attribution *a, const struct segment_part *part,
				  uint64_t until)
{
	struct slice slice = attrib_slice(a, part);

	/* If ksoftirqd or a NAPI thread does the softirq's work, that thread is the culprit. */
	if (tasks_get(a->env->tasks, part->segment->task)->softirqd)
		slice.culprit = part->segment->task;
	attrib_charge(a, until, CAUSE_OTHER_RECEIVE, &slice);
}

bool attrib_interrupt(struct attribution *a, const struct segment_part *part, uint64_t until)
{
	const struct cpu_segment *segment = part->segment;
	struct slice slice = attrib_slice(a, part);

	if (segment->type == SEGMENT_HARDIRQ) {
		attrib_charge(a, until, CAUSE_INTERRUPT, &slice);
	} else if (segment->type != SEGMENT_SOFTIRQ) {
		return false;
	} else if (segment->detail == SOFTIRQ_NET_RX) {
		attrib_receive_work(a, part, until, CAUSE_OTHER_RECEIVE, attrib_others_packets);
	} else if (segment->detail == SOFTIRQ_NET_TX) {
		attrib_others_packets(a, part, until);
	} else {
		if (tasks_get(a->env->tasks, segment->task)->softirqd)
			slice.culprit = segment->task;
		attrib_charge(a, until, CAUSE_SOFTIRQ, &slice);
	}
	return true;
}

void attrib_other_task(struct attribution *a, const struct segment_part *part)
{
	const struct task_name *task = tasks_get(a->env->tasks, part->segment->task);
	struct slice slice = attrib_slice(a, part);

	if (task->thread == a->thread) { /* contradiction: the thread that waits for a CPU runs */
		attrib_not_recorded(a, part->end, part->core);
		return;
	}
	slice.culprit = part->segment->task;
	slice.detail = 0;
	attrib_charge(a, part->end, task->softirqd ? CAUSE_SOFTIRQ :
		      task->pid && task->pid == a->env->recorder ? CAUSE_HOSTLAT : CAUSE_CPU_WAIT,
		      &slice);
}

void attrib_lose_reader(struct attribution *a, uint64_t until, uint32_t core)
{
	a->unsure |= a->serving != 0;
	a->serving = 0;
	attrib_not_recorded(a, until, core);
}

void attrib_serve_none(struct attribution *a, uint64_t time)
{
	a->serving = 0;
	a->known = time;
	a->unsure = false;
}

void attrib_each_segment(struct attribution *a, uint32_t core, uint64_t from, uint64_t to,
			 attrib_part_fn *charge)
{
	const struct cpu_history *history = a->env->history;
	uint64_t number, until;

	if (from >= to)
		return;
	if (!cpu_history_find(history, core, from, &number, &until)) {
		if (until >= to) {
			attrib_not_recorded(a, to, core);
			return;
		}
		attrib_not_recorded(a, until, core);
		from = until;
		number = history->segments[core].head;
	}
	for (; from < to; number++) {
		const uint64_t end = cpu_history_segment_end(history, core, number);
		const struct segment_part part = {
			.segment = cpu_history_segment(history, core, number), .number = number,
			.begin = from, .end = end < to ? end : to, .core = core,
		};

		charge(a, &part);
		from = part.end;
	}
}

/* ---- runnable thread ---- */

/*
 * Returns the activity, at `time`, of the core on whose run queue the thread waits (a->queue).
 * NULL: that core is idle, or is `core`, on which the thread runs next. *until: end of that state.
 */
static const struct cpu_segment *attrib_queued_behind(const struct attribution *a, uint32_t core,
						      uint64_t time, uint64_t *until)
{
	static const struct cpu_segment unknown = { .type = SEGMENT_NOT_RECORDED };
	const struct cpu_segment *segment;
	uint64_t number;

	*until = UINT64_MAX;
	if (a->queue == core)
		return NULL;
	if (!cpu_history_find(a->env->history, a->queue, time, &number, until))
		return &unknown;
	*until = cpu_history_segment_end(a->env->history, a->queue, number);
	segment = cpu_history_segment(a->env->history, a->queue, number);
	return segment->type == SEGMENT_IDLE ? NULL : segment;
}

uint64_t attrib_idle_ns(const struct attribution *a, uint32_t core, uint64_t from, uint64_t to)
{
	uint64_t number, end, idle = 0;

	if (!cpu_history_find(a->env->history, core, from, &number, &end))
		return 0;
	for (; from < to; number++, from = end) {
		end = cpu_history_segment_end(a->env->history, core, number);
		end = end < to ? end : to;
		if (cpu_history_segment(a->env->history, core, number)->type != SEGMENT_IDLE)
			continue;
		while (from < end) {
			uint64_t until;
			const bool both = !attrib_queued_behind(a, core, from, &until);

			until = until < end ? until : end;
			idle += both ? until - from : 0;
			from = until;
		}
	}
	return idle;
}

/*
 * Charges time in which the thread is runnable and the core on which it runs next is idle. The
 * cause is the activity of the core on whose run queue it waits; if that is idle too, a->idle.
 */
static void attrib_runnable_idle(struct attribution *a, const struct segment_part *part)
{
	struct slice slice = attrib_slice(a, part);
	struct segment_part queue = { .core = a->queue, .begin = part->begin };

	slice.detail = 0;
	for (; queue.begin < part->end; queue.begin = queue.end) {
		queue.segment = attrib_queued_behind(a, part->core, queue.begin, &queue.end);
		if (queue.end > part->end)
			queue.end = part->end;
		if (!queue.segment)
			attrib_charge(a, queue.end, a->idle, &slice);
		else if (queue.segment->type == SEGMENT_NOT_RECORDED)
			attrib_not_recorded(a, queue.end, a->queue);
		else if (!attrib_interrupt(a, &queue, queue.end))
			attrib_other_task(a, &queue);
	}
}

static void attrib_runnable_part(struct attribution *a, const struct segment_part *part)
{
	if (part->segment->type == SEGMENT_NOT_RECORDED)
		attrib_not_recorded(a, part->end, part->core);
	else if (part->segment->type == SEGMENT_IDLE)
		attrib_runnable_idle(a, part);
	else if (!attrib_interrupt(a, part, part->end))
		attrib_other_task(a, part);
}

/*
 * Charges a runnable thread's time up to `to`. The cause of idle time depends on how long, from
 * `since` on, the core of its run queue and `core`, on which it runs next, were idle at once.
 */
static void attrib_runnable(struct attribution *a, uint64_t since, uint64_t to, uint32_t core)
{
	const struct cpu_history *history = a->env->history;
	uint64_t number, until;

	if (a->at >= to)
		return;
	if (since > a->at || !cpu_history_find(history, core, since, &number, &until))
		since = a->at;
	if (!cpu_history_find(history, core, a->at, &number, &until)) {
		attrib_not_recorded(a, to, core);
		return;
	}
	if (attrib_idle_ns(a, core, since, to) <= IDLE_EXIT_MAX_NS)
		a->idle = CAUSE_IDLE_EXIT;
	else
		a->idle = a->env->throttles ? CAUSE_THROTTLED : CAUSE_CORE_STALL;
	attrib_each_segment(a, core, a->at, to, attrib_runnable_part);
}

/*
 * Charges the time from `since` to `to` as runnable, except trace gaps: the thread may have run in
 * a gap. It is runnable after the gap too: a sleep would end in a recorded waking.
 */
static void attrib_runnable_outside_gaps(struct attribution *a, uint64_t since, uint64_t to,
					 uint32_t core)
{
	const struct trace_gap *gap;

	if (to > a->end)
		to = a->end;
	while (since < to && (gap = cpu_history_trace_gap(a->env->history, since, to - 1))) {
		const uint64_t end = gap->end < to - 1 ? gap->end + 1 : to;

		attrib_runnable(a, since, gap->begin, core);
		if (end > a->at)
			attrib_lose_reader(a, end, core);
		since = end;
	}
	attrib_runnable(a, since, to, core);
}

/* ---- sleeping thread ---- */

static void attrib_asleep(struct attribution *a, uint64_t to, const struct oncpu *next,
			  const struct waking *woken)
{
	struct slice slice = attrib_slice(a, NULL);

	slice.detail = next->call;
	slice.segment_type = SEGMENT_IDLE;
	if (next->left_before == LEFT_STOPPED)
		attrib_charge(a, to, CAUSE_STOPPED, &slice);
	else if (next->from_fault)
		attrib_charge(a, to, CAUSE_PAGE_FAULT, &slice);
	else
		a->asleep(a, to, next, woken, &slice);
}

/*
 * Charges the sleep from `since` to `woken`, except trace gaps, in which the thread may have run.
 * After the last gap, the thread slept in the system call in which `next`, its next stretch on a
 * CPU, continues. Before a gap the sleep is only known if the thread was stopped by a signal;
 * otherwise the time counts as not recorded.
 */
static void attrib_asleep_outside_gaps(struct attribution *a, uint64_t since,
				       const struct oncpu *next, const struct waking *woken)
{
	const struct trace_gap *gap = cpu_history_trace_gap(a->env->history, since, woken->time);
	uint64_t end = since;

	for (; gap; gap = end < woken->time ?
			  cpu_history_trace_gap(a->env->history, end, woken->time) : NULL) {
		if (next->left_before == LEFT_STOPPED)
			attrib_asleep(a, gap->begin, next, woken);
		end = gap->end < woken->time ? gap->end + 1 : woken->time;
		attrib_lose_reader(a, end, next->core);
	}
	attrib_asleep(a, woken->time, next, woken);
}

/* ---- time without a CPU ---- */

/* Returns the thread's last waking before `next`; NULL: none is known. */
static const struct waking *attrib_last_waking(struct attribution *a, const struct oncpu *next)
{
	const struct attrib_wakings *wakings = &a->env->wakings;

	while (a->wakings && wakings->items[a->wakings - 1]->time <= next->begin)
		a->wakings--;
	return a->wakings < wakings->len ? wakings->items[a->wakings] : NULL;
}

/*
 * Charges a preempted thread's time up to `next`. A waking after a trace gap shows that the thread
 * slept in the gap: then the time up to the waking counts as not recorded.
 */
static void attrib_preempted(struct attribution *a, uint64_t since, const struct oncpu *next)
{
	const struct waking *woken = attrib_last_waking(a, next);

	if (woken && woken->time > since &&
	    cpu_history_trace_gap(a->env->history, since, woken->time)) {
		attrib_lose_reader(a, woken->time, next->core);
		since = woken->time;
	}
	attrib_runnable_outside_gaps(a, since, next->begin, next->core);
}

/* Charges the time without a CPU before `next`. `last`: the previous stretch on a CPU, or NULL. */
static void attrib_offcpu(struct attribution *a, const struct oncpu *next, const struct oncpu *last)
{
	const uint64_t since = last ? last->end : a->since;
	const enum thread_state state = thread_state_before(next, last);
	const struct waking *woken;

	if (next->call && calls_class(a->env->calls, next->call - 1) == CALL_WAIT)
		attrib_serve_none(a, next->begin);
	if (state == THREAD_UNKNOWN ||
	    (next->begin <= a->at && cpu_history_trace_gap(a->env->history, since, next->begin))) {
		attrib_lose_reader(a, next->begin, next->core);
		return;
	}
	if (next->begin <= a->at)
		return;
	a->queue = last ? last->core : next->core;
	if (state == THREAD_CPU_WAIT) {
		attrib_preempted(a, since, next);
		return;
	}
	woken = thread_state_woken(a->env->history, attrib_last_waking(a, next), last);
	if (!woken) {
		attrib_lose_reader(a, next->begin, next->core);
		return;
	}
	attrib_asleep_outside_gaps(a, since, next, woken);
	a->queue = woken->core;
	attrib_runnable_outside_gaps(a, woken->time, next->begin, next->core);
}

/*
 * Collects the thread's stretches on a CPU that overlap from..to, latest first, and the last one
 * that ends before. Returns 0 or -errno.
 */
static int attrib_collect_oncpus(struct attribution *a, uint64_t from, uint64_t to)
{
	const struct oncpu *oncpu = cpu_history_last_oncpu(a->env->history, a->thread);
	int err = 0;

	vec_clear(&a->env->oncpus);
	for (; oncpu && oncpu->end > from && !err;
	     oncpu = cpu_history_oncpu_before(a->env->history, oncpu))
		if (oncpu->begin < to)
			err = vec_push(&a->env->oncpus, oncpu);
	if (oncpu && !err)
		err = vec_push(&a->env->oncpus, oncpu);
	return err;
}

/*
 * Collects the thread's wakings, latest first, from `to` back to the earliest stretch in
 * env->oncpus, and one waking before it. Returns 0 or -errno.
 */
static int attrib_collect_wakings(struct attribution *a, uint64_t to)
{
	const struct attrib_oncpus *oncpus = &a->env->oncpus;
	const uint64_t from = oncpus->len ? (*vec_last(oncpus))->begin : to;
	const struct waking *waking = cpu_history_waking(a->env->history, a->thread, to);
	int err = 0;

	vec_clear(&a->env->wakings);
	for (; waking && !err; waking = cpu_history_waking_before(a->env->history, waking)) {
		err = vec_push(&a->env->wakings, waking);
		if (waking->time < from)
			break;
	}
	a->wakings = a->env->wakings.len;
	return err == -E2BIG ? 0 : err;
}

int attrib_thread(struct attribution *a, uint64_t from, uint64_t to, uint64_t until,
		  attrib_part_fn *charge)
{
	const struct attrib_oncpus *oncpus = &a->env->oncpus;
	const struct oncpu *last = NULL;
	int err = attrib_collect_oncpus(a, from, until);

	a->since = from;
	if (err == -E2BIG) {
		attrib_not_recorded(a, (*vec_last(oncpus))->begin, CORE_UNKNOWN);
		err = 0;
	}
	if (!err)
		err = attrib_collect_wakings(a, until);
	for (size_t i = oncpus->len; !err && a->at < to && i--;) {
		const struct oncpu *oncpu = oncpus->items[i];

		a->oncpu = i;
		if (oncpu->begin > from)
			attrib_offcpu(a, oncpu, last);
		attrib_each_segment(a, oncpu->core, oncpu->begin > from ? oncpu->begin : from,
				    oncpu->end < to ? oncpu->end : to, charge);
		last = oncpu;
	}
	return err;
}
