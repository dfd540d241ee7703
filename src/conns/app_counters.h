/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of each application's connections, for a monitoring system: they only grow, and their
 * number is limited.
 *
 * The applications with counters of their own are those that lose most time to problems. The rest
 * is counted as the application "other". What an application has counted stays where it was
 * counted: if another one takes its place, its further time goes to "other". So no counter shrinks,
 * and each connection-second is in exactly one.
 */
#ifndef HOSTLAT_CONNS_APP_COUNTERS_H
#define HOSTLAT_CONNS_APP_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "conns/conn_aggregate.h"
#include "conns/conns.h"
#include "conns/counter.h"
#include "conns/words.h"

/* Names of the sum of the rest, and of the connections whose application is unknown. */
#define APP_COUNTERS_OTHER "other"
#define APP_COUNTERS_UNKNOWN "unknown"
/* Applications in memory; those beyond are counted as "other". */
#define APP_COUNTERS_MAX 1024u
/* An application without a connection for this long leaves its counters to others; ns. */
#define APP_COUNTERS_GONE_NS 900000000000u
/* Time waits this long for enough samples, and is unknown then; ns. */
#define APP_COUNTERS_WAIT_NS 60000000000u

/* Sums over connections: connection-nanoseconds, and numbers. */
struct app_counts {
	uint64_t connections;
	uint64_t limit_ns[WORDS_TIMES];
	uint64_t unknown_ns;             /* time without a known limit */
	uint64_t lost_ns[CONN_CLASSES];  /* by class; RULES_LOST_CLASSES only */
	uint64_t events[COUNTER_EVENTS]; /* in the order of counter_next() */
	uint64_t uncounted_ns[COUNTER_EVENTS]; /* time in which the events were not counted */
};

struct app_counter {
	char *name;
	char *unit, *container;          /* NULL: unknown */
	struct app_counts counts;        /* counted under the application's own name */
	struct app_counts now;           /* the current interval */
	struct conn_aggregate times;     /* the interval; samples that are too few until now */
	uint64_t waiting_ns, since_ns;   /* time that waits for samples; since when */
	uint64_t lost_ns, time_ns;       /* all time lost; all time of connections */
	uint64_t seen_ns;                /* end of the last interval with a connection */
	bool named;                      /* it has counters of its own */
	uint32_t next;                   /* next in the hash chain: index + 1 */
};

struct app_counters {
	struct app_counter_items VEC_OF(struct app_counter) apps;
	uint32_t *slots;                 /* by hash of the name: index + 1 in `apps` */
	struct app_counts other;
	uint32_t named, named_max;       /* applications with counters of their own */
	uint64_t measured_ns;            /* length of all intervals */
	uint64_t unsampled_ns;           /* length of intervals in which no connection was read */
	uint64_t now_ns;                 /* end of the last interval */
};

/* `named_max`: applications with counters of their own. Returns 0 or -ENOMEM. */
int app_counters_init(struct app_counters *a, uint32_t named_max);
void app_counters_release(struct app_counters *a);

/* Counts the interval that has just closed. Returns 0 or -ENOMEM. */
int app_counters_interval(struct app_counters *a, struct conns *c);

/* Ends the run: time that still waits for samples becomes unknown. */
void app_counters_finish(struct app_counters *a);

/* Returns how many applications are counted as "other" at present. */
uint32_t app_counters_others(const struct app_counters *a);

#endif
