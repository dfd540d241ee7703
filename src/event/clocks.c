/* SPDX-License-Identifier: Apache-2.0 */
#include "event/clocks.h"

#include <errno.h>

#define NS_PER_S 1000000000ULL

_Static_assert(PARAM_STEP == (int)STRETCH_STEP && PARAM_LOST == (int)STRETCH_LOST &&
	       PARAM_HOLDS == (int)STRETCH_HOLDS, "the flags of a stretch are a parameter's");

/* ---- writing ---- */

/* Returns the frequency in Hz of the clock that `s` converts to ns; 0 if it exceeds 64 bits. */
static uint64_t ticks_per_second(const struct clock_stretch *s)
{
	unsigned __int128 ticks = ((unsigned __int128)NS_PER_S << s->shift) / s->mult;

	return ticks <= UINT64_MAX ? (uint64_t)ticks : 0;
}

static int event_clocks_declare(struct event_clocks_out *out, enum clock_domain domain,
				const struct clock_stretch *s)
{
	const struct event_domain d = {
		.id = domain, .type = domain,
		.ticks_per_second = domain == DOMAIN_TSC ? ticks_per_second(s) : NS_PER_S,
	};

	return event_put(out->sink, EV_DOMAIN, (uint64_t)s->mono_ns, &d, sizeof(d));
}

static int event_clocks_put(void *ctx, enum clock_domain domain, const struct clock_stretch *s)
{
	struct event_clocks_out *out = ctx;
	const struct event_clock_param param = {
		.domain = domain, .flags = s->flags, .from_ticks = s->from,
		.mono_ns = (uint64_t)s->mono_ns, .mult = s->mult, .shift = s->shift,
		.error_ns = s->error_ns, .fraction = s->fraction, .seq = out->seq[domain] + 1,
	};
	int err = out->seq[domain] ? 0 : event_clocks_declare(out, domain, s);

	out->seq[domain]++;
	return err ? err : event_put(out->sink, EV_CLOCK_PARAM, (uint64_t)s->mono_ns, &param,
				     sizeof(param));
}

struct clock_taker event_clocks_taker(struct event_clocks_out *out, struct event_sink *sink)
{
	*out = (struct event_clocks_out){ .sink = sink };
	return (struct clock_taker){ .put = event_clocks_put, .ctx = out };
}

/* ---- reading ---- */

void event_clocks_init(struct event_clocks *clocks, uint32_t domains)
{
	*clocks = (struct event_clocks){ .domains = domains };
	clock_reconcile_init(&clocks->reconcile);
	clock_reconcile_init(&clocks->followed);
}

void event_clocks_release(struct event_clocks *clocks)
{
	clock_reconcile_release(&clocks->reconcile);
	clock_reconcile_release(&clocks->followed);
}

static enum clock_domain domain_of(const struct event_clocks *clocks, uint32_t id)
{
	for (int i = 0; id && i < DOMAIN_COUNT; i++) {
		if (clocks->ids[i] == id)
			return i;
	}
	return DOMAIN_NONE;
}

static void event_clocks_add_domain(struct event_clocks *clocks, const struct event_domain *d)
{
	if (d->type > DOMAIN_MONO && d->type < DOMAIN_COUNT && !clocks->ids[d->type] &&
	    clocks->domains & 1U << d->type)
		clocks->ids[d->type] = d->id;
}

/*
 * Returns the flags of an EV_CLOCK_PARAM. After a gap in the sequence numbers, the clock is unknown
 * since the previous EV_CLOCK_PARAM (PARAM_LOST), which is not confirmed (no PARAM_HOLDS).
 */
static uint32_t flags_of(struct event_clocks *clocks, enum clock_domain domain,
			 const struct event_clock_param *param)
{
	const uint32_t flags = param->flags & (PARAM_STEP | PARAM_LOST | PARAM_HOLDS);
	const uint32_t last = clocks->seq[domain];

	if (!param->seq || param->seq == last + 1)
		return flags;
	clocks->missing += param->seq > last ? param->seq - last - 1 : 0;
	return (flags & ~(uint32_t)PARAM_HOLDS) | PARAM_LOST;
}

static int event_clocks_add_param(struct event_clocks *clocks, const struct event *event)
{
	struct event_clock_param param;
	struct clock_stretch s;
	enum clock_domain domain;
	int err;

	event_copy(event, &param, sizeof(param));
	domain = domain_of(clocks, param.domain);
	if (domain == DOMAIN_NONE)
		return 0;
	s = (struct clock_stretch){
		.from = param.from_ticks, .mono_ns = (int64_t)param.mono_ns,
		.fraction = param.fraction, .mult = param.mult, .shift = param.shift,
		.error_ns = param.error_ns, .flags = flags_of(clocks, domain, &param),
	};
	err = clock_reconcile_add(&clocks->reconcile, domain, &s);
	if (err == -EINVAL || err == -E2BIG) {
		clocks->refused++;
		return 0;
	}
	if (!err)
		clocks->seq[domain] = param.seq;
	return err;
}

/* A constant offset is stored again after so many ns: half of clock/reconcile.c's limit. */
#define FOLLOWED_NS_MAX (1ULL << 53)

/*
 * Stores that CLOCK_REALTIME is CLOCK_MONOTONIC plus `offset_ns` from `mono_ns` on. An EV_CLOCK
 * that contradicts earlier ones is ignored. Returns 0 or -ENOMEM.
 */
