/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/corelog.h"

#include <errno.h>

#include "base/sort.h"
#include "event/track.h"

/* How often is looked whether the log has become too large. */
#define LOOK_EVERY 4096

struct core_track {
	struct event_track track;
	uint64_t last; /* time of its last edge */
	bool runs;     /* the last of its runs goes on */
	bool known;    /* it has had a block */
	bool seen;     /* ... and something in it: what is blind from here on is a hole */
	bool unseen;
};

/* A run's name: its core, and its number there. Never 0. */
#define RUN_NUMBER_BITS 48

static uint64_t run_name(uint32_t core, uint64_t number)
{
	return (uint64_t)core << RUN_NUMBER_BITS | (number + 1);
}

static struct run *run_named(const struct corelog *log, uint64_t name)
{
	const uint64_t mask = ((uint64_t)1 << RUN_NUMBER_BITS) - 1;
	const struct ring *runs = &log->runs[name >> RUN_NUMBER_BITS];

	if (!name || (name & mask) <= runs->head)
		return NULL;
	return ring_at(runs, (name & mask) - 1);
}

int corelog_init(struct corelog *log, const struct tasks *tasks, uint32_t cores)
{
	*log = (struct corelog){ .tasks = tasks, .n_cores = cores };
	log->atoms = calloc(cores ? cores : 1, sizeof(*log->atoms));
	log->runs = calloc(cores ? cores : 1, sizeof(*log->runs));
	log->cores = calloc(cores ? cores : 1, sizeof(*log->cores));
	log->found = calloc(cores ? cores : 1, sizeof(*log->found));
	log->last_run = calloc(tasks->threads + 1UL, sizeof(*log->last_run));
	log->last_waking = calloc(tasks->threads + 1UL, sizeof(*log->last_waking));
	ring_init(&log->wakings, sizeof(struct waking));
	ring_init(&log->holes, sizeof(struct hole));
	if (!log->atoms || !log->runs || !log->cores || !log->found || !log->last_run ||
	    !log->last_waking)
		return -ENOMEM;
	for (uint32_t i = 0; i < cores; i++) {
		ring_init(&log->atoms[i], sizeof(struct atom));
		ring_init(&log->runs[i], sizeof(struct run));
	}
	return 0;
}

void corelog_release(struct corelog *log)
{
	for (uint32_t i = 0; log->atoms && i < log->n_cores; i++)
		ring_release(&log->atoms[i]);
	for (uint32_t i = 0; log->runs && i < log->n_cores; i++)
		ring_release(&log->runs[i]);
	ring_release(&log->wakings);
	ring_release(&log->holes);
	free(log->atoms);
	free(log->runs);
	free(log->cores);
	free(log->found);
	free(log->last_run);
	free(log->last_waking);
	*log = (struct corelog){ 0 };
}

void corelog_clear(struct corelog *log, uint64_t since)
{
	for (uint32_t i = 0; i < log->n_cores; i++) {
		ring_clear(&log->atoms[i]);
		ring_clear(&log->runs[i]);
	}
	ring_clear(&log->wakings);
	ring_clear(&log->holes);
	log->unseen = 0;
	memset(log->cores, 0, log->n_cores * sizeof(*log->cores));
	memset(log->last_run, 0, log->tasks->threads * sizeof(*log->last_run));
	memset(log->last_waking, 0, log->tasks->threads * sizeof(*log->last_waking));
	log->since = since;
}

/* ---- forgetting ---- */

static void trim_atoms(struct ring *atoms, uint64_t time)
{
	while (ring_len(atoms) > 1) {
		const struct atom *next = ring_at(atoms, atoms->head + 1);

		if (next->begin > time)
			break;
		atoms->head++;
	}
}

static void trim_runs(struct ring *runs, uint64_t time)
{
	while (ring_len(runs)) {
		const struct run *run = ring_at(runs, runs->head);

		if (run->end > time) /* the one that goes on is the last */
			break;
		runs->head++;
	}
}

static void trim_all(struct corelog *log, uint64_t time)
{
	for (uint32_t i = 0; i < log->n_cores; i++) {
		trim_atoms(&log->atoms[i], time);
		trim_runs(&log->runs[i], time);
	}
	while (ring_len(&log->wakings)) {
		const struct waking *waking = ring_at(&log->wakings, log->wakings.head);

		if (waking->time >= time)
			break;
		log->wakings.head++;
	}
	while (ring_len(&log->holes) &&
	       ((const struct hole *)ring_at(&log->holes, log->holes.head))->end < time)
		log->holes.head++;
}

