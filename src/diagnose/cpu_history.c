/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/cpu_history.h"

#include <errno.h>

#include "base/sort.h"
#include "event/track.h"

/* Number of edges (begins and ends of spans) between two checks of the history's size. */
#define LOOK_EVERY 4096

struct core_track {
	struct event_track track;
	uint64_t last; /* time of the core's last edge (begin or end of a span), in ns */
	bool running;  /* a thread is on the core: its stretch on a CPU is still open */
	bool known;    /* a block of this core's events was read */
	bool seen;     /* the core was recorded before: missing time counts as a trace gap */
	bool unrecorded;
};

/*
 * A stretch on a CPU has a 64-bit name: its core in the upper bits, its number on that core + 1 in
 * the lower ones. A name is never 0.
 */
#define ONCPU_NUMBER_BITS 48

static uint64_t history_oncpu_name(uint32_t core, uint64_t number)
{
	return (uint64_t)core << ONCPU_NUMBER_BITS | (number + 1);
}

static struct oncpu *history_oncpu_named(const struct cpu_history *history, uint64_t name)
{
	const uint64_t mask = ((uint64_t)1 << ONCPU_NUMBER_BITS) - 1;
	const struct rolling *oncpus = &history->oncpus[name >> ONCPU_NUMBER_BITS];

	if (!name || (name & mask) <= oncpus->head)
		return NULL;
	return rolling_at(oncpus, (name & mask) - 1);
}

int cpu_history_init(struct cpu_history *history, const struct tasks *tasks, uint32_t cores)
{
	*history = (struct cpu_history){ .tasks = tasks, .n_cores = cores };
	history->segments = calloc(cores ? cores : 1, sizeof(*history->segments));
	history->oncpus = calloc(cores ? cores : 1, sizeof(*history->oncpus));
	history->cores = calloc(cores ? cores : 1, sizeof(*history->cores));
	history->found = calloc(cores ? cores : 1, sizeof(*history->found));
	history->last_oncpu = calloc(tasks->threads + 1UL, sizeof(*history->last_oncpu));
	history->last_waking = calloc(tasks->threads + 1UL, sizeof(*history->last_waking));
	rolling_init(&history->wakings, sizeof(struct waking));
	rolling_init(&history->trace_gaps, sizeof(struct trace_gap));
	if (!history->segments || !history->oncpus || !history->cores || !history->found ||
	    !history->last_oncpu || !history->last_waking)
		return -ENOMEM;
	for (uint32_t i = 0; i < cores; i++) {
		rolling_init(&history->segments[i], sizeof(struct cpu_segment));
		rolling_init(&history->oncpus[i], sizeof(struct oncpu));
	}
	return 0;
}

void cpu_history_release(struct cpu_history *history)
{
	for (uint32_t i = 0; history->segments && i < history->n_cores; i++)
		rolling_release(&history->segments[i]);
	for (uint32_t i = 0; history->oncpus && i < history->n_cores; i++)
		rolling_release(&history->oncpus[i]);
	rolling_release(&history->wakings);
	rolling_release(&history->trace_gaps);
	free(history->segments);
	free(history->oncpus);
	free(history->cores);
	free(history->found);
	free(history->last_oncpu);
	free(history->last_waking);
	*history = (struct cpu_history){ 0 };
}

void cpu_history_clear(struct cpu_history *history, uint64_t since)
{
	for (uint32_t i = 0; i < history->n_cores; i++) {
		rolling_clear(&history->segments[i]);
		rolling_clear(&history->oncpus[i]);
	}
	rolling_clear(&history->wakings);
	rolling_clear(&history->trace_gaps);
	history->unrecorded = 0;
	memset(history->cores, 0, history->n_cores * sizeof(*history->cores));
	memset(history->last_oncpu, 0, history->tasks->threads * sizeof(*history->last_oncpu));
	memset(history->last_waking, 0, history->tasks->threads * sizeof(*history->last_waking));
	history->since = since;
}

/* ---- removal of old history ---- */

