/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "event/writer.h"
#include "probe/cpu/timeline.h"

#define TRACE_ACTS (64u << 20)
#define STARTED_NS 1700000000000000000ULL

void trace_init(struct trace *t, uint32_t cores)
{
	*t = (struct trace){ .cores = cores };
	vec_init(&t->acts, TRACE_ACTS);
	vec_init(&t->messages, TRACE_ACTS);
}

void trace_release(struct trace *t)
{
	vec_release(&t->acts);
	vec_release(&t->messages);
}

struct trace_act *trace_add(struct trace *t, uint64_t time, uint32_t core, enum trace_step step,
			    uint32_t a, uint16_t arg)
{
	struct trace_act act = {
		.time = time, .core = core, .a = a, .arg = arg, .step = (uint8_t)step,
		.order = (uint32_t)t->acts.len,
	};

	BUG_ON(core >= t->cores || vec_push(&t->acts, act));
	if (time > t->end)
		t->end = time;
	return vec_last(&t->acts);
}

struct trace_act *trace_name(struct trace *t, uint64_t time, uint32_t pid, uint32_t tid,
			     const char *name)
{
	struct trace_act *act = trace_add(t, time, 0, TRACE_NAME, tid, 0);

	act->tgid = pid;
	snprintf(act->name, sizeof(act->name), "%s", name);
	return act;
}

uint32_t trace_place(struct trace *t, const char *cgroup, const char *unit)
{
	for (uint32_t i = 0; i < t->n_places; i++)
		if (strcmp(t->places[i].cgroup, cgroup) == 0)
			return i + 1;
	BUG_ON(t->n_places == TRACE_PLACES);
	snprintf(t->places[t->n_places].cgroup, sizeof(t->places[0].cgroup), "%s", cgroup);
	snprintf(t->places[t->n_places].unit, sizeof(t->places[0].unit), "%s", unit);
	return ++t->n_places;
}

struct trace_message *trace_message(struct trace *t, uint64_t id, uint32_t tid, uint64_t first,
				    uint64_t queued, uint64_t read, uint32_t core)
{
	struct trace_message m = {
		.head = {
			.id = id, .tid = tid, .bytes = 100, .first = TRACE_START + first,
			.last = TRACE_START + first, .direction = DIR_INGRESS,
			.protocol = PROTO_TCP, .n = 2,
		},
		.read = TRACE_START + read,
		.pieces = {
			{ .begin = TRACE_START + first, .end = TRACE_START + queued,
			  .core = core, .role = PIECE_RECEIVE },
			{ .begin = TRACE_START + queued, .end = TRACE_START + read,
			  .core = core, .role = PIECE_APPLICATION },
		},
	};

	BUG_ON(vec_push(&t->messages, m));
	if (read > t->end)
		t->end = read;
	return vec_last(&t->messages);
}

/* ---- writing ---- */

struct trace_writer {
	struct timeline *timeline;
	struct event_writer *writer;
	uint32_t current[TRACE_CORES]; /* the task that has the core */
	uint32_t lost[TRACE_CORES];
};

