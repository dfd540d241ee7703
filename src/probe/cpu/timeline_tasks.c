/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/cpu/timeline_tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* task states at a switch, include/linux/sched.h */
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED 0x4
#define TASK_TRACED 0x8
#define TASK_ENDED (0x10 | 0x20 | 0x80) /* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */

int timeline_tasks_init(struct timeline_tasks *t, const struct timeline_lookup *lookup)
{
	*t = (struct timeline_tasks){ .room = 1024 };
	if (lookup)
		t->places.lookup = *lookup;
	t->at = calloc(t->room, sizeof(*t->at));
	return t->at ? 0 : -ENOMEM;
}

void timeline_tasks_release(struct timeline_tasks *t)
{
	for (uint32_t i = 0; t->at && i < t->room; i++)
		free(t->at[i].calls);
	free(t->at);
	timeline_places_release(&t->places);
}

static struct timeline_task *timeline_tasks_find(struct timeline_task *tasks, uint32_t room,
						 uint32_t tid)
{
	uint32_t i = tid * 0x9e3779b1U & (room - 1);

	while (tasks[i].tid && tasks[i].tid != tid)
		i = (i + 1) & (room - 1);
	return &tasks[i];
}

static bool timeline_tasks_grow(struct timeline_tasks *t)
{
	struct timeline_task *more = t->room < 2 * TASKS_MAX ?
			    calloc(2UL * t->room, sizeof(*more)) : NULL;

	if (!more)
		return false;
	for (uint32_t i = 0; i < t->room; i++)
		if (t->at[i].tid)
			*timeline_tasks_find(more, 2 * t->room, t->at[i].tid) = t->at[i];
	free(t->at);
	t->at = more;
	t->room *= 2;
	return true;
}

struct timeline_task *timeline_tasks_get(struct timeline_tasks *t, uint32_t tid)
{
	struct timeline_task *task = timeline_tasks_find(t->at, t->room, tid);

	/* Events were lost, perhaps this task's: its system call and functions are unknown. */
	if (task->tid && task->losses != t->losses) {
		task->losses = t->losses;
		task->left = LEFT_UNKNOWN;
		task->syscall = 0;
		task->n_calls = 0;
		task->faulted = task->in_fault = false;
	}
	if (task->tid)
		return task;
	if (t->n >= t->room / 2) {
		if (!timeline_tasks_grow(t))
			return NULL;
		task = timeline_tasks_find(t->at, t->room, tid);
	}
	t->n++;
	task->tid = tid;
	task->losses = t->losses;
	return task;
}

/* Writes where a task with a name runs, unless that is what was written last. */
static void timeline_tasks_put_place(struct timeline_task *task, struct event_writer *writer)
{
	const struct timeline_place *place = task->place;
	struct event_task e = { .task = task->name };

	if (!task->name || event_writer_full(writer) ||
	    (task->put_place == place && (!place || task->put_name == task->name)))
		return;
	if (place) {
		e.cgroup = place->cgroup;
		e.unit = place->unit;
	}
	task->put_place = place;
	task->put_name = task->name;
	/* the writer's owner gets its error from the task's spans */
	event_put(event_writer_sink(writer), EV_TASK, event_writer_last(writer), &e, sizeof(e));
}

uint32_t timeline_tasks_name(struct timeline_tasks *t, struct event_writer *writer, uint32_t tid)
{
	struct timeline_task *task = tid ? timeline_tasks_get(t, tid) : NULL;
	char text[64];

	if (!task)
		return 0;
	if (task->name)
		return task->name;
	if (!task->named) {
		task->named = true;
		if (!t->places.lookup.name ||
		    t->places.lookup.name(tid, task->comm, &task->tgid))
			task->comm[0] = '\0';
	}
	snprintf(text, sizeof(text), "%.*s (%u/%u)", EVENT_COMM_LEN,
		 task->comm[0] ? task->comm : "?", task->tgid, tid);
	task->name = event_writer_intern(writer, DICT_TASK, text);
	timeline_tasks_put_place(task, writer);
	return task->name;
}

void timeline_tasks_named(struct timeline_tasks *t, struct event_writer *writer,
			  const struct act *act)
{
	struct timeline_task *task = timeline_tasks_get(t, act->a);
	bool renamed;

	if (!task)
		return;
	if (task->tgid != act->tgid) { /* the thread id was reused: drops the old task's state */
		free(task->calls);
		*task = (struct timeline_task){ .tid = act->a,
						.tgid = act->tgid,
						.losses = t->losses };
	}
	renamed = task->name && memcmp(task->comm, act->comm, sizeof(task->comm)) != 0;
	memcpy(task->comm, act->comm, sizeof(task->comm));
	task->comm[sizeof(task->comm) - 1] = '\0';
	task->named = true;
	task->name = 0;
	task->place = timeline_places_get(&t->places, writer,
					  (uint64_t)act->arg << 32 | act->cgroup);
	if (renamed)
		timeline_tasks_name(t, writer, act->a);
}

uint8_t timeline_tasks_left(uint16_t arg)
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
