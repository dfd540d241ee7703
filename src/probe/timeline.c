/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/timeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* include/linux/sched.h: a task's state when it leaves */
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED 0x4
#define TASK_TRACED 0x8
#define TASK_ENDED (0x10 | 0x20 | 0x80) /* exiting, or dead */

struct task {
	uint32_t tid;       /* 0 = free: the idle tasks have none of these */
	uint32_t tgid;
	char comm[EVENT_COMM_LEN];
	uint32_t name;      /* DICT_TASK; 0: not yet */
	uint32_t syscall;   /* the one it is in, + 1; if that was before no loss, see `losses` */
	uint32_t losses;
	uint8_t left;       /* enum task_left */
	bool faulted;       /* since it was in a system call */
	bool in_fault;      /* it sleeps in one */
	bool named;
};

struct open {
	uint8_t type;
	uint32_t what;
};

struct core {
	struct act late[TIMELINE_LATE]; /* by time */
	uint32_t n_late;
	uint32_t lost;      /* as the last event had it */
	uint64_t last;      /* time of the last edge */
	bool blind;         /* who has it isn't known */
	bool begun;
	uint32_t tid;       /* who has it; 0 = nobody */
	struct open open[EVENT_DEPTH_MAX]; /* the first is the task's, or the idle one's */
	uint32_t depth;
};

struct timeline {
	struct core *cores;
	uint32_t n_cores;
	uint64_t start;
	int (*name)(uint32_t tid, char *comm, uint32_t *tgid);
	struct task *tasks; /* open addressing by tid */
	uint32_t n_tasks, room; /* a power of two */
	struct event_writer *writer;
	uint32_t losses;    /* how often something was lost */
	int err;            /* the writer's first */
};

int timeline_new(struct timeline **out, uint32_t cores, uint64_t start_ns,
		 int (*name)(uint32_t tid, char *comm, uint32_t *tgid))
{
	struct timeline *t = calloc(1, sizeof(*t));

	*out = t;
	if (!t)
		return -ENOMEM;
	t->name = name;
	t->n_cores = cores;
	t->start = start_ns;
	t->room = 1024;
	t->cores = calloc(cores, sizeof(*t->cores));
	t->tasks = calloc(t->room, sizeof(*t->tasks));
	if (!t->cores || !t->tasks) {
		timeline_free(t);
		*out = NULL;
		return -ENOMEM;
	}
	return 0;
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	free(t->cores);
	free(t->tasks);
	free(t);
}

/* ---- tasks ---- */

static struct task *find(struct task *tasks, uint32_t room, uint32_t tid)
{
	uint32_t i = tid * 0x9e3779b1U & (room - 1);

	while (tasks[i].tid && tasks[i].tid != tid)
		i = (i + 1) & (room - 1);
	return &tasks[i];
}

static bool grow(struct timeline *t)
{
	struct task *more = t->room < 2 * TIMELINE_TASKS ?
			    calloc(2UL * t->room, sizeof(*more)) : NULL;

	if (!more)
		return false;
	for (uint32_t i = 0; i < t->room; i++)
		if (t->tasks[i].tid)
			*find(more, 2 * t->room, t->tasks[i].tid) = t->tasks[i];
	free(t->tasks);
	t->tasks = more;
	t->room *= 2;
	return true;
}

/* NULL: there is no room for it. */
static struct task *task_of(struct timeline *t, uint32_t tid)
{
	struct task *task = find(t->tasks, t->room, tid);

	if (task->tid && task->losses != t->losses) { /* it may have returned meanwhile */
		task->losses = t->losses;
		task->syscall = 0;
		task->faulted = task->in_fault = false;
	}
	if (task->tid)
		return task;
	if (t->n_tasks >= t->room / 2) {
		if (!grow(t))
			return NULL;
		task = find(t->tasks, t->room, tid);
	}
	t->n_tasks++;
	task->tid = tid;
	task->losses = t->losses;
	return task;
}

