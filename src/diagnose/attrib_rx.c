/* SPDX-License-Identifier: Apache-2.0 */
/* Attribution of a received message: up to the socket's queue, then in its reader's thread. */
#include "diagnose/attrib_state.h"

#include "base/bug.h"
#include "diagnose/thread_state.h"

/*
 * Limit in ns: how far before a message's arrival the CPU history begins, to show which earlier
 * message the reader was still serving.
 */
#define LOOK_BACK_NS NS_PER_S
/* Extra CPU history in ns before the time of interest, to hold the thread's last waking. */
#define MARGIN_NS (20 * NS_PER_MS)

/*
 * Stretches on a CPU over which a receive call is followed, at most. A call with more of them
 * counts as the call that reads the message.
 */
#define CALL_ONCPUS_MAX 64

static const struct message *attrib_rx_message(const struct attribution *a, uint32_t place)
{
	return &a->env->messages->all.items[place];
}

/* ---- from the arrival to the socket's queue ---- */

static void attrib_rx_own_packets(struct attribution *a, const struct segment_part *part,
				  uint64_t until)
{
	const struct slice slice = attrib_slice(a, part);

	attrib_charge(a, until, CAUSE_FUNCTION, &slice);
}

static void attrib_rx_receive_part(struct attribution *a, const struct segment_part *part)
{
	const struct task_name *task = tasks_get(a->env->tasks, part->segment->task);
	struct slice slice = attrib_slice(a, part);

	switch ((enum cpu_segment_type)part->segment->type) {
	case SEGMENT_NOT_RECORDED:
		attrib_not_recorded(a, part->end, part->core);
		return;
	case SEGMENT_IDLE:
		attrib_charge(a, part->end, CAUSE_IDLE_EXIT, &slice);
		return;
	case SEGMENT_SOFTIRQ:
		if (part->segment->detail == SOFTIRQ_NET_RX)
			attrib_receive_work(a, part, part->end, CAUSE_KERNEL_QUEUE,
					    attrib_rx_own_packets);
		else
			attrib_interrupt(a, part, part->end);
		return;
	case SEGMENT_HARDIRQ:
		attrib_interrupt(a, part, part->end);
		return;
	case SEGMENT_TASK:
	case SEGMENT_FAULT:
		/* kernel work for the message: the reader on its backlog, or a NAPI thread */
		if (task->softirqd || (task->thread != THREAD_NONE && task->thread == a->thread))
			attrib_charge(a, part->end, CAUSE_FUNCTION, &slice);
		else
			attrib_other_task(a, part);
	}
}

/* ---- the reader has a CPU ---- */

static void attrib_rx_advance_reads(struct attribution *a, uint64_t time)
{
	while (a->coming && attrib_rx_message(a, a->coming - 1)->read <= time) {
		a->serving = a->env->by_request ? 0 : a->coming;
		a->known = attrib_rx_message(a, a->coming - 1)->read;
		a->unsure = false;
		a->coming = attrib_rx_message(a, a->coming - 1)->next;
	}
}

/*
 * Moves *number to the core's first segment (stretch of activity) that has another thread or system
 * call, or begins at `read` or later. Returns false if the history has none.
 */
static bool attrib_rx_goes_on(const struct attribution *a, uint32_t core, uint64_t *number,
			      uint64_t read)
{
	const struct cpu_segment *segment = cpu_history_segment(a->env->history, core, *number);
	const uint64_t tail = a->env->history->segments[core].tail;

	for (; *number < tail; ++*number) {
		const struct cpu_segment *next =
			cpu_history_segment(a->env->history, core, *number);

		if (next->begin >= read || next->call != segment->call ||
		    next->task != segment->task)
			break;
	}
	return *number < tail;
}

/*
 * Returns true if the receive call that runs on `core` lasts until the reader's next read of a
 * message, across sleeps. *unsure: a trace gap hides whether it does.
 */
static bool attrib_rx_call_reads(const struct attribution *a, uint32_t core, uint64_t number,
				 bool *unsure)
{
	const uint64_t read = attrib_rx_message(a, a->coming - 1)->read;
	const struct cpu_segment segment = *cpu_history_segment(a->env->history, core, number);
	size_t at = a->oncpu;
	uint64_t until;

	for (int i = 0; i < CALL_ONCPUS_MAX; i++) {
		const struct cpu_segment *next;
		const struct oncpu *oncpu;

		if (!attrib_rx_goes_on(a, core, &number, read))
			return true;
		next = cpu_history_segment(a->env->history, core, number);
		if (next->begin >= read)
			return true;
		if (next->task == segment.task)
			return false;
		if (!at)
			return true;
		oncpu = a->env->oncpus.items[--at];
		core = oncpu->core;
		if (oncpu->call != segment.call ||
		    !cpu_history_find(a->env->history, core, oncpu->begin, &number, &until)) {
			*unsure = cpu_history_trace_gap(a->env->history, next->begin, oncpu->begin);
			return false;
		}
	}
	return true;
}

