/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose_host.h"

#include <stdio.h>
#include <stdlib.h>

#include "diagnose/calls.h"

enum { IDLE, IRQ, SOFTIRQ };

struct sim_task {
	bool asleep, running;
	uint32_t core;
	uint32_t call;       /* + 1; 0 = none */
	uint64_t call_begin; /* when the call's last run on a CPU began */
};

struct sim_core {
	uint32_t task;       /* + 1; 0 = nobody */
	uint8_t nest[2];     /* IRQ, SOFTIRQ; outer ones first */
	uint32_t depth;
};

struct sim {
	struct host *host;
	uint64_t now;
	struct sim_task tasks[HOST_TASKS];
	struct sim_core cores[HOST_CORES];
	uint64_t last_read[HOST_READERS];
	uint64_t ids;
};

static const uint32_t calls[] = { 232, 232, 45, 45, 45, 0, 202, 202, 74, 44, 9, 35, 999 };

uint32_t host_tid(uint32_t task)
{
	return 11 + task;
}

uint32_t host_pid(uint32_t task)
{
	return task < HOST_READERS ? 10 : task == HOST_TASKS - 1 ? HOST_RECORDER : 20 + task;
}

static uint64_t chance(struct sim *s, uint64_t n)
{
	return rng_below(&s->host->rng, n);
}

static void act(struct sim *s, uint32_t core, enum trace_step step, uint32_t a, uint16_t arg)
{
	trace_add(&s->host->trace, s->now, core, step, a, arg);
}

/* ---- events of a core ---- */

static void wake_one(struct sim *s, uint32_t core)
{
	const uint32_t task = (uint32_t)chance(s, HOST_TASKS);

	if (!s->tasks[task].asleep)
		return;
	s->tasks[task].asleep = false;
	s->tasks[task].core = (uint32_t)chance(s, s->host->cores);
	act(s, core, TRACE_WAKE, host_tid(task), (uint16_t)s->tasks[task].core);
}

static void interrupt(struct sim *s, uint32_t core)
{
	static const uint32_t vectors[] = { 3, 3, 2, 1, 9 };
	struct sim_core *c = &s->cores[core];

	if (c->depth == 2)
		return;
	c->nest[c->depth] = chance(s, 2) || c->depth ? IRQ : SOFTIRQ;
	if (c->nest[c->depth++] == IRQ)
		act(s, core, TRACE_IRQ, 30, 0);
	else
		act(s, core, TRACE_SOFTIRQ, vectors[chance(s, 5)], 0);
}

static void end_interrupt(struct sim *s, uint32_t core)
{
	struct sim_core *c = &s->cores[core];

	act(s, core, c->nest[--c->depth] == IRQ ? TRACE_IRQ_END : TRACE_SOFTIRQ_END, 0, 0);
}

/* The next one that could run, or nobody. */
static void switch_from(struct sim *s, uint32_t core, uint16_t left)
{
	uint32_t next = (uint32_t)chance(s, HOST_TASKS + 2);

	if (s->cores[core].task) {
		struct sim_task *task = &s->tasks[s->cores[core].task - 1];

		task->running = false;
		task->asleep = left != LEFT_RUNNABLE;
		task->core = core;
	}
	if (next >= HOST_TASKS || s->tasks[next].asleep || s->tasks[next].running ||
	    next + 1 == s->cores[core].task)
		next = HOST_TASKS;
	if (next == HOST_TASKS && !s->cores[core].task)
		return;
	s->cores[core].task = next == HOST_TASKS ? 0 : next + 1;
	if (next < HOST_TASKS)
		s->tasks[next].running = true;
	act(s, core, TRACE_SWITCH, next < HOST_TASKS ? host_tid(next) : 0, left);
}

