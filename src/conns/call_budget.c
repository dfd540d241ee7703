/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/call_budget.h"

/* Approximate cost of a logged call in the kernel's program, paid from the samples' share. */
#define KERNEL_NS 300
#define FIRST_PRICE_NS 10000 /* written as a line of JSON */
#define PRIOR 200            /* calls that the price so far stands for */

void call_budget_init(struct call_budget *b, double share)
{
	*b = (struct call_budget){ .share = share, .price_ns = FIRST_PRICE_NS };
}

/* A reading without calls costs something, too: of few calls, the price is hardly theirs. */
void call_budget_spend(struct call_budget *b, uint64_t calls, uint64_t ns)
{
	if (calls)
		b->price_ns = (PRIOR * b->price_ns + (double)ns) / (PRIOR + (double)calls);
}

uint64_t call_budget_grant(const struct call_budget *b, uint64_t length_ns)
{
	const double n = b->share * (double)length_ns / (b->price_ns + KERNEL_NS);

	/* Without calls, their price would never be put right. */
	return n >= 1 || b->share <= 0 ? (uint64_t)n : 1;
}
