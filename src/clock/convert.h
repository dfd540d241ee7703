/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of one clock domain as times of another, each with a bound of its error.
 *
 * A table knows each domain by points (monotonic time, time of the domain, error) in ascending
 * monotonic order. Between two points the relation is linear; beyond the last and before the first
 * it goes on at the neighbouring rate up to `horizon_ns` (1:1 if there is but one point; not for
 * ticks, whose rate takes two). Where the clock was set, the next point is a discontinuity: times
 * strictly between the two have no conversion. What the rate may do unseen, `wander_ppb`, is added
 * to the bound by distance from the nearest point.
 *
 * From one domain to another goes through monotonic, and the two bounds add up.
 */
#ifndef HOSTLAT_CLOCK_CONVERT_H
#define HOSTLAT_CLOCK_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "clock/domain.h"

#define CONVERT_POINTS_MAX 65536

/* Times and ticks further than this from 0, 146 years in nanoseconds, are refused. */
#define CONVERT_TIME_MAX (1LL << 62)

struct clock_point {
	int64_t mono_ns;
	int64_t other;      /* nanoseconds, or ticks, of the domain */
	uint64_t error_ns;  /* mono_ns is at most this far from the moment when `other` was true */
	bool discontinuity; /* the clock was set at an unknown moment since the point before */
};

struct clock_relation {
	struct VEC_OF(struct clock_point) points;
	struct VEC_OF(size_t) runs; /* where the points between two discontinuities begin */
	uint32_t wander_ppb;
	int64_t horizon_ns;
	bool ticks; /* counts something else than nanoseconds */
};

struct clock_table {
	struct clock_relation relations[DOMAIN_COUNT];
};

struct clock_time {
	int64_t value;     /* in the unit of the target domain */
	uint64_t error_ns; /* the true value is at most this far off, in nanoseconds */
};

/* No domain but monotonic is known yet. Does not allocate. */
void clock_table_init(struct clock_table *table);
void clock_table_release(struct clock_table *table);

/*
 * How far a domain's rate may wander from the line through its points, and how far beyond its
 * points one may convert. Initially 0 ppb and 0 ns.
 */
void clock_table_limits(struct clock_table *table, enum clock_domain domain, uint32_t wander_ppb,
			int64_t horizon_ns);

/*
 * Appends a point. -EINVAL if it is not later than the point before in monotonic time, if the
 * domain's time did not advance without a discontinuity, or beyond CONVERT_TIME_MAX; -E2BIG at
 * CONVERT_POINTS_MAX; -ENOMEM. `domain` is not DOMAIN_MONO.
 */
int clock_table_add(struct clock_table *table, enum clock_domain domain,
		    const struct clock_point *point);

/* Its points are no longer known; their room and the limits are kept. */
void clock_table_forget(struct clock_table *table, enum clock_domain domain);

/*
 * -ERANGE if a domain is unknown, if `t` lies beyond its horizon or within a discontinuity or was
 * true twice because the clock was set back, or if on the way the error reaches over a
 * discontinuity of the target domain. The bound assumes that no two domains' rates differ by more
 * than 0.1 %.
 */
int clock_convert(const struct clock_table *table, enum clock_domain from, enum clock_domain to,
		  int64_t t, struct clock_time *result);

#endif
