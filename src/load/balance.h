/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How requests spread over connections: one counter for each flow number, in a table of bounded
 * size. A run that makes more flows than BALANCE_FLOWS isn't judged.
 */
#ifndef HOSTLAT_LOAD_BALANCE_H
#define HOSTLAT_LOAD_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

#define BALANCE_FLOWS (1 << 16)

struct balance {
	struct balance_flow {
		uint32_t flow; /* 0: empty */
		uint32_t count;
	} *flows;              /* 2 * BALANCE_FLOWS, open addressing */
	uint32_t n;
	uint64_t requests;
	bool overflow;
};

int balance_init(struct balance *balance); /* 0 or -ENOMEM */
void balance_release(struct balance *balance);

/* Flow 0 is of no connection: ignored. */
void balance_add(struct balance *balance, uint32_t flow);

/* The busiest connection's requests over their mean; NaN if it can't be told. */
double balance_ratio(const struct balance *balance);

#endif
