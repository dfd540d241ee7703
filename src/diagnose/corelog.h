/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cores and threads did of late: a rolling log that is fed with edges and wakings in the order
 * of time over all cores, and asked about windows that are still in it.
 *
 * Three views of the same edges: per core, what it did at each time (struct atom); per thread, when
 * it had a core (struct run); per thread, when it was woken (struct waking). Times in ns of
 * CLOCK_MONOTONIC.
 *
 * Memory: CORELOG_BYTES of entries, in at most twice the room; what was dropped for it is as if it
 * had not been recorded, see `since`.
 */
#ifndef HOSTLAT_DIAGNOSE_CORELOG_H
#define HOSTLAT_DIAGNOSE_CORELOG_H

#include <stdbool.h>
#include <stdint.h>

#include "diagnose/ring.h"
#include "diagnose/tasks.h"
#include "event/source.h"

#define CORELOG_BYTES (256UL << 20)
#define CORELOG_CORES 1024u

enum atom_type {
	ATOM_BLIND,
	ATOM_IDLE,
	ATOM_TASK,
	ATOM_FAULT,   /* a task, in a page fault */
	ATOM_SOFTIRQ, /* what = vector */
	ATOM_HARDIRQ, /* what = irq, or as in SPAN_HARDIRQ */
};

/* Up to the next one of its core. */
struct atom {
	uint64_t begin;
	uint32_t what;
	uint32_t task;  /* DICT_TASK: who has the core, in an interrupt, too; 0 = nobody */
	uint32_t call;  /* the system call that it is in, + 1; 0 = none, or unknown */
	uint8_t type;   /* enum atom_type */
	uint8_t pad[3];
};

#define RUN_OPEN UINT64_MAX

struct run {
	uint64_t begin;
	uint64_t end;        /* RUN_OPEN: it goes on */
	uint64_t before;     /* the name of the thread's run before it; 0 = none */
	uint32_t thread;
	uint32_t core;
	uint32_t call;       /* the system call that it goes on in, + 1 */
	uint8_t left;        /* enum task_left: at its end */
	uint8_t left_before; /* ... at the end of the one before */
	bool from_fault;     /* it slept in a page fault before */
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

/* From begin to end one core or more were out of sight. */
struct hole {
	uint64_t begin;
	uint64_t end; /* UINT64_MAX: it goes on */
};

struct core_track; /* what is open on a core */

struct corelog {
	const struct tasks *tasks;
	struct ring *atoms;       /* by core */
	struct core_track *cores;
	uint64_t *found;          /* by core: what was found last, to begin with */
	uint32_t n_cores;
	struct ring *runs;        /* by core */
	struct ring wakings;
	struct ring holes;        /* do not overlap */
	uint32_t unseen;          /* cores that are out of sight now */
	uint64_t *last_run;       /* by thread: its name, 0 = none */
	uint64_t *last_waking;    /* ... its number + 1 */
	uint64_t since;           /* all is known from here on */
	uint64_t dropped;         /* times that memory made it forget */
	uint32_t fed;             /* since memory was last looked at */
	bool no_memory;
};

/* For cores 0 to `cores` - 1. 0 or -ENOMEM; to be released in either case. */
int corelog_init(struct corelog *log, const struct tasks *tasks, uint32_t cores);
void corelog_release(struct corelog *log);

/* Forgets everything: what comes next begins at `since`. */
void corelog_clear(struct corelog *log, uint64_t since);

/*
 * A block of EV_EDGE begins: it says what is open. `from`: what the core did since then is what
 * the block opens with, if nothing else is known. `lost`: something before it could not be read.
 */
void corelog_block(struct corelog *log, uint32_t core, const struct event_block *block,
		   uint64_t from, bool lost);
void corelog_edge(struct corelog *log, uint32_t core, uint64_t time,
		  const struct event_edge *edge);
void corelog_wake(struct corelog *log, const struct event_wake *wake);

/* The recording has no more edges of this core: what is open then may be over. */
void corelog_end(struct corelog *log, uint32_t core);

/* What is before `time` will not be asked for any more. */
void corelog_trim(struct corelog *log, uint64_t time);

/*
 * The atom of a core at `time`, as a number for the calls below; false: nothing is known of the
 * core then, up to *until.
 */
bool corelog_find(const struct corelog *log, uint32_t core, uint64_t time, uint64_t *number,
		  uint64_t *until);
const struct atom *corelog_atom(const struct corelog *log, uint32_t core, uint64_t number);
/* Where it ends: UINT64_MAX if it goes on. */
uint64_t corelog_atom_end(const struct corelog *log, uint32_t core, uint64_t number);

/* The last run of a thread, and the one before a run; NULL: none is known. */
const struct run *corelog_last_run(const struct corelog *log, uint32_t thread);
const struct run *corelog_run_before(const struct corelog *log, const struct run *run);

/* The thread's last waking up to `time`, and the one before a waking; NULL if none is known. */
const struct waking *corelog_waking(const struct corelog *log, uint32_t thread, uint64_t time);
const struct waking *corelog_waking_before(const struct corelog *log, const struct waking *waking);

/*
 * When some core was first lost sight of in from <= t <= to: any thread may have run there; NULL:
 * never. What is not known because the recording began later is no such hole.
 */
const struct hole *corelog_hole(const struct corelog *log, uint64_t from, uint64_t to);

#endif
