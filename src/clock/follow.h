/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps realtime - monotonic known although the clock may be set, so that a realtime stamp can be
 * compared with the monotonic clock without an error of hours afterwards.
 *
 * Slewing (adjtime, NTP frequency) needs no following: the kernel slews both clocks alike. Their
 * distance, wall_to_monotonic in kernel/time/timekeeping.c, changes only when the clock is set, by
 * a leap second and by suspending. Measured on Linux 6.18: three seconds at +500 ppm moved
 * monotonic 1.5 ms away from the raw clock but not the distance, known to 40 ns. A step of 1 us
 * moved the distance by 1000 ns and was reported at once; a new TAI offset did neither.
 *
 * The follower therefore narrows one interval with every sample until the clock is set, and then
 * starts anew: the kernel reports a step through a timerfd (ECANCELED), and so does a sample that
 * contradicts the interval. The TAI offset is read with every sample.
 */
#ifndef HOSTLAT_CLOCK_FOLLOW_H
#define HOSTLAT_CLOCK_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "clock/clock.h"

struct clock_follow;

struct clock_follow_params {
	int64_t mono_ns;       /* when the change was detected */
	int64_t offset_ns;     /* realtime - monotonic, in ns */
	uint64_t error_ns;     /* bound of the error of offset_ns */
	int32_t tai_offset_s;  /* TAI - realtime, in seconds */
	bool stepped;          /* the clock or the TAI offset was set since the last update */
	int64_t step_ns;       /* change of offset_ns at the step; 0 if not stepped */
};

/*
 * Begins to follow realtime - monotonic, with a first sample. The caller owns *follow; `clock` must
 * outlive it. Returns 0 or -errno; -EAGAIN if the clock is set faster than it can be read.
 */
int clock_follow_open(struct clock_follow **follow, struct clock *clock);

/* Closes a follower. Accepts NULL. */
void clock_follow_free(struct clock_follow *follow);

/*
 * Returns a descriptor for the system's clock, owned by the follower; -1 for other clocks. On
 * POLLIN, call clock_follow_update() at once.
 */
int clock_follow_fd(const struct clock_follow *follow);

/*
 * Takes a sample and returns the current parameters; call it periodically, not only on POLLIN.
 * Returns 0 or -errno; -EAGAIN if the clock is set faster than it can be read: the previous
 * parameters stay.
 */
int clock_follow_update(struct clock_follow *follow, struct clock_follow_params *params);

/* Returns the parameters of the last successful update, or of the opening. */
void clock_follow_last(const struct clock_follow *follow, struct clock_follow_params *params);

#endif
