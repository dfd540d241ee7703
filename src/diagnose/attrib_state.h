/* SPDX-License-Identifier: Apache-2.0 */
/* State and functions shared by attrib_*.c, which charge a message's time to causes. */
#ifndef HOSTLAT_DIAGNOSE_ATTRIB_STATE_H
#define HOSTLAT_DIAGNOSE_ATTRIB_STATE_H

#include "base/parse.h"
#include "diagnose/attrib.h"

/* Numbers of softirqs: include/linux/interrupt.h */
enum { SOFTIRQ_NET_TX = 2, SOFTIRQ_NET_RX = 3, SOFTIRQ_HRTIMER = 8 };

/*
 * Longest exit from an idle state, in ns. In a longer delay, a quota keeps the thread from the idle
 * core, or the hypervisor runs something else.
 */
#define IDLE_EXIT_MAX_NS NS_PER_MS
_Static_assert(IDLE_EXIT_MAX_NS == 1000000, "the words of CAUSE_CORE_STALL say so");

#define ATTRIB_NO_MESSAGE UINT32_MAX

/* State of one message's attribution, or of a stretch of a thread's time. */
struct attribution {
	struct attrib_env *env;
	uint32_t message;    /* index of the message in env->messages, or ATTRIB_NO_MESSAGE */
	uint32_t thread;     /* the reader; of a sent message the sender */
	uint64_t at;         /* the message's time before this time, in ns, is charged already */
	uint64_t end;        /* end of the message in ns: nothing later is charged */
	uint64_t since;      /* time from which the thread's activity is examined, in ns */
	enum where where;
	uint32_t serving;    /* index + 1 of the message that the reader serves; 0: none */
	uint32_t coming;     /* index + 1 of the next message that the reader reads; 0: none */
	uint64_t known;      /* time in ns up to which it is recorded what the reader serves */
	bool unsure;         /* a trace gap hides which message the reader serves, if any */
	uint32_t queue;      /* core on whose run queue the thread waits; if unknown, where it runs
			      * next */
	enum cause idle;     /* cause to which an idle core's time is charged */
	size_t oncpu;        /* index in env->oncpus of the thread's current stretch on a CPU */
	size_t wakings;      /* index in env->wakings: entries at lower indexes are later than the
			      * begin of the current stretch on a CPU */
	/*
	 * Charges the thread's sleep up to `to`, which is neither a stop nor a page fault. `slice`
	 * is complete but for its cause.
	 */
	void (*asleep)(struct attribution *a, uint64_t to, const struct oncpu *next,
		       const struct waking *woken, struct slice *slice);
};

/* A part of a segment of a core's history, i.e. of a stretch of one activity. */
struct segment_part {
	const struct cpu_segment *segment;
	uint64_t number;     /* number of the segment, for cpu_history_segment() */
	uint64_t begin, end; /* times in ns, within the segment */
	uint32_t core;
};

typedef void attrib_part_fn(struct attribution *a, const struct segment_part *part);

/*
 * Returns a slice (an interval of a message's time) without its cause and times. `part`: the core's
 * activity, or NULL.
 */
struct slice attrib_slice(const struct attribution *a, const struct segment_part *part);

/*
 * Charges to `cause` the message's time up to `until` that is not charged yet. `more`: the other
 * members of the slice.
 */
void attrib_charge(struct attribution *a, uint64_t until, enum cause cause,
		   const struct slice *more);
void attrib_not_recorded(struct attribution *a, uint64_t until, uint32_t core);

/* Charges an interrupt or a softirq up to `until`; false: the segment is neither. */
bool attrib_interrupt(struct attribution *a, const struct segment_part *part, uint64_t until);

/*
 * Charges a softirq that receives packets, up to `until`. While it processes packets of recorded
 * messages, `cause` is charged, with their reader and flow; `plain` charges the other time. For
 * CAUSE_KERNEL_QUEUE only messages that arrived before this one count, as in a queue.
 */
void attrib_receive_work(struct attribution *a, const struct segment_part *part, uint64_t until,
			 enum cause cause,
			 void (*plain)(struct attribution *a, const struct segment_part *part,
				       uint64_t until));

/* Charges the time in which another task has the core that the message waits for. */
void attrib_other_task(struct attribution *a, const struct segment_part *part);

/* Notes that the reader is not recorded up to `until`: it may have waited for any message. */
void attrib_lose_reader(struct attribution *a, uint64_t until, uint32_t core);

/* Notes that the reader waits for any message at `time`: it has served all that it read. */
void attrib_serve_none(struct attribution *a, uint64_t time);

/* Calls `charge` for each segment of a core that overlaps from <= t < to, in order. */
void attrib_each_segment(struct attribution *a, uint32_t core, uint64_t from, uint64_t to,
			 attrib_part_fn *charge);

/*
 * Returns for how many ns of from <= t < to both `core` and a->queue are idle: the thread waits on
 * the run queue of a->queue.
 */
uint64_t attrib_idle_ns(const struct attribution *a, uint32_t core, uint64_t from, uint64_t to);

/*
 * Charges the thread's time from `from` to `to`: calls `charge` for time on a CPU, and charges
 * other time itself. Why it sleeps at `to` is known from its next stretch on a CPU, if that begins
 * before `until`. Returns 0 or -ENOMEM.
 */
int attrib_thread(struct attribution *a, uint64_t from, uint64_t to, uint64_t until,
		  attrib_part_fn *charge);

/* Charges all time of a sent message; a->at is the message's begin. Returns 0 or -ENOMEM. */
int attrib_sent(struct attribution *a, const struct subject *subject);

#endif
