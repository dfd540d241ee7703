/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where and how soon the kernel runs a thread of the load generator. On a CPU that others use, a
 * thread of normal priority waits for their time slices, and all of its latencies include that.
 */
#ifndef HOSTLAT_LOAD_SCHEDULING_H
#define HOSTLAT_LOAD_SCHEDULING_H

#include <stdbool.h>
#include <stdint.h>

#include "load/config.h"

/* Names of enum load_priority, in facts and JSON; NULL behind the last. */
extern const char *const scheduling_priorities[];

/* Returns the n'th CPU that this process may use (n modulo the number of CPUs); -1: error. */
int scheduling_nth_cpu(uint32_t number);

/*
 * Returns the priority that threads are to have: the one that was asked for, but normal for threads
 * that spin, or that were started with a policy of their own, which they keep.
 */
enum load_priority scheduling_wanted(enum load_priority asked, bool spin);

/*
 * Returns the highest priority, up to the one of the config, that the threads can have: where this
 * process may raise it, they sleep at times, and the machine has a CPU besides theirs, so that a
 * server on this host has one.
 *
 * nice -20 alone is worth little where the kernel gives each session a share of a CPU of its own
 * (autogroups: sched(7)): it counts only within hostlat's own session.
 */
enum load_priority scheduling_granted(const struct load_config *config);

/*
 * Applies to the calling thread: exact timers, the CPU (-1: any) and priority. A refusal changes
 * nothing: the thread then runs like any other, and gaps are measured.
 */
void scheduling_apply(int cpu, enum load_priority priority);

/* State of a thread of real-time priority; all 0 at first. */
struct scheduling_yield {
	bool frugal;            /* the thread is to sleep rather than to spin, from now on */
	bool yields, ever;      /* now; now or before */
	uint64_t at_ns, cpu_ns; /* last decision */
};

/*
 * Keeps the calling thread, of real-time priority, from being so busy that others would hardly get
 * the CPU: first it is to spin no more, and while that is not enough it yields, with nice -20
 * instead. Called some times per second with the time and the CPU time of the thread, ns.
 */
void scheduling_yield(struct scheduling_yield *yield, uint64_t now_ns, uint64_t cpu_ns);

#endif
