/* SPDX-License-Identifier: Apache-2.0 */
/* Totals of host interference (EV_NOISE) over a run. */
#ifndef HOSTLAT_LOAD_INTERFERENCE_SUM_H
#define HOSTLAT_LOAD_INTERFERENCE_SUM_H

#include <stdint.h>

#include "event/layout.h"
#include "stats/hist.h"

struct interference_sum {
	struct hist gaps;             /* durations of NOISE_GAP */
	uint64_t count[NOISE_MAX];
	uint64_t amount[NOISE_MAX];   /* sums in ns */
	uint64_t lowest_khz, highest_khz; /* NOISE_FREQUENCY; 0: unknown */
};

const char *interference_name(uint32_t what);

void interference_sum_init(struct interference_sum *sum);
void interference_sum_release(struct interference_sum *sum);

/* Adds an event; unknown kinds are ignored. Returns 0 or -ENOMEM. */
int interference_sum_add(struct interference_sum *sum, const struct event_noise *noise);

/* Returns the time, in ns, in gaps longer than `ns`. */
double interference_sum_gaps_above(const struct interference_sum *sum, uint64_t ns);

#endif
