/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a series, and what neighbours have to do with each other. */
#ifndef HOSTLAT_STATS_BLOCK_CORR_H
#define HOSTLAT_STATS_BLOCK_CORR_H

#include <stddef.h>

#define BLOCK_CORR_JOIN 0.25 /* correlated more than this: blocks are joined by twos */
/* If the fewest blocks allowed are still correlated this much, there is no result. */
#define BLOCK_CORR_TOO_MUCH 0.6

/* Returns the correlation of neighbors, corrected for few blocks; 0 if negative. n >= 2. */
double block_corr_correlation(const double *x, size_t n);

/* Means of two each, in place; returns how many. An odd one is left out. */
size_t block_corr_join(double *x, size_t n);

/* Returns the factor by which block correlation < 1 widens a mean's standard deviation (AR(1)). */
double block_corr_widening(double correlation);

/*
 * Joins while they are correlated and at least `least` are left; returns how many are left. *r:
 * what correlation they still have.
 */
size_t block_corr_settle(double *x, size_t n, size_t least, double *r);

#endif
