/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts times of one clock domain into times of another, each with a bound of its error.
 *
 * A table describes each domain by points (monotonic time, time of the domain, error) in ascending
 * monotonic order. Between two points the relation is linear. Beyond the last and before the first
 * point it continues at the neighboring rate up to `horizon_ns` (1:1 with a single point; not for
 * ticks, whose rate takes two). Where the clock was set, the next point is a discontinuity: times
 * strictly between the two have no conversion. `wander_ppb`, what the rate may change unseen, is
 * added to the bound by distance from the nearest point.
 *
 * Conversions go through monotonic time, and the two bounds add up.
 */
#ifndef HOSTLAT_CLOCK_CONVERT_H
#define HOSTLAT_CLOCK_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "clock/domain.h"

#define CONVERT_POINTS_MAX 65536

/* Times and ticks further than this from 0 are refused: 146 years in nanoseconds. */
#define CONVERT_TIME_MAX (1LL << 62)

struct clock_point {
	int64_t mono_ns;
	int64_t other;      /* time in the domain: nanoseconds, or ticks */
	/*
	 * largest distance of mono_ns from the instant at which the domain's clock showed `other`
	 */
	uint64_t error_ns;
	bool discontinuity; /* the clock was set at an unknown time since the previous point */
};

struct clock_relation {
	struct VEC_OF(struct clock_point) points;
	struct VEC_OF(size_t) runs; /* indexes in `points`: the first, and each discontinuity */
	uint32_t wander_ppb;
	int64_t horizon_ns;
	bool ticks; /* the domain counts ticks, not nanoseconds */
};

struct clock_table {
	struct clock_relation relations[DOMAIN_COUNT];
};

struct clock_time {
	int64_t value;     /* time in the unit of the target domain */
	uint64_t error_ns; /* bound of the error of `value`, in nanoseconds */
};

/* Initializes without allocating: only DOMAIN_MONO is known. */
void clock_table_init(struct clock_table *table);
void clock_table_release(struct clock_table *table);

/*
 * Sets how far a domain's rate may wander from the line through its points, and how far beyond its
 * points conversions go. Initially 0 ppb and 0 ns.
 */
void clock_table_limits(struct clock_table *table, enum clock_domain domain, uint32_t wander_ppb,
			int64_t horizon_ns);

/*
 * Appends a point. -EINVAL: monotonic time is not later than the previous point's, the domain's
 * time did not advance without a discontinuity, or a time is beyond CONVERT_TIME_MAX; -E2BIG at
 * CONVERT_POINTS_MAX; -ENOMEM. `domain` is not DOMAIN_MONO.
 */
int clock_table_add(struct clock_table *table, enum clock_domain domain,
		    const struct clock_point *point);

/* Removes a domain's points; keeps their memory and the limits. */
void clock_table_forget(struct clock_table *table, enum clock_domain domain);

/*
 * Converts `t`. -ERANGE if a domain is unknown; if `t` is beyond its horizon, within a
 * discontinuity, or was shown twice because the clock was set back; or if the error of the
 * monotonic time reaches over a discontinuity of the target domain. The bound assumes that no two
 * domains' rates differ by more than 0.1 %.
 */
int clock_convert(const struct clock_table *table, enum clock_domain from, enum clock_domain to,
		  int64_t t, struct clock_time *result);

#endif
