/* SPDX-License-Identifier: Apache-2.0 */
/* Confidence intervals of a share. */
#ifndef HOSTLAT_STATS_PROPORTION_H
#define HOSTLAT_STATS_PROPORTION_H

#include <stdint.h>

struct proportion {
	double share;
	double lo, hi;
};

/*
 * Returns Wilson's interval (1927) of `hits` out of n: unlike the normal approximation it holds for
 * few events and for shares near 0 and 1. 0 < confidence < 1. n = 0 or hits > n: 0..1.
 */
struct proportion proportion_interval(uint64_t hits, uint64_t n, double confidence);

/* Returns the interval of a share, 0..1, as precise as of n events; n need not be an integer. */
struct proportion proportion_of(double share, double n, double confidence);

#endif
