/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recent past of cores and threads: fed with edges and wakings of all cores in the order of
 * time, and asked about windows that it still holds.
 *
 * It shows the same edges in three ways: each core's stretches of time (struct cpu_segment), each
 * thread's stretches on a CPU (struct oncpu), and each thread's wakings (struct waking). Times are
 * in ns of CLOCK_MONOTONIC.
 *
 * Memory: CPU_HISTORY_BYTES of entries, in at most twice the room. What was dropped for it is as
 * if it had not been recorded, see `since`.
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
	SEGMENT_FAULT,   /* a task, in a page fault */
	SEGMENT_SOFTIRQ, /* detail = vector */
	SEGMENT_HARDIRQ, /* detail = irq, or as in SPAN_HARDIRQ */
};

/* Ends where the next segment of its core begins. */
struct cpu_segment {
	uint64_t begin;
	uint32_t detail;
	uint32_t task;  /* DICT_TASK: who has the core, in an interrupt, too; 0 = nobody */
	uint32_t call;  /* the system call that it is in, + 1; 0 = none, or unknown */
	uint8_t type;   /* enum cpu_segment_type */
	uint8_t pad[3];
};

#define ONCPU_OPEN UINT64_MAX

/* A thread's stretch on a core. */
struct oncpu {
	uint64_t begin;
	uint64_t end;        /* ONCPU_OPEN: still running */
	uint64_t before;     /* name of the thread's stretch before it; 0 = none */
	uint32_t thread;
	uint32_t core;
	uint32_t call;       /* the system call that it goes on in, + 1 */
	uint8_t left;        /* enum task_left: how the thread left the core at its end */
	uint8_t left_before; /* enum task_left: how it left its core at the end of the one before */
	bool from_fault;     /* the thread slept in a page fault before */
	uint8_t pad;
};

struct waking {
	uint64_t time;
	uint64_t before; /* the thread's waking before, + 1 */
	uint32_t waker;  /* DICT_TASK */
	uint32_t core;   /* where it was to run */
	uint32_t flags;  /* enum wake_flags */
	uint32_t pad;
};

/* At least one core was not recorded. */
struct trace_gap {
	uint64_t begin;
	uint64_t end; /* UINT64_MAX: the gap is still open */
};

struct core_track; /* the open spans of a core */

struct cpu_history {
	const struct tasks *tasks;
	struct rolling *segments;    /* by core */
	struct core_track *cores;
	uint64_t *found;          /* by core: the segment found last, to search from */
	uint32_t n_cores;
	struct rolling *oncpus;      /* by core */
	struct rolling wakings;
	struct rolling trace_gaps;   /* do not overlap */
	uint32_t unrecorded;      /* cores that are not recorded now */
	uint64_t *last_oncpu;     /* by thread: name of its last stretch on a CPU, 0 = none */
	uint64_t *last_waking;    /* by thread: number of its last waking, + 1 */
	uint64_t since;           /* everything after this time is known */
	uint64_t dropped;         /* times that the memory limit dropped old history */
	uint32_t fed;             /* edges since memory was last looked at */
	bool no_memory;
};

/* For cores 0 to `cores` - 1. 0 or -ENOMEM; to be released in either case. */
int cpu_history_init(struct cpu_history *history, const struct tasks *tasks, uint32_t cores);
void cpu_history_release(struct cpu_history *history);

/* Forgets everything: what comes next begins at `since`. */
void cpu_history_clear(struct cpu_history *history, uint64_t since);

/*
 * A block of EV_EDGE begins: it says what is open. `from`: what the core did since then is what
 * the block opens with, if nothing else is known. `lost`: something before it could not be read.
 */
void cpu_history_block(struct cpu_history *history, uint32_t core,
		       const struct event_block *block, uint64_t from, bool lost);
void cpu_history_edge(struct cpu_history *history, uint32_t core, uint64_t time,
		      const struct event_edge *edge);
void cpu_history_wake(struct cpu_history *history, const struct event_wake *wake);

/* The recording has no more edges of this core: what is open then may be over. */
void cpu_history_end(struct cpu_history *history, uint32_t core);

/* Drops history that ended before `time`. */
void cpu_history_trim(struct cpu_history *history, uint64_t time);

/*
 * *number: the segment of a core at `time`, for the calls below. False: nothing is known of the
 * core then, up to *until.
 */
bool cpu_history_find(const struct cpu_history *history, uint32_t core, uint64_t time,
		      uint64_t *number, uint64_t *until);
const struct cpu_segment *cpu_history_segment(const struct cpu_history *history, uint32_t core,
					      uint64_t number);
/* Returns the end of a segment; UINT64_MAX: still open. */
uint64_t cpu_history_segment_end(const struct cpu_history *history, uint32_t core,
				 uint64_t number);

/* A thread's last stretch on a CPU, and the one before another; NULL: none is known. */
const struct oncpu *cpu_history_last_oncpu(const struct cpu_history *history, uint32_t thread);
const struct oncpu *cpu_history_oncpu_before(const struct cpu_history *history,
					     const struct oncpu *oncpu);

/* A thread's last waking up to `time`, and the one before a waking; NULL: none is known. */
const struct waking *cpu_history_waking(const struct cpu_history *history, uint32_t thread,
					uint64_t time);
const struct waking *cpu_history_waking_before(const struct cpu_history *history,
					       const struct waking *waking);

/*
 * The first gap in from <= t <= to, in which any thread may have run on a core that was not
 * recorded; NULL: none. The time before the recording began is no gap.
 */
const struct trace_gap *cpu_history_trace_gap(const struct cpu_history *history, uint64_t from,
					      uint64_t to);

#endif