static void history_trim_segments(struct rolling *segments, uint64_t time)
{
	while (rolling_len(segments) > 1) {
		const struct cpu_segment *next = rolling_at(segments, segments->head + 1);

		if (next->begin > time)
			break;
		segments->head++;
	}
}

static void history_trim_oncpus(struct rolling *oncpus, uint64_t time)
{
	while (rolling_len(oncpus)) {
		const struct oncpu *oncpu = rolling_at(oncpus, oncpus->head);

		/* true as well of a stretch that is still open: its end is ONCPU_OPEN */
		if (oncpu->end > time)
			break;
		oncpus->head++;
	}
}

static void history_trim_all(struct cpu_history *history, uint64_t time)
{
	for (uint32_t i = 0; i < history->n_cores; i++) {
		history_trim_segments(&history->segments[i], time);
		history_trim_oncpus(&history->oncpus[i], time);
	}
	while (rolling_len(&history->wakings)) {
		const struct waking *waking = rolling_at(&history->wakings, history->wakings.head);

		if (waking->time >= time)
			break;
		history->wakings.head++;
	}
	while (rolling_len(&history->trace_gaps) &&
	       ((const struct trace_gap *)rolling_at(&history->trace_gaps,
						     history->trace_gaps.head))
			       ->end < time)
		history->trace_gaps.head++;
}

void cpu_history_trim(struct cpu_history *history, uint64_t time)
{
	if (time <= history->since)
		return;
	history_trim_all(history, time);
	history->since = time;
}

static uint64_t history_bytes_used(const struct cpu_history *history)
{
	uint64_t bytes = rolling_len(&history->wakings) * sizeof(struct waking);

	for (uint32_t i = 0; i < history->n_cores; i++)
		bytes += rolling_len(&history->segments[i]) * sizeof(struct cpu_segment) +
			 rolling_len(&history->oncpus[i]) * sizeof(struct oncpu);
	return bytes;
}

static uint64_t history_newest_edge(const struct cpu_history *history)
{
	uint64_t time = history->since;

	for (uint32_t i = 0; i < history->n_cores; i++)
		if (history->cores[i].last > time)
			time = history->cores[i].last;
	return time;
}

/* Drops the older half of the history if the memory limit is reached. */
static void history_limit_memory(struct cpu_history *history)
{
	if (++history->fed < LOOK_EVERY)
		return;
	history->fed = 0;
	if (history_bytes_used(history) <= CPU_HISTORY_BYTES)
		return;
	history->dropped++;
	cpu_history_trim(history,
			 history->since + (history_newest_edge(history) - history->since) / 2);
}

/* ---- input of edges and wakings ---- */

static struct cpu_segment history_segment(const struct event_track *track, uint64_t time)
{
	struct cpu_segment segment = { .begin = time, .type = SEGMENT_NOT_RECORDED };
	const struct event_open *base = &track->open[0];

	if (!track->depth)
		return segment;
	if (event_open_type(base) == SPAN_TASK) {
		segment.type = SEGMENT_TASK;
		segment.task = base->what;
	} else if (event_open_type(base) == SPAN_IDLE) {
		segment.type = SEGMENT_IDLE;
	} else {
		return segment;
	}
	for (uint32_t i = 1; i < track->depth; i++) {
		const struct event_open *open = &track->open[i];

		switch (event_open_type(open)) {
		case SPAN_SYSCALL:
			segment.call = open->what + 1;
			break;
		case SPAN_HARDIRQ:
			segment.type = SEGMENT_HARDIRQ;
			segment.detail = open->what;
			break;
		case SPAN_SOFTIRQ:
			segment.type = SEGMENT_SOFTIRQ;
			segment.detail = open->what;
			break;
		case SPAN_FAULT:
			segment.type = SEGMENT_FAULT;
			segment.detail = open->what;
			break;
		}
	}
	return segment;
}

static bool history_same_segment(const struct cpu_segment *a, const struct cpu_segment *b)
{
	return a->type == b->type && a->detail == b->detail && a->task == b->task &&
	       a->call == b->call;
}

