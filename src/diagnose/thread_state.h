/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's state by its cores' recorded activity, for causes of messages and thread profiles. */
#ifndef HOSTLAT_DIAGNOSE_THREAD_STATE_H
#define HOSTLAT_DIAGNOSE_THREAD_STATE_H

#include "diagnose/cpu_history.h"

enum thread_state {
	THREAD_ON_CPU,
	THREAD_INTERRUPTED, /* the thread's CPU serves an interrupt or a softirq */
	THREAD_CPU_WAIT,    /* runnable, without a CPU */
	THREAD_ASLEEP,
	THREAD_BLOCKED,     /* uninterruptible sleep: waits for a device, a file or memory */
	THREAD_STOPPED,     /* stopped by a signal or a tracer */
	THREAD_UNKNOWN,
	THREAD_STATES,
};

/*
 * Returns the thread's state while it has the core; THREAD_UNKNOWN if the segment shows another
 * task or none.
 */
enum thread_state thread_state_on_core(const struct cpu_segment *segment,
				       const struct tasks *tasks, uint32_t thread);

/* Returns the state in which a thread left its core. `left`: enum task_left. */
enum thread_state thread_state_left(uint8_t left);

/*
 * Returns a thread's state off-CPU before its stretch `next` on a CPU; THREAD_UNKNOWN if `last`,
 * the previous stretch (NULL: unknown), contradicts `next`.
 */
enum thread_state thread_state_before(const struct oncpu *next, const struct oncpu *last);

/*
 * Returns the waking that ended the sleep after a thread's stretch `last` on a CPU; NULL: there may
 * have been several sleeps. `woken`: the last waking before the thread's next stretch, or NULL.
 */
const struct waking *thread_state_woken(const struct cpu_history *history,
					const struct waking *woken, const struct oncpu *last);

#endif