static int follow_realtime(struct event_clocks *clocks, uint64_t mono_ns, int64_t offset_ns,
		  uint64_t error_ns, uint32_t flags)
{
	const struct clock_stretch s = {
		.from = mono_ns + (uint64_t)offset_ns, .mono_ns = (int64_t)mono_ns, .mult = 1,
		.error_ns = error_ns, .flags = flags,
	};
	const int err = clock_reconcile_add(&clocks->followed, DOMAIN_REALTIME, &s);

	return err == -ENOMEM ? err : 0;
}

static int64_t followed_offset(const struct clock_stretch *line)
{
	return (int64_t)(line->from - (uint64_t)line->mono_ns);
}

/* Returns the stretch of time with the last EV_CLOCK's offset; NULL before the first EV_CLOCK. */
static const struct clock_stretch *followed_last(const struct event_clocks *clocks)
{
	const struct clock_log *log = &clocks->followed.logs[DOMAIN_REALTIME];

	return log->known.len ? &vec_last(&log->known)->line : NULL;
}

/*
 * Returns the monotonic time since which the first EV_CLOCK's offset holds: before all events, as
 * recorders follow the clock before they attach hooks. It is FOLLOWED_NS_MAX back, not before 1970.
 */
static uint64_t first_since(uint64_t mono_ns, int64_t offset_ns)
{
	const uint64_t epoch = offset_ns < 0 ? 0 - (uint64_t)offset_ns : 0;
	const uint64_t since = mono_ns > FOLLOWED_NS_MAX ? mono_ns - FOLLOWED_NS_MAX : 0;

	return since > epoch ? since : epoch;
}

static bool same_line(const struct clock_stretch *last, const struct event_clock *clock)
{
	return last->error_ns == clock->error_ns &&
	       followed_offset(last) == clock->realtime_minus_mono_ns &&
	       clock->mono_ns - (uint64_t)last->mono_ns < FOLLOWED_NS_MAX;
}

static int event_clocks_add_followed(struct event_clocks *clocks, const struct event_clock *clock)
{
	const struct clock_stretch *last = followed_last(clocks);
	const int64_t offset_ns = clock->realtime_minus_mono_ns;
	uint32_t flags = 0;
	int err = 0;

	clocks->has_clock = true;
	if (!clocks->has_intervals)
		clocks->end_ns = clock->mono_ns;
	if (clock->flags & CLOCK_STEPPED)
		flags = STRETCH_STEP | STRETCH_LOST;
	else if (!last || same_line(last, clock))
		flags = STRETCH_HOLDS;
	if (!last && flags == STRETCH_HOLDS)
		err = follow_realtime(clocks, first_since(clock->mono_ns, offset_ns), offset_ns,
				      clock->error_ns, 0);
	if (!err)
		err = follow_realtime(clocks, clock->mono_ns, offset_ns, clock->error_ns, flags);
	return err;
}

static int event_clocks_add_interval(struct event_clocks *clocks, const struct event *event)
{
	const struct clock_stretch *last = followed_last(clocks);
	const bool holds = last && clocks->has_clock;
	struct event_interval interval;

	event_copy(event, &interval, sizeof(interval));
	clocks->has_intervals = true;
	clocks->has_clock = false;
	clocks->end_ns = interval.to_ns;
	return holds ? follow_realtime(clocks, interval.to_ns, followed_offset(last),
				      last->error_ns, STRETCH_HOLDS) : 0;
}

int event_clocks_add(struct event_clocks *clocks, const struct event *event)
{
	if (!clocks->begin_ns)
		clocks->begin_ns = event->time;
	if (!clocks->has_intervals && !followed_last(clocks))
		clocks->end_ns = event->time;
	switch (event->kind) {
	case EV_DOMAIN:
		event_clocks_add_domain(clocks, event->payload);
		return 0;
	case EV_CLOCK_PARAM:
		return event_clocks_add_param(clocks, event);
	case EV_CLOCK:
		return event_clocks_add_followed(clocks, event->payload);
	case EV_INTERVAL:
		return event_clocks_add_interval(clocks, event);
	default:
		return 0;
	}
}

/* ---- CLOCK_REALTIME ---- */

bool event_clocks_has_realtime(const struct event_clocks *clocks)
{
	return clocks->reconcile.logs[DOMAIN_REALTIME].known.len || followed_last(clocks);
}

int event_clocks_realtime(const struct event_clocks *clocks, uint64_t mono_ns,
			  struct clock_time *realtime)
{
	const int64_t t = mono_ns <= CONVERT_TIME_MAX ? (int64_t)mono_ns : -1;

	if (!clock_reconcile_convert(&clocks->reconcile, DOMAIN_MONO, DOMAIN_REALTIME, t, realtime))
		return 0;
	return clock_reconcile_convert(&clocks->followed, DOMAIN_MONO, DOMAIN_REALTIME, t,
				       realtime);
}

static const struct clock_reconcile *best_log(const struct event_clocks *clocks)
{
	return clocks->reconcile.logs[DOMAIN_REALTIME].known.len ? &clocks->reconcile :
								   &clocks->followed;
}

bool event_clocks_realtime_step(const struct event_clocks *clocks, size_t *at,
				struct clock_step *step)
{
	while (clock_reconcile_step(best_log(clocks), DOMAIN_REALTIME, (*at)++, step))
		if (step->by_ns)
			return true;
	return false;
}
