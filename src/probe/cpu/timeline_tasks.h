/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks of a timeline: their names and control groups, and the system call and functions in which
 * they sleep.
 */
#ifndef HOSTLAT_PROBE_TIMELINE_TASKS_H
#define HOSTLAT_PROBE_TIMELINE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_record.h"
#include "event/writer.h"
#include "probe/cpu/timeline_places.h"

/* Largest number of tasks, of 80 bytes each; later tasks have no name. */
#define TASKS_MAX (1U << 18)

struct timeline_task {
	uint32_t tid;       /* 0 = free; idle tasks have no entry */
	uint32_t tgid;
	char comm[EVENT_COMM_LEN];
	uint32_t name;      /* number in the dictionary of task names (DICT_TASK); 0: none yet */
	uint32_t syscall;   /* current system call + 1; 0: none; not valid after a loss of events */
	uint32_t losses;    /* number of event losses when the entry was last valid */
	/* its control group; NULL: unknown. The one last written, for the name it had then */
	const struct timeline_place *place, *put_place;
	uint32_t put_name;
	uint32_t *calls;    /* functions open when the task left its core, outermost first */
	uint8_t n_calls;
	uint8_t left;       /* enum task_left */
	bool faulted;       /* a page fault came since the task's last system call */
	bool in_fault;      /* the task sleeps in a page fault */
	bool named;
};

struct timeline_tasks {
	struct timeline_task *at;    /* hash table by tid, open addressing */
	uint32_t n, room;   /* entries used; size, a power of two */
	/* number of event losses; each voids the tasks' system calls and functions */
	uint32_t losses;
	struct timeline_places places;
};

/* Returns 0 or -ENOMEM; must be released in either case. */
int timeline_tasks_init(struct timeline_tasks *t, const struct timeline_lookup *lookup);
void timeline_tasks_release(struct timeline_tasks *t);

/* Returns a task's entry, made if needed, valid until the next call; NULL: table or memory full. */
struct timeline_task *timeline_tasks_get(struct timeline_tasks *t, uint32_t tid);

/* Returns the number of the task's name in DICT_TASK; 0: none. */
uint32_t timeline_tasks_name(struct timeline_tasks *t, struct event_writer *writer, uint32_t tid);

/* Returns the enum task_left for the `arg` of an ACT_SWITCH: why the task leaves. */
uint8_t timeline_tasks_left(uint16_t arg);

/*
 * Sets a task's name and control group from an event ACT_NAME. A new name of a task that has events
 * is written at once: the task may never run again.
 */
void timeline_tasks_named(struct timeline_tasks *t, struct event_writer *writer,
			  const struct act *act);

#endif
