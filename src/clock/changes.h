/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From each change that the kernel made to its clocks to stretches of time (clock/reconcile.h).
 *
 * A change is switched to when the kernel's readers could see it. That is not `cycle_last`, the
 * ticks that its line is anchored at: those are of the last timer tick, milliseconds earlier, and
 * until the change the clocks were read by the old line. The instant lies between two readings of
 * the monotonic clock by the old line, taken around the publication: turned back into ticks by that
 * line. In between, the new line holds with an error: what the two lines differ by, and 1 ns.
 *
 * For a domain that was set, it isn't known what a reader between the two saw: a gap of that width.
 */
#ifndef HOSTLAT_CLOCK_CHANGES_H
#define HOSTLAT_CLOCK_CHANGES_H

#include <stdbool.h>

#include "clock/reconcile.h"
#include "clock/timekeeper.h"

struct clock_change {
	struct clock_timekeeper tk;
	uint64_t seq;      /* one more than the change before: else some are missing */
	int64_t before_ns; /* MONOTONIC by the old line, before and after the publication */
	int64_t after_ns;
};

struct clock_changes {
	struct clock_taker taker;
	struct clock_timekeeper tk;
	uint64_t seq;
	uint64_t confirmed; /* ticks up to which `tk` is known to have held */
	uint64_t reported;      /* ticks of the last stretch that was put */
	bool begun;
	uint64_t changes;   /* changes of the rate; other updates are not counted */
	uint64_t steps;     /* steps of any domain */
	uint64_t losses;    /* times that a change was missing, or two lines did not meet */
};

/* Puts stretches of TSC, REALTIME and TAI. */
void clock_changes_init(struct clock_changes *changes, struct clock_taker taker);

/*
 * The next change. After a gap in the sequence, or if the new line doesn't meet the old one, what
 * was between the last confirmation and this is lost. -EINVAL, and nothing is kept of it, if it
 * can't be computed with; or the taker's error.
 */
int clock_changes_add(struct clock_changes *changes, const struct clock_change *change);

/*
 * Confirms to the taker that the present line held up to `mono_ns`: all changes up to then have
 * been added.
 */
int clock_changes_hold(struct clock_changes *changes, int64_t mono_ns);

/* Marks the past of the next change as unknown: the source was interrupted. */
void clock_changes_lose(struct clock_changes *changes);

#endif
