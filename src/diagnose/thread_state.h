/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a thread by what its cores recorded: for the causes of messages and for profiles. */
#ifndef HOSTLAT_DIAGNOSE_THREAD_STATE_H
#define HOSTLAT_DIAGNOSE_THREAD_STATE_H

#include "diagnose/cpu_history.h"

enum thread_state {
	THREAD_ON_CPU,
	THREAD_INTERRUPTED, /* it has a CPU, which does an interrupt or a softirq */
	THREAD_CPU_WAIT,    /* runnable */
	THREAD_ASLEEP,
	THREAD_BLOCKED,     /* uninterruptible: for a device, a file, memory */
	THREAD_STOPPED,     /* by a signal or a tracer */
	THREAD_UNKNOWN,
	THREAD_STATES,
};

/*
 * Returns the thread's state while it has the core; THREAD_UNKNOWN if the segment shows another
 * task or none.
 */
enum thread_state thread_state_on_core(const struct cpu_segment *segment,
				       const struct tasks *tasks, uint32_t thread);

/* The state that a thread left its core in. `left`: enum task_left. */
enum thread_state thread_state_left(uint8_t left);

/*
 * The state in which a thread was without a core before `next`. `last`: its stretch on a CPU
 * before, NULL: not known. Unknown, too, if the two contradict each other.
 */
enum thread_state thread_state_before(const struct oncpu *next, const struct oncpu *last);

/*
 * The waking that ended the sleep after `last`, or NULL: that it was one sleep isn't known.
 * `woken`: the thread's last waking before its next stretch on a CPU, or NULL.
 */
const struct waking *thread_state_woken(const struct cpu_history *history,
					const struct waking *woken, const struct oncpu *last);

#endif
