/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps realtime - monotonic known while somebody may set the clock, so that a realtime stamp can
 * be compared with the monotonic clock without being an hour off afterwards.
 *
 * Slewing (adjtime, NTP frequency) needs no following: the kernel slews both clocks alike, and
 * their distance, wall_to_monotonic in kernel/time/timekeeping.c, changes only when the clock is
 * set, by a leap second and by suspending. Measured on Linux 6.18: three seconds at +500 ppm moved
 * monotonic 1.5 ms away from the raw clock and the distance, known to 40 ns, not at all; a step of
 * 1 us moved it by 1000 ns and was told at once; a new TAI offset left it alone and was not told.
 *
 * The follower hence narrows one interval with every sample for as long as the clock is not set,
 * and starts anew when it was: the kernel tells through a timerfd (ECANCELED), and a sample that
 * contradicts the interval tells as well. The TAI offset is asked for with every sample.
 */
#ifndef HOSTLAT_CLOCK_FOLLOW_H
#define HOSTLAT_CLOCK_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "clock/clock.h"

struct clock_follow;

struct clock_follow_params {
	int64_t mono_ns;       /* when the change was noticed */
	int64_t offset_ns;     /* realtime - monotonic */
	uint64_t error_ns;     /* offset_ns is at most this far off */
	int32_t tai_offset_s;  /* TAI - realtime */
	bool stepped;          /* the clock was set, or TAI changed, since the last update */
	int64_t step_ns;       /* by how much offset_ns changed with it; 0 if not stepped */
};

/*
 * Opens a follower and takes the first sample. `clock` must live as long. Owned by the caller.
 * -EAGAIN as for an update.
 */
int clock_follow_open(struct clock_follow **follow, struct clock *clock);

/* Accepts NULL. */
void clock_follow_free(struct clock_follow *follow);

/*
 * Returns a descriptor of the system's clock, owned by the follower; -1 for other clocks. When it
 * polls POLLIN, call clock_follow_update() at once.
 */
int clock_follow_fd(const struct clock_follow *follow);

/*
 * Samples again and gives the parameters from now on; also to be called every interval. -EAGAIN if
 * the clock is set faster than it can be read; the parameters of before are kept then.
 */
int clock_follow_update(struct clock_follow *follow, struct clock_follow_params *params);

/* Returns the parameters of the last successful update or of the opening. */
void clock_follow_last(const struct clock_follow *follow, struct clock_follow_params *params);

#endif
