/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/bursts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/parse.h"
#include "diagnose/attrib.h"
#include "diagnose/stream.h"

/* Activity is read in steps of this many ns; after each, the threads' new stretches are added. */
#define STEP_NS (100 * NS_PER_MS)
/* History that stays besides the time off the CPU, in ns: long waits for a CPU are in it. */
#define HISTORY_NS NS_PER_S

/* Progress of one thread through the recording. */
struct burst_walk {
	uint32_t command;    /* 0: the thread is not followed */
	uint32_t task;
	uint64_t last_begin; /* begin of the last stretch on a CPU; 0: none */
	uint64_t at;         /* the stretches are added up to this time, in ns */
	size_t burst;        /* index + 1 of the burst that goes on; 0: none */
};

struct burst_pass {
	const struct recorded *rec;
	struct cpu_history history;
	struct burst_walk *walks; /* by thread */
	uint64_t from, to, off_ns;
	struct burst_list *out;
	uint64_t beyond;
	struct burst_oncpus VEC_OF(struct oncpu) oncpus; /* a thread's new stretches on a CPU,
							  * latest first */
};

/* ---- one thread ---- */

/* Returns when a stretch on a CPU became due: the waking that ended the sleep before it. */
static uint64_t bursts_start(const struct burst_pass *p, const struct burst_walk *w,
			     const struct oncpu *oncpu)
{
	const struct waking *woken =
		cpu_history_waking(&p->history, oncpu->thread, oncpu->begin);

	return woken && woken->time > w->at ? woken->time : oncpu->begin;
}

/*
 * Returns whether a thread may have run before `start` where events are missing. A thread that was
 * never seen is most likely new: a job of short processes has no other ones.
 */
static bool bursts_may_have_run(const struct burst_pass *p, const struct burst_walk *w,
				uint64_t start)
{
	return w->last_begin &&
	       cpu_history_trace_gap(&p->history, start - p->off_ns, start) != NULL;
}

/* Adds a burst if the stretch begins one. Returns 0 or -ENOMEM. */
static int bursts_begin(struct burst_pass *p, struct burst_walk *w, const struct oncpu *oncpu)
{
	const uint64_t start = bursts_start(p, w, oncpu);
	int err;

	if (oncpu->left_before == LEFT_RUNNABLE || start < w->at + p->off_ns)
		return 0;
	w->burst = 0;
	if (start < p->from || start >= p->to ||
	    bursts_may_have_run(p, w, start))
		return 0;
	err = vec_push(p->out, (struct burst){ .at = start, .command = w->command,
					       .task = w->task });
	if (!err)
		w->burst = p->out->len;
	p->beyond += err == -E2BIG;
	return err == -E2BIG ? 0 : err;
}

/* Adds a stretch on a CPU, as far as it is before `now` and was not added yet. */
static int bursts_add_oncpu(struct burst_pass *p, struct burst_walk *w, const struct oncpu *oncpu,
			    uint64_t now)
{
	const uint64_t end = oncpu->end < now ? oncpu->end : now;
	const uint64_t begin = oncpu->begin > w->at ? oncpu->begin : w->at;
	int err = oncpu->begin > w->last_begin ? bursts_begin(p, w, oncpu) : 0;

	w->last_begin = oncpu->begin;
	if (end > begin) {
		if (w->burst)
			p->out->items[w->burst - 1].ns += end - begin;
		w->at = end;
	}
	return err;
}

static int bursts_add_thread(struct burst_pass *p, uint32_t thread, uint64_t now)
{
	struct burst_walk *w = &p->walks[thread];
	const struct oncpu *oncpu = cpu_history_last_oncpu(&p->history, thread);
	int err = 0;

	vec_clear(&p->oncpus);
	for (; !err && oncpu && oncpu->begin >= w->last_begin && oncpu->begin < now;
	     oncpu = cpu_history_oncpu_before(&p->history, oncpu))
		err = vec_push(&p->oncpus, *oncpu);
	for (size_t i = p->oncpus.len; !err && i--;)
		err = bursts_add_oncpu(p, w, &p->oncpus.items[i], now);
	return err;
}

/* ---- all threads ---- */

/* A thread has the name that it had last, and so has its command. */
static int bursts_make_walks(struct burst_pass *p, uint64_t begin)
{
	const struct tasks *tasks = &p->rec->tasks;
	const struct task_commands *commands = &p->rec->commands;

	p->walks = calloc(tasks->threads + 1UL, sizeof(*p->walks));
	if (!p->walks)
		return -ENOMEM;
	for (uint32_t id = 1; id < tasks->n; id++) {
		const struct task_name *task = tasks_get(tasks, id);
		const uint32_t command = commands_find(commands, id);

		if (task->thread != THREAD_NONE && command && !commands->all[command - 1].part)
			p->walks[task->thread] = (struct burst_walk){
				.command = command, .task = tasks_by_tid(tasks, task->tid),
				.at = begin,
			};
	}
	return 0;
}

static int bursts_read_pass(struct burst_pass *p, struct activity_stream *stream, uint64_t begin)
{
	const uint64_t keep = p->off_ns + HISTORY_NS;
	int err = 0;

	for (uint64_t time = begin; !err && time < p->to; time += STEP_NS) {
		err = stream_cover(stream, time > begin + keep ? time - keep : begin,
				   time + STEP_NS);
		for (uint32_t i = 0; !err && i < p->rec->tasks.threads; i++)
			if (p->walks[i].command)
				err = bursts_add_thread(p, i, time + STEP_NS);
	}
	return err;
}

int bursts_read(const struct recorded *rec, uint64_t from, uint64_t to, uint64_t off_ns,
		struct burst_list *out, uint64_t *beyond)
{
	const uint64_t begin = from > off_ns ? from - off_ns : 0;
	struct burst_pass p = { .rec = rec, .from = from, .to = to, .off_ns = off_ns, .out = out };
	struct activity_stream *stream = NULL;
	const int cores = stream_cores(rec->reader);
	int err;

	if (cores <= 0)
		return cores;
	vec_init(&p.oncpus, ONCPUS_MAX);
	err = cpu_history_init(&p.history, &rec->tasks, (uint32_t)cores);
	if (!err)
		err = bursts_make_walks(&p, begin);
	if (!err)
		err = stream_open(&stream, rec->reader, &p.history);
	if (!err)
		err = bursts_read_pass(&p, stream, begin);
	*beyond = p.beyond;
	stream_free(stream);
	free(p.walks);
	vec_release(&p.oncpus);
	cpu_history_release(&p.history);
	return err;
}