void corelog_trim(struct corelog *log, uint64_t time)
{
	if (time <= log->since)
		return;
	trim_all(log, time);
	log->since = time;
}

static uint64_t bytes_used(const struct corelog *log)
{
	uint64_t bytes = ring_len(&log->wakings) * sizeof(struct waking);

	for (uint32_t i = 0; i < log->n_cores; i++)
		bytes += ring_len(&log->atoms[i]) * sizeof(struct atom) +
			 ring_len(&log->runs[i]) * sizeof(struct run);
	return bytes;
}

static uint64_t newest(const struct corelog *log)
{
	uint64_t time = log->since;

	for (uint32_t i = 0; i < log->n_cores; i++)
		if (log->cores[i].last > time)
			time = log->cores[i].last;
	return time;
}

/* Too much is waited for at once: the older half goes. */
static void keep_small(struct corelog *log)
{
	if (++log->fed < LOOK_EVERY)
		return;
	log->fed = 0;
	if (bytes_used(log) <= CORELOG_BYTES)
		return;
	log->dropped++;
	corelog_trim(log, log->since + (newest(log) - log->since) / 2);
}

/* ---- feeding ---- */

static struct atom state_of(const struct event_track *track, uint64_t time)
{
	struct atom atom = { .begin = time, .type = ATOM_BLIND };
	const struct event_open *base = &track->open[0];

	if (!track->depth)
		return atom;
	if (event_open_type(base) == SPAN_TASK) {
		atom.type = ATOM_TASK;
		atom.task = base->what;
	} else if (event_open_type(base) == SPAN_IDLE) {
		atom.type = ATOM_IDLE;
	} else {
		return atom;
	}
	for (uint32_t i = 1; i < track->depth; i++) {
		const struct event_open *open = &track->open[i];

		switch (event_open_type(open)) {
		case SPAN_SYSCALL:
			atom.call = open->what + 1;
			break;
		case SPAN_HARDIRQ:
			atom.type = ATOM_HARDIRQ;
			atom.what = open->what;
			break;
		case SPAN_SOFTIRQ:
			atom.type = ATOM_SOFTIRQ;
			atom.what = open->what;
			break;
		case SPAN_FAULT:
			atom.type = ATOM_FAULT;
			atom.what = open->what;
			break;
		}
	}
	return atom;
}

static bool same_atom(const struct atom *a, const struct atom *b)
{
	return a->type == b->type && a->what == b->what && a->task == b->task &&
	       a->call == b->call;
}

/* `time` may be before the last hole's: that a block is missing shows when the next one comes. */
static void begin_hole(struct corelog *log, uint64_t time)
{
	struct ring *holes = &log->holes;
	struct hole *hole;

	for (; ring_len(holes); holes->tail--) {
		hole = ring_at(holes, holes->tail - 1);
		if (hole->end < time)
			break;
		if (hole->begin < time)
			time = hole->begin;
	}
	hole = ring_push(holes);
	if (hole)
		*hole = (struct hole){ time, UINT64_MAX };
	else
		log->no_memory = true;
}

/* Every switch ends what is open before it begins the next: that is none. */
static void end_hole(struct corelog *log, uint64_t time)
{
	struct ring *holes = &log->holes;
	struct hole *hole = ring_len(holes) ? ring_at(holes, holes->tail - 1) : NULL;

	if (hole && hole->begin == time)
		holes->tail--;
	else if (hole)
		hole->end = time;
}

static void watch_holes(struct corelog *log, uint32_t core, const struct atom *atom)
{
	struct core_track *c = &log->cores[core];
	const bool unseen = atom->type == ATOM_BLIND && c->seen;

	c->seen |= atom->type != ATOM_BLIND;
	if (unseen == c->unseen)
		return;
	c->unseen = unseen;
	if (unseen) {
		begin_hole(log, atom->begin);
		log->unseen++;
	} else if (!--log->unseen) {
		end_hole(log, atom->begin);
	}
}

