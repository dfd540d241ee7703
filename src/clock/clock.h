/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock as a parameter: whoever reads the time or sleeps is handed a clock, which is the
 * system's, or in tests and simulations a virtual one (tests/sim/virtual.h).
 */
#ifndef HOSTLAT_CLOCK_CLOCK_H
#define HOSTLAT_CLOCK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "clock/domain.h"

struct clock {
	const struct clock_ops *ops;
};

struct clock_ops {
	int (*read)(struct clock *clock, enum clock_domain domain, int64_t *ns);
	int (*sleep_until)(struct clock *clock, int64_t mono_ns);
	int (*tai_offset)(struct clock *clock, int32_t *seconds);
	int (*set_watch)(struct clock *clock);
	int (*was_set)(struct clock *clock, int watch);
	void (*set_unwatch)(struct clock *clock, int watch);
};

/* The machine's clocks. Static. */
struct clock *clock_system(void);

/* Nanoseconds of `domain` since its epoch. -EOPNOTSUPP for a domain this clock cannot read. */
int clock_read(struct clock *clock, enum clock_domain domain, int64_t *ns);

/* CLOCK_MONOTONIC; cannot fail. */
int64_t clock_mono_ns(struct clock *clock);

/* Returns CLOCK_MONOTONIC of the system's clock, ns. */
uint64_t clock_now(void);

/* Returns the CPU time that this process, or the calling thread, has had so far, ns. */
uint64_t clock_cpu(void);
uint64_t clock_thread_cpu(void);

/* CLOCK_REALTIME, since 1970; cannot fail. */
int64_t clock_real_ns(struct clock *clock);

/* Returns 0 at that time or later, at once if it has passed; -EINTR if a signal came first. */
int clock_sleep_until(struct clock *clock, int64_t mono_ns);

/* Returns TAI minus realtime in seconds; 0 if the kernel was not told. */
int clock_tai_offset(struct clock *clock, int32_t *seconds);

/*
 * Notices that the realtime clock was set (not slewed). clock_set_watch() returns a handle >= 0,
 * of the system's clock a file descriptor that becomes readable; clock_was_set() tells 1 if the
 * clock was set since the watch or the last call, else 0. Both may return -errno.
 */
int clock_set_watch(struct clock *clock);
int clock_was_set(struct clock *clock, int watch);
void clock_set_unwatch(struct clock *clock, int watch);

#endif
