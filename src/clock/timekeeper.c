// SPDX-License-Identifier: Apache-2.0
/* A tick difference has 64 bits and a sign, `mult` 32: a product fits 128 bits. */
#include "clock/timekeeper.h"

#include <errno.h>
#include <stddef.h>

#include "clock/convert.h"

#define SHIFT_MAX 32

static bool is_valid_line(const struct clock_line *line)
{
	return line->mult > 0 && line->shift <= SHIFT_MAX &&
	       line->base_ns >= 0 && line->base_ns <= CONVERT_TIME_MAX;
}

bool timekeeper_is_valid(const struct timekeeper *tk)
{
	return is_valid_line(&tk->mono) && is_valid_line(&tk->raw) &&
	       tk->mono.shift == tk->raw.shift;
}

/* The line of the domain, and what is to be added; NULL if it has none. */
static const struct clock_line *line_of(const struct timekeeper *tk, enum clock_domain domain,
					int64_t *offset)
{
	*offset = 0;
	switch (domain) {
	case DOMAIN_RAW:
		return &tk->raw;
	case DOMAIN_MONO:
		return &tk->mono;
	case DOMAIN_REALTIME:
		*offset = tk->real_ns;
		return &tk->mono;
	case DOMAIN_TAI:
		*offset = tk->tai_ns;
		return &tk->mono;
	case DOMAIN_BOOTTIME:
		*offset = tk->boot_ns;
		return &tk->mono;
	default:
		return NULL;
	}
}

bool timekeeper_has(enum clock_domain domain)
{
	static const struct timekeeper none;
	int64_t offset;

	return line_of(&none, domain, &offset) != NULL;
}

int timekeeper_ns(const struct timekeeper *tk, enum clock_domain domain, uint64_t ticks,
		  int64_t *ns)
{
	int64_t offset;
	const struct clock_line *line = line_of(tk, domain, &offset);
	__int128 at;

	if (!line)
		return -EOPNOTSUPP;
	at = ((__int128)ticks - line->cycle_last) * line->mult + line->fraction;
	at = (at >> line->shift) + line->base_ns + offset; /* of a negative number, too: floor */
	if (at < -CONVERT_TIME_MAX || at > CONVERT_TIME_MAX)
		return -ERANGE;
	*ns = (int64_t)at;
	return 0;
}

int timekeeper_ticks(const struct timekeeper *tk, enum clock_domain domain, int64_t ns,
		     uint64_t *ticks)
{
	int64_t offset;
	const struct clock_line *line = line_of(tk, domain, &offset);
	__int128 distance, at;

	if (!line)
		return -EOPNOTSUPP;
	distance = (__int128)ns - offset - line->base_ns;
	/* One whose product with 2^shift would not fit is centuries. */
	if (distance > (__int128)1 << 63 || distance < -((__int128)1 << 63))
		return -ERANGE;
	distance = distance * ((__int128)1 << line->shift) - line->fraction;
	at = distance / line->mult;
	at += distance > 0 && distance % line->mult; /* up */
	at += line->cycle_last;
	if (at < 0 || at > UINT64_MAX)
		return -ERANGE;
	*ticks = (uint64_t)at;
	return 0;
}

static bool line_goes_on(const struct clock_line *a, const struct clock_line *b)
{
	const __int128 one = (__int128)1 << a->shift;

	return a->mult == b->mult && a->shift == b->shift &&
	       ((__int128)b->cycle_last - a->cycle_last) * a->mult + a->fraction +
			       a->base_ns * one == b->fraction + b->base_ns * one;
}

bool timekeeper_goes_on(const struct timekeeper *a, const struct timekeeper *b)
{
	return line_goes_on(&a->mono, &b->mono) && line_goes_on(&a->raw, &b->raw) &&
	       a->real_ns == b->real_ns && a->boot_ns == b->boot_ns && a->tai_ns == b->tai_ns;
}
