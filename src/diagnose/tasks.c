/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/tasks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static uint32_t *tasks_slot(const struct tasks *tasks, uint32_t tid)
{
	uint32_t i = (uint32_t)hash_u64(tid) & (tasks->room - 1);

	while (tasks->by_tid[i] && tasks->tasks[tasks->by_tid[i]].tid != tid)
		i = (i + 1) & (tasks->room - 1);
	return &tasks->by_tid[i];
}

static bool tasks_name_starts_with(const char *text, const char *head)
{
	return strncmp(text, head, strlen(head)) == 0;
}

/* Parses "comm (pid/tid)". The comm may contain anything, even parentheses: the last "(" counts. */
static void tasks_parse_name(struct task_name *task, const char *text)
{
	const char *open = strrchr(text, '(');
	size_t len;

	if (!open || open == text ||
	    sscanf(open, "(%" SCNu32 "/%" SCNu32 ")", &task->pid, &task->tid) != 2 || !task->tid) {
		task->pid = task->tid = 0;
		return;
	}
	len = (size_t)(open - text);
	if (text[len - 1] == ' ')
		len--;
	if (len >= sizeof(task->comm))
		len = sizeof(task->comm) - 1;
	memcpy(task->comm, text, len);
	task->comm[len] = '\0';
	task->softirqd = tasks_name_starts_with(task->comm, "ksoftirqd/") ||
			 tasks_name_starts_with(task->comm, "napi/");
}

int tasks_init(struct tasks *tasks, const struct event_dict *dict)
{
	*tasks = (struct tasks){ .n = event_dict_len(dict, DICT_TASK) + 1, .room = 16 };
	while (tasks->room < 2 * tasks->n)
		tasks->room *= 2;
	tasks->tasks = calloc(tasks->n, sizeof(*tasks->tasks));
	tasks->by_tid = calloc(tasks->room, sizeof(*tasks->by_tid));
	if (!tasks->tasks || !tasks->by_tid)
		return -ENOMEM;
	tasks->tasks[0].thread = THREAD_NONE;
	for (uint32_t id = 1; id < tasks->n; id++) {
		struct task_name *task = &tasks->tasks[id];
		const char *text = event_dict_get(dict, DICT_TASK, id);
		uint32_t *known;

		task->thread = THREAD_NONE;
		if (text)
			tasks_parse_name(task, text);
		if (!task->tid)
			continue;
		known = tasks_slot(tasks, task->tid);
		task->thread = *known ? tasks->tasks[*known].thread : tasks->threads++;
		*known = id;
	}
	return 0;
}

void tasks_release(struct tasks *tasks)
{
	free(tasks->tasks);
	free(tasks->by_tid);
	*tasks = (struct tasks){ 0 };
}

void tasks_set_place(struct tasks *tasks, const struct event_task *place)
{
	struct task_name *task;

	if (!place->task || place->task >= tasks->n)
		return;
	task = &tasks->tasks[place->task];
	task->moved |= task->placed && (task->cgroup != place->cgroup || task->unit != place->unit);
	task->placed = true;
	task->cgroup = task->moved ? 0 : place->cgroup;
	task->unit = task->moved ? 0 : place->unit;
}

const struct task_name *tasks_get(const struct tasks *tasks, uint32_t id)
{
	return &tasks->tasks[id < tasks->n ? id : 0];
}

uint32_t tasks_by_tid(const struct tasks *tasks, uint32_t tid)
{
	return tid ? *tasks_slot(tasks, tid) : 0;
}
