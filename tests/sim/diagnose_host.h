/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random hosts for the test of diagnose: cores, tasks, interrupts, sleeps, wakings and messages
 * that a real one could have had; and, by a naive implementation of docs/design/diagnose.md that
 * looks at all of it for each stretch of time, what each message's time is to be charged to.
 */
#ifndef HOSTLAT_TESTS_DIAGNOSE_HOST_H
#define HOSTLAT_TESTS_DIAGNOSE_HOST_H

#include "base/rng.h"
#include "diagnose/cause.h"
#include "trace.h"

#define HOST_CORES 4u
#define HOST_TASKS 7u     /* their tids: 11 and up */
#define HOST_READERS 2u   /* the first ones */
#define HOST_RECORDER 90u /* pid of the last task */
#define HOST_MESSAGES 24u
#define HOST_LAST_IRQ 99u /* number of every core's last interrupt, at the end */

/* One stretch of a message's time. */
struct expected {
	uint64_t begin, end;   /* since TRACE_START */
	enum cause cause;
	enum where where;
	uint32_t culprit;      /* tid */
	uint64_t message;      /* id of the one before it; 0 = none */
};

struct expecteds VEC_OF(struct expected);

struct host {
	struct rng rng;
	struct trace trace;
	uint32_t cores;
	bool throttles;        /* the recording says that a quota was at work */
};

void host_init(struct host *host, uint64_t seed, uint32_t steps);
void host_release(struct host *host);

/* Puts what the message at `place` of the trace must be charged to into `out`. */
void host_expect(const struct host *host, size_t place, struct expecteds *out);

/* Sorts the acts of a trace by time, as host_expect() needs them. */
void host_sort(struct host *host);

uint32_t host_tid(uint32_t task);
uint32_t host_pid(uint32_t task);

#endif
