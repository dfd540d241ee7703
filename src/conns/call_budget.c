/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/call_budget.h"

/* Approximate cost of logging a call in the BPF program; deducted from the samples' share. */
#define KERNEL_NS 300
#define FIRST_PRICE_NS 10000 /* initial cost of a call written as a line of JSON */
#define PRIOR 200            /* calls that the previous estimate of the price counts for */

void call_budget_init(struct call_budget *b, double share)
{
	*b = (struct call_budget){ .share = share, .price_ns = FIRST_PRICE_NS };
}

/* A read has a fixed cost, too: the cost of a read with few calls is hardly that of the calls. */
void call_budget_spend(struct call_budget *b, uint64_t calls, uint64_t ns)
{
	if (calls)
		b->price_ns = (PRIOR * b->price_ns + (double)ns) / (PRIOR + (double)calls);
}

uint64_t call_budget_grant(const struct call_budget *b, uint64_t length_ns)
{
	const double n = b->share * (double)length_ns / (b->price_ns + KERNEL_NS);

	/* At least one call is granted: without calls, a wrong price would never be corrected. */
	return n >= 1 || b->share <= 0 ? (uint64_t)n : 1;
}
