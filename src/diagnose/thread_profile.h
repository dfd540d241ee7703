/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides a thread's time in chosen stretches: on a CPU, waiting for a CPU, asleep, and by system
 * call. One pass over the recording's activity serves all requested threads; thread states are as
 * in the attribution of messages (diagnose/thread_state.h).
 *
 * The times by state sum to the length of the stretches. Time that was not recorded is unknown,
 * never sleep.
 */
#ifndef HOSTLAT_DIAGNOSE_THREAD_PROFILE_H
#define HOSTLAT_DIAGNOSE_THREAD_PROFILE_H

#include "base/vec.h"
#include "diagnose/diagnose.h"
#include "diagnose/thread_state.h"

#define THREAD_PROFILE_STRETCHES_MAX (1u << 20)
#define THREAD_PROFILE_CALLS_MAX 64u /* system calls stored for a thread; the states include time in
				      * other calls */
#define THREAD_PROFILE_CULPRITS_MAX 1024u

struct thread_stretch {
	uint64_t from, to;
};

struct thread_stretches VEC_OF(struct thread_stretch);

struct thread_call {
	uint32_t call;     /* system call + 1; 0: outside of system calls, or unknown */
	uint64_t on_cpu_ns, asleep_ns, blocked_ns;
};

struct thread_culprit {
	uint32_t task;     /* task that had the CPU, in DICT_TASK */
	uint64_t ns;
};

struct thread_profile {
	uint32_t task;     /* a name of the thread in DICT_TASK, set by the caller; 0: none */
	struct thread_stretches stretches; /* times to profile, set by the caller;
					    * thread_profile_fill() sorts and merges them */
	uint64_t total_ns;
	uint64_t ns[THREAD_STATES];
	struct thread_calls VEC_OF(struct thread_call) calls;          /* longest time first */
	struct thread_culprits VEC_OF(struct thread_culprit) culprits; /* longest time first */
};

void thread_profile_init(struct thread_profile *profile, uint32_t task);
void thread_profile_release(struct thread_profile *profile);

/*
 * Returns the number in DICT_TASK of the thread that serves the connection of `flow`: it read nine
 * tenths or more of the connection's messages, or is the only recorded thread of process `pid`. 0:
 * no such thread; *why: the reason, static text.
 */
uint32_t thread_profile_reader(const struct diagnosis *d, const struct event_flow *flow,
			       uint32_t pid, const char **why);

/* Fills in all `n` profiles, after diagnosis_run(). Returns 0, -errno of the reader, or -ENOMEM. */
int thread_profile_fill(const struct diagnosis *d, struct thread_profile *all, size_t n);

/*
 * Returns the profile in words: "asleep in nanosleep 93 %, on a CPU 5 %, waiting for a CPU 2 %
 * (held longest by gzip (4711))".
 */
const char *thread_profile_phrase(const struct diagnosis *d, const struct thread_profile *profile,
				  struct report *r);

/*
 * Returns whether the thread slept for most of the time in a call that waits until something
 * arrives, such as epoll_wait.
 */
bool thread_profile_waits_for_input(const struct diagnosis *d,
				    const struct thread_profile *profile, struct report *r);

/* Returns the thread's name, e.g. "python3 (4711)". */
const char *thread_profile_name(const struct diagnosis *d, const struct thread_profile *profile,
				struct report *r);

/*
 * Returns the profile as an object {pid, tid, comm, duration_ns, state_ns{}, calls[], culprits[]}.
 */
struct object *thread_profile_object(const struct diagnosis *d,
				     const struct thread_profile *profile, struct report *r);

#endif
