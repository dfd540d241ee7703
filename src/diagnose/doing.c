/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/doing.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "base/sort.h"
#include "diagnose/state.h"
#include "diagnose/stream.h"

/* The log is fed in steps of it, and keeps a few: who had a CPU is looked up in it. */
#define STEP_NS (100 * NS_PER_MS)
#define KEPT_NS (5 * NS_PER_S)
/* A waking may be seen before the sleep that it ends: the two are on different cores. */
#define WAKE_EARLY_NS (100 * NS_PER_US)
#define HOLES_MAX 65536u

/* One thread on its way through the recording. */
struct walk {
	struct doing *out;
	uint32_t thread;
	uint64_t at;       /* all before is charged */
	uint8_t left;      /* enum task_left: how it left its core at `at` */
	bool ran;          /* it has */
	uint64_t taken;    /* begin of the run that was charged last */
	size_t stretch;    /* the first that ends after `at` */
};

struct pass {
	const struct recorded *rec;
	struct corelog log;
	struct walk *walks;
	size_t n;
	uint64_t from;     /* what is before is not known */
	struct pass_holes VEC_OF(struct hole) holes; /* of all that was read, in order */
	struct pass_runs VEC_OF(struct run) runs;    /* new ones of a thread, the last one first */
};

void doing_init(struct doing *doing, uint32_t task)
{
	*doing = (struct doing){ .task = task };
	vec_init(&doing->stretches, DOING_STRETCHES_MAX);
	vec_init(&doing->calls, DOING_CALLS_MAX);
	vec_init(&doing->culprits, DOING_CULPRITS_MAX);
}

void doing_release(struct doing *doing)
{
	vec_release(&doing->stretches);
	vec_release(&doing->calls);
	vec_release(&doing->culprits);
}

/* ---- sums ---- */

static int add_call(struct doing *d, uint32_t call, uint64_t on_cpu, uint64_t asleep,
		    uint64_t blocked)
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
	err = vec_push(&d->calls, (struct doing_call){ call, on_cpu, asleep, blocked });
	return err == -E2BIG ? 0 : err;
}

static int add_culprit(struct doing *d, uint32_t task, uint64_t ns)
{
	int err;

	vec_for_each(&d->culprits, c) {
		if (c->task != task)
			continue;
		c->ns += ns;
		return 0;
	}
	err = vec_push(&d->culprits, (struct doing_culprit){ task, ns });
	return err == -E2BIG ? 0 : err;
}