/*
 * Begins a trace gap at `time`, which may precede the last gap: a missing block of events is only
 * noticed at the core's next block.
 */
static void history_begin_trace_gap(struct cpu_history *history, uint64_t time)
{
	struct rolling *trace_gaps = &history->trace_gaps;
	struct trace_gap *gap;

	for (; rolling_len(trace_gaps); trace_gaps->tail--) {
		gap = rolling_at(trace_gaps, trace_gaps->tail - 1);
		if (gap->end < time)
			break;
		if (gap->begin < time)
			time = gap->begin;
	}
	gap = rolling_push(trace_gaps);
	if (gap)
		*gap = (struct trace_gap){ time, UINT64_MAX };
	else
		history->no_memory = true;
}

/*
 * Ends the last trace gap at `time`. A gap of length 0, as between the two spans of a context
 * switch, is removed.
 */
static void history_end_trace_gap(struct cpu_history *history, uint64_t time)
{
	struct rolling *trace_gaps = &history->trace_gaps;
	struct trace_gap *gap =
		rolling_len(trace_gaps) ? rolling_at(trace_gaps, trace_gaps->tail - 1) : NULL;

	if (gap && gap->begin == time)
		trace_gaps->tail--;
	else if (gap)
		gap->end = time;
}

static void history_track_trace_gaps(struct cpu_history *history, uint32_t core,
				     const struct cpu_segment *segment)
{
	struct core_track *c = &history->cores[core];
	const bool unrecorded = segment->type == SEGMENT_NOT_RECORDED && c->seen;

	c->seen |= segment->type != SEGMENT_NOT_RECORDED;
	if (unrecorded == c->unrecorded)
		return;
	c->unrecorded = unrecorded;
	if (unrecorded) {
		history_begin_trace_gap(history, segment->begin);
		history->unrecorded++;
	} else if (!--history->unrecorded) {
		history_end_trace_gap(history, segment->begin);
	}
}

static void history_push_segment(struct cpu_history *history, uint32_t core,
				 const struct cpu_segment *segment)
{
	struct rolling *segments = &history->segments[core];
	struct cpu_segment *last =
		rolling_len(segments) ? rolling_at(segments, segments->tail - 1) : NULL;

	history_track_trace_gaps(history, core, segment);
	if (last && history_same_segment(last, segment))
		return;
	if (last && last->begin == segment->begin) {
		*last = *segment;
		return;
	}
	last = rolling_push(segments);
	if (last)
		*last = *segment;
	else
		history->no_memory = true;
}

static struct oncpu *history_current_oncpu(struct cpu_history *history, uint32_t core)
{
	struct rolling *oncpus = &history->oncpus[core];

	return history->cores[core].running && rolling_len(oncpus) ?
		       rolling_at(oncpus, oncpus->tail - 1) : NULL;
}

static void history_end_oncpu(struct cpu_history *history, uint32_t core, uint64_t time,
			      uint8_t left)
{
	struct oncpu *oncpu = history_current_oncpu(history, core);

	if (oncpu) {
		oncpu->end = time;
		oncpu->left = left;
	}
	history->cores[core].running = false;
}

static void history_begin_oncpu(struct cpu_history *history, uint32_t core,
				const struct event_open *base)
{
	uint32_t thread = tasks_get(history->tasks, base->what)->thread;
	struct oncpu *oncpu;

	history_end_oncpu(history, core, base->begin, LEFT_UNKNOWN);
	if (thread == THREAD_NONE)
		return;
	oncpu = rolling_push(&history->oncpus[core]);
	if (!oncpu) {
		history->no_memory = true;
		return;
	}
	*oncpu = (struct oncpu){
		.begin = base->begin, .end = ONCPU_OPEN, .before = history->last_oncpu[thread],
		.thread = thread, .core = core,
		.left_before = base->type & SPAN_CONT ? LEFT_UNKNOWN : (uint8_t)base->arg,
	};
	history->last_oncpu[thread] = history_oncpu_name(core, history->oncpus[core].tail - 1);
	history->cores[core].running = true;
}

