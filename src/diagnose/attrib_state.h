/* SPDX-License-Identifier: Apache-2.0 */
/* State and functions that attrib_*.c share. */
#ifndef HOSTLAT_DIAGNOSE_ATTRIB_STATE_H
#define HOSTLAT_DIAGNOSE_ATTRIB_STATE_H

#include "base/parse.h"
#include "diagnose/attrib.h"

/* include/linux/interrupt.h: the numbers of softirqs */
enum { SOFTIRQ_NET_TX = 2, SOFTIRQ_NET_RX = 3, SOFTIRQ_HRTIMER = 8 };

/*
 * No core takes so long to leave its idle state: a quota keeps the thread from it, or the
 * hypervisor runs something else.
 */
#define IDLE_EXIT_MAX_NS NS_PER_MS

/* One message while it is charged. */
struct attribution {
	struct attrib_env *env;
	uint32_t message;    /* index of the message */
	uint32_t thread;     /* the reader; for a sent message the sender */
	uint64_t at;         /* time up to which all is charged */
	uint64_t end;        /* end of the message: nothing later is charged */
	uint64_t since;      /* the thread is followed from here on */
	enum where where;
	uint32_t serving;    /* place + 1 of the message that the reader serves; 0 = none */
	uint32_t coming;     /* place + 1 of the next one that it reads */
	uint64_t known;      /* when the reader read `coming`, or waited for any message */
	bool unsure;         /* not recorded whether the reader serves a message */
	uint32_t queue;      /* core on which the thread is queued, or the next one it runs on */
	enum cause idle;     /* cause of an idle core's time */
	size_t oncpu;        /* index in env->oncpus of the current stretch */
	size_t wakings;      /* index in env->wakings: earlier entries are later than the current
			      * stretch */
	/* Charges a sleep up to `to` that was no stop and no fault. `slice`: all but its cause. */
	void (*asleep)(struct attribution *a, uint64_t to, const struct oncpu *next,
		       const struct waking *woken, struct slice *slice);
};

/* A part of a core's segment. */
struct segment_part {
	const struct cpu_segment *segment;
	uint64_t number;     /* for cpu_history_segment() */
	uint64_t begin, end; /* within the segment */
	uint32_t core;
};

typedef void attrib_part_fn(struct attribution *a, const struct segment_part *part);

/* Returns a slice without its cause and its times. `part`: the core's activity, or NULL. */
struct slice attrib_slice(const struct attribution *a, const struct segment_part *part);

/* Charges what is not yet charged up to `until`. */
void attrib_charge(struct attribution *a, uint64_t until, enum cause cause,
		   const struct slice *more);
void attrib_not_recorded(struct attribution *a, uint64_t until, uint32_t core);

/* Charges an interrupt or a softirq up to `until`; false: the segment is neither. */
bool attrib_interrupt(struct attribution *a, const struct segment_part *part, uint64_t until);

/*
 * The softirq of `part` receives packets. Packets of recorded messages are charged to `cause`, each
 * with its reader and flow; `plain` charges the rest up to a time. A queue holds the messages that
 * came before this one: that later ones were handled before is no reason to wait.
 */
void attrib_receive_work(struct attribution *a, const struct segment_part *part, uint64_t until,
			 enum cause cause,
			 void (*plain)(struct attribution *a, const struct segment_part *part,
				       uint64_t until));

/* Charges the time in which another task has the core that the message waits for. */
void attrib_other_task(struct attribution *a, const struct segment_part *part);

/* Notes that the reader is not recorded up to `until`: it may wait for any message since. */
void attrib_lose_reader(struct attribution *a, uint64_t until, uint32_t core);

/* Notes that the reader waits for any message at `time`: it has served all. */
void attrib_serve_none(struct attribution *a, uint64_t time);

/* Calls `charge` for each segment of a core in from <= t < to. */
void attrib_each_segment(struct attribution *a, uint32_t core, uint64_t from, uint64_t to,
			 attrib_part_fn *charge);

/* For how long of from <= t < to `core` and a->queue are both idle. */
uint64_t attrib_idle_ns(const struct attribution *a, uint32_t core, uint64_t from, uint64_t to);

/*
 * Follows the thread from `from` to `to`: calls `charge` while it has a CPU, charges the time in
 * which it has none. Why it sleeps at `to` is known by its next stretch on a CPU, if that begins
 * before `until`. 0 or -ENOMEM.
 */
int attrib_thread(struct attribution *a, uint64_t from, uint64_t to, uint64_t until,
		  attrib_part_fn *charge);

/* Charges all of a sent message; `a` is at its begin. 0 or -ENOMEM. */
int attrib_sent(struct attribution *a, const struct subject *subject);

#endif
