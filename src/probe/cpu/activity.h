/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records CPU activity live: loads the programs of src/bpf/activity.bpf.c, and turns the events in
 * their rings into spans and wakeups.
 *
 *	activity_open(&activity, pid, why, sizeof(why));
 *	activity_start(activity);
 *	often enough that no ring fills: activity_pull(activity, writer, UINT64_MAX);
 *	activity_end(activity, writer);
 *	activity_free(activity);
 *
 * Nothing is pinned: when the process ends, however it ends, the kernel removes everything.
 */
#ifndef HOSTLAT_PROBE_ACTIVITY_H
#define HOSTLAT_PROBE_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>

#include "event/writer.h"
#include "probe/cpu/timeline.h"

struct activity;

/*
 * Time in ns between calls of activity_pull(). A ring holds 65,536 events, and a busy CPU makes a
 * million a second.
 */
#define ACTIVITY_PULL_NS 10000000ULL

/*
 * Loads the programs. Records system calls and faults of process `pid`; 0: of all processes that
 * read from sockets. Returns 0, or -errno with the reason in words in `why`.
 */
int activity_open(struct activity **out, uint32_t pid, char *why, size_t size);

/* Starts recording. Returns 0 or -errno. */
int activity_start(struct activity *activity);

/* Returns lines "HOOK: why; without it, what is unknown", one per refused hook; "": none. */
const char *activity_missing(const struct activity *activity);

/*
 * Reads all new events and writes those up to `until`, or up to about now if that is earlier. A
 * caller that has a function trace first adds its calls up to `until` with activity_call(). Returns
 * 0 or the writer's error.
 */
int activity_pull(struct activity *activity, struct event_writer *writer, uint64_t until);
int activity_call(struct activity *activity, uint32_t core, const struct timeline_call *call);

/* Returns the number of possible CPUs. */
uint32_t activity_cores(const struct activity *activity);

/* Stops recording, writes the last events, closes open spans. Returns 0 or the writer's error. */
int activity_end(struct activity *activity, struct event_writer *writer);

/* Adds the programs' time in ns and runs so far, by the kernel's statistics, while they are on. */
void activity_cost(const struct activity *activity, uint64_t *run_ns, uint64_t *runs);

/* Returns the number of events lost so far. */
uint64_t activity_lost(const struct activity *activity);

void activity_free(struct activity *activity);

#endif
