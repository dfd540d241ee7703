/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock relations as user space can read them: pairs of readings (clock/pairs.h) of TSC and
 * sched_clock; for REALTIME and TAI, which run with the monotonic clock until they are set, the
 * distance to it (clock/follow.h).
 */
#ifndef HOSTLAT_PROBE_TIMEKEEPING_PAIRS_H
#define HOSTLAT_PROBE_TIMEKEEPING_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "clock/reconcile.h"

#define TIMEKEEPING_PAIR_NS 20000000LL   /* ns, at least, between two pairs of clock readings */
#define TIMEKEEPING_FOLLOW_NS 100000000LL /* ns between two readings of REALTIME and TAI */

struct timekeeping_pairs;

/*
 * Returns 0 or -errno. `sched_only`: only sched_clock is read, as timekeeping_log.h reports the
 * other clocks. Clocks that cannot be read on this host are skipped. All further calls must come
 * from the calling thread.
 */
int timekeeping_pairs_open(struct timekeeping_pairs **out, struct clock_taker taker,
			   bool sched_only);

/* Reads the clocks that are due. Passes new relations to the callback; returns 0 or its error. */
int timekeeping_pairs_pull(struct timekeeping_pairs *pairs);

/*
 * Tells the callback (struct clock_taker) until when the last relations of the clocks hold. Returns
 * 0 or the callback's error.
 */
int timekeeping_pairs_hold(struct timekeeping_pairs *pairs);

/*
 * Returns the widest error bound in ns of a clock between two pairs of readings so far; 0: the
 * clock is not read in pairs, or no two pairs of it were read yet.
 */
uint64_t timekeeping_pairs_bound_ns(const struct timekeeping_pairs *pairs,
				    enum clock_domain domain);

void timekeeping_pairs_free(struct timekeeping_pairs *pairs);

#endif
