/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of docs/design/diagnose.md in a naive form: it walks one stretch of time after the
 * other through everything that happened, for every question.
 */
#include <string.h>

#include "diagnose_host.h"

#define IDLE_EXIT_NS 1000000

/* A core's innermost activity. */
struct doing {
	enum { NOBODY, TASK, HARDIRQ, SOFTIRQ } what;
	uint32_t tid;      /* the task that has the core, in an interrupt, too */
	uint32_t vector;
	uint32_t depth;
};

/* A thread at some time. */
struct where_it_is {
	bool runs;
	uint32_t core;       /* running: there */
	uint64_t left_at;    /* else: since when */
	uint16_t left;
	uint32_t last_core;
	uint32_t call;       /* + 1 */
	bool faulted;
	uint64_t woken_at;   /* 0: not yet */
	bool by_interrupt;
	uint32_t waker, queue;
	uint64_t next_at;    /* when it runs again; 0: never */
	uint32_t next_core;
};

static void apply(struct doing *d, const struct trace_act *a)
{
	if (a->step == TRACE_SWITCH)
		*d = (struct doing){ .what = a->a ? TASK : NOBODY, .tid = a->a };
	else if (a->step == TRACE_IRQ || a->step == TRACE_SOFTIRQ)
		d->depth++;
	else if (a->step == TRACE_IRQ_END || a->step == TRACE_SOFTIRQ_END)
		d->depth--;
}

static struct doing core_at(const struct host *host, uint32_t core, uint64_t time)
{
	struct doing d = { .what = NOBODY };
	struct { int what; uint32_t vector; } nest[8] = { 0 };

	vec_for_each(&host->trace.acts, a) {
		if (a->time > time)
			break;
		if (a->core != core)
			continue;
		if (a->step == TRACE_IRQ || a->step == TRACE_SOFTIRQ) {
			nest[d.depth].what = a->step == TRACE_IRQ ? HARDIRQ : SOFTIRQ;
			nest[d.depth].vector = a->a;
		}
		apply(&d, a);
	}
	if (d.depth) {
		d.what = nest[d.depth - 1].what;
		d.vector = nest[d.depth - 1].vector;
	}
	return d;
}

/* All that happened to a thread up to `time`, and when it runs next. */
static struct where_it_is thread_at(const struct host *host, uint32_t tid, uint64_t time)
{
	uint32_t current[HOST_CORES] = { 0 }, depth[HOST_CORES] = { 0 };
	struct where_it_is w = { .left = LEFT_UNKNOWN };

	vec_for_each(&host->trace.acts, a) {
		const bool own = current[a->core] == tid;

		if (a->step == TRACE_WAKE && a->a == tid && a->time <= time) {
			w.woken_at = a->time;
			w.by_interrupt = depth[a->core] > 0;
			w.waker = current[a->core];
			w.queue = a->arg;
		} else if (a->step == TRACE_WAKE && a->a == tid && !w.runs && !w.next_at &&
			   !w.woken_at) {
			w.woken_at = a->time;
			w.by_interrupt = depth[a->core] > 0;
			w.waker = current[a->core];
			w.queue = a->arg;
		}
		if (a->step == TRACE_IRQ || a->step == TRACE_SOFTIRQ)
			depth[a->core]++;
		if (a->step == TRACE_IRQ_END || a->step == TRACE_SOFTIRQ_END)
			depth[a->core]--;
		if (a->time <= time && own && a->step == TRACE_CALL)
			w.call = a->a + 1, w.faulted = false;
		if (a->time <= time && own && a->step == TRACE_RETURN)
			w.call = 0;
		if (a->time <= time && own && a->step == TRACE_FAULT)
			w.faulted = true;
		if (a->step != TRACE_SWITCH)
			continue;
		if (a->time <= time && own) {
			w.runs = false;
			w.left = a->arg;
			w.left_at = a->time;
			w.last_core = a->core;
			w.woken_at = 0;
		}
		if (a->a == tid && a->time <= time) {
			if (w.left >= LEFT_ASLEEP && w.left <= LEFT_IO)
				w.faulted = false;
			w.runs = true;
			w.core = a->core;
		} else if (a->a == tid && !w.runs && !w.next_at) {
			w.next_at = a->time;
			w.next_core = a->core;
		}
		current[a->core] = a->a;
	}
	return w;
}

static enum call_class { OTHER, WAIT, RECEIVE, SEND, LOCK, SLEEP, FILES } class_of(uint32_t call)
{
	switch (call) {
	case 1 + 232:
		return WAIT;
	case 1 + 45:
	case 1 + 0:
		return RECEIVE;
	case 1 + 202:
		return LOCK;
	case 1 + 74:
		return FILES;
	case 1 + 44:
		return SEND;
	}
	return OTHER;
}