static void push_atom(struct corelog *log, uint32_t core, const struct atom *atom)
{
	struct ring *atoms = &log->atoms[core];
	struct atom *last = ring_len(atoms) ? ring_at(atoms, atoms->tail - 1) : NULL;

	watch_holes(log, core, atom);
	if (last && same_atom(last, atom))
		return;
	if (last && last->begin == atom->begin) {
		*last = *atom;
		return;
	}
	last = ring_push(atoms);
	if (last)
		*last = *atom;
	else
		log->no_memory = true;
}

static struct run *current(struct corelog *log, uint32_t core)
{
	struct ring *runs = &log->runs[core];

	return log->cores[core].runs && ring_len(runs) ? ring_at(runs, runs->tail - 1) : NULL;
}

static void end_run(struct corelog *log, uint32_t core, uint64_t time, uint8_t left)
{
	struct run *run = current(log, core);

	if (run) {
		run->end = time;
		run->left = left;
	}
	log->cores[core].runs = false;
}

static void begin_run(struct corelog *log, uint32_t core, const struct event_open *base)
{
	uint32_t thread = tasks_get(log->tasks, base->what)->thread;
	struct run *run;

	end_run(log, core, base->begin, LEFT_UNKNOWN);
	if (thread == THREAD_NONE)
		return;
	run = ring_push(&log->runs[core]);
	if (!run) {
		log->no_memory = true;
		return;
	}
	*run = (struct run){
		.begin = base->begin, .end = RUN_OPEN, .before = log->last_run[thread],
		.thread = thread, .core = core,
		.left_before = base->type & SPAN_CONT ? LEFT_UNKNOWN : (uint8_t)base->arg,
	};
	log->last_run[thread] = run_name(core, log->runs[core].tail - 1);
	log->cores[core].runs = true;
}

static bool opens_alike(const struct event_track *track, const struct event_block *block)
{
	return track->depth == block->n_open &&
	       event_track_same(track, block->open, block->n_open) == block->n_open;
}

/* From its last edge on. */
static void lose_sight(struct corelog *log, uint32_t core)
{
	const struct atom atom = { .begin = log->cores[core].last, .type = ATOM_BLIND };

	push_atom(log, core, &atom);
	end_run(log, core, atom.begin, LEFT_UNKNOWN);
}

void corelog_end(struct corelog *log, uint32_t core)
{
	if (log->cores[core].known && log->cores[core].track.depth)
		lose_sight(log, core);
	log->cores[core].track.depth = 0;
}

void corelog_block(struct corelog *log, uint32_t core, const struct event_block *block,
		   uint64_t from, bool lost)
{
	struct core_track *c = &log->cores[core];
	struct event_open base;
	struct atom atom;

	if (c->known && !lost && opens_alike(&c->track, block))
		return;
	if (c->known)
		lose_sight(log, core);
	c->seen |= lost || block->n_open; /* nothing is open before the recording begins */
	if (lost && !c->known && from < block->first) {
		atom = (struct atom){ .begin = from, .type = ATOM_BLIND };
		push_atom(log, core, &atom);
	}
	if (c->known || lost)
		from = block->first;
	event_track_set(&c->track, block->open, block->n_open);
	atom = state_of(&c->track, block->first < from ? block->first : from);
	push_atom(log, core, &atom);
	if (c->track.depth && event_open_type(&c->track.open[0]) == SPAN_TASK) {
		base = c->track.open[0];
		if (c->known && base.begin < c->last) {
			base.begin = c->last;
			base.type |= SPAN_CONT;
		}
		begin_run(log, core, &base);
	}
	c->known = true;
	c->last = block->first;
}

static void begins(struct corelog *log, uint32_t core, uint64_t time,
		   const struct event_edge *edge)
{
	struct core_track *c = &log->cores[core];
	const uint8_t type = edge->type & SPAN_TYPE_MASK;
	struct run *run;

	if (!event_track_begin(&c->track, time, edge->what, edge->arg, edge->type))
		return;
	if (c->track.depth == 1 && type == SPAN_TASK)
		begin_run(log, core, &c->track.open[0]);
	if (!(edge->type & SPAN_CONT) || c->track.depth != 2)
		return;
	run = current(log, core);
	if (run && run->begin == time && type == SPAN_SYSCALL)
		run->call = edge->what + 1;
}

static void ends(struct corelog *log, uint32_t core, uint64_t time, const struct event_edge *edge)
{
	struct core_track *c = &log->cores[core];

	if (!c->track.depth)
		return;
	c->track.depth--;
	if (!c->track.depth && (edge->type & SPAN_TYPE_MASK) == SPAN_TASK)
		end_run(log, core, time,
			edge->type & SPAN_CONT ? LEFT_UNKNOWN : (uint8_t)edge->arg);
}

