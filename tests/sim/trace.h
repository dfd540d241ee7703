/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of made-up hosts, for tests of what is concluded from them: what CPUs do and which
 * messages come, in any order, written as `hostlat record` would write them (probe/cpu/timeline.h).
 * Times in ns since TRACE_START. Failures end the program.
 */
#ifndef HOSTLAT_TESTS_TRACE_H
#define HOSTLAT_TESTS_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/layout.h"

#define TRACE_START 1000000000000ULL
#define TRACE_CORES 64u
#define TRACE_PIECES 8u
#define TRACE_PLACES 16u

enum trace_step {
	TRACE_SWITCH,      /* a = tid that comes, 0 = nobody; arg = how the one before left */
	TRACE_CALL,        /* a = number */
	TRACE_RETURN,
	TRACE_IRQ,         /* a = number */
	TRACE_IRQ_END,
	TRACE_VECTOR,      /* a = enum span_vector */
	TRACE_VECTOR_END,
	TRACE_SOFTIRQ,     /* a = vector */
	TRACE_SOFTIRQ_END,
	TRACE_FAULT,
	TRACE_ENTER,       /* a = DICT_SYMBOL: a function of the kernel */
	TRACE_LEAVE,
	TRACE_WAKE,        /* a = tid; arg = core */
	TRACE_LOSE,        /* the core's next step comes after a loss */
	TRACE_NAME,        /* a = tid, name: from now on; of any core */
	TRACE_HIDDEN,      /* a = tid that comes; the kernel ran no program for it */
	TRACE_FLUSH,       /* all blocks end, of any core */
	TRACE_STEPS,
};

struct trace_act {
	uint64_t time;
	uint32_t core;
	uint32_t a;
	uint16_t arg;      /* TRACE_SWITCH: enum task_left */
	uint8_t step;
	bool dropped;      /* the recorder never saw it */
	uint32_t order;    /* order among steps at the same time */
	uint32_t tgid;
	uint32_t cgroup;   /* TRACE_NAME: from trace_place(); 0: unknown */
	char name[16];
};

struct trace_message {
	struct event_message head;
	uint64_t read;
	struct event_piece pieces[TRACE_PIECES];
};

struct trace {
	struct trace_acts VEC_OF(struct trace_act) acts;
	struct trace_messages VEC_OF(struct trace_message) messages;
	uint32_t cores;
	uint64_t end;
	struct {
		char cgroup[64], unit[32];
	} places[TRACE_PLACES];
	uint32_t n_places;
	bool open;         /* nothing says that it ended */
	bool early;        /* acts begin as they are: cores are not idle at first */
};

void trace_init(struct trace *t, uint32_t cores);
void trace_release(struct trace *t);

/* The one added; valid until the next. */
struct trace_act *trace_add(struct trace *t, uint64_t time, uint32_t core, enum trace_step step,
			    uint32_t a, uint16_t arg);
struct trace_act *trace_name(struct trace *t, uint64_t time, uint32_t pid, uint32_t tid,
			     const char *name);
/* Returns the id of a control group, for tasks. */
uint32_t trace_place(struct trace *t, const char *cgroup, const char *unit);

/* From the first byte's arrival over the socket's queue to the read; `core` for all of it. */
struct trace_message *trace_message(struct trace *t, uint64_t id, uint32_t tid, uint64_t first,
				    uint64_t queued, uint64_t read, uint32_t core);

struct event_writer;

/* A writer on `fd`, as a recording begins. */
struct event_writer *trace_writer(int fd);

/* Everything into `writer`, which is then closed. */
void trace_write(struct trace *t, struct event_writer *writer);

#endif
