/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording keeps of connections: intervals with a problem as they are, those without one
 * put together, up to DOWNSAMPLE_NS. Totals stay what they are. (SNAP logs its problem connections
 * only, which is below 1 GB per host and day.)
 *
 * A process's connections are kept as they are for DOWNSAMPLE_NS after one of them had a problem:
 * whether another one starves meanwhile can only be seen interval by interval.
 */
#ifndef HOSTLAT_CONNS_DOWNSAMPLE_H
#define HOSTLAT_CONNS_DOWNSAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/layout.h"

#define DOWNSAMPLE_NS 60000000000u
/* Connections at a time; what there is beyond is kept as it is told. */
#define DOWNSAMPLE_MAX 65536u

struct downsample_conn {
	struct event_conn merged, now;  /* put together; the interval's */
	bool has_merged, has_now;
	bool has_problem;              /* the interval has a problem; set when it ends */
	uint32_t next;                 /* of the same slot, or of free ones: index + 1; 0: none */
};

struct downsample_task {
	uint32_t pid;
	uint64_t problem;              /* when it had one last */
};

struct downsample {
	struct downsample_conns VEC_OF(struct downsample_conn) conns;
	uint32_t *slots;               /* by flow: index + 1 */
	uint32_t free;
	size_t n;                      /* used ones of `conns` */
	struct downsample_task *tasks;   /* by pid; one that shares a place may take it */
	uint64_t flushed;              /* when all were written last */
	struct downsampled VEC_OF(struct event_conn) out; /* to be written; cleared by the caller */
	uint64_t added, written;       /* records */
};

/* 0 or -ENOMEM. To be released in either case. */
int downsample_init(struct downsample *downsample);
void downsample_release(struct downsample *downsample);

/* A record of this interval. 0 or -ENOMEM. */
int downsample_add(struct downsample *downsample, const struct event_conn *e);

/*
 * The interval ends at `now`: what is to be written comes to `out`, in the order of its end; the
 * last time, all. 0 or -ENOMEM.
 */
int downsample_close(struct downsample *downsample, uint64_t now, bool last);

/* The most records that downsample_close() may bring to `out`, if `more` are taken before. */
size_t downsample_most(const struct downsample *downsample, size_t more);

#endif
