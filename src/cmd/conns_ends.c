/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/conns_ends.h"

/*
 * Upper limit, in ns, of the CPU time that is charged to the begin or end of one connection. CPU
 * time beyond it is charged to other work.
 */
#define END_MOST_NS 20000

void conns_ends_account(struct conns_ends *last, const struct conns_ends *now, uint64_t push_ns,
			struct budget_spent *spent)
{
	uint64_t most, own_ns = spent->ends_ns, begun, left_out;

	begun = now->begun - last->begun;
	left_out = now->left_out - last->left_out;
	/* `begun` and `left_out` are read at different times: `left_out` may be larger. */
	spent->begun = begun > left_out ? begun - left_out : 0;
	spent->ended = now->closed - last->closed;
	*last = *now;
	/*
	 * Charge to the begins and ends of connections only the sampled connections' part of the
	 * BPF programs' CPU time. Sampling fewer new connections cannot reduce the part of
	 * unsampled ones.
	 */
	if (begun)
		push_ns = (uint64_t)((double)push_ns * (double)spent->begun / (double)begun);
	most = (spent->begun + spent->ended) * END_MOST_NS;
	if (own_ns > spent->cpu_ns)
		own_ns = spent->cpu_ns;
	if (own_ns > most)
		own_ns = most;
	if (push_ns > most - own_ns)
		push_ns = most - own_ns;
	spent->cpu_ns -= own_ns;
	spent->push_ns -= push_ns;
	spent->ends_ns = own_ns + push_ns;
}
