/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/changes.h"

#include <errno.h>

#include "base/bug.h"

/*
 * Limits in ns for a change that only alters the rate: MEET_NS is the largest distance, by
 * rounding, of the old and the new line (ticks to ns); PUBLISH_NS the longest time in which the
 * kernel publishes the change.
 */
#define MEET_NS 2
#define PUBLISH_NS 100000

static const enum clock_domain set_domains[] = { DOMAIN_REALTIME, DOMAIN_TAI };

static int64_t changes_offset(const struct clock_timekeeper *tk, enum clock_domain domain)
{
	return domain == DOMAIN_REALTIME ? tk->real_ns : tk->tai_ns;
}

static struct clock_stretch changes_tsc_stretch(const struct clock_timekeeper *tk, uint64_t ticks)
{
	const struct clock_line *line = &tk->mono;
	const __int128 q = ((__int128)ticks - line->cycle_last) * line->mult + line->fraction;

	return (struct clock_stretch){
		.from = ticks, .mult = line->mult, .shift = line->shift,
		.mono_ns = (int64_t)(q >> line->shift) + line->base_ns,
		.fraction = (uint64_t)(q & (((__int128)1 << line->shift) - 1)),
	};
}

static int changes_put(struct clock_changes *c, enum clock_domain domain, struct clock_stretch s,
		       uint32_t flags)
{
	s.flags = flags;
	return c->taker.put(c->taker.ctx, domain, &s);
}

static int changes_put_rate(struct clock_changes *c, const struct clock_timekeeper *tk,
			    uint64_t ticks, uint64_t error_ns, uint32_t flags)
{
	struct clock_stretch tsc = changes_tsc_stretch(tk, ticks);

	tsc.error_ns = error_ns;
	c->reported = ticks;
	return changes_put(c, DOMAIN_TSC, tsc, flags);
}

static int changes_put_offset(struct clock_changes *c, const struct clock_timekeeper *tk,
			      uint64_t ticks, enum clock_domain domain, uint32_t flags)
{
	const int64_t mono = changes_tsc_stretch(tk, ticks).mono_ns;
	const __int128 other = (__int128)mono + changes_offset(tk, domain);

	if (other < 0 || other > CONVERT_TIME_MAX)
		return -EINVAL;
	return changes_put(c, domain, (struct clock_stretch){
		.from = (uint64_t)other, .mono_ns = mono, .mult = 1,
	}, flags);
}

static int changes_put_all(struct clock_changes *c, const struct clock_timekeeper *tk,
			   uint64_t ticks, uint32_t flags, uint32_t stepped)
{
	int err = changes_put_rate(c, tk, ticks, 0, flags);

	for (size_t i = 0; i < ARRAY_LEN(set_domains) && !err; i++)
		err = changes_put_offset(
			c, tk, ticks, set_domains[i],
			flags | (stepped & 1U << set_domains[i] ? STRETCH_STEP : 0));
	return err;
}

void clock_changes_init(struct clock_changes *c, struct clock_taker taker)
{
	*c = (struct clock_changes){ .taker = taker };
}

static uint32_t changes_stepped_domains(const struct clock_timekeeper *a,
					const struct clock_timekeeper *b)
{
	uint32_t stepped = 0;

	for (size_t i = 0; i < ARRAY_LEN(set_domains); i++) {
		if (changes_offset(a, set_domains[i]) != changes_offset(b, set_domains[i]))
			stepped |= 1U << set_domains[i];
	}
	return stepped;
}

/*
 * Returns how far the times of two timekeepers are apart, in ns: the larger distance of those at
 * the ticks `from` and `to`. UINT64_MAX if it is unknown.
 */
static uint64_t changes_distance(const struct clock_timekeeper *a, const struct clock_timekeeper *b,
				 uint64_t from, uint64_t to)
{
	uint64_t most = 0;

	for (int i = 0; i < 2; i++) {
		int64_t x, y;

		if (timekeeper_ns(a, DOMAIN_MONO, i ? to : from, &x) ||
		    timekeeper_ns(b, DOMAIN_MONO, i ? to : from, &y))
			return UINT64_MAX;
		if ((uint64_t)(x > y ? x - y : y - x) > most)
			most = (uint64_t)(x > y ? x - y : y - x);
	}
	return most;
}

/*
 * Returns true if the lines (ticks to ns) of two successive timekeepers meet at the change, as they
 * do when only the rate changes.
 */
