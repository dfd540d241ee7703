/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/attrib.h"

#include <errno.h>

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

struct slice attrib_slice(const struct attribution *a, uint32_t core,
			  const struct cpu_segment *segment)
{
	struct slice slice = { .core = core, .where = WHERE_MAX, .message = a->serving };

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
	struct slice slice = attrib_slice(a, core, NULL);

	slice.message = 0;
	attrib_charge(a, until, CAUSE_BLIND, &slice);
}

/* What takes longer from its arrival to its socket's queue waited elsewhere, as for a hole in the
 * sequence. */
#define RUN_MAX_NS (20 * NS_PER_MS)

static struct slice packets_of(const struct attribution *a, uint32_t core,
			       const struct cpu_segment *segment, uint32_t place)
{
	const struct message *m = &a->env->messages->all.items[place];
	struct slice slice = attrib_slice(a, core, segment);

	slice.culprit = tasks_by_tid(a->env->tasks, m->tid);
	slice.message = place + 1;
	if (m->flow && m->flow < DETAIL_FLOW)
		slice.detail = DETAIL_FLOW | m->flow;
	return slice;
}

void attrib_receive_work(struct attribution *a, uint32_t core, const struct cpu_segment *segment,
			 uint64_t end, enum cause cause,
			 void (*plain)(struct attribution *a, uint32_t core,
				       const struct cpu_segment *segment, uint64_t end))
{
	const struct messages *messages = a->env->messages;
	const struct message *all = messages->all.items;
	const uint64_t own = message_queued(&all[a->message]);
	size_t at = messages_queued(messages, core, a->at);

	if (end > a->end)
		end = a->end;
	for (; messages->by_queued && at < messages->all.len && a->at < end; at++) {
		const uint32_t place = messages->by_queued[at];
		const struct message *m = &all[place];
		const bool later = message_queued(m) > end;
		struct slice slice;

		if (m->core != core || place == a->message || m->first >= end ||
		    (cause == CAUSE_KERNEL_QUEUE && later && message_queued(m) > own))
			break; /* an interrupt may divide what a packet ahead takes */
		if (m->queued_ns > RUN_MAX_NS ||
		    (cause == CAUSE_KERNEL_QUEUE && m->first > all[a->message].first))
			continue;
		if (m->first > a->at)
			plain(a, core, segment, m->first);
		slice = packets_of(a, core, segment, place);
		attrib_charge(a, later ? end : message_queued(m), cause, &slice);
		if (later)
			break;
	}
	if (a->at < end)
		plain(a, core, segment, end);
}

static void others_packets(struct attribution *a, uint32_t core, const struct cpu_segment *segment,
			   uint64_t end)
{
	struct slice slice = attrib_slice(a, core, segment);

	/* A thread of the kernel has taken the work over: it is one that others wait for. */
	if (tasks_get(a->env->tasks, segment->task)->softirqd)
		slice.culprit = segment->task;
	attrib_charge(a, end, CAUSE_OTHER_RECEIVE, &slice);
}

bool attrib_interrupt(struct attribution *a, uint32_t core, const struct cpu_segment *segment,
		      uint64_t end)
{
	struct slice slice = attrib_slice(a, core, segment);

	if (segment->type == SEGMENT_HARDIRQ) {
		attrib_charge(a, end, CAUSE_INTERRUPT, &slice);
	} else if (segment->type != SEGMENT_SOFTIRQ) {
		return false;
	} else if (segment->detail == SOFTIRQ_NET_RX) {
		attrib_receive_work(a, core, segment, end, CAUSE_OTHER_RECEIVE, others_packets);
	} else if (segment->detail == SOFTIRQ_NET_TX) {
		others_packets(a, core, segment, end);
	} else {
		if (tasks_get(a->env->tasks, segment->task)->softirqd)
			slice.culprit = segment->task;
		attrib_charge(a, end, CAUSE_SOFTIRQ, &slice);
	}
	return true;
}

void attrib_other_task(struct attribution *a, uint32_t core, const struct cpu_segment *segment,
		       uint64_t end)
{
	const struct task *task = tasks_get(a->env->tasks, segment->task);
	struct slice slice = attrib_slice(a, core, segment);

	if (task->thread == a->thread) { /* it runs where it is said not to */
		attrib_not_recorded(a, end, core);
		return;
	}
	slice.culprit = segment->task;
	slice.detail = 0;
	attrib_charge(a, end,
		      task->softirqd				   ? CAUSE_SOFTIRQ
		      : task->pid && task->pid == a->env->recorder ? CAUSE_HOSTLAT
								   : CAUSE_CPU_WAIT,
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
			 void (*take)(struct attribution *a, uint32_t core,
				      const struct cpu_segment *segment, uint64_t number,
				      uint64_t begin, uint64_t end))
{
	uint64_t number, until;

	if (from >= to)
		return;
	if (!cpu_history_find(a->env->history, core, from, &number, &until)) {
		if (until >= to) {
			attrib_not_recorded(a, to, core);
			return;
		}
		attrib_not_recorded(a, until, core);
		from = until;
		number = a->env->history->segments[core].head;
	}
	for (; from < to; number++) {
		uint64_t end = cpu_history_segment_end(a->env->history, core, number);

		if (end > to)
			end = to;
		take(a, core, cpu_history_segment(a->env->history, core, number), number, from,
		     end);
		from = end;
	}
}

int attrib_collect_oncpus(struct attribution *a, uint64_t from, uint64_t to)
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

int attrib_collect_wakings(struct attribution *a, uint64_t to)
{
	const struct slice_oncpus *oncpus = &a->env->oncpus;
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
