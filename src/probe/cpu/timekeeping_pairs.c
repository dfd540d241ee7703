/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/cpu/timekeeping_pairs.h"

#include <errno.h>
#include <stdlib.h>

#include "clock/clock.h"
#include "clock/follow.h"
#include "clock/pairs.h"
#include "clock/tsc.h"
#include "probe/cpu/timekeeping_sched.h"

#define NS_PER_S 1000000000LL
#define HOLD_NS NS_PER_S

/* Distance of a clock to the monotonic clock, constant until the clock is set. */
struct distance {
	enum clock_domain domain;
	bool reported;
	int64_t ns;        /* last reported distance, with the bound error_ns */
	uint64_t error_ns;
	int64_t reported_ns;   /* monotonic time of the last report */
	int64_t seen_ns;   /* monotonic time when the distance was last confirmed */
};

enum { PAIR_TSC, PAIR_SCHED, PAIRS };
enum { REALTIME, TAI, DISTANCES };

struct timekeeping_pairs {
	struct clock_taker taker;
	struct sched_reader sched;
	struct clock_pairs pairs[PAIRS];
	bool has[PAIRS];
	/* reads REALTIME's and TAI's distances; NULL: they are not read */
	struct clock_follow *follow;
	struct distance distances[DISTANCES];
	int64_t paired_ns, followed_ns;
};

/* ---- pairs ---- */

static int timekeeping_pairs_read_tsc(void *ctx, uint64_t *ticks)
{
	(void)ctx;
	*ticks = clock_tsc();
	return 0;
}

static const struct {
	enum clock_domain domain;
	clock_read_other *read;
} kinds[PAIRS] = {
	[PAIR_TSC] = { DOMAIN_TSC, timekeeping_pairs_read_tsc },
	[PAIR_SCHED] = { DOMAIN_SCHED, sched_reader_read },
};

static int timekeeping_pairs_pull_all(struct timekeeping_pairs *p)
{
	int err = 0;

	for (int i = 0; i < PAIRS && !err; i++) {
		struct clock_pair pair;

		/* A failed reading is repeated next time; the error bound grows meanwhile. */
		if (p->has[i] && !clock_pair_read(kinds[i].read, &p->sched, &pair))
			err = clock_pairs_add(&p->pairs[i], &pair);
	}
	return err;
}

/* ---- distances ---- */

static int timekeeping_pairs_put_distance(struct timekeeping_pairs *p, const struct distance *d,
					  int64_t mono_ns, uint32_t flags)
{
	const struct clock_stretch s = {
		.from = (uint64_t)(mono_ns + d->ns), .mono_ns = mono_ns, .mult = 1,
		.error_ns = d->error_ns, .flags = flags,
	};

	if (mono_ns + d->ns < 0)
		return 0; /* a clock before 1970 is not set: nothing to report */
	return p->taker.put(p->taker.ctx, d->domain, &s);
}

static int timekeeping_pairs_report(struct timekeeping_pairs *p, struct distance *d,
				    int64_t mono_ns, int64_t ns, uint64_t error_ns, uint32_t flags)
{
	d->ns = ns;
	d->error_ns = error_ns;
	d->reported = true;
	d->reported_ns = d->seen_ns = mono_ns;
	return timekeeping_pairs_put_distance(p, d, mono_ns, flags);
}

/*
 * Reports a clock's distance to the monotonic clock: when it is new, after a step, and once its
 * error bound has halved. While the distance stays, reports once a second that it holds.
 */
static int timekeeping_pairs_add_distance(struct timekeeping_pairs *p, struct distance *d,
					  int64_t mono_ns, int64_t ns, uint64_t error_ns,
					  bool stepped)
{
	int err = 0;

	if (!d->reported)
		return timekeeping_pairs_report(p, d, mono_ns, ns, error_ns, STRETCH_LOST);
	if (stepped) {
		if (d->seen_ns > d->reported_ns)
			err = timekeeping_pairs_put_distance(p, d, d->seen_ns, STRETCH_HOLDS);
		return err ? err : timekeeping_pairs_report(p, d, mono_ns, ns, error_ns,
							    STRETCH_STEP | STRETCH_LOST);
	}
	if (error_ns * 2 <= d->error_ns && mono_ns - d->reported_ns > 2 * (int64_t)d->error_ns)
		return timekeeping_pairs_report(p, d, mono_ns, ns, error_ns, 0);
	d->seen_ns = mono_ns;
	if (mono_ns - d->reported_ns < HOLD_NS)
		return 0;
	d->reported_ns = mono_ns;
	return timekeeping_pairs_put_distance(p, d, mono_ns, STRETCH_HOLDS);
}

