/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of `watch`: every distribution and counter for the current interval and since the start.
 * Everything is sorted by its key, so that reports do not depend on the order of events.
 */
#ifndef HOSTLAT_WATCH_STATE_H
#define HOSTLAT_WATCH_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/dict.h"
#include "event/layout.h"
#include "report/times.h"
#include "stats/hist.h"
#include "watch/watch.h"

/*
 * Limits. A distribution takes up to 2.6 KB in the schema of hostlat's programs, but up to 82 KB in
 * a foreign recording, so that the number of rows alone doesn't bound the memory.
 */
#define WATCH_ROWS_MAX 65536
#define WATCH_HIST_BYTES_MAX (256u << 20)
#define WATCH_COUNTS_MAX 16384    /* counters by kind, stage, protocol, reason (a few hundred) */
#define WATCH_TASKS_MAX 4096      /* tasks that held a CPU; further tasks are pooled */
#define WATCH_BINDINGS_MAX 1024
#define WATCH_GROUPS_MAX 65536
#define WATCH_LABELS_MAX 8        /* labels of one group: one per --by key */
#define WATCH_UNCOVERED_MAX 1024
#define WATCH_MISSING_MAX 64
#define WATCH_ONE_IN_MAX 65536    /* largest N of --sample 1/N */
#define WATCH_QUEUES_MAX 16384    /* combinations of interface, receive queue, CPU */
#define WATCH_CPUS_MAX 4096
#define WATCH_SLOW_MAX 1000       /* slowest messages stored for the interval, and for the total */

/* One line of the stage table. */
struct watch_row {
	uint64_t key;             /* watch_row_key(): direction, protocol, group, stage, origin */
	struct event_hist id;     /* `key`'s parts, flags and schema; other members are 0 */
	/* Empty histograms take no memory. `measured` tells empty from unmeasured ones. */
	struct hist hists[WATCH_SPANS][DIST_MAX];
	bool measured[DIST_MAX];
	uint64_t sampled[WATCH_SPANS]; /* packets measured; `hists` are estimates for all packets */
};

struct watch_count {
	uint64_t key;
	struct event_count id;    /* the counter's key; its `count` is 0 */
	uint64_t count[WATCH_SPANS];
	bool exact;               /* COUNT_EXACT: never scaled by sampling */
};

struct watch_task {
	/* the task's pid and comm; other members are 0. Threads of one name have one entry */
	struct event_culprit id;
	uint64_t ns[WATCH_SPANS];
	uint64_t count[WATCH_SPANS];
};

struct watch_queue {
	struct event_queue id;    /* the queue's key; its counters are 0 */
	struct event_queue sum[WATCH_SPANS];
};

struct watch_softnet {
	uint32_t cpu;
	struct event_softnet sum[WATCH_SPANS];
};

struct watch_group {
	uint32_t id, n;
	struct event_label labels[WATCH_LABELS_MAX];
};

struct watch_slow {
	uint64_t count;           /* all messages, including those not in `slowest` */
	struct watch_messages VEC_OF(struct event_slow) slowest; /* in falling order of latency */
};

/* Sums over a span (interval or total), and the overhead of measuring. */
struct watch_period {
	uint64_t intervals;
	uint64_t from_ns, to_ns;
	uint64_t own_user_ns, own_bpf_ns;
	bool bpf_cost_unknown, bpf_cost_estimated;
	uint64_t cpu_ns;          /* CPU time available: duration times CPUs */
	uint64_t clock_steps;
	uint64_t lost_records;    /* records lost by the event stream itself */
	uint64_t names_lost;      /* names not stored, as the dictionary was full */
	uint64_t refused;         /* events with impossible numbers */
	uint64_t beyond;          /* events beyond a limit of entries, e.g. WATCH_ROWS_MAX */
	uint64_t no_room;         /* deltas that would exceed WATCH_HIST_BYTES_MAX */
	/* an interval has INTERVAL_PARTIAL: incomplete, or its overhead may exceed the limit */
	bool partial;
	/* an interval has INTERVAL_SHED: --max-overhead detached programs */
	bool shed;
	uint64_t one_in, one_in_max; /* N of sampling 1/N: of the last interval, and the largest */
};

