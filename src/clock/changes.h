/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts each change that the kernel made to its clocks into stretches of time
 * (clock/reconcile.h).
 *
 * A line converts the counter's ticks to ns. A change puts a new line in place of the old one when
 * the kernel's readers can see it. That is not `cycle_last`, the anchor of the new line: those
 * ticks are of the last timer tick, milliseconds earlier. Until the change, the clocks were read by
 * the old line. The instant of the change is between two readings of the monotonic clock by the old
 * line, before and after the publication, which that line converts back into ticks. Between these
 * ticks the new line holds with an error: the distance of both lines, plus 1 ns.
 *
 * In a domain that was set, it is unknown what a reader saw between these ticks: a gap in its log.
 */
#ifndef HOSTLAT_CLOCK_CHANGES_H
#define HOSTLAT_CLOCK_CHANGES_H

#include <stdbool.h>

#include "clock/reconcile.h"
#include "clock/timekeeper.h"

struct clock_change {
	struct clock_timekeeper tk;
	uint64_t seq; /* sequence number: the previous change's + 1, unless changes are missing */
	/*
	 * CLOCK_MONOTONIC in ns, by the old rate: before_ns just before, after_ns just after the
	 * kernel published the new timekeeper `tk`
	 */
	int64_t before_ns;
	int64_t after_ns;
};

struct clock_changes {
	struct clock_taker taker;
	struct clock_timekeeper tk;
	uint64_t seq;
	uint64_t confirmed; /* ticks up to which the clocks are known to follow the last change */
	uint64_t reported;      /* ticks at which the last stretch passed to `taker` begins */
	bool begun;
	bool lost;          /* clocks are unknown until the next change: see clock_changes_lose() */
	uint64_t changes;   /* changes of the rate; other updates do not count */
	uint64_t steps;     /* steps of REALTIME plus steps of TAI, except those in gaps */
	/*
	 * how often a change of the kernel's timekeeper was missing or contradicted the previous
	 * change
	 */
	uint64_t losses;
};

/* Initializes; `taker` will receive stretches of TSC, REALTIME and TAI. */
void clock_changes_init(struct clock_changes *changes, struct clock_taker taker);

/*
 * Adds the next change. The clocks are unknown since the last confirmation if the change's sequence
 * number follows a gap, or if its new line (ticks to ns) does not meet the old one. Returns 0;
 * -EINVAL for a change with unusable values, which is ignored; or the error of the receiver of
 * stretches (struct clock_taker).
 */
int clock_changes_add(struct clock_changes *changes, const struct clock_change *change);

/*
 * Confirms that the clocks followed the last change up to `mono_ns`; all changes up to then must
 * have been added. Confirms nothing after clock_changes_lose(). Returns 0 or -errno.
 */
int clock_changes_hold(struct clock_changes *changes, int64_t mono_ns);

/* Marks the time before the next change as unknown: the source of changes was interrupted. */
void clock_changes_lose(struct clock_changes *changes);

#endif
