/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How heavy the tail is. A shape xi < 0 means a bounded tail, 0 an exponential one, > 0 a power law
 * with index 1 / xi: no variance from 0.5 on, no mean from 1 on. All return 0, -EINVAL for NaN,
 * infinite or out-of-range values, -ENODATA for too few, -EDOM if it can't be told, -ENOMEM.
 */
#ifndef HOSTLAT_STATS_TAIL_H
#define HOSTLAT_STATS_TAIL_H

#include <stddef.h>

struct tail {
	double shape;    /* xi */
	double shape_se; /* standard error of xi; NaN where theory has none */
	double scale;    /* of the generalised Pareto law */
	double threshold;
	size_t excesses; /* values above the threshold */
};

/*
 * Generalised Pareto law by maximum likelihood to the excesses x - threshold > 0, others are
 * ignored; the profile likelihood of Davison (1984) and Grimshaw (1993), its best point on a grid
 * refined. se = (1 + xi) / sqrt(excesses) for xi > -0.5 (Smith 1987), else NaN. At least 10
 * excesses; -EDOM if all are equal or the likelihood has no maximum inside (xi <= -1). O(n) per
 * step, about 160 steps.
 */
int tail_gpd(const double *x, size_t n, double threshold, struct tail *out);

#endif
