/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the CPUs do, live: loads src/bpf/activity.bpf.c and turns its rings into spans and wakings.
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

/* How often to pull: a ring holds 65,536 events, and a busy CPU makes a million a second. */
#define ACTIVITY_PULL_NS 10000000ULL

/*
 * System calls and faults are those of process `pid`, or, if that is 0, of all that read from
 * sockets. Returns 0 or -errno with the reason in words in `why`.
 */
int activity_open(struct activity **out, uint32_t pid, char *why, size_t size);

/* From here on. Returns 0 or -errno. */
int activity_start(struct activity *activity);

/* Lines "HOOK: why; without it, what is unknown" of what this kernel refuses; "": nothing. */
const char *activity_missing(const struct activity *activity);

/*
 * All that has come; it is written up to about now, or up to `until`: for those who have the CPUs'
 * functions up to then, of which they tell by activity_call() before. Returns the writer's first
 * error.
 */
int activity_pull(struct activity *activity, struct event_writer *writer, uint64_t until);
int activity_call(struct activity *activity, uint32_t core, const struct timeline_call *call);

/* CPUs that there may be. */
uint32_t activity_cores(const struct activity *activity);

/* The last of it; then what is open ends. */
int activity_end(struct activity *activity, struct event_writer *writer);

/* Adds what the kernel's statistics say of the programs so far, while they are on. */
void activity_cost(const struct activity *activity, uint64_t *run_ns, uint64_t *runs);

/* Events that found no room, so far. */
uint64_t activity_lost(const struct activity *activity);

void activity_free(struct activity *activity);

#endif
