/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of a BPF program costs. It depends on how long ago the run before was on that CPU: on
 * what the caches still hold. So a price has points, between them linear in the logarithm of the
 * gap.
 */
#ifndef HOSTLAT_PROBE_PRICE_H
#define HOSTLAT_PROBE_PRICE_H

#include <stdbool.h>
#include <stdint.h>

#define PRICE_POINTS 3

struct price {
	struct {
		double gap_ns, ns;
	} at[PRICE_POINTS]; /* by gap_ns */
	bool known;
};

/* Of a run that comes `gap_ns` after the one before. */
double price_at(const struct price *price, double gap_ns);

/*
 * Traffic at which prices are found. 3 ms is long for a cache: pauses of 5 and 20 ms hardly cost
 * more (docs/results/watch-cost.md). The dearest batch is left out: while a CPU is taken away, the
 * time of the program on it goes on.
 */
#define PRICE_BATCHES 5
extern const struct price_pace {
	uint64_t pause_ns;
	uint32_t messages; /* of a batch */
} price_paces[PRICE_POINTS];

/* Runs of one batch. */
struct price_sample {
	double ns, n, gaps_ns; /* gaps_ns: n times their mean */
};

/* A price that hardly anything ran for stays unknown. */
void price_draw(struct price *price, const struct price_sample (*samples)[PRICE_BATCHES]);

/*
 * What the kernel's statistics take themselves: the two clock readings around an empty program, the
 * least of some tries, for an interrupt's time counts along. Where it can't be run, 0. They must be
 * on.
 */
double price_floor(void);

#endif
