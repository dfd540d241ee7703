/* SPDX-License-Identifier: Apache-2.0 */
/* A share that was counted in a sample. */
#ifndef HOSTLAT_STATS_PROPORTION_H
#define HOSTLAT_STATS_PROPORTION_H

#include <stdint.h>

struct proportion {
	double share;
	double lo, hi;
};

/*
 * Wilson's interval (1927) of `hits` out of n; unlike the normal approximation it is sound for few
 * and for shares near 0 and 1. 0 < confidence < 1. Of n = 0, or more hits than that: all of 0..1.
 */
struct proportion proportion_interval(uint64_t hits, uint64_t n, double confidence);

/* The same of a share that is as sure as one out of n, which need not be whole; 0 <= share <= 1. */
struct proportion proportion_of(double share, double n, double confidence);

#endif
