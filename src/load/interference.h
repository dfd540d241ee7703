/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures host interference: gaps in which a runnable thread did not run, by the thread's clock
 * readings, and, per tick, the kernel's counters (proc(5): /proc/stat, the second number of
 * schedstat; cpufreq's scaling_cur_freq) and whether the machine slept.
 */
#ifndef HOSTLAT_LOAD_INTERFERENCE_H
#define HOSTLAT_LOAD_INTERFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock/clock.h"
#include "event/layout.h"
#include "event/source.h"
#include "load/spsc.h"
#include "stats/hist.h"

#define INTERFERENCE_CPUS 64 /* CPUs with higher numbers are ignored */

struct interference_span {
	uint64_t begin, end; /* monotonic time in ns */
};

/* Host interference with one thread. */
struct interference_thread {
	struct spsc_queue gaps;         /* struct interference_span; read by the consuming thread */
	struct interference_span pending; /* gaps that did not fit, merged; end 0: none */
	int schedstat;            /* descriptor of schedstat; -1: not readable */
	bool unread;              /* schedstat could not be read at the last call */
	uint64_t preempted_ns;    /* time runnable without a CPU so far */
};

/* Allocates the queue of gaps. Returns 0 or -ENOMEM. */
int interference_thread_init(struct interference_thread *thread);
void interference_thread_release(struct interference_thread *thread);

/* Opens schedstat of the calling thread; called by the thread when it begins. */
void interference_thread_begin(struct interference_thread *thread);

/* Adds a gap. A gap that does not fit into the queue is merged with the next gap. */
void interference_gap(struct interference_thread *thread, uint64_t begin, uint64_t end);

/*
 * Returns the time (ns) since the last call in which the thread was runnable without a CPU; 0 if
 * unknown (see `unread`).
 */
uint64_t interference_preempted(struct interference_thread *thread);

/* Host interference as counted by the kernel; used by the consuming thread. */
struct interference_host {
	struct clock *clock;
	int stat;            /* descriptor of /proc/stat; -1: not readable */
	bool unread;         /* steal and softirq time of the last tick are unknown */
	uint64_t last_ns;    /* time of the last tick; 0: none yet */
	int64_t asleep_ns;   /* upper bound of boottime minus monotonic time, at the last tick */
	struct interference_times {
		uint64_t steal, softirq;
	} times[INTERFERENCE_CPUS]; /* totals of each CPU, in ticks of USER_HZ */
	uint64_t known;      /* bit mask of the CPUs that `times` holds */
};

void interference_host_init(struct interference_host *host, struct clock *clock);
void interference_host_release(struct interference_host *host);

/*
 * Puts the events of the tick that ends at `now`; `cpus` is the mask of CPUs on which the `threads`
 * threads run. Suspended time is put as a gap of each thread; the gap may exceed the tick, since
 * the monotonic clock stops.
 */
int interference_host_tick(struct interference_host *host, struct event_sink *sink, uint32_t agent,
			   uint64_t now, uint64_t cpus, uint32_t threads);

int interference_put(struct event_sink *sink, uint32_t agent, enum noise_what what, uint64_t begin,
		     uint64_t end, uint64_t amount);

/* Totals of host interference (EV_NOISE) over a run. */
struct interference_sum {
	struct hist gaps;             /* durations of NOISE_GAP */
	uint64_t count[NOISE_MAX];
	uint64_t amount[NOISE_MAX];   /* sums in ns; 0 for NOISE_FREQUENCY */
	uint64_t lowest_khz, highest_khz; /* range of NOISE_FREQUENCY; 0: unknown */
};

const char *interference_name(uint32_t what);

void interference_sum_init(struct interference_sum *sum);
void interference_sum_release(struct interference_sum *sum);

/* Adds an event; unknown kinds are ignored. Returns 0 or -ENOMEM. */
int interference_sum_add(struct interference_sum *sum, const struct event_noise *noise);

/* Returns the total time (ns) of gaps longer than `ns`. */
double interference_sum_gaps_above(const struct interference_sum *sum, uint64_t ns);

#endif
