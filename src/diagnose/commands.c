/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "diagnose/tasks.h"

/* The kernel's workers have their pool in their name: "kworker/0:1", "kworker/u8:3". */
#define KWORKER "kworker"

static const struct {
	const char *name, *words;
} parts[HOSTLAT_PARTS] = {
	[HOSTLAT_RECORDER] = { "recorder", "hostlat's recorder" },
	[HOSTLAT_LOAD] = { "load-generator", "hostlat's load generator" },
	[HOSTLAT_CONNS] = { "connections-recorder", "hostlat's recorder of connections" },
	[HOSTLAT_OTHER] = { "other", "another hostlat process" },
};

const char *commands_part_words(enum hostlat_part part)
{
	return parts[part].words;
}

const char *commands_part_name(enum hostlat_part part)
{
	return parts[part].name;
}

uint32_t commands_find(const struct task_commands *commands, uint32_t task)
{
	return task < commands->tasks ? commands->of_task[task] : 0;
}

/* A task under its thread's last name. */
struct named_task {
	const char *name;
	enum hostlat_part part;
	uint32_t task;
};

static const char *commands_name_of(const struct task_name *task)
{
	return strncmp(task->comm, KWORKER "/", strlen(KWORKER "/")) ? task->comm : KWORKER;
}

/* Pids alone prove nothing: in a container, hostlat knows other pids than the recording has. */
static enum hostlat_part commands_part_of(const struct hostlat_pids *pids,
					  const struct task_name *task)
{
	if (strcmp(task->comm, "hostlat"))
		return HOSTLAT_NONE;
	if (task->pid == pids->recorder)
		return HOSTLAT_RECORDER;
	if (task->pid == pids->load)
		return HOSTLAT_LOAD;
	return task->pid == pids->conns ? HOSTLAT_CONNS : HOSTLAT_OTHER;
}

static int commands_order_tasks(const void *a, const void *b)
{
	const struct named_task *x = a, *y = b;

	return strcmp(x->name, y->name) ?: sort_order(x->part, y->part) ?:
	       sort_order(x->task, y->task);
}

static void commands_number(struct task_commands *commands, struct named_task *named, uint32_t n)
{
	qsort(named, n, sizeof(*named), commands_order_tasks);
	for (uint32_t i = 0; i < n; i++) {
		const struct task_command *last =
			commands->n ? &commands->all[commands->n - 1] : NULL;

		if (!last || last->part != named[i].part || strcmp(last->name, named[i].name))
			commands->all[commands->n++] =
				(struct task_command){ named[i].name, named[i].part };
		commands->of_task[named[i].task] = commands->n;
	}
}

int commands_init(struct task_commands *commands, const struct tasks *tasks,
		  const struct hostlat_pids *pids)
{
	struct named_task *named = calloc(tasks->n, sizeof(*named));
	uint32_t n = 0;

	*commands = (struct task_commands){ .tasks = tasks->n };
	commands->all = calloc(tasks->n, sizeof(*commands->all));
	commands->of_task = calloc(tasks->n, sizeof(*commands->of_task));
	if (!named || !commands->all || !commands->of_task) {
		free(named);
		return -ENOMEM;
	}
	for (uint32_t id = 1; id < tasks->n; id++) {
		/* A stretch on a core has the name at its begin, even if exec gave another one. */
		const uint32_t last = tasks_by_tid(tasks, tasks_get(tasks, id)->tid);
		const struct task_name *task = tasks_get(tasks, last);

		if (last)
			named[n++] = (struct named_task){ commands_name_of(task),
							  commands_part_of(pids, task), id };
	}
	commands_number(commands, named, n);
	free(named);
	return 0;
}

void commands_release(struct task_commands *commands)
{
	free(commands->all);
	free(commands->of_task);
	*commands = (struct task_commands){ 0 };
}
