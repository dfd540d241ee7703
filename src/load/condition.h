/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A condition on a latency, as users write it: "p99<500us". An upper bound below the limit shows
 * it, a lower bound at or above the limit refutes it; otherwise it stays open.
 */
#ifndef HOSTLAT_LOAD_CONDITION_H
#define HOSTLAT_LOAD_CONDITION_H

#include <stdint.h>

#include "load/analysis.h"

#define LOAD_CONDITION_TAKES "a percentile and a time, such as 'p99<500us'"

struct load_condition {
	double q;          /* quantile that the condition is about, 0 < q < 1 */
	uint64_t limit_ns; /* the quantile must be below this limit; > 0 */
	const char *text;  /* text of the condition; borrowed from the parsed text */
};

enum load_truth { LOAD_OPEN, LOAD_HOLDS, LOAD_FAILS };

/* Parses "p99<500us". Returns 0, -EINVAL (malformed) or -ERANGE (a number is out of range). */
int load_condition_parse(const char *text, struct load_condition *out);

/* Compares the quantile's bounds with the limit; LOAD_OPEN if they don't decide it. */
enum load_truth load_condition_judge(const struct load_condition *condition,
				     const struct load_quantile *quantile);

#endif
