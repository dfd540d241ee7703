/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recent past of cores and threads: fed with edges (begins and ends of spans) and wakings of
 * all cores in the order of time, and asked about windows that it still holds.
 *
 * It shows the same edges in three ways: each core's stretches of time (struct cpu_segment), each
 * thread's stretches on a CPU (struct oncpu), and each thread's wakings (struct waking). Times are
 * in ns of CLOCK_MONOTONIC.
 *
 * Memory: CPU_HISTORY_BYTES of entries; allocations take at most twice as much. Dropped history
 * counts as not recorded, see `since`.
 */
#ifndef HOSTLAT_DIAGNOSE_CPU_HISTORY_H
#define HOSTLAT_DIAGNOSE_CPU_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "diagnose/rolling.h"
#include "diagnose/tasks.h"
#include "event/source.h"

#define CPU_HISTORY_BYTES (256UL << 20)
#define CPU_HISTORY_CORES 1024u

enum cpu_segment_type {
	SEGMENT_NOT_RECORDED,
	SEGMENT_IDLE,
	SEGMENT_TASK,
	SEGMENT_FAULT,   /* a task that is in a page fault */
	SEGMENT_SOFTIRQ, /* a softirq; detail = its vector */
	SEGMENT_HARDIRQ, /* an interrupt; detail = its number, or SPAN_VECTOR + enum span_vector */
};

/* A stretch of one core's activity. It ends where the next segment of its core begins. */
struct cpu_segment {
	uint64_t begin;
	uint32_t detail;
	uint32_t task;  /* task on the core, even during interrupts, in DICT_TASK; 0: none */
	uint32_t call;  /* the task's current system call + 1; 0: none, or unknown */
	uint8_t type;   /* enum cpu_segment_type */
	uint8_t pad[3];
};

#define ONCPU_OPEN UINT64_MAX

/* A thread's stretch on a CPU; times in ns. */
struct oncpu {
	uint64_t begin;
	uint64_t end;        /* ONCPU_OPEN: the thread is still running */
	uint64_t before;     /* the thread's previous stretch on a CPU: its core and number; 0:
			      * none */
	uint32_t thread;
	uint32_t core;
	uint32_t call;       /* system call + 1 in which the thread continues; 0: none, or
			      * unknown */
	uint8_t left;        /* enum task_left: the thread's state when it left the core */
	uint8_t left_before; /* enum task_left: the thread's state at the end of its previous
			      * stretch */
	bool from_fault;     /* the thread slept in a page fault before this stretch */
	uint8_t pad;
};

struct waking {
	uint64_t time;
	uint64_t before; /* number of the thread's previous waking, + 1; 0: none */
	uint32_t waker;  /* task that woke the thread, in DICT_TASK */
	uint32_t core;   /* core on whose run queue the thread is put */
	uint32_t flags;  /* enum wake_flags */
	uint32_t pad;
};

/* Time in which at least one core was not recorded, in ns. */
struct trace_gap {
	uint64_t begin;
	uint64_t end; /* UINT64_MAX: the gap is still open */
};

struct core_track; /* the spans of a core that are open */

struct cpu_history {
	const struct tasks *tasks;
	struct rolling *segments;    /* each core's history, as segments of its activity */
	struct core_track *cores;
	uint64_t *found;          /* by core: number of the segment that the last search found */
	uint32_t n_cores;
	struct rolling *oncpus;      /* stretches on a CPU, of each core */
	struct rolling wakings;
	struct rolling trace_gaps;   /* trace gaps, in order, without overlaps */
	uint32_t unrecorded;      /* number of cores that are not recorded at present */
	uint64_t *last_oncpu;     /* by thread: core and number of its last stretch on a CPU; 0:
				   * none */
	uint64_t *last_waking;    /* by thread: number of its last waking, + 1; 0: none */
	uint64_t since;           /* history after this time is complete, in ns */
	uint64_t dropped;         /* how often the memory limit dropped old history */
	uint32_t fed; /* span begins and ends added since the last check of the memory limit */
	bool no_memory;
};

/* Initializes a history of `cores` cores. 0 or -ENOMEM: call cpu_history_release() after both. */
int cpu_history_init(struct cpu_history *history, const struct tasks *tasks, uint32_t cores);
void cpu_history_release(struct cpu_history *history);

/* Forgets everything; later input begins at `since`. */
void cpu_history_clear(struct cpu_history *history, uint64_t since);

/*
 * Begins a core's block of edges (EV_EDGE, begins and ends of spans), which lists the spans that
 * are open at its begin. `from`: if the core has no history, these spans count as open since then.
 * `lost`: earlier events of the core could not be read.
 */
void cpu_history_block(struct cpu_history *history, uint32_t core,
		       const struct event_block *block, uint64_t from, bool lost);
void cpu_history_edge(struct cpu_history *history, uint32_t core, uint64_t time,
		      const struct event_edge *edge);
void cpu_history_wake(struct cpu_history *history, const struct event_wake *wake);

/*
 * Notes that no further begins or ends of spans of the core follow. If spans are still open, they
 * may be over: the core counts as not recorded after its last begin or end of a span.
 */
void cpu_history_end(struct cpu_history *history, uint32_t core);

/* Drops history that ended before `time`. */
void cpu_history_trim(struct cpu_history *history, uint64_t time);

/*
 * Sets *number to the core's segment at `time`. Returns false if there is none; *until is then the
 * begin of the core's first segment, or UINT64_MAX without segments.
 */
bool cpu_history_find(const struct cpu_history *history, uint32_t core, uint64_t time,
		      uint64_t *number, uint64_t *until);
const struct cpu_segment *cpu_history_segment(const struct cpu_history *history, uint32_t core,
					      uint64_t number);
/* Returns the end of a segment; UINT64_MAX: still open. */
uint64_t cpu_history_segment_end(const struct cpu_history *history, uint32_t core,
				 uint64_t number);

/* Returns a thread's last stretch on a CPU; next function: that before `oncpu`. NULL: unknown. */
const struct oncpu *cpu_history_last_oncpu(const struct cpu_history *history, uint32_t thread);
const struct oncpu *cpu_history_oncpu_before(const struct cpu_history *history,
					     const struct oncpu *oncpu);

/* Returns a thread's last waking up to `time`; next function: that before `waking`. Or NULL. */
const struct waking *cpu_history_waking(const struct cpu_history *history, uint32_t thread,
					uint64_t time);
const struct waking *cpu_history_waking_before(const struct cpu_history *history,
					       const struct waking *waking);

/*
 * Returns the first trace gap that overlaps from <= t <= to: any thread may have run on a core that
 * was not recorded. NULL: none. The time before the recording began is no gap.
 */
const struct trace_gap *cpu_history_trace_gap(const struct cpu_history *history, uint64_t from,
					      uint64_t to);

#endif
