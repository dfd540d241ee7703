/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's clocks computed as the kernel does, in integers and to the nanosecond: a counter's
 * ticks (on x86 the TSC's) become nanoseconds along a line,
 *
 *	ns = base + (((ticks - cycle_last) * mult + fraction) >> shift)
 *
 * (struct tk_read_base of include/linux/timekeeper_internal.h; do_hres() of lib/vdso/gettimeofday.c
 * uses it). REALTIME and TAI are MONOTONIC plus an offset. Steering a clock changes these numbers;
 * clock/reconcile.h records when.
 */
#ifndef HOSTLAT_CLOCK_TIMEKEEPER_H
#define HOSTLAT_CLOCK_TIMEKEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "clock/domain.h"

/* Line of a clock, in ticks of the counter and nanoseconds; `fraction` in 2^-shift ns. */
struct clock_line {
	uint64_t cycle_last;
	uint64_t fraction; /* xtime_nsec, in 2^-shift ns */
	int64_t base_ns;
	uint32_t mult;     /* ns per tick, in 2^-shift; > 0 */
	uint32_t shift;    /* <= 32: include/linux/clocksource.h */
};

/* State of the kernel's timekeeper between two changes. */
struct clock_timekeeper {
	struct clock_line mono;
	int64_t real_ns, tai_ns; /* offsets from MONOTONIC */
};

/* Returns true if the values are plausible and safe to compute with. */
bool timekeeper_is_valid(const struct clock_timekeeper *tk);

/*
 * Computes the clock's time at `ticks`, which may be before cycle_last. -ERANGE: beyond +-2^62 (as
 * CONVERT_TIME_MAX); -EOPNOTSUPP: a timekeeper lacks this clock.
 */
int timekeeper_ns(const struct clock_timekeeper *tk, enum clock_domain domain, uint64_t ticks,
		  int64_t *ns);

/* Computes the first ticks at which the clock shows `ns` or more. -ERANGE also below 0. */
int timekeeper_ticks(const struct clock_timekeeper *tk, enum clock_domain domain, int64_t ns,
		     uint64_t *ticks);

/* Returns true if b continues a: from `cycle_last` on both give the same times. */
bool timekeeper_goes_on(const struct clock_timekeeper *a, const struct clock_timekeeper *b);

#endif
