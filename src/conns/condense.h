/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording keeps of connections: intervals with a problem as they are, those without one
 * put together, up to CONDENSE_NS. Totals stay what they are. (SNAP logs its problem connections
 * only, which is below 1 GB per host and day.)
 *
 * A process's connections are kept as they are for CONDENSE_NS after one of them had a problem:
 * whether another one starves meanwhile can only be seen interval by interval.
 */
#ifndef HOSTLAT_CONNS_CONDENSE_H
#define HOSTLAT_CONNS_CONDENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/layout.h"

#define CONDENSE_NS 60000000000u
/* Connections at a time; what there is beyond is kept as it is told. */
#define CONDENSE_MAX 65536u

struct condense_conn {
	struct event_conn before, now; /* put together; the interval's */
	bool has_before, has_now;
	bool has_problem;              /* the interval's, when it is over */
	uint32_t next;                 /* of the same slot, or of free ones: index + 1; 0: none */
};

struct condense_task {
	uint32_t pid;
	uint64_t problem;              /* when it had one last */
};

struct condense {
	struct condense_conns VEC_OF(struct condense_conn) conns;
	uint32_t *slots;               /* by flow: index + 1 */
	uint32_t free;
	size_t n;                      /* used ones of `conns` */
	struct condense_task *tasks;   /* by pid; one that shares a place may take it */
	uint64_t flushed;              /* when all were written last */
	struct condensed VEC_OF(struct event_conn) out; /* to be written; cleared by the caller */
	uint64_t taken, written;       /* records */
};

/* 0 or -ENOMEM. To be released in either case. */
int condense_init(struct condense *condense);
void condense_release(struct condense *condense);

/* A record of this interval. 0 or -ENOMEM. */
int condense_take(struct condense *condense, const struct event_conn *e);

/*
 * The interval ends at `now`: what is to be written comes to `out`, in the order of its end; the
 * last time, all. 0 or -ENOMEM.
 */
int condense_close(struct condense *condense, uint64_t now, bool last);

/* The most records that condense_close() may bring to `out`, if `more` are taken before. */
size_t condense_most(const struct condense *condense, size_t more);

#endif
