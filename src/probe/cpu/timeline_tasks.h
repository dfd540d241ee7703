/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a timeline: what they are called, and what they left their core in. */
#ifndef HOSTLAT_PROBE_TIMELINE_TASKS_H
#define HOSTLAT_PROBE_TIMELINE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_record.h"
#include "event/writer.h"

/* At 64 bytes each; later ones have no name. */
#define TASKS_MAX (1U << 18)

struct task {
	uint32_t tid;       /* 0 = free: the idle tasks have none of these */
	uint32_t tgid;
	char comm[EVENT_COMM_LEN];
	uint32_t name;      /* DICT_TASK; 0: not yet */
	uint32_t syscall;   /* the one it is in, + 1; if that was before no loss, see `losses` */
	uint32_t losses;
	uint32_t *calls;    /* functions in which it left its core, outermost first */
	uint8_t n_calls;
	uint8_t left;       /* enum task_left */
	bool faulted;       /* since it was in a system call */
	bool in_fault;      /* it sleeps in one */
	bool named;
};

struct timeline_tasks {
	struct task *at;    /* open addressing by tid */
	uint32_t n, room;   /* a power of two */
	uint32_t losses;    /* how often something was lost: what tasks were in is forgotten */
	int (*name)(uint32_t tid, char *comm, uint32_t *tgid); /* as of timeline_new() */
};

/* 0 or -ENOMEM. To be released in either case. */
int timeline_tasks_init(struct timeline_tasks *t,
			int (*name)(uint32_t tid, char *comm, uint32_t *tgid));
void timeline_tasks_release(struct timeline_tasks *t);

/* NULL: there is no room for it. Valid until the next call. */
struct task *timeline_tasks_get(struct timeline_tasks *t, uint32_t tid);

/* DICT_TASK's number of it; 0: none. */
uint32_t timeline_tasks_name(struct timeline_tasks *t, struct event_writer *writer, uint32_t tid);

/* How it leaves, by the `arg` of its ACT_SWITCH: enum task_left. */
uint8_t timeline_tasks_left(uint16_t arg);

/* An ACT_NAME. */
void timeline_tasks_named(struct timeline_tasks *t, const struct act *act);

#endif
