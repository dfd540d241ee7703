/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distance of two clocks: the other clock is read between two readings of the monotonic clock, so
 * their distance is within an interval as wide as the time between them. This is repeated.
 * Realtime, TAI and boottime keep their distance to monotonic until they are set (clock/follow.h):
 * it is in the intersection of all intervals, narrower than the tightest: 40 ns after 2000 readings
 * of 60 ns each, on one virtual machine. For other clocks the tightest interval is used.
 */
#ifndef HOSTLAT_CLOCK_CROSS_H
#define HOSTLAT_CLOCK_CROSS_H

#include <stdint.h>

#include "clock/clock.h"

#define CROSS_TRIES_MAX 64

/* Interval of a distance: other - monotonic was in lo_ns..hi_ns at mono_ns. */
struct clock_cross {
	int64_t mono_ns;
	int64_t lo_ns, hi_ns;
};

/*
 * Measures the distance of `domain` to monotonic by `tries` readings, 1..CROSS_TRIES_MAX. Returns
 * 0; -EAGAIN if the distance changed meanwhile: the clock was set; -EOPNOTSUPP if `domain` cannot
 * be read.
 */
int clock_cross_sample(struct clock *clock, enum clock_domain domain, int tries,
		       struct clock_cross *cross);

/*
 * Narrows `known` by a later sample of the same distance. Returns 0; -EAGAIN, without a change, if
 * the two contradict each other: the clock was set between them.
 */
int clock_cross_intersect(struct clock_cross *known, const struct clock_cross *next);

/* Return the best estimate of other - monotonic, and the bound of its error, in ns. */
int64_t clock_cross_offset_ns(const struct clock_cross *cross);
uint64_t clock_cross_error_ns(const struct clock_cross *cross);

#endif
