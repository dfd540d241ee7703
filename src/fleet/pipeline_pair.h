/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series of a pair that may be a pipeline: on each host, the connections of a resource that have a
 * problem, and those of an application that waits there. A connection is on a host if either of its
 * ends is; the application is where its connections were recorded. Load that is common to all is
 * removed from both sides: the mean of the connections that belong to neither.
 */
#ifndef HOSTLAT_FLEET_PIPELINE_PAIR_H
#define HOSTLAT_FLEET_PIPELINE_PAIR_H

#include "fleet/children.h"
#include "fleet/pipeline_sums.h"

/* The application may follow by so many intervals; so many the other way tell which is first. */
#define PIPELINE_LAGS 3u
#define PIPELINE_NEAR (2 * PIPELINE_LAGS + 1)

/* A group of defined connections of a resource, and a host on which it has an end. */
struct pipeline_end {
	uint32_t resource, host, group;
};

/* In order of resource, host, group. */
struct pipeline_ends VEC_OF(struct pipeline_end);

/* One side of all pairs. */
struct pipeline_side {
	struct class_sums sums;
	struct pipeline_sums cache;
	struct pipeline_ends ends;
};

struct pipeline_work {
	const struct fleet *f;
	struct fleet_groups groups;
	struct pipeline_side problem, waiting;
	struct fleet_sums outside; /* scratch */
	uint64_t *keys;          /* by connection: both ends of one have the same */
};

/* Ends on one host: items `first` to `first + n - 1` of the side's. */
struct pipeline_range {
	size_t first, n;
};

struct pipeline_series {
	double *z, *weight;      /* child u, interval k: [u * intervals + k] */
	double *level;           /* removed from each unit of weight */
	double *scale;           /* by child: factor of the weights */
};

struct pipeline_child {
	uint32_t host;
	struct pipeline_range problem, waiting;
};

struct pipeline_pair {
	uint32_t resource, application;
	uint32_t n, intervals;   /* children are hosts */
	struct pipeline_child *children;
	struct pipeline_series problem, waiting;
	/*
	 * Products of a connection with itself or its other end, and of their weights: of interval
	 * k of the problem at lag i - PIPELINE_LAGS: [i * intervals + k]. NULL: there are none.
	 */
	double *own, *own_weight;
};

/* Makes a state without series. Returns 0 or -ENOMEM; pipeline_work_release() follows. */
int pipeline_work_init(struct pipeline_work *work, const struct fleet *f);
void pipeline_work_release(struct pipeline_work *work);

/*
 * Makes a state for a second thread, which has the sides of `work` and scratch of its own, until
 * pipeline_work_join(), which follows in either case. Returns 0 or -ENOMEM.
 */
int pipeline_work_fork(const struct pipeline_work *work, struct pipeline_work *out);
void pipeline_work_join(struct pipeline_work *fork);

/*
 * Fills a side with the sums of a class, and lists its ends: those of applications and, if
 * `is_problem`, of services and remote hosts. Returns 0 or -ENOMEM.
 */
int pipeline_side_fill(struct pipeline_work *work, struct pipeline_side *side,
		       enum fleet_class class, bool is_problem);

/* Makes the series of a pair; n is 0 if they share no host. Returns 0 or -ENOMEM;
 * pipeline_pair_release() follows in either case. O((groups + own connections) * intervals). */
int pipeline_pair_make(struct pipeline_work *work, uint32_t resource, uint32_t application,
		       struct pipeline_pair *out);
void pipeline_pair_release(struct pipeline_pair *pair);

/* Removes from the waiting what follows another pair's problem by `lag` on the hosts of both. */
void pipeline_pair_explain(struct pipeline_pair *pair, const struct pipeline_pair *by,
			   uint32_t lag);

#endif
