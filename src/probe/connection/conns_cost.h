/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time of the programs of `conns` that run in others' time; its iterators run in its own. Each
 * program counts its runs, and times one in CONN_TIMED_ONE_IN (abi_conns.h): how often it ran, at
 * what a run has cost lately. The kernel's own statistics of programs are left as they are: to
 * switch them on patches the kernel's code, and makes every program of the host dearer.
 */
#ifndef HOSTLAT_PROBE_CONNS_COST_H
#define HOSTLAT_PROBE_CONNS_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_conns.h"
#include "probe/connection/conns_pass.h"

struct bpf_object;

/* Zeroed, but for `cpus`. */
struct conns_cost {
	int cpus;                            /* that there can be, at most CONN_CPUS */
	uint64_t used[CONN_CPUS][USE_MAX];   /* at the last call, as the programs count */
	struct conn_timed timed[CONN_CPUS];
	double clock_ns;                     /* of one reading of the clock */
	double ns[USE_MAX], runs[USE_MAX];   /* of timed ones; older ones count for less */
};

/* By the kernel's statistics, as far as they were on: to compare with. */
void conns_cost_stats(const struct bpf_object *object, uint64_t ns[USE_MAX],
		      uint64_t runs[USE_MAX]);

/*
 * Since the last call. `timed` is what the programs write; the dearest runs are taken out of it.
 * False: it is not known, and a bound for the budget's sake.
 */
bool conns_cost_since(struct conns_cost *cost, const struct conn_counts *counts,
		      struct conn_timed *timed, struct conns_push *push);

#endif
