/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/cross.h"

#include <errno.h>
#include <stdbool.h>

#include "base/bug.h"

/* Returns true if the domain's distance to monotonic is constant until the clock is set. */
static bool clock_cross_keeps_distance(enum clock_domain domain)
{
	return domain == DOMAIN_REALTIME || domain == DOMAIN_TAI || domain == DOMAIN_BOOTTIME;
}

static int clock_cross_sample_once(struct clock *clock, enum clock_domain domain,
				   struct clock_cross *cross)
{
	int64_t before, other, after;
	int err;

	before = clock_mono_ns(clock);
	err = clock_read(clock, domain, &other);
	if (err)
		return err;
	after = clock_mono_ns(clock);
	*cross = (struct clock_cross){
		.mono_ns = before + (after - before) / 2,
		.lo_ns = other - after,
		.hi_ns = other - before,
	};
	return 0;
}

int clock_cross_sample(struct clock *clock, enum clock_domain domain, int tries,
		       struct clock_cross *cross)
{
	struct clock_cross next;
	int err;

	BUG_ON(tries < 1 || tries > CROSS_TRIES_MAX);
	err = clock_cross_sample_once(clock, domain, cross);
	for (int i = 1; !err && i < tries; i++) {
		err = clock_cross_sample_once(clock, domain, &next);
		if (err)
			break;
		if (clock_cross_keeps_distance(domain))
			err = clock_cross_intersect(cross, &next);
		else if (next.hi_ns - next.lo_ns < cross->hi_ns - cross->lo_ns)
			*cross = next;
	}
	return err;
}

int clock_cross_intersect(struct clock_cross *known, const struct clock_cross *next)
{
	int64_t lo = next->lo_ns > known->lo_ns ? next->lo_ns : known->lo_ns;
	int64_t hi = next->hi_ns < known->hi_ns ? next->hi_ns : known->hi_ns;

	if (lo > hi)
		return -EAGAIN;
	*known = (struct clock_cross){ .mono_ns = next->mono_ns, .lo_ns = lo, .hi_ns = hi };
	return 0;
}

int64_t clock_cross_offset_ns(const struct clock_cross *cross)
{
	return cross->lo_ns + (cross->hi_ns - cross->lo_ns) / 2;
}

uint64_t clock_cross_error_ns(const struct clock_cross *cross)
{
	return ((uint64_t)(cross->hi_ns - cross->lo_ns) + 1) / 2;
}
