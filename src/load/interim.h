/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a run that may stop early is looked at, and with what confidence, so that the interval it
 * stops with covers as often as it says, whatever makes it stop. The looks are at INTERIM_LOOKS
 * times that are fixed in advance: max_time, a half, a quarter ... of it. All use the same quantile
 * c of the normal law, for which P(any |B(t_k)| / sqrt(t_k) > c) = 1 - confidence, B a Brownian
 * motion (Pocock 1977 for times that double), by the recursion of Armitage, McPherson and Rowe
 * (1969).
 *
 * A run that is looked at once, at its end, gets an interval for a little more than was asked for:
 * that of a variance which is itself estimated, from dependent samples, covers a little less than
 * it says (docs/design/load-method.md).
 */
#ifndef HOSTLAT_LOAD_INTERIM_H
#define HOSTLAT_LOAD_INTERIM_H

#include <stdint.h>

#define INTERIM_LOOKS 4

/* Time of look 0..INTERIM_LOOKS-1. */
uint64_t interim_time(uint64_t max_time_ns, uint32_t look);

/* P(|B(t_k)| <= c sqrt(t_k) for all n times), t ascending, c > 0, 1 <= n. Error below 1e-6. */
double interim_coverage(const double *t, uint32_t n, double c);

/* The confidence that each of the looks' intervals must have; 0 < confidence < 1. */
double interim_confidence(double confidence);

/* ... and that of a run without looks before its end: misses are to be rarer by this factor. */
#define INTERIM_MISSES 0.6
double interim_end_confidence(double confidence);

#endif
