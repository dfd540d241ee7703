/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/thread_profile.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "base/sort.h"
#include "diagnose/state.h"
#include "diagnose/stream.h"

/* Activity is read in steps of this many ns; after each, the new time of all threads is charged. */
#define STEP_NS (100 * NS_PER_MS)
/* History in ns that stays after a step, to look up the tasks that had a CPU. */
#define HISTORY_NS     (5 * NS_PER_S)
#define TRACE_GAPS_MAX 65536u

/* Progress of one thread through the recording. */
struct profile_walk {
	struct thread_profile *out;
	uint32_t thread;
	uint64_t at;       /* the thread's time before this time, in ns, is charged already */
	bool ran;
	struct oncpu last; /* stretch on a CPU that was charged last */
	size_t stretch;    /* index of the first stretch to profile that is not fully charged */
};

struct profile_pass {
	const struct recorded *rec;
	struct cpu_history history;
	struct profile_walk *walks;
	size_t n;
	uint64_t from;     /* begin of the recorded CPU history, in ns */
	struct pass_gaps VEC_OF(struct trace_gap) trace_gaps; /* trace gaps so far, in order */
	struct pass_oncpus VEC_OF(struct oncpu) oncpus; /* a thread's new stretches on a CPU, latest
							 * first */
};

void thread_profile_init(struct thread_profile *profile, uint32_t task)
{
	*profile = (struct thread_profile){ .task = task };
	vec_init(&profile->stretches, THREAD_PROFILE_STRETCHES_MAX);
	vec_init(&profile->calls, THREAD_PROFILE_CALLS_MAX);
	vec_init(&profile->culprits, THREAD_PROFILE_CULPRITS_MAX);
}

void thread_profile_release(struct thread_profile *profile)
{
	vec_release(&profile->stretches);
	vec_release(&profile->calls);
	vec_release(&profile->culprits);
}

/* ---- sums by state, call and culprit ---- */

static int profile_add_call(struct thread_profile *d, uint32_t call, uint64_t on_cpu,
			    uint64_t asleep, uint64_t blocked)
{
	int err;

	vec_for_each(&d->calls, c) {
		if (c->call != call)
			continue;
		c->on_cpu_ns += on_cpu;
		c->asleep_ns += asleep;
		c->blocked_ns += blocked;
		return 0;
	}
	err = vec_push(&d->calls, (struct thread_call){ call, on_cpu, asleep, blocked });
	return err == -E2BIG ? 0 : err;
}

static int profile_add_culprit(struct thread_profile *d, uint32_t task, uint64_t ns)
{
	int err;

	vec_for_each(&d->culprits, c) {
		if (c->task != task)
			continue;
		c->ns += ns;
		return 0;
	}
	err = vec_push(&d->culprits, (struct thread_culprit){ task, ns });
	return err == -E2BIG ? 0 : err;
}

/*
 * Returns how many ns of from <= t < to are in the stretches to be profiled. Calls must go forward
 * in time.
 */
static uint64_t profile_chosen_ns(struct profile_walk *w, uint64_t from, uint64_t to)
{
	const struct thread_stretches *s = &w->out->stretches;
	uint64_t ns = 0;

	while (w->stretch < s->len && s->items[w->stretch].to <= from)
		w->stretch++;
	for (size_t i = w->stretch; i < s->len && s->items[i].from < to; i++) {
		const uint64_t begin = s->items[i].from > from ? s->items[i].from : from;
		const uint64_t end = s->items[i].to < to ? s->items[i].to : to;

		ns += end > begin ? end - begin : 0;
	}
	return ns;
}

/*
 * Charges the thread's time up to `until` to `state`, as far as it is in the stretches to be
 * profiled. Returns the charged time in ns.
 */
static uint64_t profile_charge_state(struct profile_walk *w, uint64_t until,
				     enum thread_state state)
{
	uint64_t ns = until > w->at ? profile_chosen_ns(w, w->at, until) : 0;

	w->out->ns[state] += ns;
	w->at = until > w->at ? until : w->at;
	return ns;
}

/* ---- time on a CPU, and waiting for a CPU ---- */

static int profile_charge_segment(struct profile_pass *p, struct profile_walk *w,
				  const struct cpu_segment *segment, uint64_t end)
{
	const enum thread_state state = thread_state_on_core(segment, &p->rec->tasks, w->thread);
	const uint64_t ns = profile_charge_state(w, end, state);

	return ns && state == THREAD_ON_CPU ? profile_add_call(w->out, segment->call, ns, 0, 0) : 0;
}

