/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's clocks as it computes them itself, in integers and to the nanosecond: a counter's
 * ticks (on x86 the TSC's) become nanoseconds along a line,
 *
 *	ns = base + (((ticks - cycle_last) * mult + fraction) >> shift)
 *
 * (struct tk_read_base of include/linux/timekeeper_internal.h; do_hres() of lib/vdso/gettimeofday.c
 * computes by it). REALTIME and TAI are MONOTONIC plus an offset. Whoever steers the clock changes
 * these numbers, and when: clock/reconcile.h.
 */
#ifndef HOSTLAT_CLOCK_TIMEKEEPER_H
#define HOSTLAT_CLOCK_TIMEKEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "clock/domain.h"

/* All is in ticks of the counter and in nanoseconds; `fraction` in 2^-shift of them. */
struct clock_line {
	uint64_t cycle_last;
	uint64_t fraction; /* xtime_nsec */
	int64_t base_ns;
	uint32_t mult;     /* > 0 */
	uint32_t shift;    /* <= 32, as of include/linux/clocksource.h */
};

/* The state between two changes. */
struct clock_timekeeper {
	struct clock_line mono;
	int64_t real_ns, tai_ns; /* less MONOTONIC */
};

/* Returns true if the values are plausible to compute with. */
bool timekeeper_is_valid(const struct clock_timekeeper *tk);

/*
 * Computes the clock's time at `ticks`, which may be before cycle_last. -ERANGE: beyond +-2^62 (as
 * CONVERT_TIME_MAX); -EOPNOTSUPP: no clock of a timekeeper.
 */
int timekeeper_ns(const struct clock_timekeeper *tk, enum clock_domain domain, uint64_t ticks,
		  int64_t *ns);

/* The first ticks at which the clock shows `ns` or more. Errors as above; -ERANGE below 0 also. */
int timekeeper_ticks(const struct clock_timekeeper *tk, enum clock_domain domain, int64_t ns,
		     uint64_t *ticks);

/* Whether from `cycle_last` on b says the same as a at all times: nothing has changed. */
bool timekeeper_goes_on(const struct clock_timekeeper *a, const struct clock_timekeeper *b);

#endif
