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

/* Computes them for one class of a connection. O(intervals). */
void standard_of(const struct fleet *f, const struct fleet_series *s, enum fleet_class class,
		 struct standard *out);

/*
 * Fills z[k], 0 where unknown, and weight[k], the weight where known and else 0, for all intervals
 * of a defined series.
 */
void standard_fill(const struct fleet *f, const struct fleet_series *s, enum fleet_class class,
		   const struct standard *standard, int32_t *z, int32_t *weight);

#endif
