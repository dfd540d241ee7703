/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time that the programs of `conns` take from other processes; iterators run in hostlat's own
 * time. Each program counts its runs, and times one in CONN_TIMED_ONE_IN (abi_conns.h): the cost is
 * runs times the recent time of a run. The kernel's own statistics stay off: switching them on
 * patches the kernel's code, and makes every BPF program of the host slower.
 */
#ifndef HOSTLAT_PROBE_CONNS_COST_H
#define HOSTLAT_PROBE_CONNS_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_conns.h"
#include "probe/connection/conns_pass.h"

struct bpf_object;

/* Zero-initialized, but for `cpus`. */
struct conns_cost {
	int cpus;                            /* possible CPUs, at most CONN_CPUS */
	uint64_t used[CONN_CPUS][USE_MAX];   /* the programs' counters at the last call */
	struct conn_timed timed[CONN_CPUS];
	double clock_ns;                     /* ns of one clock reading */
	double ns[USE_MAX], runs[USE_MAX];   /* sums over timed runs; older runs weigh less */
};

/* Reads the cost from the kernel's statistics, as far as they were on; for comparison. */
void conns_cost_stats(const struct bpf_object *object, uint64_t ns[USE_MAX],
		      uint64_t runs[USE_MAX]);

/*
 * Stores the cost since the last call. `timed` is the programs' memory, in which the longest runs
 * are reset. Returns false if the cost is unknown and `push` is an upper bound, for the budget.
 */
bool conns_cost_since(struct conns_cost *cost, const struct conn_counts *counts,
		      struct conn_timed *timed, struct conns_push *push);

#endif
