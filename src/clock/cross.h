/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two clocks at one moment: the other clock is read between two readings of the monotonic one, so
 * the distance of the two is known to lie within an interval as wide as that took. The readings are
 * repeated; since the distance does not change meanwhile (or else the result is refused), it lies
 * in the intersection of all intervals, which is narrower than the tightest of them.
 */
#ifndef HOSTLAT_CLOCK_CROSS_H
#define HOSTLAT_CLOCK_CROSS_H

#include <stdint.h>

#include "clock/clock.h"

#define CROSS_TRIES_MAX 64

/* other - monotonic is in lo..hi, as seen around mono_ns. */
struct clock_cross {
	int64_t mono_ns;      /* middle of the last reading */
	int64_t lo_ns, hi_ns;
};

/*
 * Reads `tries` times, 1..CROSS_TRIES_MAX. -EAGAIN if the distance changed meanwhile: the clock
 * was set. -EOPNOTSUPP if `domain` cannot be read. For a domain that drifts against monotonic (RAW)
 * the drift during the readings, under 1 ns for 64 of them, is added to the interval.
 */
int clock_cross_sample(struct clock *clock, enum clock_domain domain, int tries,
		       struct clock_cross *cross);

/* Best estimate of other - monotonic, and how far off it may be. */
int64_t clock_cross_offset_ns(const struct clock_cross *cross);
uint64_t clock_cross_error_ns(const struct clock_cross *cross);

#endif
