/* SPDX-License-Identifier: Apache-2.0 */
/* A difference of ticks has 64 bits and a sign, `mult` 32 bits: their product fits 128 bits. */
#include "clock/timekeeper.h"

#include <errno.h>
#include <stddef.h>

#include "clock/convert.h"

#define SHIFT_MAX 32

bool timekeeper_is_valid(const struct clock_timekeeper *tk)
{
	return tk->mono.mult > 0 && tk->mono.shift <= SHIFT_MAX && tk->mono.base_ns >= 0 &&
	       tk->mono.base_ns <= CONVERT_TIME_MAX;
}

/* Returns true for the clocks that a timekeeper computes. */
static bool timekeeper_has(enum clock_domain domain)
{
	return domain == DOMAIN_MONO || domain == DOMAIN_REALTIME || domain == DOMAIN_TAI;
}

/* Returns the clock's distance from MONOTONIC, in ns. */
static int64_t timekeeper_offset(const struct clock_timekeeper *tk, enum clock_domain domain)
{
	return domain == DOMAIN_REALTIME ? tk->real_ns : domain == DOMAIN_TAI ? tk->tai_ns : 0;
}

int timekeeper_ns(const struct clock_timekeeper *tk, enum clock_domain domain, uint64_t ticks,
		  int64_t *ns)
{
	const struct clock_line *line = &tk->mono;
	__int128 at;

	if (!timekeeper_has(domain))
		return -EOPNOTSUPP;
	at = ((__int128)ticks - line->cycle_last) * line->mult + line->fraction;
	at = (at >> line->shift) + line->base_ns; /* the shift rounds down, also negative numbers */
	at += timekeeper_offset(tk, domain);
	if (at < -CONVERT_TIME_MAX || at > CONVERT_TIME_MAX)
		return -ERANGE;
	*ns = (int64_t)at;
	return 0;
}

int timekeeper_ticks(const struct clock_timekeeper *tk, enum clock_domain domain, int64_t ns,
		     uint64_t *ticks)
{
	const struct clock_line *line = &tk->mono;
	__int128 distance, at;

	if (!timekeeper_has(domain))
		return -EOPNOTSUPP;
	distance = (__int128)ns - timekeeper_offset(tk, domain) - line->base_ns;
	/* A distance whose product with 2^shift would overflow is centuries. */
	if (distance > (__int128)1 << 63 || distance < -((__int128)1 << 63))
		return -ERANGE;
	distance = distance * ((__int128)1 << line->shift) - line->fraction;
	at = distance / line->mult;
	at += distance > 0 && distance % line->mult; /* round up to the next tick */
	at += line->cycle_last;
	if (at < 0 || at > UINT64_MAX)
		return -ERANGE;
	*ticks = (uint64_t)at;
	return 0;
}

static bool timekeeper_line_goes_on(const struct clock_line *a, const struct clock_line *b)
{
	const __int128 one = (__int128)1 << a->shift;

	return a->mult == b->mult && a->shift == b->shift &&
	       ((__int128)b->cycle_last - a->cycle_last) * a->mult + a->fraction +
			       a->base_ns * one == b->fraction + b->base_ns * one;
}

bool timekeeper_goes_on(const struct clock_timekeeper *a, const struct clock_timekeeper *b)
{
	return timekeeper_line_goes_on(&a->mono, &b->mono) && a->real_ns == b->real_ns &&
	       a->tai_ns == b->tai_ns;
}
