/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Downsamples the records of connections for a recording: intervals with a problem are written
 * unchanged, others are merged up to DOWNSAMPLE_NS. Totals stay the same. (SNAP, by Yu et al., NSDI
 * 2011, logs only connections with problems, which is below 1 GB per host and day.)
 *
 * All connections of a process are written unchanged for DOWNSAMPLE_NS after one of them had a
 * problem. Only single intervals show whether another connection of the process starves meanwhile.
 */
#ifndef HOSTLAT_CONNS_DOWNSAMPLE_H
#define HOSTLAT_CONNS_DOWNSAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/layout.h"

#define DOWNSAMPLE_NS 60000000000u
/* Most connections; records of further connections are written unchanged. */
#define DOWNSAMPLE_MAX 65536u

struct downsample_conn {
	struct event_conn merged, now;  /* record of merged intervals; record of this interval */
	bool has_merged, has_now;
	bool has_problem;              /* the interval has a problem; set when it ends */
	uint32_t next; /* next connection in the hash slot or free list: index + 1; 0: none */
};

struct downsample_task {
	uint32_t pid;
	uint64_t problem;              /* end of the process's last interval with a problem */
};

struct downsample {
	struct downsample_conns VEC_OF(struct downsample_conn) conns;
	uint32_t *slots;               /* by hash of the flow: index + 1 in `conns`; 0: none */
	uint32_t free;
	size_t n;                      /* number of connections */
	struct downsample_task *tasks; /* by hash of the pid; the later of two equal hashes stays */
	uint64_t flushed;              /* time at which all merged records were last written */
	/* records to write; cleared by the caller */
	struct downsampled VEC_OF(struct event_conn) out;
	uint64_t added, written;       /* records added so far; records written so far */
};

/* Returns 0 or -ENOMEM. Call downsample_release() in either case. */
int downsample_init(struct downsample *downsample);
void downsample_release(struct downsample *downsample);

/* Adds a record of this interval. Returns 0 or -ENOMEM. */
int downsample_add(struct downsample *downsample, const struct event_conn *e);

/*
 * Ends the interval at `now`: puts the records to write into `out`, ordered by their end, and all
 * merged records if `last`. Returns 0 or -ENOMEM.
 */
int downsample_close(struct downsample *downsample, uint64_t now, bool last);

/*
 * Returns the maximum number of records that downsample_close() puts into `out` if `more` records
 * are added first.
 */
size_t downsample_most(const struct downsample *downsample, size_t more);

#endif
