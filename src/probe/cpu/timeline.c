/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/cpu/timeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "event/track.h"
#include "probe/cpu/timeline_queue.h"
#include "probe/cpu/timeline_tasks.h"

struct timeline_core {
	uint32_t lost;      /* events lost on this core so far, as its last event states */
	uint64_t last;      /* time of the last edge, i.e. begin or end of a span */
	bool unrecorded;    /* the core is not recorded at present */
	bool begun;
	bool missed;        /* an event came too late and was dropped */
	uint32_t tid;       /* task on the core; 0 = idle */
	struct event_track track; /* open spans; the outermost is the task's or idle */
	/* function calls; those from index calls_done on are not processed yet */
	struct call_vec VEC_OF(struct timeline_call) calls;
	size_t calls_done;  /* number of leading `calls` that are processed */
	uint32_t too_deep;  /* number of open functions nested deeper than CALLS_DEPTH */
	bool calls_lost;    /* calls are missing, from TIMELINE_LOST to TIMELINE_AGAIN */
	bool calls_full;    /* calls were dropped, as too many waited */
};

/* Largest depth of a function's span: leaves levels for interrupts and their functions. */
#define CALLS_DEPTH (EVENT_DEPTH_MAX - 16)

struct timeline {
	struct timeline_core *cores;
	uint32_t n_cores;
	uint64_t start;
	struct timeline_queue *queue;
	uint64_t settled;   /* events are written up to this time */
	struct timeline_tasks tasks;
	uint64_t too_late;  /* number of events older than `settled` when they came */
	struct event_writer *writer;
	int err;            /* first error of `writer`; 0: none */
};

int timeline_new(struct timeline **out, uint32_t cores, uint64_t start_ns,
		 const struct timeline_lookup *lookup)
{
	struct timeline *t = calloc(1, sizeof(*t));

	*out = t;
	if (!t)
		return -ENOMEM;
	t->n_cores = cores;
	t->start = start_ns;
	t->cores = calloc(cores, sizeof(*t->cores));
	if (!t->cores || timeline_queue_new(&t->queue, cores) ||
	    timeline_tasks_init(&t->tasks, lookup)) {
		timeline_free(t);
		*out = NULL;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < cores; i++)
		vec_init(&t->cores[i].calls, TIMELINE_CALLS);
	return 0;
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; t->cores && i < t->n_cores; i++)
		vec_release(&t->cores[i].calls);
	free(t->cores);
	timeline_queue_free(t->queue);
	timeline_tasks_release(&t->tasks);
	free(t);
}

/* ---- edges ---- */

static void timeline_put_edge(struct timeline *t, uint32_t core, uint64_t time,
			      const struct event_edge *e)
{
	int err = event_writer_edge(t->writer, core, EVENT_DOMAIN_MONOTONIC, time, e);

	if (!t->err)
		t->err = err;
	t->cores[core].last = time;
}

static void timeline_begin_span(struct timeline *t, uint32_t core, uint64_t time, uint8_t type,
				uint32_t what, uint16_t arg)
{
	const struct event_edge e = { .type = type, .what = what, .arg = arg };

	if (event_track_begin(&t->cores[core].track, time, what, arg, type))
		timeline_put_edge(t, core, time, &e);
}

static void timeline_end_span(struct timeline *t, uint32_t core, uint64_t time, uint8_t cont,
			      uint16_t arg)
{
	struct event_track *track = &t->cores[core].track;
	struct event_edge e = event_track_end(track, cont);

	e.arg = arg;
	track->depth--;
	timeline_put_edge(t, core, time, &e);
}

/* Cuts the innermost spans until `depth` are open. */
static void timeline_cut_to(struct timeline *t, uint32_t core, uint64_t time, uint32_t depth)
{
	while (t->cores[core].track.depth > depth)
		timeline_end_span(t, core, time, SPAN_CONT, 0);
}

/* Ends the innermost span of a type, cuts spans inside. No-op if it began before the trace. */
static void timeline_end_type(struct timeline *t, uint32_t core, uint64_t time, uint8_t type)
{
	const int at = event_track_find_type(&t->cores[core].track, type);

	if (at < 1)
		return;
	timeline_cut_to(t, core, time, (uint32_t)at + 1);
	timeline_end_span(t, core, time, 0, 0);
}

