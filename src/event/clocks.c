// SPDX-License-Identifier: Apache-2.0
#include "event/clocks.h"

#include <errno.h>

#define NS_PER_S 1000000000ULL

_Static_assert(PARAM_STEP == (int)STRETCH_STEP && PARAM_LOST == (int)STRETCH_LOST &&
	       PARAM_HOLDS == (int)STRETCH_HOLDS, "the flags of a stretch are a parameter's");

/* ---- writing ---- */

/* Of a counter, as its first stretch has it. */
static uint64_t ticks_per_second(const struct clock_stretch *s)
{
	unsigned __int128 ticks = ((unsigned __int128)NS_PER_S << s->shift) / s->mult;

	return ticks <= UINT64_MAX ? (uint64_t)ticks : 0;
}

static int declare(struct event_clocks_out *out, enum clock_domain domain,
		   const struct clock_stretch *s)
{
	const struct event_domain d = {
		.id = domain, .type = domain,
		.ticks_per_second = domain == DOMAIN_TSC ? ticks_per_second(s) : NS_PER_S,
	};

	return event_put(out->sink, EV_DOMAIN, (uint64_t)s->mono_ns, &d, sizeof(d));
}

static int put(void *ctx, enum clock_domain domain, const struct clock_stretch *s)
{
	struct event_clocks_out *out = ctx;
	const struct event_clock_param param = {
		.domain = domain, .flags = s->flags, .from_ticks = s->from,
		.mono_ns = (uint64_t)s->mono_ns, .mult = s->mult, .shift = s->shift,
		.error_ns = s->error_ns, .fraction = s->fraction, .seq = out->seq[domain] + 1,
	};
	int err = out->seq[domain] ? 0 : declare(out, domain, s);

	out->seq[domain]++;
	return err ? err : event_put(out->sink, EV_CLOCK_PARAM, (uint64_t)s->mono_ns, &param,
				     sizeof(param));
}

struct clock_taker event_clocks_taker(struct event_clocks_out *out, struct event_sink *sink)
{
	*out = (struct event_clocks_out){ .sink = sink };
	return (struct clock_taker){ .put = put, .ctx = out };
}

/* ---- reading ---- */

void event_clocks_init(struct event_clocks *clocks)
{
	*clocks = (struct event_clocks){ .refused = 0 };
	clock_reconcile_init(&clocks->reconcile);
}

void event_clocks_release(struct event_clocks *clocks)
{
	clock_reconcile_release(&clocks->reconcile);
}

enum clock_domain event_clocks_domain(const struct event_clocks *clocks, uint32_t id)
{
	for (int i = 0; id && i < DOMAIN_COUNT; i++) {
		if (clocks->ids[i] == id)
			return i;
	}
	return DOMAIN_NONE;
}

static void take_domain(struct event_clocks *clocks, const struct event_domain *d)
{
	if (d->type > DOMAIN_MONO && d->type < DOMAIN_COUNT && !clocks->ids[d->type])
		clocks->ids[d->type] = d->id;
}

/* What a gap in the numbers leaves of a parameter: it says what holds, not since when. */
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

static int take_param(struct event_clocks *clocks, const struct event *event)
{
	struct event_clock_param param;
	struct clock_stretch s;
	enum clock_domain domain;
	int err;

	event_copy(event, &param, sizeof(param));
	domain = event_clocks_domain(clocks, param.domain);
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

int event_clocks_take(struct event_clocks *clocks, const struct event *event)
{
	if (event->kind == EV_DOMAIN)
		take_domain(clocks, event->payload);
	else if (event->kind == EV_CLOCK_PARAM)
		return take_param(clocks, event);
	return 0;
}