/* How much of from <= t < to is in the stretches. Times only go on. */
static uint64_t wanted(struct walk *w, uint64_t from, uint64_t to)
{
	const struct doing_stretches *s = &w->out->stretches;
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

/* ... up to `until`: what of it is asked about, is charged to the state; it is returned. */
static uint64_t charge(struct walk *w, uint64_t until, enum doing_state state)
{
	uint64_t ns = until > w->at ? wanted(w, w->at, until) : 0;

	w->out->ns[state] += ns;
	w->at = until > w->at ? until : w->at;
	return ns;
}

/* ---- on a CPU, and waiting for one ---- */

static int charge_atom(struct pass *p, struct walk *w, const struct atom *atom, uint64_t end)
{
	const bool own = tasks_get(&p->rec->tasks, atom->task)->thread == w->thread;
	uint64_t ns;

	if (!own || atom->type == ATOM_BLIND || atom->type == ATOM_IDLE) {
		charge(w, end, DOING_UNKNOWN);
		return 0;
	}
	if (atom->type == ATOM_SOFTIRQ || atom->type == ATOM_HARDIRQ) {
		charge(w, end, DOING_INTERRUPTED);
		return 0;
	}
	ns = charge(w, end, DOING_ON_CPU);
	return ns ? add_call(w->out, atom->call, ns, 0, 0) : 0;
}

static int charge_wait(struct pass *p, struct walk *w, const struct atom *atom, uint64_t end)
{
	const struct task *task = tasks_get(&p->rec->tasks, atom->task);
	const uint64_t ns = charge(w, end, atom->type == ATOM_BLIND ? DOING_UNKNOWN :
								      DOING_WAITING);

	if (!ns || atom->type == ATOM_BLIND || !task->tid || task->thread == w->thread)
		return 0;
	return add_culprit(w->out, atom->task, ns);
}

/* What core `core` did until `to`; what is not known of it is unknown. */
static int each_atom(struct pass *p, struct walk *w, uint32_t core, uint64_t to,
		     int (*take)(struct pass *p, struct walk *w, const struct atom *atom,
				 uint64_t end))
{
	uint64_t number, until;
	int err = 0;

	if (w->at >= to)
		return 0;
	if (!corelog_find(&p->log, core, w->at, &number, &until)) {
		charge(w, until < to ? until : to, DOING_UNKNOWN);
		if (w->at >= to)
			return 0;
		number = p->log.atoms[core].head;
	}
	for (; !err && w->at < to; number++) {
		const uint64_t end = corelog_atom_end(&p->log, core, number);

		err = take(p, w, corelog_atom(&p->log, core, number), end < to ? end : to);
	}
	return err;
}

/* ---- without one ---- */

static enum doing_state state_of(uint8_t left)
{
	return left == LEFT_ASLEEP ? DOING_ASLEEP :
	       left == LEFT_BLOCKED || left == LEFT_IO ? DOING_BLOCKED :
	       left == LEFT_STOPPED ? DOING_STOPPED : DOING_UNKNOWN;
}

/* When it was first out of sight from `from` on: `to` if it never was until then. */
static uint64_t seen_until(const struct pass *p, uint64_t from, uint64_t to)
{
	const size_t low = sort_first(i, 0, p->holes.len, p->holes.items[i].end > from);

	if (low == p->holes.len || p->holes.items[low].begin >= to)
		return to;
	return p->holes.items[low].begin > from ? p->holes.items[low].begin : from;
}

static int charge_sleep(struct walk *w, uint64_t until, uint32_t call)
{
	const enum doing_state state = state_of(w->left);
	const uint64_t ns = charge(w, until, state);

	if (!ns || (state != DOING_ASLEEP && state != DOING_BLOCKED))
		return 0;
	return state == DOING_ASLEEP ? add_call(w->out, call, 0, ns, 0) :
				       add_call(w->out, call, 0, 0, ns);
}

/* Who had the core is known as far back as the log reaches. */
static int charge_waiting(struct pass *p, struct walk *w, uint32_t core, uint64_t to)
{
	charge(w, p->log.since < to ? p->log.since : to, DOING_WAITING);
	return each_atom(p, w, core, to, charge_wait);
}

/* From w->at until it ran on `core` again; `call`: what it slept in. */
static int charge_gap(struct pass *p, struct walk *w, uint64_t to, uint32_t core, uint32_t call)
{
	const struct waking *woken = corelog_waking(&p->log, w->thread, to);
	const uint64_t seen = seen_until(p, w->at, to);
	int err = 0;

	if (w->left == LEFT_RUNNABLE) {
		err = charge_waiting(p, w, core, seen);
	} else if (woken && woken->time + WAKE_EARLY_NS >= w->at) {
		err = charge_sleep(w, woken->time < seen ? woken->time : seen, call);
		if (!err)
			err = charge_waiting(p, w, core, seen);
	}
	charge(w, to, DOING_UNKNOWN);
	return err;
}

/* ---- runs ---- */

/* As far as `now`, if it goes on. */
static int take_run(struct pass *p, struct walk *w, const struct run *run, uint64_t now)
{
	int err = 0;

	if (!w->ran)
		w->left = run->left_before;
	if (w->at < run->begin) {
		if (w->left != run->left_before)
			w->left = LEFT_UNKNOWN;
		err = charge_gap(p, w, run->begin, run->core, run->call);
	}
	if (!err)
		err = each_atom(p, w, run->core, run->end < now ? run->end : now, charge_atom);
	w->left = run->left;
	w->ran = true;
	w->taken = run->begin;
	return err;
}

/* Those that began since it was asked last, and the one that went on then. */
static int take_runs(struct pass *p, struct walk *w, uint64_t now)
{
	const struct run *run = corelog_last_run(&p->log, w->thread);
	int err = 0;

	vec_clear(&p->runs);
	for (; !err && run && (!w->ran || run->begin >= w->taken);
	     run = corelog_run_before(&p->log, run))
		if (run->end > p->from)
			err = vec_push(&p->runs, *run);
	for (size_t i = p->runs.len; !err && i--;)
		err = take_run(p, w, &p->runs.items[i], now);
	return err;
}

/* It did not run again: asleep as long as nobody woke it. */
static int take_rest(struct pass *p, struct walk *w, uint64_t end)
{
	const struct waking *woken = corelog_waking(&p->log, w->thread, end);
	const uint64_t seen = seen_until(p, w->at, end);
	const bool woke = woken && woken->time + WAKE_EARLY_NS >= w->at;
	int err = 0;

	if (w->ran && w->left != LEFT_RUNNABLE)
		err = charge_sleep(w, woke && woken->time < seen ? woken->time : seen, 0);
	if (w->ran)
		charge(w, seen, DOING_WAITING);
	charge(w, UINT64_MAX, DOING_UNKNOWN);
	return err;
}

/* ---- a pass ---- */

static int note_holes(struct pass *p, uint64_t from, uint64_t to)
{
	const struct hole *hole;
	int err = 0;

	while (!err && from < to && (hole = corelog_hole(&p->log, from, to - 1))) {
		const struct hole one = { hole->begin > from ? hole->begin : from,
					  hole->end < to ? hole->end + 1 : to };

		from = one.end;
		if (p->holes.len == p->holes.max)
			vec_last(&p->holes)->end = one.end;
		else
			err = vec_push(&p->holes, one);
	}
	return err;
}

/* The first time of any core; false: it has none yet. */
static bool begins(const struct corelog *log, uint64_t *from)
{
	bool any = false;

	for (uint32_t core = 0; core < log->n_cores; core++) {
		const struct ring *atoms = &log->atoms[core];

		for (uint64_t i = atoms->head; i < atoms->tail; i++) {
			const struct atom *atom = ring_at(atoms, i);

			if (atom->type == ATOM_BLIND)
				continue;
			*from = !any || atom->begin < *from ? atom->begin : *from;
			any = true;
			break;
		}
	}
	return any;
}

/* The last one. */
static uint64_t ended(const struct corelog *log)
{
	uint64_t end = 0;

	for (uint32_t core = 0; core < log->n_cores; core++) {
		const struct ring *atoms = &log->atoms[core];
		const struct atom *last = ring_len(atoms) ? ring_at(atoms, atoms->tail - 1) : NULL;

		end = last && last->begin > end ? last->begin : end;
	}
	return end;
}

static void begin_at(struct pass *p, uint64_t from)
{
	p->from = from;
	for (size_t i = 0; i < p->n; i++) {
		charge(&p->walks[i], from, DOING_UNKNOWN);
		p->walks[i].at = from;
	}
}

static int read_all(struct pass *p, struct stream *stream, uint64_t from, uint64_t to)
{
	bool begun = false;
	int err = stream_seek(stream, from, UINT64_MAX);

	for (uint64_t time = from; !err && time < to; time += STEP_NS) {
		uint64_t first = from;

		err = stream_until(stream, time + STEP_NS);
		if (err || (!begun && !begins(&p->log, &first)))
			continue;
		if (!begun)
			begin_at(p, first > from ? first : from);
		begun = true;
		err = note_holes(p, time, time + STEP_NS);
		for (size_t i = 0; !err && i < p->n; i++)
			err = take_runs(p, &p->walks[i], time + STEP_NS);
		if (time > KEPT_NS)
			corelog_trim(&p->log, time - KEPT_NS);
	}
	for (size_t i = 0; !err && i < p->n; i++)
		err = begun ? take_rest(p, &p->walks[i], ended(&p->log)) : 0;
	return err ? err : p->log.no_memory ? -ENOMEM : 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct doing_stretch *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static void join_stretches(struct doing *d)
{
	struct doing_stretches *s = &d->stretches;
	size_t n = 0;

	if (s->len)
		qsort(s->items, s->len, sizeof(*s->items), by_begin);
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

static int more_time(const void *a, const void *b)
{
	const struct doing_call *x = a, *y = b;
	const uint64_t p = x->on_cpu_ns + x->asleep_ns + x->blocked_ns;
	const uint64_t q = y->on_cpu_ns + y->asleep_ns + y->blocked_ns;

	return p != q ? (p > q ? -1 : 1) : x->call < y->call ? -1 : x->call > y->call;
}

static int more_culprit(const void *a, const void *b)
{
	const struct doing_culprit *x = a, *y = b;

	return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) :
	       x->task < y->task ? -1 : x->task > y->task;
}

static void order(struct doing *d)
{
	uint64_t known = 0;

	for (int i = 0; i < DOING_UNKNOWN; i++)
		known += d->ns[i];
	d->ns[DOING_UNKNOWN] = d->total_ns - known; /* and what is before and behind it all */
	if (d->calls.len)
		qsort(d->calls.items, d->calls.len, sizeof(*d->calls.items), more_time);
	if (d->culprits.len)
		qsort(d->culprits.items, d->culprits.len, sizeof(*d->culprits.items),
		      more_culprit);
}

static int walk_all(struct pass *p, struct doing *all, size_t n, uint64_t from, uint64_t to)
{
	struct stream *stream = NULL;
	const int cores = stream_cores(p->rec->reader);
	int err;

	if (cores <= 0)
		return cores;
	err = corelog_init(&p->log, &p->rec->tasks, (uint32_t)cores);
	p->walks = calloc(n + 1, sizeof(*p->walks));
	if (!p->walks)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < n; i++) {
		const uint32_t thread = tasks_get(&p->rec->tasks, all[i].task)->thread;

		if (thread != THREAD_NONE)
			p->walks[p->n++] = (struct walk){ .out = &all[i], .thread = thread };
	}
	if (!err)
		err = stream_open(&stream, p->rec->reader, &p->log);
	if (!err)
		err = read_all(p, stream, from, to);
	stream_free(stream);
	free(p->walks);
	corelog_release(&p->log);
	return err;
}

int doing_all(const struct diagnosis *d, struct doing *all, size_t n)
{
	struct pass p = { .rec = &d->own };
	uint64_t from = UINT64_MAX, to = 0;
	int err = 0;

	vec_init(&p.holes, HOLES_MAX);
	vec_init(&p.runs, RUNS_MAX);
	for (size_t i = 0; i < n; i++) {
		const struct doing_stretches *s = &all[i].stretches;

		join_stretches(&all[i]);
		if (s->len && s->items[0].from < from)
			from = s->items[0].from;
		if (s->len && vec_last(s)->to > to)
			to = vec_last(s)->to;
	}
	/* What a thread was at, at the first one's begin, is seen from what it did before. */
	from -= from > NS_PER_S ? NS_PER_S : from;
	if (from < to)
		err = walk_all(&p, all, n, from, to + NS_PER_S);
	for (size_t i = 0; i < n; i++)
		order(&all[i]);
	vec_release(&p.holes);
	vec_release(&p.runs);
	return err;
}