/* ---- messages ---- */

/* The first of the thread's reads after `time`, and the last up to it; NULL: none. */
static const struct trace_message *next_read(const struct host *host, uint32_t tid, uint64_t time)
{
	const struct trace_message *best = NULL;

	vec_for_each(&host->trace.messages, m)
		if (m->head.tid == tid && m->read > TRACE_START + time &&
		    (!best || m->read < best->read))
			best = m;
	return best;
}

static const struct trace_message *last_read(const struct host *host, uint32_t tid, uint64_t time)
{
	const struct trace_message *best = NULL;

	vec_for_each(&host->trace.messages, m)
		if (m->head.tid == tid && m->read <= TRACE_START + time &&
		    (!best || m->read > best->read))
			best = m;
	return best;
}

/* Whether the thread was in a call that waits for any, between the two or at their end. */
static bool waited(const struct host *host, uint32_t tid, uint64_t from, uint64_t to)
{
	uint32_t current[HOST_CORES] = { 0 };
	bool waits = false;

	vec_for_each(&host->trace.acts, a) {
		if (a->time > to)
			break;
		if (current[a->core] == tid && (a->step == TRACE_CALL || a->step == TRACE_RETURN)) {
			if (waits && a->time > from)
				return true;
			waits = a->step == TRACE_CALL && class_of(a->a + 1) == WAIT;
		}
		if (a->step == TRACE_SWITCH)
			current[a->core] = a->a;
	}
	return waits;
}

/* Which message the thread serves; 0: none. */
static uint64_t serves(const struct host *host, uint32_t tid, uint64_t time)
{
	const struct trace_message *m = last_read(host, tid, time);

	return m && !waited(host, tid, m->read - TRACE_START, time) ? m->head.id : 0;
}

/* The message that the call which the thread is in reads; NULL: none. */
static const struct trace_message *read_by_call(const struct host *host, uint32_t tid,
						uint64_t time)
{
	const struct trace_message *m = next_read(host, tid, time);
	uint32_t current[HOST_CORES] = { 0 };

	vec_for_each(&host->trace.acts, a) {
		if (m && a->time > time && TRACE_START + a->time < m->read &&
		    current[a->core] == tid && a->step == TRACE_RETURN)
			return NULL;
		if (a->step == TRACE_SWITCH)
			current[a->core] = a->a;
	}
	return m;
}

/* ---- rules ---- */

static uint32_t pid_of(uint32_t tid)
{
	return host_pid(tid - host_tid(0));
}

static void by_other(const struct doing *d, struct expected *e)
{
	e->culprit = d->tid;
	e->cause = pid_of(d->tid) == HOST_RECORDER ? CAUSE_HOSTLAT :
		   d->tid == host_tid(5) ? CAUSE_SOFTIRQ : CAUSE_CPU_WAIT;
}

static bool by_interrupt(const struct doing *d, struct expected *e)
{
	if (d->what == HARDIRQ)
		e->cause = CAUSE_INTERRUPT;
	else if (d->what == SOFTIRQ)
		e->cause = d->vector == 3 || d->vector == 2 ? CAUSE_OTHER_RECEIVE : CAUSE_SOFTIRQ;
	if (d->what == SOFTIRQ && d->tid == host_tid(5)) /* ksoftirqd does it */
		e->culprit = d->tid;
	return d->what == HARDIRQ || d->what == SOFTIRQ;
}

static void before_queue(const struct host *host, const struct trace_message *m, uint64_t time,
			 struct expected *e)
{
	const struct doing d = core_at(host, m->pieces[0].core, time);

	e->where = WHERE_RECEIVE;
	if (d.what == NOBODY)
		e->cause = CAUSE_IDLE_EXIT;
	else if (d.what == SOFTIRQ && d.vector == 3)
		e->cause = CAUSE_FUNCTION;
	else if (by_interrupt(&d, e))
		return;
	else if (d.tid == m->head.tid || d.tid == host_tid(5))
		e->cause = CAUSE_FUNCTION;
	else
		by_other(&d, e);
}

static void running(const struct host *host, const struct trace_message *m, uint64_t time,
		    const struct where_it_is *w, struct expected *e)
{
	const struct doing d = core_at(host, w->core, time);
	const struct trace_message *read;

	if (by_interrupt(&d, e))
		return;
	read = class_of(w->call) == RECEIVE ? read_by_call(host, m->head.tid, time) : NULL;
	if (read)
		e->message = read->head.id;
	if (e->message == m->head.id)
		e->message = 0;
	e->cause = e->message ? CAUSE_HEAD_OF_LINE : CAUSE_APPLICATION;
	e->culprit = e->message ? m->head.tid : 0;
}