void corelog_edge(struct corelog *log, uint32_t core, uint64_t time,
		  const struct event_edge *edge)
{
	struct core_track *c = &log->cores[core];
	struct atom atom;
	struct run *run;

	if (edge->type & SPAN_END) {
		ends(log, core, time, edge);
	} else {
		begins(log, core, time, edge);
		run = current(log, core);
		if ((edge->type & (SPAN_TYPE_MASK | SPAN_CONT)) == (SPAN_FAULT | SPAN_CONT) &&
		    run && run->begin == time)
			run->from_fault = true;
	}
	c->last = time;
	atom = state_of(&c->track, time);
	push_atom(log, core, &atom);
	keep_small(log);
}

void corelog_wake(struct corelog *log, const struct event_wake *wake)
{
	uint32_t thread = tasks_get(log->tasks, wake->task)->thread;
	struct waking *waking;

	if (thread == THREAD_NONE)
		return;
	waking = ring_push(&log->wakings);
	if (!waking) {
		log->no_memory = true;
		return;
	}
	*waking = (struct waking){
		.time = wake->time, .before = log->last_waking[thread], .waker = wake->waker,
		.core = wake->core, .flags = wake->flags,
	};
	log->last_waking[thread] = log->wakings.tail;
}

/* ---- asking ---- */

/* Questions go from earlier to later, mostly by few atoms. */
#define FIND_NEAR 8

/* The first atom that begins after `time`. */
static uint64_t first_after(const struct ring *atoms, uint64_t time, uint64_t near)
{
	uint64_t low = atoms->head, high = atoms->tail;

	if (near >= low && near < high &&
	    ((const struct atom *)ring_at(atoms, near))->begin <= time) {
		low = near + 1;
		for (int i = 0; i < FIND_NEAR && low < high; i++, low++)
			if (((const struct atom *)ring_at(atoms, low))->begin > time)
				return low;
	}
	return sort_first(i, low, high, ((const struct atom *)ring_at(atoms, i))->begin > time);
}

bool corelog_find(const struct corelog *log, uint32_t core, uint64_t time, uint64_t *number,
		  uint64_t *until)
{
	const struct ring *atoms;
	uint64_t after;

	*until = UINT64_MAX;
	if (core >= log->n_cores || !ring_len(&log->atoms[core]))
		return false;
	atoms = &log->atoms[core];
	after = first_after(atoms, time, log->found[core]);
	if (after == atoms->head) {
		*until = ((const struct atom *)ring_at(atoms, after))->begin;
		return false;
	}
	*number = log->found[core] = after - 1;
	return true;
}

const struct atom *corelog_atom(const struct corelog *log, uint32_t core, uint64_t number)
{
	return ring_at(&log->atoms[core], number);
}

uint64_t corelog_atom_end(const struct corelog *log, uint32_t core, uint64_t number)
{
	if (number + 1 == log->atoms[core].tail)
		return UINT64_MAX;
	return corelog_atom(log, core, number + 1)->begin;
}

const struct run *corelog_last_run(const struct corelog *log, uint32_t thread)
{
	return run_named(log, log->last_run[thread]);
}

const struct run *corelog_run_before(const struct corelog *log, const struct run *run)
{
	return run_named(log, run->before);
}

const struct waking *corelog_waking(const struct corelog *log, uint32_t thread, uint64_t time)
{
	uint64_t at = log->last_waking[thread];

	while (at > log->wakings.head) {
		const struct waking *waking = ring_at(&log->wakings, at - 1);

		if (waking->time <= time)
			return waking;
		at = waking->before;
	}
	return NULL;
}

const struct waking *corelog_waking_before(const struct corelog *log, const struct waking *waking)
{
	return waking->before > log->wakings.head ? ring_at(&log->wakings, waking->before - 1) :
						    NULL;
}

const struct hole *corelog_hole(const struct corelog *log, uint64_t from, uint64_t to)
{
	const uint64_t low = sort_first(i, log->holes.head, log->holes.tail,
		((const struct hole *)ring_at(&log->holes, i))->end >= from);
	const struct hole *hole;

	hole = low < log->holes.tail ? ring_at(&log->holes, low) : NULL;
	return hole && hole->begin <= to ? hole : NULL;
}