struct watch {
	uint64_t stages;          /* mask of 1 << enum stage to show; 0: all */
	size_t hist_bytes;        /* bytes of all rows' buckets, limited by hist_bytes_max */
	size_t hist_bytes_max;
	struct watch_rows VEC_OF(struct watch_row *) rows;
	struct watch_order VEC_OF(struct watch_row *) order; /* rows in order of the stage table */
	struct watch_counts VEC_OF(struct watch_count) counts;
	struct watch_tasks VEC_OF(struct watch_task) tasks;
	struct watch_task other_tasks;
	struct watch_bindings VEC_OF(struct event_binding) bindings;
	struct watch_groups VEC_OF(struct watch_group) groups;
	struct watch_queues VEC_OF(struct watch_queue) queues;
	struct watch_softnets VEC_OF(struct watch_softnet) softnets;
	struct watch_uncovered VEC_OF(char *) uncovered;
	struct watch_missing VEC_OF(char *) missing; /* texts of WATCH_FACT_MISSING */
	struct watch_slow slow[WATCH_SPANS];
	uint64_t slower_than_ns;  /* least latency of slow messages; 0: not requested */
	struct event_share shares[WATCH_SPANS][PROTO_MAX];
	struct watch_period periods[WATCH_SPANS];
	struct event_clock clock;
	bool clock_known;
	struct times times;
	bool transport_is_socket; /* TCP's `transport` means `socket`: recorded by hostlat 0.1 */
	bool closed;              /* the next delta begins a new interval */
	char *target;
	char *cost_unknown;       /* why the overhead is unknown: WATCH_FACT_COST */
	char *other_traffic;      /* text of WATCH_FACT_OTHERS */
	bool drops_unknown[2];    /* received [0], sent [1]: WATCH_FACT_DROPS */
	struct event_damage damage;
	struct event_dict *names;
	/* Sum of DIST_CPU_WAIT by protocol, made for each report and borrowed by it. */
	struct hist cpu_wait[WATCH_SPANS][PROTO_MAX];
};

/* Return the row or counter, added if missing. NULL: *err is -ENOMEM, or -E2BIG at the limit. */
struct watch_row *watch_row_get(struct watch *w, const struct event_hist *id, int *err);
struct watch_count *watch_count_get(struct watch *w, const struct event_count *id, int *err);
/* Returns the task's entry, or the pool of other tasks at the limit. NULL: *err is -ENOMEM. */
struct watch_task *watch_task_get(struct watch *w, const struct event_culprit *id, int *err);
struct watch_queue *watch_queue_get(struct watch *w, const struct event_queue *id, int *err);
struct watch_softnet *watch_softnet_get(struct watch *w, uint32_t cpu, int *err);
/* Returns the group, or NULL if it is unknown. */
const struct watch_group *watch_group_find(const struct watch *w, uint32_t id);
struct watch_group *watch_group_get(struct watch *w, uint32_t id, int *err);
/* Stores the message if it is among the slowest. Returns 0 or -ENOMEM. */
int watch_slow_add(struct watch_slow *slow, const struct event_slow *message);
/* Returns the binding of (stage, direction, protocol), added if missing; later ones replace it. */
struct event_binding *watch_binding_get(struct watch *w, const struct event_binding *id, int *err);
/* Returns the binding of a stage: the protocol's own, or that of PROTO_ANY. NULL: unknown. */
const struct event_binding *watch_binding_of(const struct watch *w, unsigned int stage,
					     unsigned int direction, unsigned int protocol);

/* Returns true for stages of a CPU rather than of a packet: they have no protocol. */
static inline bool watch_before_stack(unsigned int stage)
{
	return stage < STAGE_MAX && ARRIVAL_STAGES >> stage & 1;
}

/* Returns true if the report shows the stage. */
bool watch_shows(const struct watch *w, unsigned int stage);
/* Returns true if drops are unknown in each direction that is shown. */
bool watch_lacks_drops(const struct watch *w);
bool watch_requested(const struct watch *w, const struct event_binding *b);

/*
 * Returns false for an unmeasured UDP stage of a run that sent no datagram: a run that measures
 * sending asks for both protocols.
 */
bool watch_is_missed(const struct watch *w, const struct event_binding *b);

/* Returns true if a count is in the report: losses need a shown stage, dropped packets do not. */
bool watch_is_counted(const struct watch *w, const struct watch_count *c);
uint64_t watch_total(const struct watch *w, enum watch_span span, enum count_what what);

/* Returns the name of `id`; "unknown" if the stream does not name it, NULL for 0. */
const char *watch_name(const struct watch *w, uint32_t dict, uint32_t id);

/* Clears the interval; keeps its memory. */
void watch_interval_reset(struct watch *w);

#endif
