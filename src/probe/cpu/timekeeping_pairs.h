/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's clocks as user space sees them: pairs of readings (clock/pairs.h) of TSC and
 * sched_clock; and of those that keep their distance to the monotonic clock until they are set,
 * the distance (clock/follow.h).
 */
#ifndef HOSTLAT_PROBE_TIMEKEEPING_PAIRS_H
#define HOSTLAT_PROBE_TIMEKEEPING_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "clock/reconcile.h"

#define TIMEKEEPING_PAIR_NS 20000000LL   /* between two pairs, at least */
#define TIMEKEEPING_FOLLOW_NS 100000000LL /* between two looks at the distances */

struct timekeeping_pairs;

/*
 * `sched_only`: the others are known otherwise. What can't be read here is left out. Belongs to the
 * calling thread. 0 or -errno.
 */
int timekeeping_pairs_open(struct timekeeping_pairs **out, struct clock_taker taker,
			   bool sched_only);

/* Reads what is due. An error of the taker. */
int timekeeping_pairs_pull(struct timekeeping_pairs *pairs);

/* All that is known ends here; says so to the taker. */
int timekeeping_pairs_hold(struct timekeeping_pairs *pairs);

/* The widest bound of a stretch so far, of a domain that has pairs; 0: it has none. */
uint64_t timekeeping_pairs_bound_ns(const struct timekeeping_pairs *pairs,
				    enum clock_domain domain);

void timekeeping_pairs_free(struct timekeeping_pairs *pairs);

#endif
