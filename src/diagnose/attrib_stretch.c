/* SPDX-License-Identifier: Apache-2.0 */
/* Attribution of a stretch of a thread's time that belongs to no message. */
#include "diagnose/attrib_state.h"

#include "base/bug.h"
#include "diagnose/thread_state.h"

static void attrib_stretch_running_part(struct attribution *a, const struct segment_part *part)
{
	struct slice slice = attrib_slice(a, part);

	if (thread_state_on_core(part->segment, a->env->tasks, a->thread) == THREAD_UNKNOWN)
		attrib_lose_reader(a, part->end, part->core);
	else if (part->segment->type == SEGMENT_FAULT)
		attrib_charge(a, part->end, CAUSE_PAGE_FAULT, &slice);
	else if (!attrib_interrupt(a, part, part->end))
		attrib_charge(a, part->end, CAUSE_APPLICATION, &slice);
}

/* Charges a sleep: nothing is known of what the thread should have done meanwhile. */
static void attrib_stretch_asleep(struct attribution *a, uint64_t to, const struct oncpu *next,
				  const struct waking *woken, struct slice *slice)
{
	const enum call_class class =
		next->call ? calls_class(a->env->calls, next->call - 1) : CALL_OTHER;
	const bool by_task = !(woken->flags & WAKE_INTERRUPT);
	enum cause cause = CAUSE_APPLICATION;

	if (next->left_before == LEFT_IO || class == CALL_FILE)
		cause = CAUSE_IO_WAIT;
	else if (class == CALL_SEND)
		cause = CAUSE_WINDOW;
	else if (by_task && (class == CALL_LOCK || next->left_before == LEFT_BLOCKED))
		cause = CAUSE_LOCK;
	else if (!next->call)
		cause = CAUSE_UNEXPLAINED;
	if (cause == CAUSE_LOCK)
		slice->culprit = woken->waker;
	attrib_charge(a, to, cause, slice);
}

int attrib_stretch(struct attrib_env *env, uint32_t thread, uint64_t from, uint64_t to,
		   enum where where)
{
	struct attribution a = { .env = env, .message = ATTRIB_NO_MESSAGE, .thread = thread,
				 .at = from, .end = to, .where = where,
				 .asleep = attrib_stretch_asleep };
	int err = 0;

	if (thread != THREAD_NONE)
		err = attrib_thread(&a, from, to, to, attrib_stretch_running_part);
	attrib_not_recorded(&a, to, CORE_UNKNOWN);
	BUG_ON(!err && a.at < to);
	return err;
}
