/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a series, and what neighbours have to do with each other. */
#ifndef HOSTLAT_STATS_TOGETHER_H
#define HOSTLAT_STATS_TOGETHER_H

#include <stddef.h>

#define TOGETHER_JOIN 0.25     /* correlated more than this: blocks are joined by twos */
#define TOGETHER_TOO_MUCH 0.6  /* still, with the fewest blocks that may be: nothing can be told */

/* Of neighbours, corrected for few blocks; what is negative is taken for chance: 0. n >= 2. */
double together_correlation(const double *x, size_t n);

/* Means of two each, in place; returns how many. An odd one is left out. */
size_t together_join(double *x, size_t n);

/* Of the standard deviation of a mean, for a correlation < 1 of its blocks: an AR(1)'s. */
double together_widening(double correlation);

/*
 * Joins while they are correlated and at least `least` are left; returns how many are left. *r:
 * what correlation they still have.
 */
size_t together_settle(double *x, size_t n, size_t least, double *r);

#endif