static bool timeline_is_interrupt(const struct event_open *open)
{
	return event_open_type(open) == SPAN_HARDIRQ || event_open_type(open) == SPAN_SOFTIRQ;
}

static bool timeline_in_interrupt(const struct timeline_core *c)
{
	for (uint32_t i = 1; i < c->track.depth; i++)
		if (timeline_is_interrupt(&c->track.open[i]))
			return true;
	return false;
}

/* ---- not recorded ---- */

/* Forgets a task's system call and functions, which may have ended unseen. */
static void timeline_forget_call(struct timeline *t, uint32_t tid)
{
	struct timeline_task *task = tid ? timeline_tasks_get(&t->tasks, tid) : NULL;

	if (!task)
		return;
	task->syscall = 0;
	task->n_calls = 0;
	task->faulted = task->in_fault = false;
}

/* Marks the core as not recorded from its last event on. */
static void timeline_lose_core(struct timeline *t, uint32_t core)
{
	struct timeline_core *c = &t->cores[core];

	if (c->unrecorded)
		return;
	timeline_cut_to(t, core, c->last, 0);
	timeline_begin_span(t, core, c->last, SPAN_BLIND, 0, 0);
	c->unrecorded = true;
	c->too_deep = 0;
}

/* Marks the core as recorded from `time` on; `tid` has run there for an unknown time. */
static void timeline_regain_core(struct timeline *t, uint32_t core, uint64_t time, uint32_t tid)
{
	struct timeline_core *c = &t->cores[core];

	timeline_end_span(t, core, time, 0, 0);
	c->unrecorded = false;
	c->tid = tid;
	if (tid)
		timeline_begin_span(t, core, time, SPAN_TASK | SPAN_CONT,
				    timeline_tasks_name(&t->tasks, t->writer, tid), LEFT_UNKNOWN);
	else
		timeline_begin_span(t, core, time, SPAN_IDLE | SPAN_CONT, 0, 0);
}

/* ---- functions ---- */

/* Saves the functions that are open when the task leaves the core. */
static void timeline_save_calls(struct timeline_task *task, const struct timeline_core *c)
{
	task->n_calls = 0;
	for (uint32_t i = 1; i < c->track.depth; i++) {
		if (event_open_type(&c->track.open[i]) != SPAN_FUNCTION)
			continue;
		if (!task->calls)
			task->calls = malloc(EVENT_DEPTH_MAX * sizeof(*task->calls));
		if (!task->calls)
			return;
		task->calls[task->n_calls++] = c->track.open[i].what;
	}
}

static void timeline_resume_calls(struct timeline *t, uint32_t core, uint64_t time,
				  struct timeline_task *task)
{
	for (uint32_t i = 0; i < task->n_calls; i++)
		timeline_begin_span(t, core, time, SPAN_FUNCTION | SPAN_CONT, task->calls[i], 0);
	free(task->calls);
	task->calls = NULL;
	task->n_calls = 0;
}

/* Ends spans of functions open at a system call: they led to it and do not contain it. */
static void timeline_cut_calls(struct timeline *t, uint32_t core, uint64_t time)
{
	const struct event_track *track = &t->cores[core].track;

	while (track->depth > 1 && event_open_type(&track->open[track->depth - 1]) == SPAN_FUNCTION)
		timeline_end_span(t, core, time, SPAN_CONT, 0);
}

static void timeline_on_function(struct timeline *t, uint32_t core,
				 const struct timeline_call *call)
{
	struct timeline_core *c = &t->cores[core];

	if (c->track.depth >= CALLS_DEPTH)
		c->too_deep++;
	else
		timeline_begin_span(t, core, call->time, SPAN_FUNCTION, call->symbol, 0);
}

/* Ends a function's span, unless it began before the trace or was cut at a system call. */
static void timeline_on_return(struct timeline *t, uint32_t core, const struct timeline_call *call)
{
	struct timeline_core *c = &t->cores[core];
	uint32_t depth = c->track.depth;

	if (c->too_deep) {
		c->too_deep--;
		return;
	}
	for (; depth > 1; depth--) {
		const struct event_open *open = &c->track.open[depth - 1];

		if (timeline_is_interrupt(open))
			return;
		if (event_open_type(open) == SPAN_FUNCTION && open->what == call->symbol)
			break;
	}
	if (depth <= 1)
		return;
	timeline_cut_to(t, core, call->time, depth);
	timeline_end_span(t, core, call->time, 0, 0);
}

