/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests whether the distribution of latency is constant over time: where the warm-up ends, and
 * whether the remaining run has a trend, a shift or a period. The tests use quantiles of windows,
 * which are cheap and are the reported quantities.
 */
#ifndef HOSTLAT_LOAD_STATIONARITY_H
#define HOSTLAT_LOAD_STATIONARITY_H

#include <stdbool.h>
#include <stdint.h>

#include "load/series.h"

#define STATIONARITY_BLOCKS_MIN 20  /* with fewer blocks, the tests lack power */
#define STATIONARITY_BLOCKS_MAX 128
/* A period is found if its p-value and its relative change, peak to peak, are beyond these. */
#define PERIODIC_ALPHA 0.01
#define PERIODIC_SWING 0.25

/*
 * Finds the length of the warm-up, in windows from [0, to), by MSER-5 on the windows' means and
 * medians. The mean of the cut part must be three standard errors above that of the rest, since
 * MSER alone also cuts random deviations, which would narrow the tail, and a faster start is no
 * warm-up. It must begin with the run and not come again: otherwise it belongs to the server's law.
 * The cut is at most a
 * quarter of all windows: longer changes are left to stationarity_test(). Returns 0 or -ENOMEM.
 */
int stationarity_warmup(const struct series *series, uint32_t to, uint32_t *cut);

/* Results of the tests of a quantile in blocks of the run. A change of 0.1 is a rise by 10 %. */
struct stationarity_tests {
	bool known;             /* tested: there are enough blocks, and they vary */
	/* why not tested; NULL: all blocks are equal, hence stationary */
	const char *untested;
	uint32_t blocks;
	double adf, adf_p;      /* augmented Dickey-Fuller; small p: no unit root */
	double kpss, kpss_p;    /* KPSS; small p: not stationary */
	double trend, trend_p;  /* relative change over the run (Theil-Sen); p of Mann-Kendall */
	double shift, shift_p;  /* step change at one time, and its p (CUSUM) */
	double shift_at;        /* time of the shift as a share of the run, 0..1 */
	double swing, swing_p;  /* relative periodic change, peak to peak; its p */
	double period_ns;
};

/*
 * Tests quantile q in windows [from, to). A block has at least 2 / (1 - q) samples and `tau`
 * windows (the dependence time). As a change resembles long dependence, `tau` alone never reduces
 * the number of blocks below STATIONARITY_BLOCKS_MIN. Returns 0 or -ENOMEM.
 */
int stationarity_test(const struct series *series, uint32_t from, uint32_t to, double q, double tau,
		      struct stationarity_tests *out);

/*
 * Finds a period of quantile q in windows [from, to), in blocks that are as narrow as their samples
 * allow. stationarity_test() widens blocks by the dependence time, which a period makes long:
 * blocks as long as a period hide it. *period_ns is 0 if there is none, by PERIODIC_ALPHA and
 * PERIODIC_SWING. Returns 0 or -ENOMEM.
 */
int stationarity_period(const struct series *series, uint32_t from, uint32_t to, double q,
			double *period_ns);

#endif
