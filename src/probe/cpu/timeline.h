/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the events of CPUs (struct act) into nested spans: a task's system call continues when the
 * task gets a CPU again, and times without events are marked as not recorded. Pure: events in,
 * EV_EDGE and EV_WAKE out.
 *
 * Memory: 80 bytes per task, at most TASKS_MAX (timeline_tasks.h), later ones have no name; 256
 * more per task that sleeps in traced functions. Per core, 40 bytes per waiting event, at most
 * TIMELINE_QUEUE_MAX (timeline_queue.h), and 16 per waiting function call, at most TIMELINE_CALLS.
 */
#ifndef HOSTLAT_PROBE_TIMELINE_H
#define HOSTLAT_PROBE_TIMELINE_H

#include <stdint.h>

#include "bpf/abi_record.h"
#include "event/writer.h"
#include "probe/cpu/timeline_places.h"

struct timeline;

/*
 * Returns 0 or -ENOMEM. Cores 0 to `cores` - 1 are not recorded before `start_ns`. `lookup` is
 * copied; NULL: nothing is known.
 */
int timeline_new(struct timeline **out, uint32_t cores, uint64_t start_ns,
		 const struct timeline_lookup *lookup);
void timeline_free(struct timeline *t);

/*
 * Adds the next event of a core, which waits for timeline_settle(). Events may be slightly out of
 * order, as an interrupt can come between reserving an entry and reading the clock. An event older
 * than the settled time is lost. Returns 0, the writer's error, or -ENOMEM.
 */
int timeline_put(struct timeline *t, struct event_writer *writer, uint32_t core,
		 const struct act *act);

/* Calls and returns of kernel functions, from a function trace, in the order of time. */
enum timeline_call_what {
	TIMELINE_CALL,
	TIMELINE_RETURN,
	TIMELINE_LOST,	/* events are missing from here on: the core is not recorded */
	TIMELINE_AGAIN,	/* the missing events end here; recorded from the next event on */
};

struct timeline_call {
	uint64_t time;
	uint32_t symbol;
	enum timeline_call_what what;
};

/* Largest number of waiting calls per core; further calls are lost. */
#define TIMELINE_CALLS (1U << 20)

/* Adds a function's call or return on a core. Returns 0 or -ENOMEM. */
int timeline_call(struct timeline *t, uint32_t core, const struct timeline_call *call);

/*
 * Writes the events of all cores up to `until`, in the order of time. The caller has added all
 * events and calls up to then; `until` must not decrease. Returns 0 or the writer's error.
 */
int timeline_settle(struct timeline *t, struct event_writer *writer, uint64_t until);

/* Returns the number of events that came too late to be written. */
uint64_t timeline_too_late(const struct timeline *t);

/* Sets a core's final number of lost events; called after all its events are settled. */
void timeline_lost(struct timeline *t, uint32_t core, uint32_t lost);

/* Ends the timeline: cuts open spans at `end_ns`. Returns 0 or the writer's error. */
int timeline_end(struct timeline *t, struct event_writer *writer, uint64_t end_ns);

#endif
