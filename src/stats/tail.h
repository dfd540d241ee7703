/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heaviness of a tail. A shape xi < 0 means a bounded tail, 0 an exponential tail, > 0 a power law
 * with index 1 / xi: no variance from 0.5 on, no mean from 1 on. All return 0, -EINVAL for NaN,
 * infinite or out-of-range values, -ENODATA for too few, -EDOM without a result, -ENOMEM.
 */
#ifndef HOSTLAT_STATS_TAIL_H
#define HOSTLAT_STATS_TAIL_H

#include <stddef.h>

struct tail {
	double shape;    /* xi, the shape of the generalized Pareto law */
	double shape_se; /* standard error of xi; NaN where theory has none */
	double scale;    /* scale of the generalized Pareto law */
	double threshold;
	size_t excesses; /* values above the threshold */
};

/*
 * Fits the generalized Pareto law by maximum likelihood to the excesses x - threshold > 0; other
 * values are ignored. Profile likelihood of Davison (1984) and Grimshaw (1993), the best point of a
 * grid refined. se = (1 + xi) / sqrt(excesses) for xi > -0.5 (Smith 1987), else NaN. At least 10
 * excesses; -EDOM if all are equal or the likelihood has no inner maximum (xi <= -1). O(n) per
 * step, about 160 steps.
 */
int tail_gpd(const double *x, size_t n, double threshold, struct tail *out);

#endif
