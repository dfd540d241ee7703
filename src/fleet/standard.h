/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standardized series of a connection: z = (share - mean) / deviation over known intervals, limited
 * to -5 to 5, so that one burst has no leverage, and centered again, so that independent series
 * have products of mean 0. In integers of 2^-16: sums have the same bits in any order.
 */
#ifndef HOSTLAT_FLEET_STANDARD_H
#define HOSTLAT_FLEET_STANDARD_H

#include <stdbool.h>

#include "fleet/state.h"

#define STANDARD_ONE 65536   /* z = 1, and a known interval of weight 1 */
#define STANDARD_LIMIT 5.0

struct standard {
	double mean, deviation;  /* moments of the share, in steps */
	double offset;           /* mean of the limited z */
	int32_t weight;          /* deviation of the final z, in 1/STANDARD_ONE; 1 if not limited */
	uint32_t known;          /* intervals */
	bool defined;            /* not constant */
};

/* Computes them for one class of a connection. O(runs). */
void standard_of(const struct fleet *f, const struct fleet_series *s, enum fleet_class class,
		 struct standard *out);

/*
 * A step of a series: from interval `at` on, z and weight are larger by so much. They begin with 0,
 * which they are where unknown. Packed: a fleet has millions.
 */
struct standard_steps VEC_OF(uint64_t);

static inline uint32_t standard_step_at(uint64_t step)
{
	return (uint32_t)(step >> 48);
}

/* In 1/STANDARD_ONE, as all of z and weight. */
static inline int32_t standard_step_z(uint64_t step)
{
	return (int32_t)((uint32_t)step << 8) >> 8;
}

static inline int32_t standard_step_weight(uint64_t step)
{
	return (int32_t)((uint32_t)(step >> 24) << 8) >> 8;
}

/*
 * Appends the steps of a defined series: z is the standardized share, and the weight that of
 * `standard`. Returns 0 or -ENOMEM. O(runs).
 */
int standard_push(const struct fleet *f, const struct fleet_series *s, enum fleet_class class,
		  const struct standard *standard, struct standard_steps *out);

#endif
