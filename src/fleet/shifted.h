/* SPDX-License-Identifier: Apache-2.0 */
/* The p of a statistic, by what it is with series that are shifted in time around a circle. */
#ifndef HOSTLAT_FLEET_SHIFTED_H
#define HOSTLAT_FLEET_SHIFTED_H

#include <stdint.h>

/* Begins as zeros. */
struct shifted {
	double n, sum, squares, cubes; /* shifted statistics less the observed one */
	uint32_t extreme;        /* shifts that are as extreme as observed */
};

/* Adds the statistic of one shift. */
void shifted_add(struct shifted *s, double statistic, double observed);

/*
 * Returns p: the part of shifts as extreme as observed. If none is, p lies beyond 1 / (shifts + 1),
 * where only a law can tell it: Pearson's type III with the shifts' mean, variance and skewness.
 * Its far tail is often too short, so p is the geometric mean of both. n > 0.
 */
double shifted_p(const struct shifted *s);

/*
 * The same if statistics of neighboring shifts are alike, so that they are worth only `independent`
 * products of independent series: the least p of the shifts is greater, and the tail is at least
 * that of Student's t, for the shifts' variance is not known well.
 */
double shifted_p_of(const struct shifted *s, double independent);

/* Returns how far the observed statistic is above the shifts' mean, in their deviations; or 0. */
double shifted_z(const struct shifted *s);

#endif