static int by_time(const void *a, const void *b)
{
	const struct trace_act *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* As a switch tells it: include/linux/sched.h. */
static uint16_t state_of(uint16_t left)
{
	static const uint16_t states[LEFT_MAX] = {
		[LEFT_RUNNABLE] = ACT_PREEMPTED, [LEFT_ASLEEP] = 1, [LEFT_BLOCKED] = 2,
		[LEFT_IO] = 2 | ACT_IOWAIT, [LEFT_STOPPED] = 4, [LEFT_ENDED] = 0x80,
	};

	return states[left];
}

static const uint8_t types[TRACE_STEPS] = {
	[TRACE_SWITCH] = ACT_SWITCH, [TRACE_CALL] = ACT_SYSCALL, [TRACE_RETURN] = ACT_SYSCALL_END,
	[TRACE_IRQ] = ACT_IRQ, [TRACE_IRQ_END] = ACT_IRQ_END, [TRACE_VECTOR] = ACT_VECTOR,
	[TRACE_VECTOR_END] = ACT_VECTOR_END, [TRACE_SOFTIRQ] = ACT_SOFTIRQ,
	[TRACE_SOFTIRQ_END] = ACT_SOFTIRQ_END, [TRACE_FAULT] = ACT_FAULT, [TRACE_WAKE] = ACT_WAKE,
	[TRACE_NAME] = ACT_NAME,
};

static void put_function(struct trace_writer *w, const struct trace_act *a)
{
	const struct timeline_call call = {
		.time = TRACE_START + a->time, .symbol = a->a,
		.what = a->step == TRACE_ENTER ? TIMELINE_CALL : TIMELINE_RETURN,
	};

	BUG_ON(timeline_call(w->timeline, a->core, &call));
}

static void put(struct trace_writer *w, const struct trace_act *a)
{
	struct act act = { .a = a->a, .arg = a->arg, .type = types[a->step] };
	const uint32_t before = w->current[a->core];

	if (a->step == TRACE_NAME) {
		act.tgid = a->tgid;
		act.cgroup = a->cgroup;
		memcpy(act.comm, a->name, sizeof(act.comm));
		BUG_ON(timeline_put(w->timeline, w->writer, a->core, &act));
		return;
	}
	act.time = TRACE_START + a->time;
	act.b = before;
	if (a->step == TRACE_HIDDEN) {
		w->current[a->core] = a->a;
		return;
	}
	if (a->step == TRACE_SWITCH) {
		act.a = before;
		act.b = w->current[a->core] = a->a;
		act.arg = before ? state_of(a->arg) : 0;
	}
	if (a->dropped)
		w->lost[a->core]++;
	act.lost = w->lost[a->core];
	if (a->dropped)
		return;
	BUG_ON(timeline_put(w->timeline, w->writer, a->core, &act));
}

static void flush(struct trace_writer *w, uint64_t time)
{
	BUG_ON(timeline_settle(w->timeline, w->writer, time));
	BUG_ON(event_writer_flush(w->writer));
}

static void write_acts(struct trace *t, struct trace_writer *w)
{
	struct act idle = { .time = TRACE_START, .type = ACT_SWITCH };

	if (t->acts.len)
		qsort(t->acts.items, t->acts.len, sizeof(*t->acts.items), by_time);
	for (uint32_t core = 0; core < t->cores && !t->early; core++)
		BUG_ON(timeline_put(w->timeline, w->writer, core, &idle));
	vec_for_each(&t->acts, a) {
		if (a->step == TRACE_FLUSH)
			flush(w, TRACE_START + a->time);
		else if (a->step == TRACE_LOSE)
			w->lost[a->core]++;
		else if (a->step == TRACE_ENTER || a->step == TRACE_LEAVE)
			put_function(w, a);
		else
			put(w, a);
	}
	BUG_ON(timeline_settle(w->timeline, w->writer, UINT64_MAX));
	for (uint32_t core = 0; core < t->cores; core++)
		timeline_lost(w->timeline, core, w->lost[core]);
	if (!t->open)
		BUG_ON(timeline_end(w->timeline, w->writer, TRACE_START + t->end));
}

static void write_messages(const struct trace *t, struct event_writer *writer)
{
	vec_for_each(&t->messages, m) {
		const struct event event = {
			.kind = EV_MESSAGE, .time = m->read,
			.core = m->head.n ? m->pieces[m->head.n - 1].core : 0,
		};
		const struct iovec parts[] = {
			{ &m->head, sizeof(m->head) },
			{ m->pieces, m->head.n * sizeof(m->pieces[0]) },
		};

		BUG_ON(event_writer_record(writer, EVENT_DOMAIN_MONOTONIC, m->head.first, &event,
					   parts, 2));
	}
}

struct event_writer *trace_writer(int fd)
{
	const struct event_writer_options options = {
		.raw = true, .started_ns = STARTED_NS, .stream = 1,
	};
	struct event_writer *writer;

	BUG_ON(event_writer_new(&writer, fd, &options));
	return writer;
}

static int place_of(void *ctx, uint64_t id, struct timeline_path *path)
{
	const struct trace *t = ctx;

	if (id > t->n_places)
		return -ENOENT;
	*path = (struct timeline_path){ 0 };
	snprintf(path->cgroup, sizeof(path->cgroup), "%s", t->places[id - 1].cgroup);
	snprintf(path->unit, sizeof(path->unit), "%s", t->places[id - 1].unit);
	return 0;
}

void trace_write(struct trace *t, struct event_writer *writer)
{
	struct trace_writer w = { .writer = writer };

	const struct timeline_lookup lookup = { .place = place_of, .ctx = t };

	BUG_ON(timeline_new(&w.timeline, t->cores, TRACE_START, &lookup));
	write_acts(t, &w);
	write_messages(t, writer);
	timeline_free(w.timeline);
	BUG_ON(event_writer_close(writer));
}
