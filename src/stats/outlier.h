/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are larger than values like the others explain. */
#ifndef HOSTLAT_STATS_OUTLIER_H
#define HOSTLAT_STATS_OUTLIER_H

#include <stddef.h>

/* The deviation that values of a kind usually have, and how many degrees of freedom it is worth. */
struct outlier_prior {
	double deviation, freedom;
};

/*
 * Sets p[i] to the chance of a value as far above the values below it, for n values in descending
 * order, by Student's t. The variance of few values is uncertain: it is moderated by the prior
 * (Smyth 2004), whose degrees of freedom are added. Several outliers must not hide
 * each other (Rosner 1983): a value's p is at most that of the values below it, and only values in
 * the upper third can be outliers. 1 for all other values, and where fewer than 2 are below. O(n).
 */
void outlier_upper(const double *values, size_t n, const struct outlier_prior *prior, double *p);

#endif
