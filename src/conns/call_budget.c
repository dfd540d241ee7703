/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/call_budget.h"

/*
 * Approximate ns that the BPF program takes to log one send or receive call; deducted from the CPU
 * time for sampling.
 */
#define KERNEL_NS 300
#define FIRST_PRICE_NS 10000 /* initial estimate of the CPU time to log a call as a JSON line */
#define PRIOR 200            /* weight of the previous estimate of a call's cost, in calls */

void call_budget_init(struct call_budget *b, double share)
{
	*b = (struct call_budget){ .share = share, .price_ns = FIRST_PRICE_NS };
}

/* Weights the measured cost by the number of calls: a batch of few calls has mostly fixed costs. */
void call_budget_spend(struct call_budget *b, uint64_t calls, uint64_t ns)
{
	if (calls)
		b->price_ns = (PRIOR * b->price_ns + (double)ns) / (PRIOR + (double)calls);
}

uint64_t call_budget_grant(const struct call_budget *b, uint64_t length_ns)
{
	const double n = b->share * (double)length_ns / (b->price_ns + KERNEL_NS);

	/* Grant at least one call: without calls, a wrong estimate of their cost would stay. */
	return n >= 1 || b->share <= 0 ? (uint64_t)n : 1;
}