static uint32_t name_of(struct timeline *t, uint32_t tid)
{
	struct task *task = tid ? task_of(t, tid) : NULL;
	char text[64];

	if (!task)
		return 0;
	if (task->name)
		return task->name;
	if (!task->named) {
		task->named = true;
		if (!t->name || t->name(tid, task->comm, &task->tgid))
			task->comm[0] = '\0';
	}
	snprintf(text, sizeof(text), "%.*s (%u/%u)", EVENT_COMM_LEN,
		 task->comm[0] ? task->comm : "?", task->tgid, tid);
	task->name = event_writer_intern(t->writer, DICT_TASK, text);
	return task->name;
}

static void named(struct timeline *t, const struct act *act)
{
	struct task *task = task_of(t, act->a);

	if (!task)
		return;
	if (task->tgid != act->tgid) /* its number was another's: nothing else of that holds */
		*task = (struct task){ .tid = act->a, .tgid = act->tgid };
	memcpy(task->comm, act->comm, sizeof(task->comm));
	task->comm[sizeof(task->comm) - 1] = '\0';
	task->named = true;
	task->name = 0;
}

static uint8_t left_as(uint16_t arg)
{
	const uint16_t state = arg & (ACT_PREEMPTED - 1);

	if ((arg & ACT_PREEMPTED) || !state)
		return LEFT_RUNNABLE;
	if (state & TASK_ENDED)
		return LEFT_ENDED;
	if (state & (TASK_STOPPED | TASK_TRACED))
		return LEFT_STOPPED;
	if (arg & ACT_IOWAIT)
		return LEFT_IO;
	return state & TASK_UNINTERRUPTIBLE ? LEFT_BLOCKED : LEFT_ASLEEP;
}

/* ---- edges ---- */

static void edge(struct timeline *t, uint32_t core, uint64_t time, uint8_t type, uint32_t what,
		 uint16_t arg)
{
	const struct event_edge e = { .type = type, .what = what, .arg = arg };
	int err = event_writer_edge(t->writer, core, EVENT_DOMAIN_MONOTONIC, time, &e);

	if (!t->err)
		t->err = err;
	t->cores[core].last = time;
}

static void begin(struct timeline *t, uint32_t core, uint64_t time, uint8_t type, uint32_t what,
		  uint16_t arg)
{
	struct core *c = &t->cores[core];

	if (c->depth == EVENT_DEPTH_MAX)
		return;
	c->open[c->depth++] = (struct open){ .type = type & SPAN_TYPE_MASK, .what = what };
	edge(t, core, time, type, what, arg);
}

static void end(struct timeline *t, uint32_t core, uint64_t time, uint8_t cont, uint16_t arg)
{
	struct core *c = &t->cores[core];
	const struct open *o = &c->open[--c->depth];

	edge(t, core, time, o->type | SPAN_END | cont, o->what, arg);
}

/* The innermost of that type; those inside of it are cut. One that isn't open began earlier. */
static void end_of(struct timeline *t, uint32_t core, uint64_t time, uint8_t type)
{
	struct core *c = &t->cores[core];
	uint32_t depth = c->depth;

	while (depth > 1 && c->open[depth - 1].type != type)
		depth--;
	if (depth <= 1)
		return;
	while (c->depth > depth)
		end(t, core, time, SPAN_CONT, 0);
	end(t, core, time, 0, 0);
}

static bool in_interrupt(const struct core *c)
{
	for (uint32_t i = 1; i < c->depth; i++)
		if (c->open[i].type == SPAN_HARDIRQ || c->open[i].type == SPAN_SOFTIRQ)
			return true;
	return false;
}

/* ---- blind ---- */

/* What it was in may be over. */
static void forget_call(struct timeline *t, uint32_t tid)
{
	struct task *task = tid ? task_of(t, tid) : NULL;

	if (!task)
		return;
	task->syscall = 0;
	task->faulted = task->in_fault = false;
}

/* Nothing is known of the core from its last event on. */
static void lose_sight(struct timeline *t, uint32_t core)
{
	struct core *c = &t->cores[core];

	if (c->blind)
		return;
	while (c->depth)
		end(t, core, c->last, SPAN_CONT, 0);
	begin(t, core, c->last, SPAN_BLIND, 0, 0);
	c->blind = true;
}

