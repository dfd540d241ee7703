/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures host interference: gaps in which a runnable thread did not run, by the thread's clock
 * readings, and, every LOAD_TICK_NS, the kernel's counters (proc(5): /proc/stat, the second number
 * of schedstat; cpufreq's scaling_cur_freq) and whether the machine slept.
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
	/*
	 * Queue of the times in which the thread did not run (struct interference_span), read by
	 * the thread that writes the events.
	 */
	struct spsc_queue gaps;
	struct interference_span pending; /* merged gaps for which `gaps` was full; end 0: none */
	int schedstat;            /* descriptor of /proc/thread-self/schedstat; -1: not readable */
	bool unread;              /* schedstat could not be read at the last call */
	uint64_t preempted_ns;    /* time runnable without a CPU so far */
};

/* Allocates the queue of gaps. Returns 0 or -ENOMEM. */
int interference_thread_init(struct interference_thread *thread);
void interference_thread_release(struct interference_thread *thread);

/* Opens schedstat of the calling thread; called by the thread when it begins. */
void interference_thread_begin(struct interference_thread *thread);

/*
 * Adds a gap in which the thread did not run. If the queue is full, the gap is merged with the next
 * one.
 */
void interference_gap(struct interference_thread *thread, uint64_t begin, uint64_t end);

/*
 * Returns the time (ns) since the last call in which the thread was runnable without a CPU; 0 if
 * unknown (see `unread`).
 */
uint64_t interference_preempted(struct interference_thread *thread);

/* State for reading the kernel's counters; used only by the thread that writes the events. */
struct interference_host {
	struct clock *clock;
	int stat;            /* descriptor of /proc/stat; -1: not readable */
	bool unread;         /* steal and softirq times could not be read at the last call */
	uint64_t last_ns;    /* time of the last reading; 0: none yet */
	int64_t asleep_ns;   /* upper bound of boottime minus monotonic time, at the last reading */
	struct interference_times {
		uint64_t steal, softirq;
	} times[INTERFERENCE_CPUS]; /* totals of each CPU, in ticks of USER_HZ */
	uint64_t known;      /* bit mask of the CPUs that `times` holds */
};

void interference_host_init(struct interference_host *host, struct clock *clock);
void interference_host_release(struct interference_host *host);

/*
 * Puts the EV_NOISE events of the time from the last call to `now`; `cpus` is the mask of CPUs on
 * which the `threads` threads run. Suspended time is put as a gap of each thread. The gap may be
 * longer than that time, since the monotonic clock stops during suspend.
 */
int interference_host_tick(struct interference_host *host, struct event_sink *sink, uint32_t agent,
			   uint64_t now, uint64_t cpus, uint32_t threads);

int interference_put(struct event_sink *sink, uint32_t agent, enum noise_what what, uint64_t begin,
		     uint64_t end, uint64_t amount);

/* Totals of host interference (EV_NOISE) over a run. */
struct interference_sum {
	struct hist gaps;             /* distribution of gap durations (NOISE_GAP), ns */
	uint64_t count[NOISE_MAX];
	uint64_t amount[NOISE_MAX];   /* ns of each kind of interference; NOISE_FREQUENCY: 0 */
	uint64_t lowest_khz, highest_khz; /* range of CPU frequencies; 0: unknown */
};

const char *interference_name(uint32_t what);

void interference_sum_init(struct interference_sum *sum);
void interference_sum_release(struct interference_sum *sum);

/* Adds an event; unknown kinds are ignored. Returns 0 or -ENOMEM. */
int interference_sum_add(struct interference_sum *sum, const struct event_noise *noise);

/* Returns the total time (ns) of gaps longer than `ns`. */
double interference_sum_gaps_above(const struct interference_sum *sum, uint64_t ns);

#endif