static void asleep(const struct where_it_is *w, struct expected *e)
{
	const enum call_class class = class_of(w->call);
	const bool blocked = w->left == LEFT_BLOCKED;
	const uint32_t waker = w->by_interrupt ? 0 : w->waker;

	e->cause = CAUSE_APPLICATION;
	if (w->left == LEFT_STOPPED) {
		e->cause = CAUSE_STOPPED;
	} else if (w->faulted && !w->call) {
		e->cause = CAUSE_PAGE_FAULT;
	} else if (class == WAIT || (class == RECEIVE && w->left == LEFT_ASLEEP)) {
		e->message = 0;
		if (w->by_interrupt) {
			e->cause = CAUSE_FUNCTION;
			e->where = WHERE_RECEIVE;
		}
	} else if (class == LOCK) {
		e->cause = w->by_interrupt ? CAUSE_APPLICATION : CAUSE_LOCK;
		e->culprit = waker;
	} else if (w->left == LEFT_IO || class == FILES || (class == RECEIVE && blocked)) {
		e->cause = CAUSE_IO_WAIT;
	} else if (class == SEND) {
		e->cause = CAUSE_WINDOW;
	} else if (!w->call) {
		e->cause = CAUSE_UNEXPLAINED;
	} else if (blocked) {
		e->cause = CAUSE_LOCK;
		e->culprit = waker;
	}
}

/* For how long both cores are idle. */
static uint64_t idle(const struct host *host, uint32_t a, uint32_t b, uint64_t from, uint64_t to)
{
	uint64_t ns = 0, at = from;

	for (size_t i = 0; i <= host->trace.acts.len && at < to; i++) {
		const struct trace_act *act = i < host->trace.acts.len ?
					      &host->trace.acts.items[i] : NULL;
		const uint64_t end = act && act->time < to ? act->time : to;

		if (end <= at)
			continue;
		if (core_at(host, a, at).what == NOBODY && core_at(host, b, at).what == NOBODY)
			ns += end - at;
		at = end;
	}
	return ns;
}

static void runnable(const struct host *host, uint64_t time, const struct where_it_is *w,
		     struct expected *e)
{
	const uint32_t queue = w->left == LEFT_RUNNABLE ? w->last_core : w->queue;
	const uint64_t since = w->left == LEFT_RUNNABLE ? w->left_at : w->woken_at;
	struct doing d = core_at(host, w->next_core, time);

	if (d.what == NOBODY)
		d = core_at(host, queue, time);
	if (d.what == NOBODY)
		e->cause = idle(host, queue, w->next_core, since, w->next_at) <= IDLE_EXIT_NS ?
			   CAUSE_IDLE_EXIT :
			   host->throttles ? CAUSE_THROTTLED : CAUSE_CORE_STALL;
	else if (!by_interrupt(&d, e))
		by_other(&d, e);
}

/* The one stretch in which nothing changes. */
static struct expected expect(const struct host *host, const struct trace_message *m,
			      uint64_t begin, uint64_t end)
{
	const uint64_t queued = m->pieces[1].begin - TRACE_START;
	struct expected e = { .begin = begin, .end = end, .where = WHERE_APPLICATION };
	struct where_it_is w;

	if (begin < queued) {
		before_queue(host, m, begin, &e);
		return e;
	}
	w = thread_at(host, m->head.tid, begin);
	e.message = serves(host, m->head.tid, begin);
	if (w.runs)
		running(host, m, begin, &w, &e);
	else if (w.left == LEFT_UNKNOWN)
		e.cause = CAUSE_NOT_RECORDED, e.message = 0;
	else if (w.left != LEFT_RUNNABLE && begin < w.woken_at)
		asleep(&w, &e);
	else
		runnable(host, begin, &w, &e);
	return e;
}

void host_expect(const struct host *host, size_t place, struct expecteds *out)
{
	const struct trace_message *m = &host->trace.messages.items[place];
	const uint64_t to = m->read - TRACE_START, queued = m->pieces[1].begin - TRACE_START;
	uint64_t at = m->head.first - TRACE_START;

	vec_clear(out);
	while (at < to) {
		uint64_t next = at < queued ? queued : to;
		struct expected e;

		vec_for_each(&host->trace.acts, a)
			if (a->time > at && a->time < next)
				next = a->time;
		vec_for_each(&host->trace.messages, other)
			if (other->read > TRACE_START + at && other->read < TRACE_START + next)
				next = other->read - TRACE_START;
		e = expect(host, m, at, next);
		BUG_ON(vec_push(out, e));
		at = next;
	}
}