/* Returns true if a trace gap hides which message the reader serves. */
static bool attrib_rx_serves_unknown(const struct attribution *a, uint64_t end, bool reads)
{
	if (reads)
		return cpu_history_trace_gap(a->env->history, end,
					     attrib_rx_message(a, a->coming - 1)->read - 1);
	return a->unsure;
}

/*
 * Notes that the reader is recorded from `begin` to `until`: trace gaps of other cores do not
 * matter then. A gap between the last such time and `begin` may hide a read. If messages end at
 * their replies, the next reply shows the request, in spite of gaps.
 */
static void attrib_rx_follow_reader(struct attribution *a, uint64_t begin, uint64_t until)
{
	if (!a->env->by_request && a->known < begin &&
	    cpu_history_trace_gap(a->env->history, a->known, begin - 1))
		a->unsure = true;
	if (a->known < until)
		a->known = until;
}

/* Finds the request that the reader works on: the one that it answers next, if that has arrived. */
static void attrib_rx_find_request(struct attribution *a, enum call_class class, uint64_t begin)
{
	const bool come = a->coming && attrib_rx_message(a, a->coming - 1)->first <= begin;

	a->serving = class == CALL_WAIT || !come || a->coming - 1 == a->message ? 0 : a->coming;
}

static void attrib_rx_running_task(struct attribution *a, const struct segment_part *part,
				   uint64_t begin, uint64_t end)
{
	const struct cpu_segment *segment = part->segment;
	const enum call_class class =
		segment->call ? calls_class(a->env->calls, segment->call - 1) : CALL_OTHER;
	bool unsure = false;
	const bool reads = !a->env->by_request && class == CALL_RECEIVE && a->coming &&
			   attrib_rx_call_reads(a, part->core, part->number, &unsure);
	struct slice slice;

	if (class == CALL_WAIT) {
		attrib_serve_none(a, end);
	} else if (unsure || attrib_rx_serves_unknown(a, end, reads)) {
		attrib_not_recorded(a, end, part->core);
		return;
	}
	if (a->env->by_request)
		attrib_rx_find_request(a, class, begin);
	slice = attrib_slice(a, part);
	if (reads)
		slice.message = a->coming - 1 == a->message ? 0 : a->coming;
	if (slice.message && slice.message - 1 != a->message) {
		slice.culprit = segment->task;
		attrib_charge(a, end, CAUSE_HEAD_OF_LINE, &slice);
	} else {
		slice.message = 0;
		attrib_charge(a, end, CAUSE_APPLICATION, &slice);
	}
}

static void attrib_rx_running_part(struct attribution *a, const struct segment_part *part)
{
	const enum thread_state state =
		thread_state_on_core(part->segment, a->env->tasks, a->thread);
	uint64_t begin = part->begin;

	while (begin < part->end) {
		uint64_t read, until = part->end;

		attrib_rx_advance_reads(a, begin);
		read = a->coming ? attrib_rx_message(a, a->coming - 1)->read : UINT64_MAX;
		if (read < until)
			until = read;
		if (state != THREAD_UNKNOWN)
			attrib_rx_follow_reader(a, begin, until);
		if (state == THREAD_UNKNOWN) {
			attrib_lose_reader(a, until, part->core);
		} else if (part->segment->type == SEGMENT_FAULT) {
			struct slice slice = attrib_slice(a, part);

			attrib_charge(a, until, CAUSE_PAGE_FAULT, &slice);
		} else if (!attrib_interrupt(a, part, until)) {
			attrib_rx_running_task(a, part, begin, until);
		}
		begin = until;
	}
}

/* ---- the reader sleeps ---- */

/*
 * Charges a sleep of the reader. Its cause follows from the system call in which the reader
 * continues, its state when it left the core, and its waker.
 */
