/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/thread_state.h"

#include "base/parse.h"

/* A waking may be recorded this many ns before its sleep begins: the two are on different cores. */
#define WAKE_EARLY_NS (100 * NS_PER_US)

enum thread_state thread_state_on_core(const struct cpu_segment *segment,
				       const struct tasks *tasks, uint32_t thread)
{
	if (segment->type == SEGMENT_NOT_RECORDED || segment->type == SEGMENT_IDLE ||
	    tasks_get(tasks, segment->task)->thread != thread)
		return THREAD_UNKNOWN;
	return segment->type == SEGMENT_SOFTIRQ || segment->type == SEGMENT_HARDIRQ ?
		       THREAD_INTERRUPTED : THREAD_ON_CPU;
}

enum thread_state thread_state_left(uint8_t left)
{
	static const uint8_t states[LEFT_MAX] = {
		[LEFT_UNKNOWN] = THREAD_UNKNOWN, [LEFT_RUNNABLE] = THREAD_CPU_WAIT,
		[LEFT_ASLEEP] = THREAD_ASLEEP, [LEFT_BLOCKED] = THREAD_BLOCKED,
		[LEFT_IO] = THREAD_BLOCKED, [LEFT_STOPPED] = THREAD_STOPPED,
		[LEFT_ENDED] = THREAD_UNKNOWN,
	};

	return left < LEFT_MAX ? (enum thread_state)states[left] : THREAD_UNKNOWN;
}

enum thread_state thread_state_before(const struct oncpu *next, const struct oncpu *last)
{
	if (last && last->left != next->left_before)
		return THREAD_UNKNOWN;
	return thread_state_left(next->left_before);
}

const struct waking *thread_state_woken(const struct cpu_history *history,
					const struct waking *woken, const struct oncpu *last)
{
	const struct waking *before;

	if (!woken || !last)
		return woken;
	/* A waking before the last stretch on a CPU began that stretch, not the next one. */
	if (woken->time <= last->begin || woken->time + WAKE_EARLY_NS < last->end)
		return NULL;
	before = cpu_history_waking_before(history, woken);
	return before && before->time > last->end ? NULL : woken;
}