static int profile_charge_wait(struct profile_pass *p, struct profile_walk *w,
			       const struct cpu_segment *segment, uint64_t end)
{
	const struct task_name *task = tasks_get(&p->rec->tasks, segment->task);
	const uint64_t ns = profile_charge_state(
		w, end, segment->type == SEGMENT_NOT_RECORDED ? THREAD_UNKNOWN : THREAD_CPU_WAIT);

	if (!ns || segment->type == SEGMENT_NOT_RECORDED || !task->tid || task->thread == w->thread)
		return 0;
	return profile_add_culprit(w->out, segment->task, ns);
}

/* Calls `charge` for each segment of a core's activity before time `to`; gaps are unknown time. */
static int profile_each_segment(struct profile_pass *p, struct profile_walk *w, uint32_t core,
				uint64_t to,
				int (*charge)(struct profile_pass *p, struct profile_walk *w,
					      const struct cpu_segment *segment, uint64_t end))
{
	uint64_t number, until;
	int err = 0;

	if (w->at >= to)
		return 0;
	if (!cpu_history_find(&p->history, core, w->at, &number, &until)) {
		profile_charge_state(w, until < to ? until : to, THREAD_UNKNOWN);
		if (w->at >= to)
			return 0;
		number = p->history.segments[core].head;
	}
	for (; !err && w->at < to; number++) {
		const uint64_t end = cpu_history_segment_end(&p->history, core, number);

		err = charge(p, w, cpu_history_segment(&p->history, core, number),
			     end < to ? end : to);
	}
	return err;
}

/* ---- time off-CPU ---- */

/* Returns the end of the time without a trace gap that begins at `from`; `to` at most. */
static uint64_t profile_recorded_until(const struct profile_pass *p, uint64_t from, uint64_t to)
{
	const size_t low = sort_first(i, 0, p->trace_gaps.len, p->trace_gaps.items[i].end > from);

	if (low == p->trace_gaps.len || p->trace_gaps.items[low].begin >= to)
		return to;
	return p->trace_gaps.items[low].begin > from ? p->trace_gaps.items[low].begin : from;
}

static int profile_charge_sleep(struct profile_walk *w, uint64_t until, enum thread_state state,
				uint32_t call)
{
	const uint64_t ns = profile_charge_state(w, until, state);

	if (!ns || (state != THREAD_ASLEEP && state != THREAD_BLOCKED))
		return 0;
	return state == THREAD_ASLEEP ? profile_add_call(w->out, call, 0, ns, 0) :
					profile_add_call(w->out, call, 0, 0, ns);
}

/* Charges a wait for a CPU up to time `to`, and the tasks that had the CPU, if still known. */
static int profile_charge_waiting(struct profile_pass *p, struct profile_walk *w, uint32_t core,
				  uint64_t to)
{
	profile_charge_state(w, p->history.since < to ? p->history.since : to, THREAD_CPU_WAIT);
	return profile_each_segment(p, w, core, to, profile_charge_wait);
}

/* Charges the thread's time off-CPU that ends at the begin of `next`, its next stretch on a CPU. */
static int profile_charge_offcpu(struct profile_pass *p, struct profile_walk *w,
				 const struct oncpu *next)
{
	const struct oncpu *last = w->ran ? &w->last : NULL;
	const enum thread_state state = thread_state_before(next, last);
	const uint64_t recorded = profile_recorded_until(p, w->at, next->begin);
	const struct waking *woken = NULL;
	int err = 0;

	if (state != THREAD_CPU_WAIT) {
		woken = cpu_history_waking(&p->history, w->thread, next->begin);
		woken = thread_state_woken(&p->history, woken, last);
	}
	if (woken)
		err = profile_charge_sleep(w, woken->time < recorded ? woken->time : recorded,
					   state, next->call);
	if (!err && (woken || state == THREAD_CPU_WAIT))
		err = profile_charge_waiting(p, w, next->core, recorded);
	profile_charge_state(w, next->begin, THREAD_UNKNOWN);
	return err;
}

/* ---- stretches on a CPU ---- */

/* Charges the time off-CPU before a stretch on a CPU, and the stretch, up to time `now` at most. */
static int profile_charge_oncpu(struct profile_pass *p, struct profile_walk *w,
				const struct oncpu *oncpu, uint64_t now)
{
	int err = 0;

	if (w->at < oncpu->begin)
		err = profile_charge_offcpu(p, w, oncpu);
	if (!err)
		err = profile_each_segment(p, w, oncpu->core, oncpu->end < now ? oncpu->end : now,
					   profile_charge_segment);
	w->last = *oncpu;
	w->ran = true;
	return err;
}

