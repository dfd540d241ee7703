/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All clocks of a host on one timeline, while they are known: for each domain a log of straight
 * stretches, each with the instant from which it holds. The log is filled live, from the kernel's
 * changes (clock/changes.h) or from pairs of readings (clock/pairs.h), and from files
 * (event/clocks.h): all three produce the same struct, which this code converts.
 *
 * A stretch begins at the instant at which the kernel's readers saw it, never before: a changed
 * rate is wrong by microseconds for earlier times.
 *
 * Setting a clock (settimeofday(), ADJ_SETOFFSET, a leap second, a new TAI offset, sleep) is an
 * explicit discontinuity. A time that is unknown, not yet or no longer known, or ambiguous has no
 * conversion: -ERANGE.
 */
#ifndef HOSTLAT_CLOCK_RECONCILE_H
#define HOSTLAT_CLOCK_RECONCILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "clock/convert.h"
#include "clock/domain.h"

#define CLOCK_STRETCHES_MAX (1U << 20) /* stretches of one domain, at most: 72 MiB */

enum {
	STRETCH_STEP = 1,  /* the clock was set: times before and after do not compare */
	/* the clock is unknown from the previous stretch's end to this one's begin */
	STRETCH_LOST = 2,
	STRETCH_HOLDS = 4, /* not a stretch: confirms the previous one up to `from` at least */
};

/*
 * monotonic ns = mono_ns + (((ticks - from) * mult + fraction) >> shift), from `from` up to the
 * next stretch. Ticks are the domain's: nanoseconds, or TSC ticks. Both are below 2^62.
 */
struct clock_stretch {
	uint64_t from;
	int64_t mono_ns;
	uint64_t fraction; /* part of a ns to add to mono_ns, in 2^-shift ns */
	uint64_t mult;     /* ns per tick, in 2^-shift; > 0 */
	uint64_t error_ns; /* bound of the error of a converted time */
	uint32_t shift;    /* bits after the point of `mult`; < 64 */
	uint32_t flags;    /* STRETCH_* flags */
};

/* Receives stretches one by one, in order of monotonic time. `put` returns 0 or -errno. */
struct clock_taker {
	int (*put)(void *ctx, enum clock_domain domain, const struct clock_stretch *stretch);
	void *ctx;
};

struct clock_known {
	struct clock_stretch line;
	uint64_t until; /* ticks up to which `line` is known to hold, inclusive */
};

struct clock_log {
	struct VEC_OF(struct clock_known) known;
	/* indexes in `known`: the first stretch, and each one after a step or a loss */
	struct VEC_OF(size_t) runs;
};

struct clock_reconcile {
	struct clock_log logs[DOMAIN_COUNT];
};

/* Initializes without allocating: only DOMAIN_MONO is known. */
void clock_reconcile_init(struct clock_reconcile *r);
void clock_reconcile_release(struct clock_reconcile *r);

/*
 * Adds the next stretch of `domain`, which is not DOMAIN_MONO. -EINVAL if it contradicts itself or
 * begins before the known time ends; -E2BIG at CLOCK_STRETCHES_MAX; -ENOMEM.
 */
int clock_reconcile_add(struct clock_reconcile *r, enum clock_domain domain,
			const struct clock_stretch *stretch);

/*
 * Converts `t`. -ERANGE if the result is unknown: outside of the logs, in a lost stretch, skipped
 * or shown twice by a clock that was set, perhaps shown again in a lost stretch; or if the error
 * reaches over a discontinuity. The bound assumes that two clocks' rates differ by less than 0.1 %.
 *
 * The result is the time shown by a clock that counts nanoseconds; for TSC, the first tick at which
 * `from` showed `t`.
 */
int clock_reconcile_convert(const struct clock_reconcile *r, enum clock_domain from,
			    enum clock_domain to, int64_t t, struct clock_time *result);

/* An interruption in the log of a domain that keeps its distance to monotonic. */
struct clock_step {
	int64_t after_ns;  /* monotonic time from which the domain is known again */
	uint64_t width_ns; /* length in ns of the unknown time before `after_ns` */
	int64_t by_ns;     /* size of the step; 0: not set, within the error bounds */
};

/*
 * Returns interruption number `i`, from 0, of a domain that keeps its distance to monotonic. False:
 * there are fewer.
 */
bool clock_reconcile_step(const struct clock_reconcile *r, enum clock_domain domain, size_t i,
			  struct clock_step *step);

#endif
