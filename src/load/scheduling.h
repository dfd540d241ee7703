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

/* Returns the n'th CPU that this process may use (n modulo the number of CPUs); -1: error. */
int scheduling_nth_cpu(uint32_t number);

/*
 * Returns whether the threads can have high priority (nice -20): this process may raise it, they
 * sleep at times, and the machine has a CPU besides theirs, so that a server on this host has one.
 */
bool scheduling_can_raise(const struct load_config *config);

/*
 * Applies to the calling thread: exact timers, the CPU (-1: any) and priority. A refusal changes
 * nothing: the thread then runs like any other, and gaps are measured.
 */
void scheduling_apply(int cpu, enum load_priority priority);

#endif
