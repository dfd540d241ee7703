/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/parts.h"
#include "diagnose/sending.h"
#include "diagnose/way.h"

#include <errno.h>

#include "base/bug.h"
#include "base/parse.h"

/* How far back is looked for what the reader was doing when the message came. */
#define LOOK_BACK_NS NS_PER_S
/* ... and for a waking, at least. */
#define MARGIN_NS (20 * NS_PER_MS)

/* A call that is slept in more often is taken for the one that reads. */
#define CALL_ONCPUS_MAX 64

static const struct message *message_at(const struct way *w, uint32_t place)
{
	return &w->p->messages->all.items[place];
}

/* ---- up to the socket's queue ---- */

static void own_packets(struct way *w, uint32_t core, const struct cpu_segment *segment,
			uint64_t end)
{
	const struct slice slice = way_about(w, core, segment);

	way_charge(w, end, CAUSE_FUNCTION, &slice);
}

static void receive_segment(struct way *w, uint32_t core, const struct cpu_segment *segment,
			    uint64_t number, uint64_t begin, uint64_t end)
{
	const struct task *task = tasks_get(w->p->tasks, segment->task);
	struct slice slice = way_about(w, core, segment);

	(void)number;
	(void)begin;
	switch ((enum cpu_segment_type)segment->type) {
	case SEGMENT_NOT_RECORDED:
		way_blind(w, end, core);
		return;
	case SEGMENT_IDLE:
		way_charge(w, end, CAUSE_IDLE_EXIT, &slice);
		return;
	case SEGMENT_SOFTIRQ:
		if (segment->what == SOFTIRQ_NET_RX)
			way_receives(w, core, segment, end, CAUSE_KERNEL_QUEUE, own_packets);
		else
			way_interrupt(w, core, segment, end);
		return;
	case SEGMENT_HARDIRQ:
		way_interrupt(w, core, segment, end);
		return;
	case SEGMENT_TASK:
	case SEGMENT_FAULT: /* a socket's backlog is its owner's work, NAPI's threads' is theirs */
		if (task->softirqd || (task->thread != THREAD_NONE && task->thread == w->thread))
			way_charge(w, end, CAUSE_FUNCTION, &slice);
		else
			way_other(w, core, segment, end);
	}
}

/* ---- the reader has a CPU ---- */

static void advance_reads(struct way *w, uint64_t time)
{
	while (w->coming && message_at(w, w->coming - 1)->read <= time) {
		w->serving = w->p->by_request ? 0 : w->coming;
		w->known = message_at(w, w->coming - 1)->read;
		w->unsure = false;
		w->coming = message_at(w, w->coming - 1)->next;
	}
}

/* To the first segment that is not of the same thread and call, or is after the read. */
static bool goes_on(const struct way *w, uint32_t core, uint64_t *number, uint64_t read)
{
	const struct cpu_segment *segment = cpu_history_segment(w->p->history, core, *number);
	const uint64_t tail = w->p->history->segments[core].tail;

	for (; *number < tail; ++*number) {
		const struct cpu_segment *next = cpu_history_segment(w->p->history, core, *number);

		if (next->begin >= read || next->call != segment->call ||
		    next->task != segment->task)
			break;
	}
	return *number < tail;
}

/*
 * Whether the system call that the core is in goes on until the next read, over sleeps, too.
 * *unsure: it goes on out of sight, or not.
 */
static bool call_reads(const struct way *w, uint32_t core, uint64_t number, bool *unsure)
{
	const uint64_t read = message_at(w, w->coming - 1)->read;
	const struct cpu_segment segment = *cpu_history_segment(w->p->history, core, number);
	size_t at = w->oncpu;
	uint64_t until;

	for (int i = 0; i < CALL_ONCPUS_MAX; i++) {
		const struct cpu_segment *next;
		const struct oncpu *oncpu;

		if (!goes_on(w, core, &number, read))
			return true;
		next = cpu_history_segment(w->p->history, core, number);
		if (next->begin >= read)
			return true;
		if (next->task == segment.task)
			return false;
		if (!at)
			return true;
		oncpu = w->p->oncpus.items[--at];
		core = oncpu->core;
		if (oncpu->call != segment.call ||
		    !cpu_history_find(w->p->history, core, oncpu->begin, &number, &until)) {
			*unsure = cpu_history_trace_gap(w->p->history, next->begin, oncpu->begin);
			return false;
		}
	}
	return true;
}

