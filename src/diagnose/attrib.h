/* SPDX-License-Identifier: Apache-2.0 */
/* One message on its way through the rules: what parts.c and gap.c share. */
#ifndef HOSTLAT_DIAGNOSE_ATTRIB_H
#define HOSTLAT_DIAGNOSE_ATTRIB_H

#include "base/parse.h"
#include "diagnose/slice.h"

/* include/linux/interrupt.h: the numbers of softirqs */
enum { SOFTIRQ_NET_TX = 2, SOFTIRQ_NET_RX = 3, SOFTIRQ_HRTIMER = 8 };

/* No core takes so long to leave its idle state: what could run is kept from it, or the hypervisor
 * runs something else. */
#define IDLE_EXIT_MAX_NS NS_PER_MS

/* One message on its way through the rules. */
struct attribution {
	struct attrib_env *env;
	uint32_t message;    /* its place */
	uint32_t thread;     /* the reader; of a sent message the sender, who is in its call */
	uint64_t at;         /* all before it is charged */
	uint64_t end;        /* nothing behind it is */
	uint64_t since;      /* from here on is looked at what the reader did */
	enum where where;
	uint32_t serving;    /* place + 1 of the message that the reader serves; 0 = none */
	uint32_t coming;     /* place + 1 of the next one that it reads */
	uint64_t known;      /* when it read that one, or waited for any */
	bool sends;          /* the message is a sent one */
	bool unsure;         /* it may serve one, or not: that was out of sight */
	bool stalled;        /* a late timer's core was idle for too long to be waking only */
	size_t oncpu;          /* of the partition's: where the reader is */
	size_t wakings;      /* of the partition's, that are later than what was asked for */
};

/* What a slice says of a segment, if there is one; its cause and its times are attrib_charge()'s. */
struct slice attrib_slice(const struct attribution *a, uint32_t core, const struct cpu_segment *segment);

/* Charges what is not yet charged up to `until`. */
void attrib_charge(struct attribution *a, uint64_t until, enum cause cause, const struct slice *more);
void attrib_not_recorded(struct attribution *a, uint64_t until, uint32_t core);

/* An interrupt or a softirq, wherever it is met: false if the segment is neither. */
bool attrib_interrupt(struct attribution *a, uint32_t core, const struct cpu_segment *segment, uint64_t end);

/*
 * The softirq of `segment` receives packets up to `end`. Those that recorded messages are of are
 * charged to `cause`, each with its reader and flow; the rest is as `plain` has it. In a queue are
 * those that came before this message: of others, that they were handled before is no reason.
 */
void attrib_receive_work(struct attribution *a, uint32_t core, const struct cpu_segment *segment, uint64_t end,
		  enum cause cause, void (*plain)(struct attribution *a, uint32_t core,
						  const struct cpu_segment *segment, uint64_t end));

/* Somebody else has the core that is waited for. */
void attrib_other_task(struct attribution *a, uint32_t core, const struct cpu_segment *segment, uint64_t end);

/* The reader is out of sight: it may have come to wait for any, meanwhile. */
void attrib_lose_reader(struct attribution *a, uint64_t until, uint32_t core);

/* It waits for any at `time`: all is served. */
void attrib_serve_none(struct attribution *a, uint64_t time);

/* Calls `take` for each stretch of a core's time in from <= t < to. */
void attrib_each_segment(struct attribution *a, uint32_t core, uint64_t from, uint64_t to,
		   void (*take)(struct attribution *a, uint32_t core, const struct cpu_segment *segment,
				uint64_t number, uint64_t begin, uint64_t end));

/* The thread's runs that overlap a window, latest first, and the one before. 0 or -errno. */
int attrib_collect_oncpus(struct attribution *a, uint64_t from, uint64_t to);

/* Its wakings since the first of these runs, latest first, and the one before. 0 or -errno. */
int attrib_collect_wakings(struct attribution *a, uint64_t to);

/* A sent message waits in its socket, or for room in it. */
void attrib_unsent(struct attribution *a, uint64_t until, const struct slice *more);

/* The time before `next`, in which the reader had no CPU. `last`: its run before, or NULL. */
void attrib_offcpu(struct attribution *a, const struct oncpu *next, const struct oncpu *last);

#endif
