/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a CPU's programs noted (struct act) to spans of what it did: what nests in what, how a
 * task's system call goes on when it gets a CPU again, and when nothing is known. Pure: events in,
 * EV_EDGE and EV_WAKE out.
 *
 * Memory: 64 bytes for each task that was seen, TASKS_MAX at most (timeline_tasks.h), and 256
 * for each that waits in functions; later tasks have no name. Of each core, 40 bytes for each event
 * that waits, TIMELINE_QUEUE_MAX at most (timeline_queue.h), and 16 for each function's,
 * TIMELINE_CALLS at most.
 */
#ifndef HOSTLAT_PROBE_TIMELINE_H
#define HOSTLAT_PROBE_TIMELINE_H

#include <stdint.h>

#include "bpf/abi_record.h"
#include "event/writer.h"

struct timeline;

/*
 * For cores 0 to `cores` - 1, of which nothing is known before `start_ns`. `name` says what a task
 * is called that was running before the programs could tell: 0 and `comm` (16 bytes) and *tgid
 * filled in, or -errno; it may be NULL. 0 or -ENOMEM.
 */
int timeline_new(struct timeline **out, uint32_t cores, uint64_t start_ns,
		 int (*name)(uint32_t tid, char *comm, uint32_t *tgid));
void timeline_free(struct timeline *t);

/*
 * The next event of a core. They wait until timeline_settle(); until then their times may be out of
 * order: interrupts take their place before what they interrupt reads the clock. One from before
 * what is settled is lost. Returns the writer's error, or -ENOMEM.
 */
int timeline_put(struct timeline *t, struct event_writer *writer, uint32_t core,
		 const struct act *act);

/* Functions of the kernel as another source tells them, in the order of their times. */
enum timeline_call_what {
	TIMELINE_CALL,
	TIMELINE_RETURN,
	TIMELINE_LOST,	/* events are missing from here on: the core is blind ... */
	TIMELINE_AGAIN,	/* ... up to here, or rather to what comes next of the other events */
};

struct timeline_call {
	uint64_t time;
	uint32_t symbol;
	enum timeline_call_what what;
};

/* Beyond this many that wait they are lost. */
#define TIMELINE_CALLS (1U << 20)

/* 0 or -ENOMEM. */
int timeline_call(struct timeline *t, uint32_t core, const struct timeline_call *call);

/*
 * Both kinds of events of all cores are there up to `until`, which never falls: they are written in
 * the order of time over all cores. Returns the writer's error.
 */
int timeline_settle(struct timeline *t, struct event_writer *writer, uint64_t until);

/* Events that came after that, against the promise: at least so many are missing. */
uint64_t timeline_too_late(const struct timeline *t);

/* The core's count of losses after its last event; when all are settled. */
void timeline_lost(struct timeline *t, uint32_t core, uint32_t lost);

/* Nothing more will come: what is open ends at `end_ns`, as cut. */
int timeline_end(struct timeline *t, struct event_writer *writer, uint64_t end_ns);

#endif
