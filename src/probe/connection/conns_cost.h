/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time that the programs of `conns` take from other processes; iterators, which run in
 * hostlat's own time, are not included. Each program counts its runs, and times one in
 * CONN_TIMED_ONE_IN (abi_conns.h): the cost is the number of runs times the recent ns per run. The
 * kernel's own statistics stay off: switching them on patches the kernel's code, and makes every
 * BPF program of the host slower.
 */
#ifndef HOSTLAT_PROBE_CONNS_COST_H
#define HOSTLAT_PROBE_CONNS_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_conns.h"
#include "probe/connection/conns_pass.h"

struct bpf_object;

/* State of the cost estimate. Zero-initialized, except `cpus`. */
struct conns_cost {
	int cpus;                            /* possible CPUs, at most CONN_CPUS */
	/* the programs' run counters at the last conns_cost_since() */
	uint64_t used[CONN_CPUS][USE_MAX];
	struct conn_timed timed[CONN_CPUS];
	double clock_ns;                     /* ns of one clock reading */
	/* sums over timed runs, in which older runs weigh less */
	double ns[USE_MAX], runs[USE_MAX];
};

/*
 * Stores ns and runs of the BPF programs by the kernel's statistics, as far as these were on; for
 * comparison.
 */
void conns_cost_stats(const struct bpf_object *object, uint64_t ns[USE_MAX],
		      uint64_t runs[USE_MAX]);

/*
 * Stores the programs' cost since the last call in `push`. `timed` is the programs' memory, in
 * which the longest runs are reset. Returns false if the cost is unknown and `push` is an upper
 * bound, for the budget.
 */
bool conns_cost_since(struct conns_cost *cost, const struct conn_counts *counts,
		      struct conn_timed *timed, struct conns_push *push);

#endif