/*
 * Charges a thread's new stretches on a CPU, the rest of the stretch that was open at the last
 * call, and the time off-CPU before each.
 */
static int profile_charge_new_oncpus(struct profile_pass *p, struct profile_walk *w, uint64_t now)
{
	const struct oncpu *oncpu = cpu_history_last_oncpu(&p->history, w->thread);
	int err = 0;

	vec_clear(&p->oncpus);
	for (; !err && oncpu && (!w->ran || oncpu->begin >= w->last.begin);
	     oncpu = cpu_history_oncpu_before(&p->history, oncpu))
		if (oncpu->end > p->from)
			err = vec_push(&p->oncpus, *oncpu);
	for (size_t i = p->oncpus.len; !err && i--;)
		err = profile_charge_oncpu(p, w, &p->oncpus.items[i], now);
	return err;
}

/* Charges the time after a thread's last stretch on a CPU: sleep, then a wait for a CPU. */
static int profile_charge_rest(struct profile_pass *p, struct profile_walk *w, uint64_t end)
{
	const struct waking *latest = cpu_history_waking(&p->history, w->thread, end), *woken;
	uint64_t recorded = profile_recorded_until(p, w->at, end);
	int err = 0;

	if (w->ran) {
		const enum thread_state state = thread_state_left(w->last.left);

		woken = thread_state_woken(&p->history, latest, &w->last);
		if (latest && !woken && latest->time > w->last.end)
			recorded = w->at; /* woken twice: the thread's run in between is missing */
		if (state != THREAD_CPU_WAIT)
			err = profile_charge_sleep(
				w, woken && woken->time < recorded ? woken->time : recorded, state,
				0);
		profile_charge_state(w, recorded, THREAD_CPU_WAIT);
	}
	profile_charge_state(w, UINT64_MAX, THREAD_UNKNOWN);
	return err;
}

/* ---- one pass over the activity ---- */

static int profile_note_trace_gaps(struct profile_pass *p, uint64_t from, uint64_t to)
{
	const struct trace_gap *gap;
	int err = 0;

	while (!err && from < to && (gap = cpu_history_trace_gap(&p->history, from, to - 1))) {
		const struct trace_gap one = { gap->begin > from ? gap->begin : from,
					       gap->end < to ? gap->end + 1 : to };

		from = one.end;
		if (p->trace_gaps.len == p->trace_gaps.max)
			vec_last(&p->trace_gaps)->end = one.end;
		else
			err = vec_push(&p->trace_gaps, one);
	}
	return err;
}

/* Finds the first recorded time of all cores; returns false if there is none. */
static bool profile_history_first(const struct cpu_history *history, uint64_t *from)
{
	bool any = false;

	for (uint32_t core = 0; core < history->n_cores; core++) {
		const struct rolling *segments = &history->segments[core];

		for (uint64_t i = segments->head; i < segments->tail; i++) {
			const struct cpu_segment *segment = rolling_at(segments, i);

			if (segment->type == SEGMENT_NOT_RECORDED)
				continue;
			*from = !any || segment->begin < *from ? segment->begin : *from;
			any = true;
			break;
		}
	}
	return any;
}

/* Returns the last recorded time of all cores, in ns. */
static uint64_t profile_history_last(const struct cpu_history *history)
{
	uint64_t end = 0;

	for (uint32_t core = 0; core < history->n_cores; core++) {
		const struct rolling *segments = &history->segments[core];
		const struct cpu_segment *last =
			rolling_len(segments) ? rolling_at(segments, segments->tail - 1) : NULL;

		end = last && last->begin > end ? last->begin : end;
	}
	return end;
}

static void profile_begin_at(struct profile_pass *p, uint64_t from)
{
	p->from = from;
	for (size_t i = 0; i < p->n; i++) {
		profile_charge_state(&p->walks[i], from, THREAD_UNKNOWN);
		p->walks[i].at = from;
	}
}

static int profile_read_pass(struct profile_pass *p, struct activity_stream *stream, uint64_t from,
			     uint64_t to)
{
	bool begun = false;
	int err = stream_seek(stream, from, UINT64_MAX);

	for (uint64_t time = from; !err && time < to; time += STEP_NS) {
		uint64_t first = from;

		err = stream_until(stream, time + STEP_NS);
		if (err || (!begun && !profile_history_first(&p->history, &first)))
			continue;
		if (!begun)
			profile_begin_at(p, first > from ? first : from);
		begun = true;
		err = profile_note_trace_gaps(p, time, time + STEP_NS);
		for (size_t i = 0; !err && i < p->n; i++)
			err = profile_charge_new_oncpus(p, &p->walks[i], time + STEP_NS);
		if (time > HISTORY_NS)
			cpu_history_trim(&p->history, time - HISTORY_NS);
	}
	for (size_t i = 0; !err && i < p->n; i++)
		err = begun ? profile_charge_rest(p, &p->walks[i],
						  profile_history_last(&p->history))
			    : 0;
	return err ? err : p->history.no_memory ? -ENOMEM : 0;
}

