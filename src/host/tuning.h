/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice about set-up facts that are known to increase latency. A pure function of facts, also of
 * those in a recording. Only observed facts lead to advice.
 */
#ifndef HOSTLAT_HOST_TUNING_H
#define HOSTLAT_HOST_TUNING_H

#include <stddef.h>

#include "host/facts.h"

struct host_advice {
	const char *fact, *value;       /* name and value; owned by the struct host_facts */
	const char *why;                /* cost of the present setting */
	const char *source;             /* a file of the kernel's source, a standard, or a paper */
	const char *change;             /* recommended change */
};

#define HOST_ADVICE_MAX 1024

struct host_advice_vec {
	struct host_advice *items;      /* in the order of the rules; base/vec.h vector */
	size_t len, cap, max;
};

/* Finds advice. Returns 0, -ENOMEM or -E2BIG. Release `list` in any case, before the facts. */
int host_tuning(const struct host_facts *facts, struct host_advice_vec *list);
void host_advice_vec_release(struct host_advice_vec *list);

#endif
