/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What disturbed the host that generates load: times in which a thread that wanted to run did not,
 * by its own clock readings, and per tick what the kernel counts (proc(5): /proc/stat, the second
 * number of schedstat; cpufreq's scaling_cur_freq), and whether the machine slept.
 */
#ifndef HOSTLAT_LOAD_INTERFERENCE_H
#define HOSTLAT_LOAD_INTERFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock/clock.h"
#include "event/source.h"
#include "load/spsc.h"

#define INTERFERENCE_CPUS 64 /* those beyond are not looked at */

struct interference_span {
	uint64_t begin, end; /* monotonic ns */
};

/* A thread's part. */
struct interference_thread {
	struct spsc_queue gaps;         /* struct interference_span; taken by the pulling thread */
	struct interference_span pending; /* what didn't fit, in one; end 0: nothing */
	int schedstat;            /* -1: not readable */
	bool unread;              /* ... at the last call */
	uint64_t preempted_ns;    /* so far */
};

/* Returns 0 or -ENOMEM. */
int interference_thread_init(struct interference_thread *thread);
void interference_thread_release(struct interference_thread *thread);

/* To be called by the thread itself when it begins. */
void interference_thread_begin(struct interference_thread *thread);

/* It wanted to run and didn't. What has no room is joined with what comes after it. */
void interference_gap(struct interference_thread *thread, uint64_t begin, uint64_t end);

/* Time since the last call that it was runnable without a CPU; 0 if unknown: see `unread`. */
uint64_t interference_preempted(struct interference_thread *thread);

/* The host's part, of the pulling thread. */
struct interference_host {
	struct clock *clock;
	int stat;            /* /proc/stat; -1: not readable */
	bool unread;         /* the last tick's steal and softirqs are not known */
	uint64_t last_ns;    /* the last tick; 0: none yet */
	int64_t asleep_ns;   /* at it, boottime less monotonic, at most */
	struct interference_times {
		uint64_t steal, softirq;
	} times[INTERFERENCE_CPUS]; /* of each CPU so far, in USER_HZ */
	uint64_t known;      /* mask of those that `times` holds */
};

void interference_host_init(struct interference_host *host, struct clock *clock);
void interference_host_release(struct interference_host *host);

/*
 * Puts the events of the tick that ends at `now`; `cpus`: mask of those where the `threads` threads
 * run. A machine that slept is a gap of each of them, longer than the tick as monotonic time goes.
 */
int interference_host_tick(struct interference_host *host, struct event_sink *sink, uint32_t agent,
			   uint64_t now, uint64_t cpus, uint32_t threads);

int interference_put(struct event_sink *sink, uint32_t agent, enum noise_what what, uint64_t begin,
		     uint64_t end, uint64_t amount);

#endif