static bool history_opens_alike(const struct event_track *track, const struct event_block *block)
{
	return track->depth == block->n_open &&
	       event_track_same(track, block->open, block->n_open) == block->n_open;
}

/* Marks the core as not recorded from its last edge (begin or end of a span) on. */
static void history_begin_unrecorded(struct cpu_history *history, uint32_t core)
{
	const struct cpu_segment segment = { .begin = history->cores[core].last,
					     .type = SEGMENT_NOT_RECORDED };

	history_push_segment(history, core, &segment);
	history_end_oncpu(history, core, segment.begin, LEFT_UNKNOWN);
}

void cpu_history_end(struct cpu_history *history, uint32_t core)
{
	if (history->cores[core].known && history->cores[core].track.depth)
		history_begin_unrecorded(history, core);
	history->cores[core].track.depth = 0;
}

void cpu_history_block(struct cpu_history *history, uint32_t core, const struct event_block *block,
		       uint64_t from, bool lost)
{
	struct core_track *c = &history->cores[core];
	struct event_open base;
	struct cpu_segment segment;

	if (c->known && !lost && history_opens_alike(&c->track, block))
		return;
	if (c->known)
		history_begin_unrecorded(history, core);
	/* a span open at the block's start shows that the core was recorded before */
	c->seen |= lost || block->n_open;
	if (lost && !c->known && from < block->first) {
		segment = (struct cpu_segment){ .begin = from, .type = SEGMENT_NOT_RECORDED };
		history_push_segment(history, core, &segment);
	}
	if (c->known || lost)
		from = block->first;
	event_track_set(&c->track, block->open, block->n_open);
	segment = history_segment(&c->track, block->first < from ? block->first : from);
	history_push_segment(history, core, &segment);
	if (c->track.depth && event_open_type(&c->track.open[0]) == SPAN_TASK) {
		base = c->track.open[0];
		if (c->known && base.begin < c->last) {
			base.begin = c->last;
			base.type |= SPAN_CONT;
		}
		history_begin_oncpu(history, core, &base);
	}
	c->known = true;
	c->last = block->first;
}

static void history_begin_span(struct cpu_history *history, uint32_t core, uint64_t time,
			       const struct event_edge *edge)
{
	struct core_track *c = &history->cores[core];
	const uint8_t type = edge->type & SPAN_TYPE_MASK;
	struct oncpu *oncpu;

	if (!event_track_begin(&c->track, time, edge->what, edge->arg, edge->type))
		return;
	if (c->track.depth == 1 && type == SPAN_TASK)
		history_begin_oncpu(history, core, &c->track.open[0]);
	if (!(edge->type & SPAN_CONT))
		return;
	oncpu = history_current_oncpu(history, core);
	if (!oncpu || oncpu->begin != time)
		return;
	if (type == SPAN_SYSCALL && c->track.depth == 2)
		oncpu->call = edge->what + 1;
	else if (type == SPAN_FAULT)
		oncpu->from_fault = true;
}

static void history_end_span(struct cpu_history *history, uint32_t core, uint64_t time,
			     const struct event_edge *edge)
{
	struct core_track *c = &history->cores[core];

	if (!c->track.depth)
		return;
	c->track.depth--;
	if (!c->track.depth && (edge->type & SPAN_TYPE_MASK) == SPAN_TASK)
		history_end_oncpu(history, core, time,
				  edge->type & SPAN_CONT ? LEFT_UNKNOWN : (uint8_t)edge->arg);
}

void cpu_history_edge(struct cpu_history *history, uint32_t core, uint64_t time,
		      const struct event_edge *edge)
{
	struct core_track *c = &history->cores[core];
	struct cpu_segment segment;

	if (edge->type & SPAN_END)
		history_end_span(history, core, time, edge);
	else
		history_begin_span(history, core, time, edge);
	c->last = time;
	segment = history_segment(&c->track, time);
	history_push_segment(history, core, &segment);
	history_limit_memory(history);
}

