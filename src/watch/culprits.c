/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/culprits.h"

#include <stdlib.h>
#include <string.h>

static bool culprits_more_time(const struct watch_culprit *a, const struct watch_culprit *b)
{
	if (a->ns != b->ns)
		return a->ns > b->ns;
	return a->task->id.pid < b->task->id.pid;
}

/* Inserts a culprit into the list, which is sorted by time and has at most `most`. */
static void culprits_insert(struct watch_culprits *c, const struct watch_culprit *culprit,
			    size_t most)
{
	size_t at = c->n;

	while (at && culprits_more_time(culprit, &c->list[at - 1]))
		at--;
	if (at == most)
		return;
	if (c->n < most)
		c->n++;
	memmove(&c->list[at + 1], &c->list[at], (c->n - at - 1) * sizeof(c->list[0]));
	c->list[at] = *culprit;
}

static void culprits_begin(const struct watch *w, enum watch_span span, struct watch_culprits *c)
{
	*c = (struct watch_culprits){
		.others_ns = w->other_tasks.ns[span],
		.others_count = w->other_tasks.count[span],
	};
	vec_for_each(&w->tasks, task) {
		c->others_ns += task->ns[span];
		c->others_count += task->count[span];
	}
	c->total_ns = c->others_ns;
}

static void culprits_end(struct watch_culprits *c)
{
	for (size_t i = 0; i < c->n; i++) {
		c->others_ns -= c->list[i].ns;
		c->others_count -= c->list[i].count;
	}
}

static bool culprits_has(const struct watch_task *task, enum watch_span span)
{
	return task->count[span] || task->ns[span];
}

void watch_culprits(const struct watch *w, enum watch_span span, size_t most,
		    struct watch_culprits *c)
{
	BUG_ON(most > WATCH_CULPRITS_SHOWN);
	culprits_begin(w, span, c);
	vec_for_each(&w->tasks, task) {
		const struct watch_culprit culprit = {
			.task = task, .processes = 1, .ns = task->ns[span],
			.count = task->count[span] };

		if (culprits_has(task, span))
			culprits_insert(c, &culprit, most);
	}
	culprits_end(c);
}

/* ---- by command ---- */

static int culprits_by_name(const void *va, const void *vb)
{
	const struct watch_task *a = *(const struct watch_task *const *)va;
	const struct watch_task *b = *(const struct watch_task *const *)vb;
	int order = strncmp(a->id.comm, b->id.comm, EVENT_COMM_LEN);

	return order ? order : a->id.pid < b->id.pid ? -1 : a->id.pid > b->id.pid;
}

void watch_commands(const struct watch *w, enum watch_span span, size_t most,
		    struct watch_culprits *c)
{
	const struct watch_task *tasks[WATCH_TASKS_MAX];
	size_t n = 0;

	BUG_ON(most > WATCH_CULPRITS_SHOWN);
	culprits_begin(w, span, c);
	vec_for_each(&w->tasks, task) {
		if (culprits_has(task, span))
			tasks[n++] = task;
	}
	qsort(tasks, n, sizeof(tasks[0]), culprits_by_name);
	for (size_t i = 0; i < n;) {
		struct watch_culprit command = { .task = tasks[i] };

		for (; i < n && !strncmp(tasks[i]->id.comm, command.task->id.comm,
					 EVENT_COMM_LEN); i++) {
			command.processes++;
			command.ns += tasks[i]->ns[span];
			command.count += tasks[i]->count[span];
		}
		culprits_insert(c, &command, most);
	}
	culprits_end(c);
}