static void timeline_on_call(struct timeline *t, uint32_t core, const struct timeline_call *call)
{
	struct timeline_core *c = &t->cores[core];

	if (call->what == TIMELINE_AGAIN)
		c->calls_lost = false;
	else if (call->what == TIMELINE_LOST)
		c->calls_lost = true;
	if (!c->begun)
		return;
	t->too_late += call->time < c->last && call->what <= TIMELINE_RETURN && !c->unrecorded;
	if (call->what == TIMELINE_LOST || call->time < c->last) {
		t->tasks.losses++;
		timeline_lose_core(t, core);
	}
	if (call->what == TIMELINE_AGAIN && call->time > c->last)
		c->last = call->time;
	if (c->unrecorded || call->what > TIMELINE_RETURN)
		return;
	if (call->what == TIMELINE_CALL)
		timeline_on_function(t, core, call);
	else
		timeline_on_return(t, core, call);
}

/* Processes function calls before `time` and function returns up to it, which precede events. */
static void timeline_run_calls(struct timeline *t, uint32_t core, uint64_t time)
{
	struct timeline_core *c = &t->cores[core];

	while (c->calls_done < c->calls.len) {
		const struct timeline_call *call = &c->calls.items[c->calls_done];

		if (call->time > time || (call->time == time && call->what == TIMELINE_CALL))
			break;
		timeline_on_call(t, core, call);
		c->calls_done++;
	}
	if (c->calls_done < c->calls.len / 2 + 1)
		return;
	c->calls.len -= c->calls_done;
	memmove(c->calls.items, c->calls.items + c->calls_done,
		c->calls.len * sizeof(*c->calls.items));
	c->calls_done = 0;
}

/* ---- events ---- */

static void timeline_task_leaves(struct timeline *t, uint32_t core, const struct act *act)
{
	struct timeline_task *task = act->a ? timeline_tasks_get(&t->tasks, act->a) : NULL;
	struct timeline_core *c = &t->cores[core];
	uint8_t left = timeline_tasks_left(act->arg);

	if (task) {
		task->left = left;
		task->in_fault = left != LEFT_RUNNABLE && left != LEFT_STOPPED &&
				 left != LEFT_ENDED && !task->syscall && task->faulted;
		timeline_save_calls(task, c);
		if (task->in_fault)
			timeline_begin_span(t, core, act->time, SPAN_FAULT | SPAN_CONT, 0, 0);
	}
	c->too_deep = 0;
	timeline_cut_to(t, core, act->time, 1);
	timeline_end_span(t, core, act->time, 0, act->a ? left : 0);
}

static void timeline_task_comes(struct timeline *t, uint32_t core, uint64_t time, uint32_t tid)
{
	struct timeline_task *task = tid ? timeline_tasks_get(&t->tasks, tid) : NULL;

	t->cores[core].tid = tid;
	if (!tid) {
		timeline_begin_span(t, core, time, SPAN_IDLE, 0, 0);
		return;
	}
	timeline_begin_span(t, core, time, SPAN_TASK,
			    timeline_tasks_name(&t->tasks, t->writer, tid),
			    task ? task->left : LEFT_UNKNOWN);
	if (!task)
		return;
	if (task->syscall)
		timeline_begin_span(t, core, time, SPAN_SYSCALL | SPAN_CONT, task->syscall - 1, 0);
	timeline_resume_calls(t, core, time, task);
	if (task->in_fault) { /* ends the page fault now, as no event shows its end */
		timeline_begin_span(t, core, time, SPAN_FAULT | SPAN_CONT, 0, 0);
		timeline_end_span(t, core, time, 0, 0);
		task->in_fault = task->faulted = false;
	}
}

static void timeline_on_switch(struct timeline *t, uint32_t core, const struct act *act)
{
	timeline_task_leaves(t, core, act);
	timeline_task_comes(t, core, act->time, act->b);
}

