/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rates of a sweep. "1000:20k:500" is FROM:TO:STEP; TO is included if a step reaches it
 * exactly.
 */
#ifndef HOSTLAT_LOAD_RATES_H
#define HOSTLAT_LOAD_RATES_H

#include <stdint.h>

#define LOAD_RATES_TAKES "three rates FROM:TO:STEP (1k:20k:500), at most 1000 of them"
#define LOAD_RATES_MAX 1000
#define LOAD_SWEEP_PASSES 2 /* runs at each rate */

struct load_rates {
	double from, step;
	uint32_t n; /* number of rates: 1 to LOAD_RATES_MAX */
};

/* Parses FROM:TO:STEP. Returns 0, -EINVAL, or -ERANGE: TO is below FROM, or too many rates. */
int load_rates_parse(const char *text, struct load_rates *out);

static inline double load_rates_at(const struct load_rates *rates, uint32_t i)
{
	return rates->from + rates->step * i;
}

#endif
