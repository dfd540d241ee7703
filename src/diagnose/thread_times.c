/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/thread_times.h"

#include <errno.h>
#include <stdlib.h>

#include "base/parse.h"
#include "base/sort.h"
#include "diagnose/stream.h"

/* History before a stretch, in ns: what its thread did last may be as old. */
#define THREAD_TIMES_BEFORE_NS NS_PER_S

struct thread_times_pass {
	struct breakdown *into;
	int err;
};

static void thread_times_add_slice(void *ctx, const struct slice *slice)
{
	struct thread_times_pass *pass = ctx;

	if (!pass->err)
		pass->err = breakdown_add(pass->into, slice);
}

static int thread_times_order_by_end(const void *a, const void *b)
{
	const struct thread_time *x = a, *y = b;

	return sort_order(x->to, y->to) ?: sort_order(x->from, y->from) ?:
	       sort_order(x->subject, y->subject);
}

/* Returns for each stretch the earliest history that it or a later one needs, in ns. */
static uint64_t *thread_times_history(const struct thread_times *s)
{
	uint64_t *from = calloc(s->len + 1, sizeof(*from));

	if (!from)
		return NULL;
	from[s->len] = UINT64_MAX;
	for (size_t i = s->len; i--;) {
		const uint64_t begin = s->items[i].from;

		from[i] = begin > THREAD_TIMES_BEFORE_NS ? begin - THREAD_TIMES_BEFORE_NS : 0;
		if (from[i + 1] < from[i])
			from[i] = from[i + 1];
	}
	return from;
}

static uint32_t thread_times_thread(const struct recorded *rec, uint32_t tid)
{
	return tasks_get(&rec->tasks, tasks_by_tid(&rec->tasks, tid))->thread;
}

static int thread_times_walk(struct thread_times *s, const struct recorded *rec,
			     struct breakdown *breakdowns, struct activity_stream *stream,
			     const struct cpu_history *history, const uint64_t *from)
{
	struct thread_times_pass pass = { 0 };
	struct attrib_env env = {
		.messages = &rec->messages, .tasks = &rec->tasks, .calls = &rec->calls,
		.recorder = rec->hostlat.recorder, .throttles = rec->throttles,
		.lost_messages = rec->lost_messages, .history = history,
		.emit = thread_times_add_slice, .ctx = &pass,
	};
	int err = 0;

	attrib_init(&env);
	for (size_t i = 0; i < s->len && !err; i++) {
		const struct thread_time *one = &s->items[i];

		pass.into = &breakdowns[one->subject];
		err = stream_cover(stream, from[i], one->to);
		if (!err)
			err = attrib_stretch(&env, thread_times_thread(rec, one->tid), one->from,
					     one->to, one->where);
		err = err ?: pass.err;
	}
	attrib_release(&env);
	return err;
}

int thread_times_divide(struct thread_times *s, const struct recorded *rec,
			struct breakdown *breakdowns)
{
	struct activity_stream *stream = NULL;
	struct cpu_history history = { 0 };
	uint64_t *from;
	int err;

	if (!s->len || !rec->cores)
		return 0;
	qsort(s->items, s->len, sizeof(*s->items), thread_times_order_by_end);
	from = thread_times_history(s);
	err = from ? cpu_history_init(&history, &rec->tasks, rec->cores) : -ENOMEM;
	if (!err)
		err = stream_open(&stream, rec->reader, &history);
	if (!err)
		err = thread_times_walk(s, rec, breakdowns, stream, &history, from);
	stream_free(stream);
	cpu_history_release(&history);
	free(from);
	return err;
}
