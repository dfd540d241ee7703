/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread was doing in stretches of time: it had a CPU, waited for one, slept, and in which
 * system calls. By the same history of cores as the causes of messages (diagnose/corelog.h), in one
 * pass over the recording's activity for all threads that are asked about.
 *
 * The times by state sum to the length of the stretches. What the recording doesn't tell is
 * unknown, never sleep.
 */
#ifndef HOSTLAT_DIAGNOSE_DOING_H
#define HOSTLAT_DIAGNOSE_DOING_H

#include "base/vec.h"
#include "diagnose/diagnose.h"
#include "diagnose/tasks.h"

#define DOING_STRETCHES_MAX (1u << 20)
#define DOING_CALLS_MAX 64u      /* different ones; time in others is in the state only */
#define DOING_CULPRITS_MAX 1024u

enum doing_state {
	DOING_ON_CPU,
	DOING_INTERRUPTED, /* ... and the CPU did an interrupt or a softirq */
	DOING_WAITING,     /* for a CPU */
	DOING_ASLEEP,
	DOING_BLOCKED,     /* uninterruptible: for a device, a file, memory */
	DOING_STOPPED,     /* by a signal or a tracer */
	DOING_UNKNOWN,
	DOING_STATES,
};

struct doing_stretch {
	uint64_t from, to;
};

struct doing_stretches VEC_OF(struct doing_stretch);

struct doing_call {
	uint32_t call;     /* number + 1; 0 = outside of any, or not known */
	uint64_t on_cpu_ns, asleep_ns, blocked_ns;
};

struct doing_culprit {
	uint32_t task;     /* DICT_TASK: had the CPU that the thread waited for */
	uint64_t ns;
};

struct doing {
	uint32_t task;     /* DICT_TASK: a name of the thread; 0: none. Asked for, as is the next */
	struct doing_stretches stretches; /* doing_all() puts them in order, without overlaps */
	uint64_t total_ns;
	uint64_t ns[DOING_STATES];
	struct doing_calls VEC_OF(struct doing_call) calls;       /* most time first */
	struct doing_culprits VEC_OF(struct doing_culprit) culprits; /* ... as well */
};

void doing_init(struct doing *doing, uint32_t task);
void doing_release(struct doing *doing);

/*
 * Who serves the connection of `flow`: the thread that read nine tenths of its messages or more,
 * or the only one that the recording knows of process `pid`. Its number in DICT_TASK; 0, and *why
 * is a static text.
 */
uint32_t doing_reader(const struct diagnosis *d, const struct event_flow *flow, uint32_t pid,
		      const char **why);

/* Fills in all `n`. After diagnosis_run(). 0, -errno of the reader, -ENOMEM. */
int doing_all(const struct diagnosis *d, struct doing *all, size_t n);

/* "asleep in nanosleep 93 %, on a CPU 5 %, waiting for a CPU 2 % (gzip (4711) had it)" */
const char *doing_phrase(const struct diagnosis *d, const struct doing *doing, struct report *r);

/* "python3 (4711)" */
const char *doing_who(const struct diagnosis *d, const struct doing *doing, struct report *r);

/* {pid, tid, comm, duration_ns, state_ns{}, calls[], culprits[]} */
struct object *doing_object(const struct diagnosis *d, const struct doing *doing,
			    struct report *r);

#endif
