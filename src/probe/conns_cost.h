/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of `conns` cost that run in others' time; its iterators run in its own. The
 * kernel's statistics where an administrator has them on. Else how often they ran, at prices: what
 * some runs took that were timed, one in so many, at random; before there are enough of them, and
 * for programs that run rarely, what traffic of our own has shown at the start.
 */
#ifndef HOSTLAT_PROBE_CONNS_COST_H
#define HOSTLAT_PROBE_CONNS_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_conns.h"
#include "probe/price.h"

struct bpf_object;

struct conns_cost {
	struct price price[USE_MAX];
	double floor_ns; /* what the statistics themselves take of a run */
	bool were_on;
	uint64_t ns[USE_MAX], runs[USE_MAX]; /* of the statistics, at the last call */
	uint64_t used[CONN_CPUS][USE_MAX];   /* ... as the programs count */
	uint64_t timed_ns[USE_MAX], timed[USE_MAX], clock_ns; /* ... */
	struct price whole[USE_MAX]; /* not ns: a run by what is timed of it */
	double recent_ns[USE_MAX], recent[USE_MAX]; /* timed lately; older ones count less */
	double runs_lately;
	uint64_t at;
};

/*
 * Finds the prices, with connections of our own over loopback, while the statistics are on. Without
 * the right to switch them on, or without a loopback interface, prices stay unknown. Meanwhile
 * *time_one_in is 1.
 */
void conns_calibrate(struct conns_cost *cost, const struct bpf_object *object,
		     const struct conn_counts *counts, volatile uint32_t *time_one_in);

/* Of the statistics so far: ns, and runs. */
void conns_cost_stats(const struct bpf_object *object, uint64_t ns[USE_MAX],
		      uint64_t runs[USE_MAX]);

/* Of how many runs one should be timed from now on. */
uint32_t conns_cost_time_one_in(const struct conns_cost *cost);

/* Since the last call. False: it is not known. */
bool conns_cost_since(struct conns_cost *cost, const struct bpf_object *object,
		      const struct conn_counts *counts, uint64_t *ns, bool *exact);

#endif