void cpu_history_wake(struct cpu_history *history, const struct event_wake *wake)
{
	uint32_t thread = tasks_get(history->tasks, wake->task)->thread;
	struct waking *waking;

	if (thread == THREAD_NONE)
		return;
	waking = rolling_push(&history->wakings);
	if (!waking) {
		history->no_memory = true;
		return;
	}
	*waking = (struct waking){
		.time = wake->time,
		.before = history->last_waking[thread],
		.waker = wake->waker,
		.core = wake->core,
		.flags = wake->flags,
	};
	history->last_waking[thread] = history->wakings.tail;
}

/* ---- lookups ---- */

/* Segments searched in order after the last one found, as most questions go forward in time. */
#define FIND_NEAR 8

/*
 * Returns the number of the first segment after `time`. The search begins at number `near`, which
 * the last search found.
 */
static uint64_t history_first_after(const struct rolling *segments, uint64_t time, uint64_t near)
{
	uint64_t low = segments->head, high = segments->tail;

	if (near >= low && near < high &&
	    ((const struct cpu_segment *)rolling_at(segments, near))->begin <= time) {
		low = near + 1;
		for (int i = 0; i < FIND_NEAR && low < high; i++, low++)
			if (((const struct cpu_segment *)rolling_at(segments, low))->begin > time)
				return low;
	}
	return sort_first(i, low, high,
			  ((const struct cpu_segment *)rolling_at(segments, i))->begin > time);
}

bool cpu_history_find(const struct cpu_history *history, uint32_t core, uint64_t time,
		      uint64_t *number, uint64_t *until)
{
	const struct rolling *segments;
	uint64_t after;

	*until = UINT64_MAX;
	if (core >= history->n_cores || !rolling_len(&history->segments[core]))
		return false;
	segments = &history->segments[core];
	after = history_first_after(segments, time, history->found[core]);
	if (after == segments->head) {
		*until = ((const struct cpu_segment *)rolling_at(segments, after))->begin;
		return false;
	}
	*number = history->found[core] = after - 1;
	return true;
}

const struct cpu_segment *cpu_history_segment(const struct cpu_history *history, uint32_t core,
					      uint64_t number)
{
	return rolling_at(&history->segments[core], number);
}

uint64_t cpu_history_segment_end(const struct cpu_history *history, uint32_t core, uint64_t number)
{
	if (number + 1 == history->segments[core].tail)
		return UINT64_MAX;
	return cpu_history_segment(history, core, number + 1)->begin;
}

const struct oncpu *cpu_history_last_oncpu(const struct cpu_history *history, uint32_t thread)
{
	return history_oncpu_named(history, history->last_oncpu[thread]);
}

const struct oncpu *cpu_history_oncpu_before(const struct cpu_history *history,
					     const struct oncpu *oncpu)
{
	return history_oncpu_named(history, oncpu->before);
}

const struct waking *cpu_history_waking(const struct cpu_history *history, uint32_t thread,
					uint64_t time)
{
	uint64_t at = history->last_waking[thread];

	while (at > history->wakings.head) {
		const struct waking *waking = rolling_at(&history->wakings, at - 1);

		if (waking->time <= time)
			return waking;
		at = waking->before;
	}
	return NULL;
}

const struct waking *cpu_history_waking_before(const struct cpu_history *history,
					       const struct waking *waking)
{
	return waking->before > history->wakings.head ?
		       rolling_at(&history->wakings, waking->before - 1) : NULL;
}

const struct trace_gap *cpu_history_trace_gap(const struct cpu_history *history, uint64_t from,
					      uint64_t to)
{
	const uint64_t low = sort_first(i, history->trace_gaps.head, history->trace_gaps.tail,
		((const struct trace_gap *)rolling_at(&history->trace_gaps, i))->end >= from);
	const struct trace_gap *gap;

	gap = low < history->trace_gaps.tail ? rolling_at(&history->trace_gaps, low) : NULL;
	return gap && gap->begin <= to ? gap : NULL;
}