/* From `time` on it is known again: `tid` has the core, since when is not. */
static void see(struct timeline *t, uint32_t core, uint64_t time, uint32_t tid)
{
	struct core *c = &t->cores[core];

	end(t, core, time, 0, 0);
	c->blind = false;
	c->tid = tid;
	if (tid)
		begin(t, core, time, SPAN_TASK | SPAN_CONT, name_of(t, tid), LEFT_UNKNOWN);
	else
		begin(t, core, time, SPAN_IDLE | SPAN_CONT, 0, 0);
}

/* ---- what happens ---- */

static void leaves(struct timeline *t, uint32_t core, const struct act *act)
{
	struct task *task = act->a ? task_of(t, act->a) : NULL;
	struct core *c = &t->cores[core];
	uint8_t left = left_as(act->arg);

	if (task) {
		task->left = left;
		task->in_fault = left != LEFT_RUNNABLE && left != LEFT_STOPPED &&
				 left != LEFT_ENDED && !task->syscall && task->faulted;
		if (task->in_fault)
			begin(t, core, act->time, SPAN_FAULT | SPAN_CONT, 0, 0);
	}
	while (c->depth > 1)
		end(t, core, act->time, SPAN_CONT, 0);
	end(t, core, act->time, 0, act->a ? left : 0);
}

static void comes(struct timeline *t, uint32_t core, uint64_t time, uint32_t tid)
{
	struct task *task = tid ? task_of(t, tid) : NULL;

	t->cores[core].tid = tid;
	if (!tid) {
		begin(t, core, time, SPAN_IDLE, 0, 0);
		return;
	}
	begin(t, core, time, SPAN_TASK, name_of(t, tid), task ? task->left : LEFT_UNKNOWN);
	if (!task)
		return;
	if (task->syscall)
		begin(t, core, time, SPAN_SYSCALL | SPAN_CONT, task->syscall - 1, 0);
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
		.task = name_of(t, act->a),
		.waker = name_of(t, act->b),
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
	struct task *task = task_of(t, act->b);

	if (task) {
		task->syscall = act->a + 1;
		task->faulted = false;
	}
	begin(t, core, act->time, SPAN_SYSCALL, act->a, 0);
}

static void returns(struct timeline *t, uint32_t core, const struct act *act)
{
	struct task *task = task_of(t, act->b);

	if (task)
		task->syscall = 0;
	end_of(t, core, act->time, SPAN_SYSCALL);
}

/* How long a fault took isn't told, but for one in which the task slept: leaves(). */
static void faults(struct timeline *t, uint32_t core, const struct act *act)
{
	struct task *task = task_of(t, act->b);

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

/*
 * Who has the core, each event says. Where that is another than the last switch said, a switch is
 * missing, whatever the counter of losses says: some kernels run no program for some tasks.
 */
static void verify(struct timeline *t, uint32_t core, const struct act *act)
{
	const uint32_t tid = act->type == ACT_SWITCH ? act->a : act->b;
	struct core *c = &t->cores[core];

	if (act->lost != c->lost) {
		c->lost = act->lost;
		t->losses++;
		lose_sight(t, core);
	}
	if (!c->blind && c->tid != tid) {
		forget_call(t, c->tid);
		forget_call(t, tid);
		lose_sight(t, core);
	}
	if (c->blind)
		see(t, core, act->time, tid);
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
	verify(t, core, act);
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
	struct core *c = &t->cores[core];
	uint32_t i;

	t->writer = writer;
	t->err = 0;
	if (act->type == ACT_NAME) {
		named(t, act);
		return 0;
	}
	if (c->n_late == TIMELINE_LATE) {
		happens(t, core, &c->late[0]);
		memmove(c->late, c->late + 1, --c->n_late * sizeof(c->late[0]));
	}
	for (i = c->n_late; i && c->late[i - 1].time > act->time; i--)
		c->late[i] = c->late[i - 1];
	c->late[i] = *act;
	c->n_late++;
	return t->err;
}

int timeline_end(struct timeline *t, struct event_writer *writer, uint64_t end_ns)
{
	t->writer = writer;
	t->err = 0;
	for (uint32_t core = 0; core < t->n_cores; core++) {
		struct core *c = &t->cores[core];

		for (uint32_t i = 0; i < c->n_late; i++)
			happens(t, core, &c->late[i]);
		c->n_late = 0;
		while (c->depth)
			end(t, core, end_ns > c->last ? end_ns : c->last, SPAN_CONT, 0);
	}
	return t->err;
}
