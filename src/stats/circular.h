/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of directions: times by their place in a period. */
#ifndef HOSTLAT_STATS_CIRCULAR_H
#define HOSTLAT_STATS_CIRCULAR_H

#include <stddef.h>

/*
 * Rayleigh's test (1919): returns the chance that the mean of n independent unit vectors, all
 * directions being equally likely, has a length of at least r. 0 <= r <= 1; n = 0: 1. By the
 * approximation of Greenwood and Durand as given by Zar (Biostatistical Analysis, 27.1): where it
 * gives 5 %, the chance is 4.7 % to 5.6 % for 4 or more vectors. Smaller ones are
 * too large rather than too small.
 */
double rayleigh_sf(double r, size_t n);

/* Returns the turns from `from` to `to`, both in turns, the short way: -0.5 <= turns < 0.5. */
double circular_turns(double from, double to);

#endif
