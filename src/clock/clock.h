/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock as a parameter: code that reads the time or sleeps gets a clock, which is the system's,
 * or a virtual one in tests and simulations (tests/sim/virtual.h).
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

/* Returns the machine's clocks. Static. */
struct clock *clock_system(void);

/* Reads ns of `domain` since its epoch. Returns 0 or -errno; -EOPNOTSUPP: not in this clock. */
int clock_read(struct clock *clock, enum clock_domain domain, int64_t *ns);

/* Returns CLOCK_MONOTONIC in ns; cannot fail. */
int64_t clock_mono_ns(struct clock *clock);

/* Returns CLOCK_MONOTONIC of the system's clock, in ns. */
uint64_t clock_now(void);

/* Return the CPU time in ns that this process, or the calling thread, has used so far. */
uint64_t clock_cpu(void);
uint64_t clock_thread_cpu(void);

/* Returns CLOCK_REALTIME in ns since 1970; cannot fail. */
int64_t clock_real_ns(struct clock *clock);

/* Sleeps until `mono_ns`. Returns 0 then, at once if it has passed; -EINTR after a signal. */
int clock_sleep_until(struct clock *clock, int64_t mono_ns);

/* Reads TAI - realtime in seconds, 0 if the kernel does not know it. Returns 0 or -errno. */
int clock_tai_offset(struct clock *clock, int32_t *seconds);

/*
 * Detects that the realtime clock was set (not slewed). clock_set_watch() returns a handle >= 0,
 * for the system's clock a file descriptor that becomes readable. clock_was_set() returns 1 if the
 * clock was set since the watch or the last call, else 0. Both may return -errno.
 */
int clock_set_watch(struct clock *clock);
int clock_was_set(struct clock *clock, int watch);
void clock_set_unwatch(struct clock *clock, int watch);

#endif
