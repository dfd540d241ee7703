/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice about set-up facts that are known to cost latency. A pure function of facts, so it works
 * on those of a recording as well. Only facts that were observed lead to advice.
 */
#ifndef HOSTLAT_HOST_TUNING_H
#define HOSTLAT_HOST_TUNING_H

#include <stddef.h>

#include "host/facts.h"

struct host_advice {
	const char *fact, *value;       /* belong to the facts */
	const char *why;                /* cost of the present setting; static, like the next
					 * members */
	const char *source;             /* a file of the kernel's source, a standard, a paper */
	const char *change;             /* recommended change */
};

#define HOST_ADVICE_MAX 1024

struct host_advice_vec {
	struct host_advice *items;      /* in the order of the rules; a base/vec.h vector */
	size_t len, cap, max;
};

/* 0, -ENOMEM or -E2BIG. `list` is to be released in any case, and before the facts are. */
int host_tuning(const struct host_facts *facts, struct host_advice_vec *list);
void host_advice_vec_release(struct host_advice_vec *list);

#endif