/* Whether what it serves is out of sight: something is missing since that was known. */
static bool serves_unknown(const struct way *w, uint64_t end, bool reads)
{
	if (reads)
		return cpu_history_trace_gap(w->p->history, end,
					     message_at(w, w->coming - 1)->read - 1);
	/* which request it works at, the replies tell */
	return w->unsure ||
	       (!w->p->by_request && cpu_history_trace_gap(w->p->history, w->known, end - 1));
}

/* Requests end with their replies: what the reader works at is the one that it answers next. */
static void find_request(struct way *w, enum call_class class, uint64_t begin)
{
	const bool come = w->coming && message_at(w, w->coming - 1)->first <= begin;

	w->serving = class == CALL_WAIT || !come || w->coming - 1 == w->message ? 0 : w->coming;
}

static void running_task(struct way *w, uint32_t core, const struct cpu_segment *segment,
			 uint64_t number, uint64_t begin, uint64_t end)
{
	const enum call_class class =
		segment->call ? calls_class(w->p->calls, segment->call - 1) : CALL_OTHER;
	bool unsure = false;
	const bool reads = !w->p->by_request && class == CALL_RECEIVE && w->coming &&
			   call_reads(w, core, number, &unsure);
	struct slice slice;

	if (class == CALL_WAIT) {
		way_serve_none(w, end);
	} else if (unsure || serves_unknown(w, end, reads)) {
		way_blind(w, end, core);
		return;
	}
	if (w->p->by_request)
		find_request(w, class, begin);
	slice = way_about(w, core, segment);
	if (reads)
		slice.message = w->coming - 1 == w->message ? 0 : w->coming;
	if (slice.message && slice.message - 1 != w->message) {
		slice.culprit = segment->task;
		way_charge(w, end, CAUSE_HEAD_OF_LINE, &slice);
	} else {
		slice.message = 0;
		way_charge(w, end, CAUSE_APPLICATION, &slice);
	}
}

static void running_segment(struct way *w, uint32_t core, const struct cpu_segment *segment,
			    uint64_t number, uint64_t begin, uint64_t end)
{
	const bool own = tasks_get(w->p->tasks, segment->task)->thread == w->thread;

	while (begin < end) {
		uint64_t read, until = end;

		advance_reads(w, begin);
		read = w->coming ? message_at(w, w->coming - 1)->read : UINT64_MAX;
		if (read < until)
			until = read;
		if (segment->type == SEGMENT_NOT_RECORDED || !own) {
			way_lose_reader(w, until, core);
		} else if (segment->type == SEGMENT_FAULT) {
			struct slice slice = way_about(w, core, segment);

			way_charge(w, until, CAUSE_PAGE_FAULT, &slice);
		} else if (!way_interrupt(w, core, segment, until)) {
			running_task(w, core, segment, number, begin, until);
		}
		begin = until;
	}
}

/* ---- from the socket's queue to the end ---- */

/* What the reader was at when the message came: the one that it had read last. */
static uint64_t begin_service(struct way *w, uint64_t from)
{
	uint32_t before = w->p->messages->previous[w->message];
	uint64_t back = from;

	w->coming = w->message + 1;
	while (before && message_at(w, before - 1)->read > from) {
		w->coming = before;
		before = w->p->messages->previous[before - 1];
	}
	w->serving = w->p->by_request ? 0 : before;
	if (before)
		back = message_at(w, before - 1)->read;
	return back > w->p->history->since ? back : w->p->history->since;
}

