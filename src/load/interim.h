/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times and confidence of the interim analyses ("looks") of a run that may stop early, such that
 * the final interval has its nominal coverage whenever the run stops. There are INTERIM_LOOKS
 * looks, at times fixed in advance: max_time, a half, a quarter ... of it. All looks use the same
 * normal quantile c, for which P(any |B(t_k)| / sqrt(t_k) > c) = 1 - confidence, with B a Brownian
 * motion (Pocock 1977, for times that double), computed by the recursion of Armitage, McPherson and
 * Rowe (1969).
 *
 * Intervals are computed for INTERIM_MISSES of the misses that the requested confidence allows:
 * where a run has few slow stretches by chance, both a quantile and its variance come out too low
 * (docs/design/load-method.md).
 */
#ifndef HOSTLAT_LOAD_INTERIM_H
#define HOSTLAT_LOAD_INTERIM_H

#include <stdbool.h>
#include <stdint.h>

#define INTERIM_LOOKS 4
/* earliest look of a real run, ns: runs that end sooner would be those without a slow regime */
#define INTERIM_FIRST_NS 30000000000ULL

/*
 * Returns the time of interim analysis number `look`, 0 to INTERIM_LOOKS - 1, in ns since the start
 * of the run.
 */
uint64_t interim_time(uint64_t max_time_ns, uint32_t look);

/*
 * Returns P(|B(t_k)| <= c sqrt(t_k) for all n times); t ascending, c > 0, 1 <= n. Error below 1e-6.
 */
double interim_coverage(const double *t, uint32_t n, double c);

#define INTERIM_MISSES 0.6

/*
 * Returns the confidence that each interim analysis must use, or (`looks` false) that of a run's
 * only analysis: 1 - INTERIM_MISSES * (1 - confidence); 0 < confidence < 1.
 */
double interim_confidence(double confidence, bool looks);

#endif
