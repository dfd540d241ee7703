/* SPDX-License-Identifier: Apache-2.0 */
#include "load/balance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"

#define SLOTS (2 * BALANCE_FLOWS)

int balance_init(struct balance *balance)
{
	*balance = (struct balance){ .flows = calloc(SLOTS, sizeof(*balance->flows)) };
	return balance->flows ? 0 : -ENOMEM;
}

void balance_release(struct balance *balance)
{
	free(balance->flows);
	*balance = (struct balance){ 0 };
}

/* Linear probing ends because at most half of the slots of the hash table are in use. */
void balance_add(struct balance *balance, uint32_t flow)
{
	uint32_t at = hash_u64(flow) % SLOTS;

	if (!flow || balance->overflow)
		return;
	while (balance->flows[at].flow && balance->flows[at].flow != flow)
		at = (at + 1) % SLOTS;
	if (!balance->flows[at].flow && balance->n == BALANCE_FLOWS) {
		balance->overflow = true;
		return;
	}
	balance->n += !balance->flows[at].flow;
	balance->flows[at].flow = flow;
	balance->flows[at].count++;
	balance->requests++;
}

double balance_ratio(const struct balance *balance)
{
	uint32_t most = 0;

	if (balance->overflow || !balance->requests)
		return NAN;
	for (uint32_t i = 0; i < SLOTS; i++)
		most = balance->flows[i].count > most ? balance->flows[i].count : most;
	return (double)most * balance->n / (double)balance->requests;
}
