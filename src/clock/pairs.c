/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/pairs.h"

#include "clock/clock.h"

/* fraction bits of a rate in ns per tick: up to 2^13, exact to 1 ns in 10 days */
#define RATE_SHIFT 50
#define WIDE 1000     /* limit of two pairs' error bounds together: the time between them / WIDE */

int clock_pair_read(clock_read_other *read, void *ctx, struct clock_pair *pair)
{
	struct clock *clock = clock_system();

	pair->error_ns = UINT64_MAX;
	for (int i = 0; i < PAIRS_TRIES; i++) {
		const int64_t before = clock_mono_ns(clock);
		uint64_t other, error_ns;
		int64_t after;
		int err = read(ctx, &other);

		if (err)
			return err;
		after = clock_mono_ns(clock);
		error_ns = (uint64_t)(after - before) / 2 + 1;
		if (error_ns < pair->error_ns)
			*pair = (struct clock_pair){ before + (after - before) / 2, error_ns,
						     other };
	}
	return 0;
}

void clock_pairs_init(struct clock_pairs *p, enum clock_domain domain, struct clock_taker taker)
{
	*p = (struct clock_pairs){
		.taker = taker, .domain = domain, .flags = STRETCH_LOST,
	};
}

static int clock_pairs_put(struct clock_pairs *p, struct clock_stretch s, uint32_t flags)
{
	s.flags = flags;
	return p->taker.put(p->taker.ctx, p->domain, &s);
}

static struct clock_stretch clock_pairs_line(const struct clock_pair *pair, uint64_t rate,
					     uint64_t error_ns)
{
	return (struct clock_stretch){
		.from = pair->other, .mono_ns = pair->mono_ns, .mult = rate, .shift = RATE_SHIFT,
		.error_ns = error_ns,
	};
}

int clock_pairs_hold(struct clock_pairs *p)
{
	return p->rate ? clock_pairs_put(p, clock_pairs_line(&p->last, p->rate, p->error_ns),
					 STRETCH_HOLDS)
		       : 0;
}

static int clock_pairs_restart(struct clock_pairs *p, const struct clock_pair *pair)
{
	int err = clock_pairs_hold(p);

	p->losses++;
	p->flags = STRETCH_LOST;
	p->rate = 0;
	p->last = *pair;
	return err;
}

/*
 * Returns true if the rates of two successive stretches differ by more than the clocks' drift and
 * the errors of the readings allow.
 */
static bool clock_pairs_contradict(uint64_t rate, uint64_t before)
{
	const uint64_t apart = rate > before ? rate - before : before - rate;

	return apart > before / 1000000 * 2 * (PAIRS_DRIFT_PPM + 1000000 / WIDE);
}

/* Returns the largest error in ns by drift between two pairs: it is reached half way. */
static uint64_t clock_pairs_drift_ns(uint64_t distance)
{
	return (uint64_t)(((unsigned __int128)distance * PAIRS_DRIFT_PPM + 1999999) / 2000000);
}

int clock_pairs_add(struct clock_pairs *p, const struct clock_pair *pair)
{
	const int64_t distance = pair->mono_ns - p->last.mono_ns;
	const uint64_t wider = pair->error_ns > p->last.error_ns ? pair->error_ns :
								   p->last.error_ns;
	unsigned __int128 rate;
	uint64_t error_ns;
	int err;

	if (!p->begun) {
		p->begun = true;
		p->last = *pair;
		return 0;
	}
	if (distance <= 0 || (uint64_t)distance / WIDE < pair->error_ns + p->last.error_ns)
		return 0;
	if (pair->other <= p->last.other)
		return clock_pairs_restart(p, pair);
	rate = ((unsigned __int128)distance << RATE_SHIFT) / (pair->other - p->last.other);
	if (!rate || rate > UINT64_MAX ||
	    (p->rate && clock_pairs_contradict((uint64_t)rate, p->rate)))
		return clock_pairs_restart(p, pair);
	error_ns = wider + clock_pairs_drift_ns((uint64_t)distance) + 1;
	err = clock_pairs_put(p, clock_pairs_line(&p->last, (uint64_t)rate, error_ns), p->flags);
	if (error_ns > p->widest_ns)
		p->widest_ns = error_ns;
	p->rate = (uint64_t)rate;
	p->error_ns = error_ns;
	p->flags = 0;
	p->last = *pair;
	return err;
}
