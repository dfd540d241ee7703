/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of a run of a BPF program. The cost grows with the gap since the previous run on the same
 * CPU, as caches lose the program and its data. A curve has a few measured points and is linear in
 * the logarithm of the gap between them.
 */
#ifndef HOSTLAT_PROBE_COST_MODEL_H
#define HOSTLAT_PROBE_COST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define COST_POINTS 3

struct cost_curve {
	struct {
		double gap_ns, ns;
	} at[COST_POINTS]; /* points of the curve, in rising order of gap_ns */
	bool known;
};

/* Returns the cost in ns of a run that comes `gap_ns` after the previous one. */
double cost_curve_at(const struct cost_curve *curve, double gap_ns);

/*
 * Batches of messages that calibrate the cost of programs, for each pause between messages. A pause
 * of 3 ms is long for a cache: pauses of 5 and 20 ms cost hardly more (docs/results/watch-cost.md).
 * The most expensive batch is dropped, as a program's time includes time in which a hypervisor has
 * taken its CPU.
 */
#define COST_BATCHES 5
extern const struct cost_pace {
	uint64_t pause_ns;
	uint32_t messages; /* messages in a batch */
} cost_model_paces[COST_POINTS];

/* Sums over the runs of one cost class of programs in one batch of test traffic. */
struct cost_sample {
	double ns, n, gaps_ns; /* total run time, number of events, sum of the gaps between them */
};

/*
 * Fits a curve to samples. The curve stays unknown if a pause between messages has too few events
 * or no run time.
 */
void cost_curve_fit(struct cost_curve *curve, const struct cost_sample (*samples)[COST_BATCHES]);

/*
 * Returns the time per run in ns that the kernel's statistics themselves add (two clock readings),
 * or 0 if the test program cannot run. The result is the minimum of some tries of an empty program,
 * as an interrupt adds its time. The statistics must be on.
 */
double cost_model_floor(void);

#endif
