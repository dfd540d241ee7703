/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/way.h"

#include <errno.h>

void way_charge(struct way *w, uint64_t until, enum cause cause, const struct slice *more)
{
	struct slice slice = *more;

	if (until > w->end)
		until = w->end;
	if (until <= w->at)
		return;
	slice.begin = w->at;
	slice.end = until;
	slice.cause = (uint8_t)cause;
	if (slice.where == WHERE_MAX)
		slice.where = (uint8_t)w->where;
	w->p->emit(w->p->ctx, &slice);
	w->at = until;
}

struct slice way_about(const struct way *w, uint32_t core, const struct cpu_segment *segment)
{
	struct slice slice = { .core = core, .where = WHERE_MAX, .message = w->serving };

	if (segment) {
		slice.seen = segment->type;
		slice.ran = segment->task;
		if (segment->type == SEGMENT_HARDIRQ || segment->type == SEGMENT_SOFTIRQ)
			slice.what = segment->what;
		else
			slice.what = segment->call;
	}
	return slice;
}

void way_blind(struct way *w, uint64_t until, uint32_t core)
{
	struct slice slice = way_about(w, core, NULL);

	slice.message = 0;
	way_charge(w, until, CAUSE_BLIND, &slice);
}

/* What takes longer from its arrival to its socket's queue waited elsewhere, as for a hole in the sequence. */
#define RUN_MAX_NS (20 * NS_PER_MS)

static struct slice packets_of(const struct way *w, uint32_t core,
			       const struct cpu_segment *segment, uint32_t place)
{
	const struct message *m = &w->p->messages->all.items[place];
	struct slice slice = way_about(w, core, segment);

	slice.culprit = tasks_by_tid(w->p->tasks, m->tid);
	slice.message = place + 1;
	if (m->flow && m->flow < WHAT_FLOW)
		slice.what = WHAT_FLOW | m->flow;
	return slice;
}

void way_receives(struct way *w, uint32_t core, const struct cpu_segment *segment, uint64_t end,
		  enum cause cause,
		  void (*plain)(struct way *w, uint32_t core, const struct cpu_segment *segment,
				uint64_t end))
{
	const struct messages *messages = w->p->messages;
	const struct message *all = messages->all.items;
	const uint64_t own = message_queued(&all[w->message]);
	size_t at = messages_queued(messages, core, w->at);

	if (end > w->end)
		end = w->end;
	for (; messages->by_queued && at < messages->all.len && w->at < end; at++) {
		const uint32_t place = messages->by_queued[at];
		const struct message *m = &all[place];
		const bool later = message_queued(m) > end;
		struct slice slice;

		if (m->core != core || place == w->message || m->first >= end ||
		    (cause == CAUSE_KERNEL_QUEUE && later && message_queued(m) > own))
			break; /* an interrupt may divide what a packet ahead takes */
		if (m->queued_ns > RUN_MAX_NS ||
		    (cause == CAUSE_KERNEL_QUEUE && m->first > all[w->message].first))
			continue;
		if (m->first > w->at)
			plain(w, core, segment, m->first);
		slice = packets_of(w, core, segment, place);
		way_charge(w, later ? end : message_queued(m), cause, &slice);
		if (later)
			break;
	}
	if (w->at < end)
		plain(w, core, segment, end);
}

static void others_packets(struct way *w, uint32_t core, const struct cpu_segment *segment,
			   uint64_t end)
{
	struct slice slice = way_about(w, core, segment);

	/* A thread of the kernel has taken the work over: it is one that others wait for. */
	if (tasks_get(w->p->tasks, segment->task)->softirqd)
		slice.culprit = segment->task;
	way_charge(w, end, CAUSE_OTHER_RECEIVE, &slice);
}

bool way_interrupt(struct way *w, uint32_t core, const struct cpu_segment *segment, uint64_t end)
{
	struct slice slice = way_about(w, core, segment);

	if (segment->type == SEGMENT_HARDIRQ) {
		way_charge(w, end, CAUSE_INTERRUPT, &slice);
	} else if (segment->type != SEGMENT_SOFTIRQ) {
		return false;
	} else if (segment->what == SOFTIRQ_NET_RX) {
		way_receives(w, core, segment, end, CAUSE_OTHER_RECEIVE, others_packets);
	} else if (segment->what == SOFTIRQ_NET_TX) {
		others_packets(w, core, segment, end);
	} else {
		if (tasks_get(w->p->tasks, segment->task)->softirqd)
			slice.culprit = segment->task;
		way_charge(w, end, CAUSE_SOFTIRQ, &slice);
	}
	return true;
}

void way_other(struct way *w, uint32_t core, const struct cpu_segment *segment, uint64_t end)
{
	const struct task *task = tasks_get(w->p->tasks, segment->task);
	struct slice slice = way_about(w, core, segment);

	if (task->thread == w->thread) { /* it runs where it is said not to */
		way_blind(w, end, core);
		return;
	}
	slice.culprit = segment->task;
	slice.what = 0;
	way_charge(w, end, task->softirqd ? CAUSE_SOFTIRQ :
	       task->pid && task->pid == w->p->recorder ? CAUSE_HOSTLAT : CAUSE_CPU_WAIT, &slice);
}

void way_lose_reader(struct way *w, uint64_t until, uint32_t core)
{
	w->unsure |= w->serving != 0;
	w->serving = 0;
	way_blind(w, until, core);
}

void way_serve_none(struct way *w, uint64_t time)
{
	w->serving = 0;
	w->known = time;
	w->unsure = false;
}

void way_each_segment(struct way *w, uint32_t core, uint64_t from, uint64_t to,
		      void (*take)(struct way *w, uint32_t core, const struct cpu_segment *segment,
				   uint64_t number, uint64_t begin, uint64_t end))
{
	uint64_t number, until;

	if (from >= to)
		return;
	if (!cpu_history_find(w->p->history, core, from, &number, &until)) {
		if (until >= to) {
			way_blind(w, to, core);
			return;
		}
		way_blind(w, until, core);
		from = until;
		number = w->p->history->segments[core].head;
	}
	for (; from < to; number++) {
		uint64_t end = cpu_history_segment_end(w->p->history, core, number);

		if (end > to)
			end = to;
		take(w, core, cpu_history_segment(w->p->history, core, number), number, from, end);
		from = end;
	}
}

int way_collect_oncpus(struct way *w, uint64_t from, uint64_t to)
{
	const struct oncpu *oncpu = cpu_history_last_oncpu(w->p->history, w->thread);
	int err = 0;

	vec_clear(&w->p->oncpus);
	for (; oncpu && oncpu->end > from && !err;
	     oncpu = cpu_history_oncpu_before(w->p->history, oncpu))
		if (oncpu->begin < to)
			err = vec_push(&w->p->oncpus, oncpu);
	if (oncpu && !err)
		err = vec_push(&w->p->oncpus, oncpu);
	return err;
}

int way_collect_wakings(struct way *w, uint64_t to)
{
	const struct slice_oncpus *oncpus = &w->p->oncpus;
	const uint64_t from = oncpus->len ? (*vec_last(oncpus))->begin : to;
	const struct waking *waking = cpu_history_waking(w->p->history, w->thread, to);
	int err = 0;

	vec_clear(&w->p->wakings);
	for (; waking && !err; waking = cpu_history_waking_before(w->p->history, waking)) {
		err = vec_push(&w->p->wakings, waking);
		if (waking->time < from)
			break;
	}
	w->wakings = w->p->wakings.len;
	return err == -E2BIG ? 0 : err;
}
