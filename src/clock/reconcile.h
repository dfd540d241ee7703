/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All clocks of a host on one timeline, for as long as they are known: of each domain, a log of
 * straight stretches, each with the instant from which on it holds. It is filled live, from what
 * the kernel changes (clock/changes.h) or from pairs of readings (clock/pairs.h), and from files
 * (event/clocks.h): all three say the same by the same struct, and are converted by this code.
 *
 * A stretch is switched to at the instant at which the kernel's readers saw it, never before: what
 * a changed rate would have said earlier is wrong by microseconds.
 *
 * Setting a clock (settimeofday(), ADJ_SETOFFSET, a leap second, a new TAI offset, sleep) is an
 * explicit discontinuity. Whatever is not known, not yet, no more, or not unambiguously, has no
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

#define CLOCK_STRETCHES_MAX (1U << 20) /* stretches of one domain: 72 MiB */

enum {
	STRETCH_STEP = 1,  /* the clock was set: times before and after don't compare */
	STRETCH_LOST = 2,  /* unknown between the end of the stretch before and here */
	STRETCH_HOLDS = 4, /* no new one: the one before held up to here at least */
};

/*
 * monotonic ns = mono_ns + (((ticks - from) * mult + fraction) >> shift), from `from` up to the
 * next stretch. Ticks are the domain's: nanoseconds, or of a TSC. Both stay below 2^62.
 */
struct clock_stretch {
	uint64_t from;
	int64_t mono_ns;
	uint64_t fraction; /* in 2^-shift ns, less than one */
	uint64_t mult;     /* > 0 */
	uint64_t error_ns; /* how far a converted time may be off */
	uint32_t shift;    /* < 64 */
	uint32_t flags;    /* STRETCH_* */
};

/* Takes stretches, one by one, in order of monotonic time. Returns 0 or -errno. */
struct clock_taker {
	int (*put)(void *ctx, enum clock_domain domain, const struct clock_stretch *stretch);
	void *ctx;
};

struct clock_known {
	struct clock_stretch line;
	uint64_t until; /* known up to here, inclusive */
};

struct clock_log {
	struct VEC_OF(struct clock_known) known;
	struct VEC_OF(size_t) runs; /* where what belongs together begins: after steps and losses */
};

struct clock_reconcile {
	struct clock_log logs[DOMAIN_COUNT];
};

/* Nothing but monotonic is known yet. Does not allocate. */
void clock_reconcile_init(struct clock_reconcile *r);
void clock_reconcile_release(struct clock_reconcile *r);

/*
 * The next stretch of `domain`, which is not DOMAIN_MONO. -EINVAL if it contradicts itself or goes
 * back behind what is known; -E2BIG at CLOCK_STRETCHES_MAX; -ENOMEM.
 */
int clock_reconcile_add(struct clock_reconcile *r, enum clock_domain domain,
			const struct clock_stretch *stretch);

/*
 * -ERANGE if it isn't known: out of what the logs hold, in a lost stretch, skipped or shown twice
 * by a clock that was set, or perhaps shown once more in a lost stretch; or if the error reaches
 * over a discontinuity. The bound takes for granted that two clocks' rates differ by less than
 * 0.1 %.
 *
 * To a clock that counts nanoseconds, the result is what it showed; to TSC, the first tick at which
 * `from` showed `t`.
 */
int clock_reconcile_convert(const struct clock_reconcile *r, enum clock_domain from,
			    enum clock_domain to, int64_t t, struct clock_time *result);

/* A domain that keeps its distance to monotonic, across an interruption of its log. */
struct clock_step {
	int64_t after_ns;  /* monotonic time from which on it is known again */
	uint64_t width_ns; /* for how long before that it was not known */
	int64_t by_ns;     /* how far it was set; 0: it was not, within the bounds of both sides */
};

/*
 * Returns the interruption number `i`, from 0, of a domain that keeps its distance. False: there
 * are fewer.
 */
bool clock_reconcile_step(const struct clock_reconcile *r, enum clock_domain domain, size_t i,
			  struct clock_step *step);

#endif
