/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks of a recording, parsed from their names "comm (pid/tid)". A thread has one number here
 * (0..threads - 1), even if it changed its name.
 */
#ifndef HOSTLAT_DIAGNOSE_TASKS_H
#define HOSTLAT_DIAGNOSE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "event/dict.h"

#define TASKS_COMM 64u
#define THREAD_NONE UINT32_MAX

struct task_name {
	uint32_t pid;
	uint32_t tid;
	uint32_t thread;  /* number of the thread; THREAD_NONE: the name is not "comm (pid/tid)" */
	uint32_t cgroup;  /* number in DICT_CGROUP; 0: unknown */
	uint32_t unit;    /* number in DICT_UNIT; 0: none, or unknown */
	bool softirqd;    /* kernel thread that runs softirqs or NAPI */
	/* its place was told; another one was, too, so that it has none for all of its time */
	bool placed, moved;
	char comm[TASKS_COMM];
};

struct tasks {
	struct task_name *tasks; /* by number in DICT_TASK; [0]: no task */
	uint32_t n;
	uint32_t threads;
	uint32_t *by_tid;   /* hash table, open addressing: a task with that tid; 0: free */
	uint32_t room;      /* entries of by_tid: a power of two */
};

/* Parses all task names. Returns 0 or -ENOMEM. Call tasks_release() in either case. */
int tasks_init(struct tasks *tasks, const struct event_dict *dict);
void tasks_release(struct tasks *tasks);

/* Sets where a task ran. Numbers that no task has are ignored. */
void tasks_set_place(struct tasks *tasks, const struct event_task *place);

/*
 * Returns the task with number `id` in DICT_TASK; the empty entry [0] if there is none. Never NULL.
 */
const struct task_name *tasks_get(const struct tasks *tasks, uint32_t id);

/* Returns the number in DICT_TASK of a name of the thread; 0 if it has none. */
uint32_t tasks_by_tid(const struct tasks *tasks, uint32_t tid);

#endif
