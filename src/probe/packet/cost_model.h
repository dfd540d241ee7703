/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of a run of a BPF program. It grows with the gap since the previous run on that CPU, as
 * caches lose the program and its data. A curve has a few measured points and is linear in the
 * logarithm of the gap between them.
 */
#ifndef HOSTLAT_PROBE_COST_MODEL_H
#define HOSTLAT_PROBE_COST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define COST_POINTS 3

struct cost_curve {
	struct {
		double gap_ns, ns;
	} at[COST_POINTS]; /* by gap_ns */
	bool known;
};

/* Returns the cost in ns of a run that comes `gap_ns` after the previous one. */
double cost_curve_at(const struct cost_curve *price, double gap_ns);

/*
 * Traffic of the calibration. 3 ms is long for a cache: pauses of 5 and 20 ms cost hardly more
 * (docs/results/watch-cost.md). The most expensive batch is dropped: a program's time includes that
 * in which a hypervisor has its CPU.
 */
#define COST_BATCHES 5
extern const struct cost_pace {
	uint64_t pause_ns;
	uint32_t messages; /* of a batch */
} cost_model_paces[COST_POINTS];

/* Runs of one batch. */
struct cost_sample {
	double ns, n, gaps_ns; /* gaps_ns: n times their mean */
};

/* Makes a curve of samples; it stays unknown if too few runs were sampled. */
void cost_curve_fit(struct cost_curve *price, const struct cost_sample (*samples)[COST_BATCHES]);

/*
 * Returns the time per run in ns that the kernel's statistics themselves add: two clock readings
 * around an empty program. Takes the minimum of some tries, as an interrupt adds its time. 0 if the
 * program cannot run. The statistics must be on.
 */
double cost_model_floor(void);

#endif
