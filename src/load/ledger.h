/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of what disturbed the hosts that generate load (EV_NOISE), and what it can have done
 * to a quantile at most.
 */
#ifndef HOSTLAT_LOAD_LEDGER_H
#define HOSTLAT_LOAD_LEDGER_H

#include <stdint.h>

#include "event/layout.h"
#include "stats/hist.h"

struct ledger {
	struct hist gaps;             /* durations of NOISE_GAP */
	uint64_t count[NOISE_MAX];
	uint64_t amount[NOISE_MAX];   /* sums, of ns */
	uint64_t lowest_khz, highest_khz; /* NOISE_FREQUENCY; 0: unknown */
};

const char *noise_name(uint32_t what);

void ledger_init(struct ledger *ledger);
void ledger_release(struct ledger *ledger);

/* Unknown kinds are ignored. Returns 0 or -ENOMEM. */
int ledger_add(struct ledger *ledger, const struct event_noise *noise);

/* Time in gaps that are longer than `ns`. */
double ledger_gaps_above(const struct ledger *ledger, uint64_t ns);

#endif
