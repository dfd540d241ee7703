/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A condition on a latency, as users write it: "p99<500us", or of two servers "p99<+20%". An upper
 * bound below the limit shows it, a lower bound at or above the limit refutes it; otherwise it
 * stays open.
 */
#ifndef HOSTLAT_LOAD_CONDITION_H
#define HOSTLAT_LOAD_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "load/analysis.h"

#define LOAD_CONDITION_TAKES "a percentile and a time, such as 'p99<500us'"
#define LOAD_CONDITION_CHANGE_TAKES "a percentile and a change, such as 'p99<+20%'"

struct load_condition {
	double q;          /* quantile that the condition is about, 0 < q < 1 */
	uint64_t limit_ns; /* the quantile must be below this limit; 0: `limit_ratio` */
	/* the second server's quantile over the first one's must be below this; > 0 */
	double limit_ratio;
	bool seen;         /* the requests that were seen decide, instead of bounds */
	const char *text;  /* text of the condition; borrowed from the parsed text */
};

/* All conditions of a command: those of --assert, then those of --assert-seen. */
struct load_conditions {
	struct load_condition list[2 * OPT_LIST_MAX];
	uint32_t n;
};

enum load_truth { LOAD_OPEN, LOAD_HOLDS, LOAD_FAILS };

/*
 * Parse "p99<500us" and "p99<+20%" or "p99<-5%". Return 0, -EINVAL (malformed) or -ERANGE (a number
 * is out of range).
 */
int load_condition_parse(const char *text, struct load_condition *out);
int load_condition_parse_change(const char *text, struct load_condition *out);

/*
 * Compares the quantile's bounds with the limit; LOAD_OPEN if they do not decide. Where the latency
 * fell during the run, the bounds are wider by that factor, so that they hold at both of its ends.
 * Where it rose, no condition holds: a longer run would show more.
 */
enum load_truth load_condition_judge(const struct load_condition *condition,
				     const struct load_quantile *quantile,
				     struct load_drift drift);

#endif