static int profile_order_by_begin(const void *a, const void *b)
{
	const struct thread_stretch *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static void profile_join_stretches(struct thread_profile *d)
{
	struct thread_stretches *s = &d->stretches;
	size_t n = 0;

	if (s->len)
		qsort(s->items, s->len, sizeof(*s->items), profile_order_by_begin);
	for (size_t i = 0; i < s->len; i++) {
		if (s->items[i].to <= s->items[i].from)
			continue;
		if (n && s->items[i].from <= s->items[n - 1].to) {
			if (s->items[i].to > s->items[n - 1].to)
				s->items[n - 1].to = s->items[i].to;
		} else {
			s->items[n++] = s->items[i];
		}
	}
	s->len = n;
	d->total_ns = 0;
	vec_for_each(s, one)
		d->total_ns += one->to - one->from;
}

static int profile_order_calls(const void *a, const void *b)
{
	const struct thread_call *x = a, *y = b;
	const uint64_t p = x->on_cpu_ns + x->asleep_ns + x->blocked_ns;
	const uint64_t q = y->on_cpu_ns + y->asleep_ns + y->blocked_ns;

	return p != q ? (p > q ? -1 : 1) : x->call < y->call ? -1 : x->call > y->call;
}

static int profile_order_culprits(const void *a, const void *b)
{
	const struct thread_culprit *x = a, *y = b;

	return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) :
	       x->task < y->task ? -1 : x->task > y->task;
}

static void profile_sort(struct thread_profile *d)
{
	uint64_t known = 0;

	for (int i = 0; i < THREAD_UNKNOWN; i++)
		known += d->ns[i];
	d->ns[THREAD_UNKNOWN] = d->total_ns - known; /* includes time outside the recording */
	if (d->calls.len)
		qsort(d->calls.items, d->calls.len, sizeof(*d->calls.items), profile_order_calls);
	if (d->culprits.len)
		qsort(d->culprits.items, d->culprits.len, sizeof(*d->culprits.items),
		      profile_order_culprits);
}

static int profile_walk_all(struct profile_pass *p, struct thread_profile *all, size_t n,
			    uint64_t from, uint64_t to)
{
	struct activity_stream *stream = NULL;
	const int cores = stream_cores(p->rec->reader);
	int err;

	if (cores <= 0)
		return cores;
	err = cpu_history_init(&p->history, &p->rec->tasks, (uint32_t)cores);
	p->walks = calloc(n + 1, sizeof(*p->walks));
	if (!p->walks)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < n; i++) {
		const uint32_t thread = tasks_get(&p->rec->tasks, all[i].task)->thread;

		if (thread != THREAD_NONE)
			p->walks[p->n++] =
				(struct profile_walk){ .out = &all[i], .thread = thread };
	}
	if (!err)
		err = stream_open(&stream, p->rec->reader, &p->history);
	if (!err)
		err = profile_read_pass(p, stream, from, to);
	stream_free(stream);
	free(p->walks);
	cpu_history_release(&p->history);
	return err;
}

int thread_profile_fill(const struct diagnosis *d, struct thread_profile *all, size_t n)
{
	struct profile_pass p = { .rec = &d->own };
	uint64_t from = UINT64_MAX, to = 0;
	int err = 0;

	vec_init(&p.trace_gaps, TRACE_GAPS_MAX);
	vec_init(&p.oncpus, ONCPUS_MAX);
	for (size_t i = 0; i < n; i++) {
		const struct thread_stretches *s = &all[i].stretches;

		profile_join_stretches(&all[i]);
		if (s->len && s->items[0].from < from)
			from = s->items[0].from;
		if (s->len && vec_last(s)->to > to)
			to = vec_last(s)->to;
	}
	/* Begin one second earlier, to know the thread's state when the first stretch begins. */
	from -= from > NS_PER_S ? NS_PER_S : from;
	if (from < to)
		err = profile_walk_all(&p, all, n, from, to + NS_PER_S);
	for (size_t i = 0; i < n; i++)
		profile_sort(&all[i]);
	vec_release(&p.trace_gaps);
	vec_release(&p.oncpus);
	return err;
}
