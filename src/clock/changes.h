/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts each change that the kernel made to its clocks into stretches of time
 * (clock/reconcile.h).
 *
 * A change takes effect when the kernel's readers can see it. That is not `cycle_last`, the anchor
 * of its line: those ticks are of the last timer tick, milliseconds earlier, and until the change
 * the clocks were read by the old line. The instant is between two readings of the monotonic clock
 * by the old line, around the publication, which that line converts back into ticks. Between them
 * the new line holds with an error: the lines' distance and 1 ns.
 *
 * In a domain that was set, it is unknown what a reader saw meanwhile: a gap of that width.
 */
#ifndef HOSTLAT_CLOCK_CHANGES_H
#define HOSTLAT_CLOCK_CHANGES_H

#include <stdbool.h>

#include "clock/reconcile.h"
#include "clock/timekeeper.h"

struct clock_change {
	struct clock_timekeeper tk;
	uint64_t seq;      /* the previous change's + 1; otherwise changes are missing */
	int64_t before_ns; /* MONOTONIC by the old line, before and after the publication */
	int64_t after_ns;
};

struct clock_changes {
	struct clock_taker taker;
	struct clock_timekeeper tk;
	uint64_t seq;
	uint64_t confirmed; /* ticks up to which `tk` is known to hold */
	uint64_t reported;      /* ticks of the last stretch passed to `taker` */
	bool begun;
	uint64_t changes;   /* changes of the rate; other updates do not count */
	uint64_t steps;     /* number of steps of any domain */
	uint64_t losses;    /* times that a change was missing, or that two lines did not meet */
};

/* Initializes; `taker` will receive stretches of TSC, REALTIME and TAI. */
void clock_changes_init(struct clock_changes *changes, struct clock_taker taker);

/*
 * Adds the next change. After a gap in the sequence, or if the new line does not meet the old one,
 * the time since the last confirmation is lost. Returns 0; -EINVAL for a change with unusable
 * values, which is ignored; or the taker's error.
 */
int clock_changes_add(struct clock_changes *changes, const struct clock_change *change);

/*
 * Confirms that the present line held up to `mono_ns`; all changes up to then must have been added.
 * Returns 0 or -errno.
 */
int clock_changes_hold(struct clock_changes *changes, int64_t mono_ns);

/* Marks the time before the next change as unknown: the source of changes was interrupted. */
void clock_changes_lose(struct clock_changes *changes);

#endif
