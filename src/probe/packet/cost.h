/* SPDX-License-Identifier: Apache-2.0 */
/* Overhead of the packet probe: measured by the kernel's statistics, or estimated. */
#ifndef HOSTLAT_PROBE_COST_H
#define HOSTLAT_PROBE_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "probe/packet/cost_model.h"
#include "probe/packet/hooks.h"

struct pkt_probe;

/* Events of each cost class since the last count, and their mean distance in time on one CPU. */
struct cost_use {
	double n[COST_CLASSES], gap_ns[COST_CLASSES];
};

/*
 * Time and runs of the programs by cost class. COST_TCP includes COST_PASSED and COST_UDP, as the
 * same hooks run for excluded packets and for UDP.
 */
struct cost_run_stats {
	uint64_t run_ns[COST_CLASSES], runs[COST_CLASSES];
};

struct cost {
	struct cost_curve curve[COST_CLASSES];
	double floor_ns;   /* ns that the kernel's statistics add to each run */
	char why[WHY_MAX]; /* why there is no estimate; empty: there is an estimate */
	bool why_said;
	struct cost_run_stats stats_before;
	/* CPU time and runs of programs for CPU activity and applications' marks, as last read */
	uint64_t beside_ns, beside_runs;
	bool stats_were_on;
	/* event counters by CPU, at the last call */
	uint64_t *switches_before, *packets_before, *departures_before;
	uint64_t seen_before[ROW_PROTOS], since_ns;
};

/* Returns 0 or -ENOMEM. */
int pkt_cost_open(struct pkt_probe *probe);
void pkt_cost_free(struct pkt_probe *probe);

/*
 * Returns true and the programs' CPU time since the last call, or false: unknown, see cost.why.
 * *exact: it is the kernel's own figure, as its statistics were on all the time; else an estimate.
 */
bool pkt_cost_bpf_ns(struct pkt_probe *probe, uint64_t *ns, bool *exact);
/* Returns true if, as far as known before the run, pkt_cost_bpf_ns() will return true. */
bool pkt_cost_known(const struct pkt_probe *probe);
/* Returns true if a filter excludes packets. */
bool pkt_is_filtered(const struct pkt_probe *probe);

/*
 * calibrate.c: measures the programs' cost with traffic of its own, for the estimate. The kernel's
 * statistics must be on. It uses pkt_cost_count_use() and pkt_cost_read_stats().
 */
void pkt_calibrate(struct pkt_probe *probe);
/* Counts events since the last call. Returns false if /proc/self/net/softnet_stat is unreadable. */
bool pkt_cost_count_use(struct pkt_probe *probe, struct cost_use *use);
void pkt_cost_read_stats(const struct pkt_probe *probe, struct cost_run_stats *stats);

#endif
