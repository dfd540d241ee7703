/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The culprits of a cause: tasks by their command, and kinds of work (an interrupt, a system call)
 * where no task is known. Each culprit has numbers of its own, besides those of the cause.
 */
#ifndef HOSTLAT_DIAGNOSE_CULPRITS_H
#define HOSTLAT_DIAGNOSE_CULPRITS_H

#include "diagnose/state.h"
#include "report/report.h"

/* Culprits shown for one cause, and pids shown for one culprit, at most. */
#define CULPRITS_SHOWN 5u
#define CULPRIT_PIDS_SHOWN 32u

struct cause_culprit {
	uint32_t command;    /* index + 1 in the recording's commands; 0: no task */
	uint32_t detail;     /* as in struct slice, unless `mixed` */
	bool mixed;          /* its tasks have several details */
	uint32_t task;       /* its task with the most time, in DICT_TASK; 0: no task */
	uint32_t processes, threads; /* number of its pids and tids */
	size_t first, end;   /* its tasks in struct cause_culprits, ordered by pid */
	uint64_t ns;
	uint64_t messages;   /* number of messages that it delayed */
	uint64_t median_ns;  /* median of its time in those messages */
};

/* Time of one task, with one detail. */
struct culprit_task {
	uint32_t command, detail, task, pid, tid;
	uint64_t ns;
};

/* Time of one culprit in one message. `key`: the command, or the detail where that is 0. */
struct culprit_time {
	uint32_t command, key;
	uint64_t ns;
};

struct cause_culprits {
	const struct recorded *rec;
	unsigned int cause;  /* cause whose details they have */
	const char *noun;    /* name of what they delayed: "message"; static text */
	uint64_t ns;         /* time of all culprits, named or not */
	struct culprit_vec VEC_OF(struct cause_culprit) all; /* longest time first */
	struct culprit_tasks VEC_OF(struct culprit_task) tasks;
	struct culprit_times VEC_OF(struct culprit_time) times; /* emptied by culprits_finish() */
};

/* Initializes without allocating. Release in any case. */
void culprits_init(struct cause_culprits *culprits, const struct recorded *rec, unsigned int cause);
void culprits_release(struct cause_culprits *culprits);

/*
 * Adds a message's times in the `n` places (cause and phase) from `place` on, scaled to sum to
 * `total_ns`. Messages that delayed it are ignored. Returns 0 or -ENOMEM.
 */
int culprits_add_message(struct cause_culprits *culprits, const struct breakdown *breakdown,
			 unsigned int place, unsigned int n, uint64_t total_ns);

/* Adds time of a task that belongs to no message. Returns 0 or -ENOMEM. */
int culprits_add_task(struct cause_culprits *culprits, uint32_t task, uint64_t ns);

/* Fills in `all`. Returns 0 or -ENOMEM. */
int culprits_finish(struct cause_culprits *culprits);

/* Returns whether others have less than 0.5 % of the time. */
bool culprit_is_sole(const struct cause_culprits *culprits, const struct cause_culprit *culprit);

/*
 * Returns a culprit's name: "hog (21)", "gzip (6 processes, cron.service)", "hostlat's recorder",
 * "irq 27"; "" if it has none. culprit_plain_name(): without parentheses: "hog", "gzip".
 */
const char *culprit_name(const struct cause_culprits *culprits, struct report *r,
			 const struct cause_culprit *culprit);
const char *culprit_plain_name(const struct cause_culprits *culprits, struct report *r,
			       const struct cause_culprit *culprit);

/*
 * Returns a culprit with its own numbers, e.g. "gzip (6 processes, cron.service, 8 messages, 19 %,
 * 24 ms at the median)"; "" if it has no name. The share is of the time of all culprits.
 */
const char *culprit_phrase(const struct cause_culprits *culprits, struct report *r,
			   const struct cause_culprit *culprit);

/* Returns a task's name, e.g. "nginx (4690)" or "hostlat's recorder"; "" for no task. */
const char *culprit_task_name(const struct recorded *rec, struct report *r, uint32_t task);

/*
 * Returns the table of the CULPRITS_SHOWN culprits with the most time. Their times are scaled so
 * that those of all culprits sum to `total_ns`.
 */
struct value culprits_table(const struct cause_culprits *culprits, struct report *r,
			    uint64_t total_ns);

/* Columns of the three values below, for tables of culprits. */
#define CULPRIT_PLACE_COLUMNS                                                                      \
	{ "unit", NULL, 0, 0 }, { "cgroup", NULL, 0, 0 }, { "place_share", NULL, 0, 0 }

/*
 * A culprit's place as the values of those columns: the systemd unit, container or control group in
 * which it spent more than half of its time; all null if it is unknown.
 */
struct culprit_place_values {
	struct value unit, cgroup, share;
};

struct culprit_place_values culprit_place_values(const struct cause_culprits *culprits,
						 struct report *r,
						 const struct cause_culprit *culprit);

/* Returns "recorder", "load-generator" ... for a task of hostlat, else null. */
struct value culprit_part_value(const struct recorded *rec, uint32_t command);

/* Returns the list of a culprit's pids. */
struct value culprit_pids_value(const struct cause_culprits *culprits, struct report *r,
				const struct cause_culprit *culprit);

/* Returns a command's name as a value; null for 0. */
struct value culprit_command_value(const struct recorded *rec, struct report *r, uint32_t command);

#endif
