/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds whether a server had two regimes: most of the time fast, and slow for stretches of time,
 * by the medians of time windows. Few stretches do not tell how often the slow regime comes, so no
 * quantile of a single run is that of the server.
 */
#ifndef HOSTLAT_LOAD_REGIMES_H
#define HOSTLAT_LOAD_REGIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "load/series.h"

#define REGIMES_FEW 10 /* fewer stretches do not tell how often the slow regime comes */

struct regimes {
	bool found;
	double factor;      /* latency of the slow regime over that of the fast one; > 1 */
	double share;       /* share of the time that was slow, 0..0.5 */
	uint32_t stretches; /* number of slow stretches */
};

/*
 * Splits windows [from, to) into two groups by the logarithms of their medians of latency `which`.
 * Regimes are found if the slower group is the smaller one, at least twice as slow, and the
 * groups are 4 standard deviations apart.
 */
void regimes_find(const struct series *series, uint32_t from, uint32_t to, enum load_from which,
		  struct regimes *out);

#endif
