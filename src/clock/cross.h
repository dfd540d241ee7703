/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two clocks at one moment: the other clock is read between two readings of the monotonic one, so
 * their distance lies within an interval as wide as that took. This is repeated. Realtime, TAI and
 * boottime keep their distance to monotonic until they are set (clock/follow.h), so for them it
 * lies in the intersection of all intervals, narrower than the tightest: 40 ns after 2000 readings
 * of 60 ns each, on one virtual machine. For others the tightest interval is taken.
 */
#ifndef HOSTLAT_CLOCK_CROSS_H
#define HOSTLAT_CLOCK_CROSS_H

#include <stdint.h>

#include "clock/clock.h"

#define CROSS_TRIES_MAX 64

/* other - monotonic was in lo..hi at mono_ns. */
struct clock_cross {
	int64_t mono_ns;
	int64_t lo_ns, hi_ns;
};

/*
 * Reads `tries` times, 1..CROSS_TRIES_MAX. -EAGAIN if the distance changed meanwhile: the clock
 * was set. -EOPNOTSUPP if `domain` cannot be read.
 */
int clock_cross_sample(struct clock *clock, enum clock_domain domain, int tries,
		       struct clock_cross *cross);

/*
 * Narrows `known` by a later sample of the same distance. -EAGAIN, and no change, if the two
 * contradict each other: the clock was set between them.
 */
int clock_cross_intersect(struct clock_cross *known, const struct clock_cross *next);

/* Best estimate of other - monotonic, and how far off it may be. */
int64_t clock_cross_offset_ns(const struct clock_cross *cross);
uint64_t clock_cross_error_ns(const struct clock_cross *cross);

#endif
