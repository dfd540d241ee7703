/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands: all tasks with the same name, whatever their pids, since each short-lived process of a
 * job has a pid of its own. A thread that changes its name, e.g. by exec, is one command.
 */
#ifndef HOSTLAT_DIAGNOSE_COMMANDS_H
#define HOSTLAT_DIAGNOSE_COMMANDS_H

#include <stdint.h>

struct tasks;

/* Which process of hostlat a task belongs to. */
enum hostlat_part {
	HOSTLAT_NONE,      /* not hostlat */
	HOSTLAT_RECORDER,  /* the process that made the recording */
	HOSTLAT_LOAD,      /* the load generator of the run */
	HOSTLAT_CONNS,     /* the process that recorded the run's connections */
	HOSTLAT_OTHER,     /* any other hostlat on the host */
	HOSTLAT_PARTS,
};

/* Pids of a run's hostlat processes; 0: unknown. */
struct hostlat_pids {
	uint64_t recorder, load, conns;
};

struct task_command {
	const char *name;       /* borrowed from the recording's tasks, or static */
	enum hostlat_part part;
};

struct task_commands {
	struct task_command *all;
	uint32_t n;
	uint32_t *of_task;      /* by number in DICT_TASK: index + 1 in `all`; 0: no task */
	uint32_t tasks;         /* entries of of_task */
};

/*
 * Finds the commands of a recording's tasks. A thread with several names has the last one. Returns
 * 0 or -ENOMEM. Call commands_release() in either case.
 */
int commands_init(struct task_commands *commands, const struct tasks *tasks,
		  const struct hostlat_pids *pids);
void commands_release(struct task_commands *commands);

/* Returns index + 1 of the command of a task in DICT_TASK; 0: it has none. */
uint32_t commands_find(const struct task_commands *commands, uint32_t task);

/* Returns the part's name in text, e.g. "hostlat's recorder", and in JSON; NULL: not hostlat. */
const char *commands_part_words(enum hostlat_part part);
const char *commands_part_name(enum hostlat_part part);

#endif
