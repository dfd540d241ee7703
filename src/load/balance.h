/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts requests per connection, by flow number, in a hash table of bounded size, to find
 * connections with far more requests than others. With more than BALANCE_FLOWS connections, the
 * balance is unknown.
 */
#ifndef HOSTLAT_LOAD_BALANCE_H
#define HOSTLAT_LOAD_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

#define BALANCE_FLOWS (1 << 16)

struct balance {
	struct balance_flow {
		uint32_t flow; /* flow number; 0: empty slot */
		uint32_t count;
	} *flows;              /* hash table of 2 * BALANCE_FLOWS slots, open addressing */
	uint32_t n;
	uint64_t requests;
	bool overflow;
};

int balance_init(struct balance *balance); /* Returns 0 or -ENOMEM. */
void balance_release(struct balance *balance);

/* Counts a request of this flow. Flow 0 (no connection) is ignored. */
void balance_add(struct balance *balance, uint32_t flow);

/* Returns the busiest connection's requests divided by the mean of all; NaN: unknown. */
double balance_ratio(const struct balance *balance);

#endif