static void timeline_on_wake(struct timeline *t, uint32_t core, const struct act *act)
{
	const struct event_wake wake = {
		.time = act->time,
		.task = timeline_tasks_name(&t->tasks, t->writer, act->a),
		.waker = timeline_tasks_name(&t->tasks, t->writer, act->b),
		.core = act->arg,
		.flags = timeline_in_interrupt(&t->cores[core]) ? WAKE_INTERRUPT : 0,
	};
	int err = event_writer_span(t->writer, core, EVENT_DOMAIN_MONOTONIC, EV_WAKE, act->time,
				    act->time, &wake);

	if (!t->err)
		t->err = err;
}

static void timeline_on_syscall(struct timeline *t, uint32_t core, const struct act *act)
{
	struct timeline_task *task = timeline_tasks_get(&t->tasks, act->b);

	if (task) {
		task->syscall = act->a + 1;
		task->faulted = false;
	}
	timeline_cut_calls(t, core, act->time);
	timeline_begin_span(t, core, act->time, SPAN_SYSCALL, act->a, 0);
}

static void timeline_on_syscall_end(struct timeline *t, uint32_t core, const struct act *act)
{
	struct timeline_task *task = timeline_tasks_get(&t->tasks, act->b);

	if (task)
		task->syscall = 0;
	timeline_end_type(t, core, act->time, SPAN_SYSCALL);
}

/* Adds a page fault, of length 0: its end is unknown unless the task slept in it. */
static void timeline_on_fault(struct timeline *t, uint32_t core, const struct act *act)
{
	struct timeline_task *task = timeline_tasks_get(&t->tasks, act->b);

	if (task)
		task->faulted = true;
	timeline_begin_span(t, core, act->time, SPAN_FAULT, 0, 0);
	timeline_end_span(t, core, act->time, 0, 0);
}

static void timeline_on_span(struct timeline *t, uint32_t core, const struct act *act)
{
	switch (act->type) {
	case ACT_IRQ:
		timeline_begin_span(t, core, act->time, SPAN_HARDIRQ, act->a, 0);
		break;
	case ACT_VECTOR:
		timeline_begin_span(t, core, act->time, SPAN_HARDIRQ, SPAN_VECTOR + act->a, 0);
		break;
	case ACT_IRQ_END:
	case ACT_VECTOR_END:
		timeline_end_type(t, core, act->time, SPAN_HARDIRQ);
		break;
	case ACT_SOFTIRQ:
		timeline_begin_span(t, core, act->time, SPAN_SOFTIRQ, act->a, 0);
		break;
	case ACT_SOFTIRQ_END:
		timeline_end_type(t, core, act->time, SPAN_SOFTIRQ);
		break;
	case ACT_IDLE:
		timeline_begin_span(t, core, act->time, SPAN_IDLE, act->a + 1, 0);
		break;
	case ACT_IDLE_END:
		timeline_end_type(t, core, act->time, SPAN_IDLE);
		break;
	}
}

/* Returns true if the event shows that no other interrupt is open; a softirq interrupts none. */
static bool timeline_is_outside_interrupts(const struct act *act)
{
	return act->type != ACT_IRQ && act->type != ACT_IRQ_END && act->type != ACT_VECTOR &&
	       act->type != ACT_VECTOR_END && act->type != ACT_WAKE;
}

/*
 * Returns false if it is unknown which spans are open at the event. Each event names the core's
 * task: a task other than that of the last switch proves that an event of a switch is missing. Such
 * switches are not counted as lost, as some kernels do not run the program for some tasks.
 */
static bool timeline_verify_core(struct timeline *t, uint32_t core, const struct act *act)
{
	const uint32_t tid = act->type == ACT_SWITCH ? act->a : act->b;
	struct timeline_core *c = &t->cores[core];

	if (act->lost != c->lost || c->missed) {
		c->lost = act->lost;
		c->missed = false;
		t->tasks.losses++;
		timeline_lose_core(t, core);
	}
	if (!c->unrecorded && c->tid != tid) {
		timeline_forget_call(t, c->tid);
		timeline_forget_call(t, tid);
		timeline_lose_core(t, core);
	}
	if (c->unrecorded && !timeline_is_outside_interrupts(act))
		return false;
	if (c->unrecorded)
		timeline_regain_core(t, core, act->time, tid);
	return true;
}