static void leave(struct sim *s, uint32_t core)
{
	static const uint16_t lefts[] = {
		LEFT_RUNNABLE, LEFT_RUNNABLE, LEFT_ASLEEP, LEFT_ASLEEP, LEFT_ASLEEP, LEFT_BLOCKED,
		LEFT_IO, LEFT_STOPPED,
	};
	uint16_t left = lefts[chance(s, 8)];

	if (!s->tasks[s->cores[core].task - 1].call && chance(s, 8) == 0) {
		act(s, core, TRACE_FAULT, 0, 0);
		s->now++;
		left = LEFT_IO;
	}
	switch_from(s, core, left);
}

/* A reader's call to receive returns, perhaps with a message. */
static void reads(struct sim *s, uint32_t core, uint32_t task)
{
	struct trace *trace = &s->host->trace;
	const uint64_t span = 1 + chance(s, chance(s, 4) ? 20000 : 2000000);
	const uint64_t first = s->now > span ? s->now - span : 1;
	const uint64_t queued = first + chance(s, 1 + (s->now - first) / (1 + chance(s, 20)));
	struct trace_message *m;

	if (trace->messages.len == HOST_MESSAGES || s->last_read[task] == s->now)
		return;
	s->last_read[task] = s->now;
	m = trace_message(trace, ++s->ids, host_tid(task), first, queued, s->now, core);
	m->pieces[0].core = (uint32_t)chance(s, s->host->cores);
}

static void call_or_return(struct sim *s, uint32_t core)
{
	const uint32_t task = s->cores[core].task - 1;
	struct sim_task *t = &s->tasks[task];

	if (!t->call) {
		t->call = 1 + calls[chance(s, sizeof(calls) / sizeof(calls[0]))];
		act(s, core, TRACE_CALL, t->call - 1, 0);
		return;
	}
	if (task < HOST_READERS && (t->call == 46 || t->call == 1) && chance(s, 3)) {
		reads(s, core, task);
		s->now++;
	}
	t->call = 0;
	act(s, core, TRACE_RETURN, 0, 0);
}

static void step(struct sim *s)
{
	const uint32_t core = (uint32_t)chance(s, s->host->cores);
	struct sim_core *c = &s->cores[core];
	const uint64_t what = chance(s, 10);

	s->now += 1 + chance(s, chance(s, 60) ? 4000 : 2000000);
	if (c->depth && what < 5)
		end_interrupt(s, core);
	else if (what < (c->task ? 2 : 4))
		interrupt(s, core);
	else if ((c->depth || c->task) && what < 4)
		wake_one(s, core);
	else if (c->depth)
		wake_one(s, core);
	else if (!c->task)
		switch_from(s, core, 0);
	else if (what < 7)
		call_or_return(s, core);
	else
		leave(s, core);
}

static int by_time(const void *a, const void *b)
{
	const struct trace_act *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void host_sort(struct host *host)
{
	qsort(host->trace.acts.items, host->trace.acts.len, sizeof(*host->trace.acts.items),
	      by_time);
}

void host_init(struct host *host, uint64_t seed, uint32_t steps)
{
	static const char *const names[HOST_TASKS] = {
		"app", "app2", "hog", "pig", "other", "ksoftirqd/0", "hostlat",
	};
	struct sim s = { .host = host, .now = 1000 };

	rng_init(&host->rng, seed);
	host->cores = 1 + (uint32_t)rng_below(&host->rng, HOST_CORES);
	trace_init(&host->trace, host->cores);
	for (uint32_t i = 0; i < HOST_TASKS; i++)
		trace_name(&host->trace, 0, host_pid(i), host_tid(i), names[i]);
	for (uint32_t i = 0; i < steps; i++)
		step(&s);
	/* A loss shows with the next event of its core. */
	for (uint32_t core = 0; core < host->cores; core++) {
		s.now = host->trace.end + 1;
		act(&s, core, TRACE_IRQ, HOST_LAST_IRQ, 0);
	}
	host_sort(host);
	host->throttles = rng_below(&host->rng, 2);
}

void host_release(struct host *host)
{
	trace_release(&host->trace);
}
