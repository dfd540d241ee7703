/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many calls the log of calls may take, so that it costs no more than its share of a core.
 * Pure. Half of what lies between the two bounds of the CPU budget is the log's; samples get the
 * rest, so that a burst of calls doesn't come on top of what they have spent already.
 */
#ifndef HOSTLAT_CONNS_CALL_BUDGET_H
#define HOSTLAT_CONNS_CALL_BUDGET_H

#include <stdint.h>

struct call_budget {
	double share;    /* of a core */
	double price_ns; /* of one call, in this process */
};

/* Returns the log's share of a core, for a CPU budget of 0 <= low < high. */
static inline double call_budget_share(double low, double high)
{
	return (high - low) / 2;
}

/* A price that is too high is put right within a second of calls; it begins so. */
void call_budget_init(struct call_budget *b, double share);

/* `calls` have cost `ns` of own CPU time since the last time. */
void call_budget_spend(struct call_budget *b, uint64_t calls, uint64_t ns);

/* Calls that may be logged in the next `length_ns`. */
uint64_t call_budget_grant(const struct call_budget *b, uint64_t length_ns);

#endif
