/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of `conns` cost that run in others' time; its iterators run in its own. The
 * kernel's statistics where an administrator has them on. Else how often they ran, at prices: what
 * a run has cost whenever it was looked at, at random times, with the statistics on for that long;
 * before that, and for programs that run rarely, what traffic of our own has shown at the start.
 */
#ifndef HOSTLAT_PROBE_CONNS_COST_H
#define HOSTLAT_PROBE_CONNS_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "bpf/abi_conns.h"
#include "probe/conns_pass.h"
#include "probe/price.h"

struct bpf_object;

struct conns_cost_at {
	uint64_t ns[USE_MAX], runs[USE_MAX]; /* of the statistics */
};

#define CONNS_LOOKS 8 /* that a price is of */

struct conns_look {
	double ns, n; /* of the runs in it */
};

/* Zeroed, but for `statistics`, which is -1 then. */
struct conns_cost {
	struct price price[USE_MAX];
	double floor_ns; /* what the statistics themselves take of a run */
	bool were_on;
	struct conns_cost_at last;         /* at the last call */
	uint64_t used[CONN_CPUS][USE_MAX]; /* ... as the programs count */
	uint64_t at;
	int statistics;                    /* a look goes on; -1: none does */
	uint64_t due;                      /* when one begins or ends */
	struct conns_cost_at look;         /* at its begin */
	struct conns_look looks[USE_MAX][CONNS_LOOKS]; /* the last ones, in turn */
	unsigned int turn;
	double looks_ns;                   /* what the statistics took in it */
	struct rng rng;
};

/*
 * Finds the first prices, with connections of our own over loopback, while the statistics are on.
 * Without the right to switch them on, or without a loopback interface, prices stay unknown.
 */
void conns_cost_init(struct conns_cost *cost, const struct bpf_object *object,
		     const struct conn_counts *counts);
void conns_cost_release(struct conns_cost *cost);

/* Of the statistics so far: ns, and runs. */
void conns_cost_stats(const struct bpf_object *object, uint64_t ns[USE_MAX],
		      uint64_t runs[USE_MAX]);

/* To be called when it is due, which is what it returns: ns of CLOCK_MONOTONIC. */
uint64_t conns_cost_look(struct conns_cost *cost, const struct bpf_object *object, uint64_t now);

/* Since the last call. False: it is not known, and a bound for the budget's sake. */
bool conns_cost_since(struct conns_cost *cost, const struct bpf_object *object,
		      const struct conn_counts *counts, struct conns_push *push);

#endif