static void timeline_on_event(struct timeline *t, uint32_t core, const struct act *act)
{
	struct timeline_core *c = &t->cores[core];

	if (!c->begun) {
		c->begun = true;
		c->last = t->start < act->time ? t->start : act->time;
		c->lost = act->lost;
		timeline_lose_core(t, core);
	}
	if (c->calls_lost) {
		timeline_lose_core(t, core);
		c->lost = act->lost;
		return;
	}
	if (!timeline_verify_core(t, core, act))
		return;
	switch (act->type) {
	case ACT_SWITCH:
		timeline_on_switch(t, core, act);
		break;
	case ACT_WAKE:
		timeline_on_wake(t, core, act);
		break;
	case ACT_SYSCALL:
		timeline_on_syscall(t, core, act);
		break;
	case ACT_SYSCALL_END:
		timeline_on_syscall_end(t, core, act);
		break;
	case ACT_FAULT:
		timeline_on_fault(t, core, act);
		break;
	default:
		timeline_on_span(t, core, act);
	}
	c->last = act->time;
}

int timeline_put(struct timeline *t, struct event_writer *writer, uint32_t core,
		 const struct act *act)
{
	int err;

	if (act->type != ACT_NAME && act->time < t->settled) {
		t->too_late++;
		t->cores[core].missed = true;
		return 0;
	}
	err = timeline_queue_put(t->queue, core, act);
	if (err != -E2BIG)
		return err;
	err = timeline_settle(t, writer, timeline_queue_middle(t->queue, core));
	return err ? err : timeline_put(t, writer, core, act);
}

/*
 * Adds a function's call or return. If the queue is full, its last entry becomes TIMELINE_LOST, and
 * calls are dropped until there is room again.
 */
static int timeline_add_call(struct timeline_core *c, const struct timeline_call *call)
{
	int err = vec_push(&c->calls, *call);

	if (err == -E2BIG && c->calls.len) {
		*vec_last(&c->calls) = (struct timeline_call){
			.time = vec_last(&c->calls)->time, .what = TIMELINE_LOST,
		};
		c->calls_full = true;
		return 0;
	}
	return err;
}

int timeline_call(struct timeline *t, uint32_t core, const struct timeline_call *call)
{
	struct timeline_core *c;
	int err = 0;

	if (core >= t->n_cores)
		return 0;
	c = &t->cores[core];
	if (c->calls_full && c->calls.len + 1 < c->calls.max) {
		c->calls_full = false;
		err = timeline_add_call(c,
					&(struct timeline_call){ call->time, 0, TIMELINE_AGAIN });
	}
	return err ? err : timeline_add_call(c, call);
}

uint64_t timeline_too_late(const struct timeline *t)
{
	return t->too_late;
}

int timeline_settle(struct timeline *t, struct event_writer *writer, uint64_t until)
{
	struct act act;
	uint32_t core;

	t->writer = writer;
	t->err = 0;
	if (until < t->settled)
		return 0;
	timeline_queue_order(t->queue);
	while (timeline_queue_next(t->queue, until, &core, &act)) {
		if (act.type == ACT_NAME) {
			timeline_tasks_named(&t->tasks, t->writer, &act);
			continue;
		}
		timeline_run_calls(t, core, act.time);
		timeline_on_event(t, core, &act);
	}
	for (core = 0; core < t->n_cores; core++)
		timeline_run_calls(t, core, until);
	t->settled = until;
	return t->err;
}

void timeline_lost(struct timeline *t, uint32_t core, uint32_t lost)
{
	t->cores[core].missed |= lost != t->cores[core].lost;
}

int timeline_end(struct timeline *t, struct event_writer *writer, uint64_t end_ns)
{
	int err = timeline_settle(t, writer, UINT64_MAX);

	for (uint32_t core = 0; core < t->n_cores; core++) {
		struct timeline_core *c = &t->cores[core];

		if (c->begun && c->missed)
			timeline_lose_core(t, core);
		timeline_cut_to(t, core, end_ns > c->last ? end_ns : c->last, 0);
	}
	return err ? err : t->err;
}
