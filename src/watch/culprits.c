/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/culprits.h"

#include <string.h>

static bool culprits_more_time(const struct watch_task *a, const struct watch_task *b,
			       enum watch_span span)
{
	if (a->ns[span] != b->ns[span])
		return a->ns[span] > b->ns[span];
	return a->id.pid < b->id.pid;
}

/* Inserts a task into the list, which is sorted by time and has at most `most` tasks. */
static void culprits_insert(struct watch_culprits *c, const struct watch_task *task, size_t most,
			    enum watch_span span)
{
	size_t at = c->n;

	while (at && culprits_more_time(task, c->tasks[at - 1], span))
		at--;
	if (at == most)
		return;
	if (c->n < most)
		c->n++;
	memmove(&c->tasks[at + 1], &c->tasks[at], (c->n - at - 1) * sizeof(c->tasks[0]));
	c->tasks[at] = task;
}

void watch_culprits(const struct watch *w, enum watch_span span, size_t most,
		    struct watch_culprits *c)
{
	BUG_ON(most > WATCH_CULPRITS_SHOWN);
	*c = (struct watch_culprits){
		.others_ns = w->other_tasks.ns[span],
		.others_count = w->other_tasks.count[span],
	};
	vec_for_each(&w->tasks, task) {
		c->others_ns += task->ns[span];
		c->others_count += task->count[span];
		if (task->count[span] || task->ns[span])
			culprits_insert(c, task, most, span);
	}
	c->total_ns = c->others_ns;
	for (size_t i = 0; i < c->n; i++) {
		c->others_ns -= c->tasks[i]->ns[span];
		c->others_count -= c->tasks[i]->count[span];
	}
}
