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

struct core {
	uint32_t lost;      /* as the last event had it */
	uint64_t last;      /* time of the last edge */
	bool blind;         /* what it does isn't known */
	bool begun;
	bool missed;        /* an event came too late */
	uint32_t tid;       /* who has it; 0 = nobody */
	struct event_track track; /* the outermost span is the task's, or the idle one's */
	struct call_vec VEC_OF(struct timeline_call) calls; /* that wait */
	size_t calls_done;  /* the first of them don't any more */
	uint32_t too_deep;  /* open functions that found no room */
	bool calls_lost;    /* between TIMELINE_LOST and TIMELINE_AGAIN */
	bool calls_full;    /* there was no room to wait */
};

/* Interrupts and what is in them find room above the functions. */
#define CALLS_DEPTH (EVENT_DEPTH_MAX - 16)

struct timeline {
	struct core *cores;
	uint32_t n_cores;
	uint64_t start;
	struct timeline_queue *queue;
	uint64_t settled;   /* up to here it is written */
	struct timeline_tasks tasks;
	uint64_t too_late;  /* events: what is written already lacks them */
	struct event_writer *writer;
	int err;            /* the writer's first */
};

int timeline_new(struct timeline **out, uint32_t cores, uint64_t start_ns,
		 int (*name)(uint32_t tid, char *comm, uint32_t *tgid))
{
	struct timeline *t = calloc(1, sizeof(*t));

	*out = t;
	if (!t)
		return -ENOMEM;
	t->n_cores = cores;
	t->start = start_ns;
	t->cores = calloc(cores, sizeof(*t->cores));
	if (!t->cores || timeline_queue_new(&t->queue, cores) ||
	    timeline_tasks_init(&t->tasks, name)) {
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

static void edge(struct timeline *t, uint32_t core, uint64_t time, const struct event_edge *e)
{
	int err = event_writer_edge(t->writer, core, EVENT_DOMAIN_MONOTONIC, time, e);

	if (!t->err)
		t->err = err;
	t->cores[core].last = time;
}

static void begin(struct timeline *t, uint32_t core, uint64_t time, uint8_t type, uint32_t what,
		  uint16_t arg)
{
	const struct event_edge e = { .type = type, .what = what, .arg = arg };

	if (event_track_begin(&t->cores[core].track, time, what, arg, type))
		edge(t, core, time, &e);
}

static void end(struct timeline *t, uint32_t core, uint64_t time, uint8_t cont, uint16_t arg)
{
	struct event_track *track = &t->cores[core].track;
	struct event_edge e = event_track_end(track, cont);

	e.arg = arg;
	track->depth--;
	edge(t, core, time, &e);
}

/* Cuts the innermost spans until `depth` are open. */
static void cut_to(struct timeline *t, uint32_t core, uint64_t time, uint32_t depth)
{
	while (t->cores[core].track.depth > depth)
		end(t, core, time, SPAN_CONT, 0);
}

/* The innermost of that type; those inside of it are cut. One that isn't open began earlier. */
static void end_of(struct timeline *t, uint32_t core, uint64_t time, uint8_t type)
{
	const int at = event_track_find_type(&t->cores[core].track, type);

	if (at < 1)
		return;
	cut_to(t, core, time, (uint32_t)at + 1);
	end(t, core, time, 0, 0);
}

static bool is_interrupt(const struct event_open *open)
{
	return event_open_type(open) == SPAN_HARDIRQ || event_open_type(open) == SPAN_SOFTIRQ;
}

static bool in_interrupt(const struct core *c)
{
	for (uint32_t i = 1; i < c->track.depth; i++)
		if (is_interrupt(&c->track.open[i]))
			return true;
	return false;
}

/* ---- blind ---- */

/* What it was in may be over. */
static void forget_call(struct timeline *t, uint32_t tid)
{
	struct task *task = tid ? timeline_tasks_get(&t->tasks, tid) : NULL;

	if (!task)
		return;
	task->syscall = 0;
	task->n_calls = 0;
	task->faulted = task->in_fault = false;
}

/* Nothing is known of the core from its last event on. */
static void lose_sight(struct timeline *t, uint32_t core)
{
	struct core *c = &t->cores[core];

	if (c->blind)
		return;
	cut_to(t, core, c->last, 0);
	begin(t, core, c->last, SPAN_BLIND, 0, 0);
	c->blind = true;
	c->too_deep = 0;
}

/* From `time` on it is known again: `tid` has the core, since when is not. */
static void see(struct timeline *t, uint32_t core, uint64_t time, uint32_t tid)
{
	struct core *c = &t->cores[core];

	end(t, core, time, 0, 0);
	c->blind = false;
	c->tid = tid;
	if (tid)
		begin(t, core, time, SPAN_TASK | SPAN_CONT,
		      timeline_tasks_name(&t->tasks, t->writer, tid), LEFT_UNKNOWN);
	else
		begin(t, core, time, SPAN_IDLE | SPAN_CONT, 0, 0);
}

/* ---- functions ---- */

/* Those that the task leaves the core in. */
static void keep_calls(struct task *task, const struct core *c)
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

static void go_on_with_calls(struct timeline *t, uint32_t core, uint64_t time, struct task *task)
{
	for (uint32_t i = 0; i < task->n_calls; i++)
		begin(t, core, time, SPAN_FUNCTION | SPAN_CONT, task->calls[i], 0);
	free(task->calls);
	task->calls = NULL;
	task->n_calls = 0;
}

/* A system call begins in no function: those around its begin are on the way to it. */
static void leave_calls(struct timeline *t, uint32_t core, uint64_t time)
{
	const struct event_track *track = &t->cores[core].track;

	while (track->depth > 1 && event_open_type(&track->open[track->depth - 1]) == SPAN_FUNCTION)
		end(t, core, time, SPAN_CONT, 0);
}

static void calls_function(struct timeline *t, uint32_t core, const struct timeline_call *call)
{
	struct core *c = &t->cores[core];

	if (c->track.depth >= CALLS_DEPTH)
		c->too_deep++;
	else
		begin(t, core, call->time, SPAN_FUNCTION, call->symbol, 0);
}

/* One that isn't open was called before anything was known, or is the way to a system call. */
static void returns_from(struct timeline *t, uint32_t core, const struct timeline_call *call)
{
	struct core *c = &t->cores[core];
	uint32_t depth = c->track.depth;

	if (c->too_deep) {
		c->too_deep--;
		return;
	}
	for (; depth > 1; depth--) {
		const struct event_open *open = &c->track.open[depth - 1];

		if (is_interrupt(open))
			return;
		if (event_open_type(open) == SPAN_FUNCTION && open->what == call->symbol)
			break;
	}
	if (depth <= 1)
		return;
	cut_to(t, core, call->time, depth);
	end(t, core, call->time, 0, 0);
}

static void happens_call(struct timeline *t, uint32_t core, const struct timeline_call *call)
{
	struct core *c = &t->cores[core];

	if (call->what == TIMELINE_AGAIN)
		c->calls_lost = false;
	else if (call->what == TIMELINE_LOST)
		c->calls_lost = true;
	if (!c->begun)
		return;
	t->too_late += call->time < c->last && call->what <= TIMELINE_RETURN && !c->blind;
	if (call->what == TIMELINE_LOST || call->time < c->last) {
		t->tasks.losses++;
		lose_sight(t, core);
	}
	if (call->what == TIMELINE_AGAIN && call->time > c->last)
		c->last = call->time;
	if (c->blind || call->what > TIMELINE_RETURN)
		return;
	if (call->what == TIMELINE_CALL)
		calls_function(t, core, call);
	else
		returns_from(t, core, call);
}

/* Those up to `time`; of that very time, returns only: they come before what happens then. */
static void happen_calls(struct timeline *t, uint32_t core, uint64_t time)
{
	struct core *c = &t->cores[core];

	while (c->calls_done < c->calls.len) {
		const struct timeline_call *call = &c->calls.items[c->calls_done];

		if (call->time > time || (call->time == time && call->what == TIMELINE_CALL))
			break;
		happens_call(t, core, call);
		c->calls_done++;
	}
	if (c->calls_done < c->calls.len / 2 + 1)
		return;
	c->calls.len -= c->calls_done;
	memmove(c->calls.items, c->calls.items + c->calls_done,
		c->calls.len * sizeof(*c->calls.items));
	c->calls_done = 0;
}

/* ---- what happens ---- */

static void leaves(struct timeline *t, uint32_t core, const struct act *act)
{
	struct task *task = act->a ? timeline_tasks_get(&t->tasks, act->a) : NULL;
	struct core *c = &t->cores[core];
	uint8_t left = timeline_tasks_left(act->arg);

	if (task) {
		task->left = left;
		task->in_fault = left != LEFT_RUNNABLE && left != LEFT_STOPPED &&
				 left != LEFT_ENDED && !task->syscall && task->faulted;
		keep_calls(task, c);
		if (task->in_fault)
			begin(t, core, act->time, SPAN_FAULT | SPAN_CONT, 0, 0);
	}
	c->too_deep = 0;
	cut_to(t, core, act->time, 1);
	end(t, core, act->time, 0, act->a ? left : 0);
}

static void comes(struct timeline *t, uint32_t core, uint64_t time, uint32_t tid)
{
	struct task *task = tid ? timeline_tasks_get(&t->tasks, tid) : NULL;

	t->cores[core].tid = tid;
	if (!tid) {
		begin(t, core, time, SPAN_IDLE, 0, 0);
		return;
	}
	begin(t, core, time, SPAN_TASK, timeline_tasks_name(&t->tasks, t->writer, tid),
	      task ? task->left : LEFT_UNKNOWN);
	if (!task)
		return;
	if (task->syscall)
		begin(t, core, time, SPAN_SYSCALL | SPAN_CONT, task->syscall - 1, 0);
	go_on_with_calls(t, core, time, task);
	if (task->in_fault) { /* when it ends isn't told: at once */
		begin(t, core, time, SPAN_FAULT | SPAN_CONT, 0, 0);
		end(t, core, time, 0, 0);
		task->in_fault = task->faulted = false;
	}
}

static void switches(struct timeline *t, uint32_t core, const struct act *act)
{
	leaves(t, core, act);
	comes(t, core, act->time, act->b);
}

static void wakes(struct timeline *t, uint32_t core, const struct act *act)
{
	const struct event_wake wake = {
		.time = act->time,
		.task = timeline_tasks_name(&t->tasks, t->writer, act->a),
		.waker = timeline_tasks_name(&t->tasks, t->writer, act->b),
		.core = act->arg,
		.flags = in_interrupt(&t->cores[core]) ? WAKE_INTERRUPT : 0,
	};
	int err = event_writer_span(t->writer, core, EVENT_DOMAIN_MONOTONIC, EV_WAKE, act->time,
				    act->time, &wake);

	if (!t->err)
		t->err = err;
}

static void calls(struct timeline *t, uint32_t core, const struct act *act)
{
	struct task *task = timeline_tasks_get(&t->tasks, act->b);

	if (task) {
		task->syscall = act->a + 1;
		task->faulted = false;
	}
	leave_calls(t, core, act->time);
	begin(t, core, act->time, SPAN_SYSCALL, act->a, 0);
}

static void returns(struct timeline *t, uint32_t core, const struct act *act)
{
	struct task *task = timeline_tasks_get(&t->tasks, act->b);

	if (task)
		task->syscall = 0;
	end_of(t, core, act->time, SPAN_SYSCALL);
}

/* How long a fault took isn't told, but for one in which the task slept: leaves(). */
static void faults(struct timeline *t, uint32_t core, const struct act *act)
{
	struct task *task = timeline_tasks_get(&t->tasks, act->b);

	if (task)
		task->faulted = true;
	begin(t, core, act->time, SPAN_FAULT, 0, 0);
	end(t, core, act->time, 0, 0);
}

static void spans(struct timeline *t, uint32_t core, const struct act *act)
{
	switch (act->type) {
	case ACT_IRQ:
		begin(t, core, act->time, SPAN_HARDIRQ, act->a, 0);
		break;
	case ACT_VECTOR:
		begin(t, core, act->time, SPAN_HARDIRQ, SPAN_VECTOR + act->a, 0);
		break;
	case ACT_IRQ_END:
	case ACT_VECTOR_END:
		end_of(t, core, act->time, SPAN_HARDIRQ);
		break;
	case ACT_SOFTIRQ:
		begin(t, core, act->time, SPAN_SOFTIRQ, act->a, 0);
		break;
	case ACT_SOFTIRQ_END:
		end_of(t, core, act->time, SPAN_SOFTIRQ);
		break;
	case ACT_IDLE:
		begin(t, core, act->time, SPAN_IDLE, act->a + 1, 0);
		break;
	case ACT_IDLE_END:
		end_of(t, core, act->time, SPAN_IDLE);
		break;
	}
}

/* No interrupt is left open by it: a softirq interrupts no other. */
static bool outside_interrupts(const struct act *act)
{
	return act->type != ACT_IRQ && act->type != ACT_IRQ_END && act->type != ACT_VECTOR &&
	       act->type != ACT_VECTOR_END && act->type != ACT_WAKE;
}

/*
 * Who has the core, each event says. Where that is another than the last switch said, a switch is
 * missing, whatever the counter of losses says: some kernels run no program for some tasks. False:
 * what the event is part of isn't known.
 */
static bool verify(struct timeline *t, uint32_t core, const struct act *act)
{
	const uint32_t tid = act->type == ACT_SWITCH ? act->a : act->b;
	struct core *c = &t->cores[core];

	if (act->lost != c->lost || c->missed) {
		c->lost = act->lost;
		c->missed = false;
		t->tasks.losses++;
		lose_sight(t, core);
	}
	if (!c->blind && c->tid != tid) {
		forget_call(t, c->tid);
		forget_call(t, tid);
		lose_sight(t, core);
	}
	if (c->blind && !outside_interrupts(act))
		return false;
	if (c->blind)
		see(t, core, act->time, tid);
	return true;
}

static void happens(struct timeline *t, uint32_t core, const struct act *act)
{
	struct core *c = &t->cores[core];

	if (!c->begun) {
		c->begun = true;
		c->last = t->start < act->time ? t->start : act->time;
		c->lost = act->lost;
		lose_sight(t, core);
	}
	if (c->calls_lost) {
		lose_sight(t, core);
		c->lost = act->lost;
		return;
	}
	if (!verify(t, core, act))
		return;
	switch (act->type) {
	case ACT_SWITCH:
		switches(t, core, act);
		break;
	case ACT_WAKE:
		wakes(t, core, act);
		break;
	case ACT_SYSCALL:
		calls(t, core, act);
		break;
	case ACT_SYSCALL_END:
		returns(t, core, act);
		break;
	case ACT_FAULT:
		faults(t, core, act);
		break;
	default:
		spans(t, core, act);
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

/* What is told is that some are missing, from the last that found room to the next that does. */
static int wait(struct core *c, const struct timeline_call *call)
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
	struct core *c;
	int err = 0;

	if (core >= t->n_cores)
		return 0;
	c = &t->cores[core];
	if (c->calls_full && c->calls.len + 1 < c->calls.max) {
		c->calls_full = false;
		err = wait(c, &(struct timeline_call){ call->time, 0, TIMELINE_AGAIN });
	}
	return err ? err : wait(c, call);
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
			timeline_tasks_named(&t->tasks, &act);
			continue;
		}
		happen_calls(t, core, act.time);
		happens(t, core, &act);
	}
	for (core = 0; core < t->n_cores; core++)
		happen_calls(t, core, until);
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
		struct core *c = &t->cores[core];

		if (c->begun && c->missed)
			lose_sight(t, core);
		cut_to(t, core, end_ns > c->last ? end_ns : c->last, 0);
	}
	return err ? err : t->err;
}