static bool changes_lines_meet(const struct clock_timekeeper *a, const struct clock_timekeeper *b,
			       uint64_t apart_ns)
{
	const uint64_t more = a->mono.mult > b->mono.mult ? a->mono.mult - b->mono.mult :
							    b->mono.mult - a->mono.mult;

	return a->mono.shift == b->mono.shift &&
	       apart_ns <= MEET_NS + more * PUBLISH_NS / b->mono.mult;
}

/*
 * Computes the ticks just before and after the kernel published a change, by the rate of the
 * timekeeper `by`. Returns 0 or -errno.
 */
static int changes_instants(const struct clock_timekeeper *by, const struct clock_change *change,
			    uint64_t *from, uint64_t *to)
{
	int err = timekeeper_ticks(by, DOMAIN_MONO, change->before_ns, from);

	return err ? err : timekeeper_ticks(by, DOMAIN_MONO, change->after_ns + 1, to);
}

/*
 * Reports to the receiver of the stretches (struct clock_taker) up to when the clocks followed the
 * last change, if that is later than was reported before. Returns 0 or -errno.
 */
static int changes_confirm(struct clock_changes *c)
{
	return c->begun && c->confirmed > c->reported ?
	       changes_put_all(c, &c->tk, c->confirmed, STRETCH_HOLDS, 0) : 0;
}

/*
 * Begins new stretches (times of constant rate) at a change that does not continue the previous
 * one: the clocks are unknown between the two changes. Returns 0 or -errno.
 */
static int changes_begin(struct clock_changes *c, const struct clock_change *change)
{
	const uint32_t stepped = c->begun ? changes_stepped_domains(&c->tk, &change->tk) : 0;
	uint64_t from, to;
	int err = changes_instants(&change->tk, change, &from, &to);

	if (!err)
		err = changes_confirm(c);
	if (!err)
		err = changes_put_all(c, &change->tk, to, c->begun ? STRETCH_LOST : 0, stepped);
	if (err)
		return err;
	c->losses += c->begun;
	c->begun = true;
	c->lost = false;
	c->tk = change->tk;
	c->seq = change->seq;
	c->confirmed = to;
	return 0;
}

/*
 * Passes the new rate from the ticks `from` on to the receiver (struct clock_taker), and ends the
 * stretch of each domain that was set. Until the ticks `to` it is unknown whether a reader used the
 * old or the new rate; even rates that give times less than 1 ns apart round differently.
 */
static int changes_switch_line(struct clock_changes *c, const struct clock_timekeeper *tk,
			       uint64_t from, uint64_t to, uint64_t apart_ns)
{
	const uint32_t stepped = changes_stepped_domains(&c->tk, tk);
	int err = changes_put_rate(c, tk, from, apart_ns + 1, 0);

	if (!err)
		err = changes_put_rate(c, tk, to, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(set_domains) && !err; i++) {
		if (!(stepped & 1U << set_domains[i]))
			continue;
		err = changes_put_offset(c, &c->tk, from, set_domains[i], STRETCH_HOLDS);
		if (!err)
			err = changes_put_offset(c, tk, to, set_domains[i],
						 STRETCH_STEP | STRETCH_LOST);
		c->steps++;
	}
	c->changes += tk->mono.mult != c->tk.mono.mult;
	return err;
}

int clock_changes_add(struct clock_changes *c, const struct clock_change *change)
{
	uint64_t from, to, apart_ns;
	int err;

	if (!timekeeper_is_valid(&change->tk) || change->after_ns < change->before_ns)
		return -EINVAL;
	if (!c->begun || c->lost || change->seq != c->seq + 1)
		return changes_begin(c, change);
	err = changes_instants(&c->tk, change, &from, &to);
	apart_ns = err ? UINT64_MAX : changes_distance(&c->tk, &change->tk, from, to);
	if (err || from < c->confirmed || !changes_lines_meet(&c->tk, &change->tk, apart_ns))
		return changes_begin(c, change);
	if (!timekeeper_goes_on(&c->tk, &change->tk))
		err = changes_switch_line(c, &change->tk, from, to, apart_ns);
	if (err)
		return err;
	c->tk = change->tk;
	c->seq = change->seq;
	c->confirmed = to > c->reported ? to : c->reported;
	return 0;
}

int clock_changes_hold(struct clock_changes *c, int64_t mono_ns)
{
	uint64_t ticks;
	int err;

	if (!c->begun || c->lost)
		return 0;
	err = timekeeper_ticks(&c->tk, DOMAIN_MONO, mono_ns, &ticks);
	if (err)
		return err;
	if (ticks > c->confirmed)
		c->confirmed = ticks;
	return changes_confirm(c);
}

void clock_changes_lose(struct clock_changes *c)
{
	c->lost = true;
}