static int application(struct way *w, uint64_t from, uint64_t to)
{
	const struct oncpu *last = NULL;
	uint64_t back;
	int err;

	w->where = WHERE_APPLICATION;
	if (w->thread == THREAD_NONE) {
		way_blind(w, to, CORE_UNKNOWN);
		return 0;
	}
	back = begin_service(w, from);
	if (back > from)
		back = from;
	w->since = back;
	w->known = w->serving ? back : w->p->history->since;
	err = way_collect_oncpus(w, back, to);
	if (err == -E2BIG) {
		way_blind(w, (*vec_last(&w->p->oncpus))->begin, CORE_UNKNOWN);
		err = 0;
	}
	if (!err)
		err = way_collect_wakings(w, to);
	for (size_t i = w->p->oncpus.len; !err && i--;) {
		const struct oncpu *oncpu = w->p->oncpus.items[i];
		const uint64_t begin = oncpu->begin > back ? oncpu->begin : back;
		const uint64_t end = oncpu->end < to ? oncpu->end : to;

		w->oncpu = i;
		if (oncpu->begin > back)
			way_gap(w, oncpu, last);
		if (begin < end)
			way_each_segment(w, oncpu->core, begin, end, running_segment);
		last = oncpu;
	}
	w->serving = 0;
	way_blind(w, to, CORE_UNKNOWN);
	return err;
}

/* ---- a message ---- */

static uint64_t queued(const struct subject *subject)
{
	for (uint32_t i = 0; i < subject->n; i++)
		if (subject->pieces[i].role == PIECE_APPLICATION)
			return subject->pieces[i].begin;
	return 0;
}

void partition_init(struct partition *p)
{
	vec_init(&p->oncpus, ONCPUS_MAX);
	vec_init(&p->wakings, ONCPUS_MAX);
}

void partition_release(struct partition *p)
{
	vec_release(&p->oncpus);
	vec_release(&p->wakings);
}

uint64_t partition_from(const struct messages *messages, const struct subject *subject)
{
	const struct message *m = &messages->all.items[subject->message];
	uint64_t from = m->first, enqueued = queued(subject);
	uint32_t before = messages->previous[subject->message];

	if (messages->departures)
		return from > MARGIN_NS ? from - MARGIN_NS : 0;
	while (before && enqueued && messages->all.items[before - 1].read > enqueued)
		before = messages->previous[before - 1];
	if (before && enqueued && messages->all.items[before - 1].read < from)
		from = messages->all.items[before - 1].read;
	if (from + LOOK_BACK_NS < m->first)
		from = m->first - LOOK_BACK_NS;
	return from > MARGIN_NS ? from - MARGIN_NS : 0;
}

uint64_t partition_until(const struct messages *messages, const struct subject *subject)
{
	const uint64_t end = messages->all.items[subject->message].read;

	return messages->departures && subject->returned > end ? subject->returned : end;
}

int partition_subject(struct partition *p, const struct subject *subject)
{
	const struct message *m = &p->messages->all.items[subject->message];
	struct way w = { .p = p, .message = subject->message, .thread = m->thread,
			 .at = m->first, .end = m->read, .where = WHERE_RECEIVE };
	int err = 0;

	if (p->messages->departures)
		err = sending(&w, subject);
	for (uint32_t i = 0; !err && i < subject->n && !p->messages->departures; i++) {
		const struct event_piece *piece = &subject->pieces[i];
		const uint64_t begin = piece->begin > w.at ? piece->begin : w.at;
		const uint64_t end = piece->end < m->read ? piece->end : m->read;

		way_blind(&w, begin < m->read ? begin : m->read, CORE_UNKNOWN);
		if (piece->role == PIECE_RECEIVE || piece->role == PIECE_BACKLOG)
			way_each_segment(&w, piece->core, begin, end, receive_segment);
		else if (piece->role == PIECE_APPLICATION && begin < end)
			err = application(&w, begin, end);
		w.serving = 0;
	}
	way_blind(&w, m->read, CORE_UNKNOWN);
	BUG_ON(!err && w.at < m->read);
	return err;
}
