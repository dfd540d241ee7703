/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the latency have one law over time? Where the warm-up ends, and whether what is left drifts,
 * shifts or swings. All on window quantiles: cheap, and about what is reported.
 */
#ifndef HOSTLAT_LOAD_STATIONARITY_H
#define HOSTLAT_LOAD_STATIONARITY_H

#include <stdbool.h>
#include <stdint.h>

#include "load/series.h"

#define STATIONARITY_BLOCKS_MIN 20  /* fewer tell nothing */
#define STATIONARITY_BLOCKS_MAX 128

/*
 * Windows [0, to): how many to leave out, by MSER-5 on the window means and on the window medians.
 * A cut is made only where what is cut differs from the rest by three standard errors, since MSER
 * alone also cuts what is merely unusual, and would narrow the tail; and only if it is at most a
 * quarter of all: beyond that the latency changes, and the tests below must see it. Returns 0 or
 * -ENOMEM.
 */
int stationarity_warmup(const struct series *series, uint32_t to, uint32_t *cut);

/* What the tests say of one series of block quantiles, in logarithms. Shares are of the level. */
struct stationarity_tests {
	bool known;             /* there were enough blocks, and they vary */
	const char *untested;   /* why not; NULL if they are all the same, which is stationary */
	uint32_t blocks;
	double adf, adf_p;      /* p small: no unit root */
	double kpss, kpss_p;    /* p small: not stationary */
	double trend, trend_p;  /* change from begin to end (Theil-Sen); Mann-Kendall */
	double shift, shift_p;  /* change at one moment; CUSUM */
	double shift_at;        /* that moment, as a share of the time */
	double swing, swing_p;  /* peak to peak; periodic_test() */
	double period_ns;
};

/*
 * Of the quantile q in windows [from, to): blocks hold at least 2 / (1 - q) samples each, and are
 * no shorter than `tau` windows; but a change looks like long dependence, too, so that this alone
 * never leaves fewer than STATIONARITY_BLOCKS_MIN. Returns 0 or -ENOMEM.
 */
int stationarity_test(const struct series *series, uint32_t from, uint32_t to, double q, double tau,
		      struct stationarity_tests *out);

#endif