static int timekeeping_pairs_pull_distances(struct timekeeping_pairs *p)
{
	struct clock_follow_params params;
	int64_t tai_ns;
	bool tai_set;
	int err;

	if (clock_follow_update(p->follow, &params))
		return 0; /* the clock is set faster than it can be read: retry next time */
	tai_ns = params.offset_ns + params.tai_offset_s * NS_PER_S;
	/* A leap second sets REALTIME, but not TAI. */
	tai_set = params.stepped && p->distances[TAI].reported &&
		  llabs(tai_ns - p->distances[TAI].ns) >
			  (int64_t)(params.error_ns + p->distances[TAI].error_ns);
	err = timekeeping_pairs_add_distance(p, &p->distances[REALTIME], params.mono_ns,
					     params.offset_ns, params.error_ns,
					     params.step_ns != 0);
	if (!err)
		err = timekeeping_pairs_add_distance(p, &p->distances[TAI], params.mono_ns, tai_ns,
						     params.error_ns, tai_set);
	return err;
}

/* ---- interface ---- */

int timekeeping_pairs_open(struct timekeeping_pairs **out, struct clock_taker taker,
			   bool sched_only)
{
	static const enum clock_domain domains[DISTANCES] = {
		[REALTIME] = DOMAIN_REALTIME, [TAI] = DOMAIN_TAI,
	};
	struct timekeeping_pairs *p = calloc(1, sizeof(*p));
	int err = 0;

	*out = NULL;
	if (!p)
		return -ENOMEM;
	p->taker = taker;
	p->has[PAIR_SCHED] = !sched_reader_open(&p->sched);
	p->has[PAIR_TSC] = CLOCK_HAS_TSC && !sched_only;
	for (int i = 0; i < PAIRS; i++)
		clock_pairs_init(&p->pairs[i], kinds[i].domain, taker);
	for (int i = 0; i < DISTANCES; i++)
		p->distances[i].domain = domains[i];
	if (!sched_only)
		err = clock_follow_open(&p->follow, clock_system());
	if (err) {
		timekeeping_pairs_free(p);
		return err;
	}
	*out = p;
	return 0;
}

void timekeeping_pairs_free(struct timekeeping_pairs *p)
{
	if (!p)
		return;
	sched_reader_close(&p->sched);
	clock_follow_free(p->follow);
	free(p);
}

int timekeeping_pairs_pull(struct timekeeping_pairs *p)
{
	const int64_t now = clock_mono_ns(clock_system());
	int err = 0;

	if (now - p->paired_ns >= TIMEKEEPING_PAIR_NS) {
		p->paired_ns = now;
		err = timekeeping_pairs_pull_all(p);
	}
	if (!err && p->follow && now - p->followed_ns >= TIMEKEEPING_FOLLOW_NS) {
		p->followed_ns = now;
		err = timekeeping_pairs_pull_distances(p);
	}
	return err;
}

int timekeeping_pairs_hold(struct timekeeping_pairs *p)
{
	int err = 0;

	for (int i = 0; i < PAIRS && !err; i++)
		err = p->has[i] ? clock_pairs_hold(&p->pairs[i]) : 0;
	for (int i = 0; i < DISTANCES && !err; i++) {
		struct distance *d = &p->distances[i];

		if (d->reported && d->seen_ns > d->reported_ns)
			err = timekeeping_pairs_put_distance(p, d, d->seen_ns, STRETCH_HOLDS);
	}
	return err;
}

uint64_t timekeeping_pairs_bound_ns(const struct timekeeping_pairs *p, enum clock_domain domain)
{
	for (int i = 0; i < PAIRS; i++) {
		if (kinds[i].domain == domain && p->has[i])
			return p->pairs[i].widest_ns;
	}
	return 0;
}
