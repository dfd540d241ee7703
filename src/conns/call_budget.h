/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how many send and receive calls are logged, so that the log stays within its share of a
 * core. Pure. The log gets half of the difference between the two bounds of the CPU budget, and
 * sampling gets the rest. A burst of calls thus does not add to CPU time that sampling has used
 * already.
 */
#ifndef HOSTLAT_CONNS_CALL_BUDGET_H
#define HOSTLAT_CONNS_CALL_BUDGET_H

#include <stdint.h>

struct call_budget {
	double share;    /* share of a core, for the log */
	double price_ns; /* estimated CPU time of this process to log one call */
};

/* Returns the log's share of a core, for a CPU budget of `low` to `high` cores, 0 <= low < high. */
static inline double call_budget_share(double low, double high)
{
	return (high - low) / 2;
}

/* Sets the cost of logging a call to a value that is too high; a second of calls corrects it. */
void call_budget_init(struct call_budget *b, double share);

/* Updates the cost of logging a call: `calls` have taken `ns` of CPU time since the last update. */
void call_budget_spend(struct call_budget *b, uint64_t calls, uint64_t ns);

/* Returns how many calls may be logged in the next `length_ns`. */
uint64_t call_budget_grant(const struct call_budget *b, uint64_t length_ns);

#endif
