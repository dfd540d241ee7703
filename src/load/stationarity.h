/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests whether the distribution of latency is constant over time: where the warm-up ends, and
 * whether the rest has a trend, a shift or a period. Works on quantiles of windows, which is cheap
 * and concerns what is reported.
 */
#ifndef HOSTLAT_LOAD_STATIONARITY_H
#define HOSTLAT_LOAD_STATIONARITY_H

#include <stdbool.h>
#include <stdint.h>

#include "load/series.h"

#define STATIONARITY_BLOCKS_MIN 20  /* with fewer, tests have no power */
#define STATIONARITY_BLOCKS_MAX 128

/*
 * Finds the length of the warm-up in windows [0, to), by MSER-5 on the means and on the medians of
 * windows. The cut part must differ from the rest by three standard errors, since MSER alone also
 * cuts random deviations, which would narrow the tail. It must be at most a quarter of all windows:
 * a longer change is left to the tests below. Returns 0 or -ENOMEM.
 */
int stationarity_warmup(const struct series *series, uint32_t to, uint32_t *cut);

/* Results of the tests on logarithms of a quantile in blocks. Changes are relative to the level. */
struct stationarity_tests {
	bool known;             /* tested: there were enough blocks, and they vary */
	/* why not tested; NULL: all blocks are the same, which is stationary */
	const char *untested;
	uint32_t blocks;
	double adf, adf_p;      /* p small: no unit root */
	double kpss, kpss_p;    /* p small: not stationary */
	double trend, trend_p;  /* change from begin to end (Theil-Sen); p of Mann-Kendall */
	double shift, shift_p;  /* change at one moment, and its p; CUSUM */
	double shift_at;        /* the moment of the shift, as a share of the time */
	double swing, swing_p;  /* periodic change, peak to peak; p of periodic_test() */
	double period_ns;
};

/*
 * Tests quantile q in windows [from, to). Blocks have at least 2 / (1 - q) samples and `tau`
 * windows each. A change looks like long dependence too, so `tau` never reduces the number of
 * blocks below STATIONARITY_BLOCKS_MIN. Returns 0 or -ENOMEM.
 */
int stationarity_test(const struct series *series, uint32_t from, uint32_t to, double q, double tau,
		      struct stationarity_tests *out);

#endif