static void attrib_rx_asleep_reader(struct attribution *a, uint64_t to, const struct oncpu *next,
				    const struct waking *woken, struct slice *slice)
{
	const enum call_class class =
		next->call ? calls_class(a->env->calls, next->call - 1) : CALL_OTHER;
	const bool by_task = !(woken->flags & WAKE_INTERRUPT);
	enum cause cause = CAUSE_APPLICATION;

	if (class == CALL_WAIT || (class == CALL_RECEIVE && next->left_before == LEFT_ASLEEP)) {
		/*
		 * The reader slept until this message came: its wakeup is kernel time if an
		 * interrupt wakes it, else time of the application.
		 */
		cause = by_task ? CAUSE_APPLICATION : CAUSE_FUNCTION;
		if (!by_task)
			slice->where = WHERE_RECEIVE;
		slice->message = 0;
	} else if (class == CALL_LOCK) {
		cause = by_task ? CAUSE_LOCK : CAUSE_APPLICATION;
		slice->culprit = by_task ? woken->waker : 0;
	} else if (next->left_before == LEFT_IO || class == CALL_FILE ||
		   (class == CALL_RECEIVE && next->left_before == LEFT_BLOCKED)) {
		cause = CAUSE_IO_WAIT;
	} else if (class == CALL_SEND) {
		cause = CAUSE_WINDOW;
	} else if (!next->call) {
		cause = CAUSE_UNEXPLAINED;
	} else if (next->left_before == LEFT_BLOCKED) {
		cause = CAUSE_LOCK;
		slice->culprit = by_task ? woken->waker : 0;
	}
	attrib_charge(a, to, cause, slice);
}

/* ---- from the socket's queue to the read ---- */

/*
 * Sets the message that the reader serves: the last one read before this one arrived. Returns the
 * time in ns from which the reader served it.
 */
static uint64_t attrib_rx_begin_service(struct attribution *a, uint64_t from)
{
	uint32_t before = a->env->messages->previous[a->message];
	uint64_t back = from;

	a->coming = a->message + 1;
	while (before && attrib_rx_message(a, before - 1)->read > from) {
		a->coming = before;
		before = a->env->messages->previous[before - 1];
	}
	a->serving = a->env->by_request ? 0 : before;
	if (before)
		back = attrib_rx_message(a, before - 1)->read;
	return back > a->env->history->since ? back : a->env->history->since;
}

static int attrib_rx_application(struct attribution *a, uint64_t from, uint64_t to)
{
	uint64_t back;
	int err;

	a->where = WHERE_APPLICATION;
	if (a->thread == THREAD_NONE) {
		attrib_not_recorded(a, to, CORE_UNKNOWN);
		return 0;
	}
	back = attrib_rx_begin_service(a, from);
	if (back > from)
		back = from;
	a->known = a->serving ? back : a->env->history->since;
	err = attrib_thread(a, back, to, to, attrib_rx_running_part);
	a->serving = 0;
	attrib_not_recorded(a, to, CORE_UNKNOWN);
	return err;
}

/* ---- complete message ---- */

static uint64_t attrib_rx_queued_at(const struct subject *subject)
{
	for (uint32_t i = 0; i < subject->n; i++)
		if (subject->pieces[i].role == PIECE_APPLICATION)
			return subject->pieces[i].begin;
	return 0;
}

void attrib_init(struct attrib_env *env)
{
	vec_init(&env->oncpus, ONCPUS_MAX);
	vec_init(&env->wakings, ONCPUS_MAX);
}

void attrib_release(struct attrib_env *env)
{
	vec_release(&env->oncpus);
	vec_release(&env->wakings);
}

uint64_t attrib_from(const struct messages *messages, const struct subject *subject)
{
	const struct message *m = &messages->all.items[subject->message];
	uint64_t from = m->first, enqueued = attrib_rx_queued_at(subject);
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

uint64_t attrib_until(const struct messages *messages, const struct subject *subject)
{
	const uint64_t end = messages->all.items[subject->message].read;

	return messages->departures && subject->returned > end ? subject->returned : end;
}

int attrib_message(struct attrib_env *env, const struct subject *subject)
{
	const struct message *m = &env->messages->all.items[subject->message];
	struct attribution a = { .env = env, .message = subject->message, .thread = m->thread,
				 .at = m->first, .end = m->read, .where = WHERE_RECEIVE,
				 .asleep = attrib_rx_asleep_reader };
	int err = 0;

	if (env->messages->departures)
		err = attrib_sent(&a, subject);
	for (uint32_t i = 0; !err && i < subject->n && !env->messages->departures; i++) {
		const struct event_piece *piece = &subject->pieces[i];
		const uint64_t begin = piece->begin > a.at ? piece->begin : a.at;
		const uint64_t end = piece->end < m->read ? piece->end : m->read;

		attrib_not_recorded(&a, begin < m->read ? begin : m->read, CORE_UNKNOWN);
		if (piece->role == PIECE_RECEIVE || piece->role == PIECE_BACKLOG)
			attrib_each_segment(&a, piece->core, begin, end, attrib_rx_receive_part);
		else if (piece->role == PIECE_APPLICATION && begin < end)
			err = attrib_rx_application(&a, begin, end);
		a.serving = 0;
	}
	attrib_not_recorded(&a, m->read, CORE_UNKNOWN);
	BUG_ON(!err && a.at < m->read);
	return err;
}
