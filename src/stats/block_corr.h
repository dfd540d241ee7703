/* SPDX-License-Identifier: Apache-2.0 */
/* Means of a series' blocks, and the correlation of neighboring blocks. */
#ifndef HOSTLAT_STATS_BLOCK_CORR_H
#define HOSTLAT_STATS_BLOCK_CORR_H

#include <stddef.h>

#define BLOCK_CORR_JOIN 0.25 /* blocks with more correlation are joined in pairs */
/* More correlation than this among the fewest blocks allowed: there is no result. */
#define BLOCK_CORR_TOO_MUCH 0.6

/* Returns the correlation of neighbors, corrected for few blocks; 0 if negative. n >= 2. */
double block_corr_correlation(const double *x, size_t n);

/* Replaces each two blocks by their mean, in place; drops an odd last one. Returns their number. */
size_t block_corr_join(double *x, size_t n);

/* Returns the factor by which block correlation < 1 widens a mean's standard deviation (AR(1)). */
double block_corr_widening(double correlation);

/*
 * Joins blocks in pairs while they are correlated and at least `least` remain. Returns the number
 * of blocks; *r: their remaining correlation.
 */
size_t block_corr_settle(double *x, size_t n, size_t least, double *r);

#endif
