/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the events that open a stream: each stage's hook or why it has none, and the clock. */
#include <errno.h>
#include <stdio.h>

#include "clock/clock.h"
#include "event/names.h"
#include "probe/packet/hook_select.h"
#include "probe/packet/pkt_internal.h"
#include "probe/packet/pkt_probe.h"

struct opening {
	const struct pkt_probe *probe;
	struct event_sink *sink;
	struct event_dict *dict;
	uint64_t now;
};

static uint32_t describe_intern(const struct opening *o, const char *text)
{
	return event_dict_intern(o->dict, DICT_STRING, text, o->sink, o->now);
}

static const char *describe_why_unbound(const struct pkt_probe *probe, const struct pkt_hook *h,
					int i)
{
	uint32_t bit = 1U << h->stage;
	const char *why = NULL;

	if (probe->status[i].state == HOOK_FAILED)
		return probe->status[i].why;
	if (h->stage == STAGE_SEGMENT && h->protocol == PROTO_UDP)
		pkt_udp_sends_bound(probe, &why);
	if (why && probe->config.stages & bit)
		return why;
	return probe->config.stages & bit ? "not needed" : "not selected";
}

/*
 * Returns the reason if the stage of `h` is before the network stack and a hook that it needs
 * besides its own has failed; else NULL.
 */
static const char *describe_why_helper_failed(const struct pkt_probe *probe,
					      const struct pkt_hook *h)
{
	uint32_t bit = STAGE_BIT(h->stage) & ARRIVAL_STAGES;

	for (int i = 0; pkt_hooks[i].at.target; i++)
		if (pkt_hooks[i].stage == STAGE_NONE && pkt_hooks[i].helps & bit &&
		    probe->status[i].state == HOOK_FAILED)
			return probe->status[i].why;
	return NULL;
}

static int describe_put_binding(const struct opening *o, int i)
{
	const struct pkt_hook *h = &pkt_hooks[i];
	const char *missing = describe_why_helper_failed(o->probe, h);
	bool bound = o->probe->status[i].state == HOOK_BOUND && !missing &&
		     (o->probe->config.stages & (1U << h->stage));
	struct event_binding e = {
		.stage = h->stage, .direction = stage_direction(h->stage), .protocol = h->protocol,
		.bound = bound, .hook = describe_intern(o, h->at.target),
		.kind = describe_intern(o, hook_kind_name(h->at.kind)),
		.why = bound ? 0
			     : describe_intern(o, missing ? missing
							  : describe_why_unbound(o->probe, h, i)),
	};

	return event_put(o->sink, EV_BINDING, o->now, &e, sizeof(e));
}

/*
 * Returns the index of the bound hook among pkt_hooks[first] to pkt_hooks[end - 1]. If none is
 * bound, returns the last failed hook, which has a reason, or else the last hook.
 */
static int describe_pick_hook(const struct pkt_probe *probe, int first, int end)
{
	int best = end - 1;

	for (int i = first; i < end; i++)
		if (probe->status[i].state == HOOK_BOUND)
			return i;
	while (best > first && probe->status[best].state != HOOK_FAILED)
		best--;
	return probe->status[best].state == HOOK_FAILED ? best : end - 1;
}

/*
 * Puts an EV_BINDING for each transmit stage of UDP from `qdisc` on. These stages use the hooks of
 * TCP, and are bound only if UDP's send calls have hooks.
 */
static int describe_put_udp_sends(const struct opening *o)
{
	const char *why;
	bool calls = pkt_udp_sends_bound(o->probe, &why);
	int err = 0;

	for (int i = 0; pkt_hooks[i].at.target && !err; i++) {
		const struct pkt_hook *h = &pkt_hooks[i];
		struct event_binding e = {
			.stage = h->stage, .direction = DIR_EGRESS, .protocol = PROTO_UDP,
			.hook = describe_intern(o, h->at.target),
			.kind = describe_intern(o, hook_kind_name(h->at.kind)),
		};

		if (h->protocol != PROTO_TCP || h->stage == STAGE_SEGMENT ||
		    !(STAGE_BIT(h->stage) & SENDING_STAGES))
			continue;
		e.bound = calls && o->probe->status[i].state == HOOK_BOUND &&
			  (o->probe->config.stages & (1U << h->stage));
		if (!e.bound)
			e.why = describe_intern(o,
						why && (o->probe->config.stages & (1U << h->stage))
							? why
							: describe_why_unbound(o->probe, h, i));
		err = event_put(o->sink, EV_BINDING, o->now, &e, sizeof(e));
	}
	return err;
}

/*
 * Puts the EV_BINDING of --probe's target: of the bound candidate (function or tracepoint), or else
 * of the last candidate tried.
 */
static int describe_put_function(const struct opening *o)
{
	const struct pkt_probe *probe = o->probe;
	const struct function *f = NULL;
	struct event_binding e = { .stage = STAGE_PROBE, .direction = DIR_INGRESS };

	for (uint32_t i = 0; i < probe->n_functions; i++)
		if (!f || f->status.state != HOOK_BOUND)
			f = &probe->functions[i];
	if (!f)
		return 0;
	e.bound = f->status.state == HOOK_BOUND;
	e.hook = describe_intern(o, f->hook.at.target);
	e.kind = describe_intern(o, hook_kind_name(f->hook.at.kind));
	e.why = e.bound ? 0 : describe_intern(o, f->status.why);
	return event_put(o->sink, EV_BINDING, o->now, &e, sizeof(e));
}

static int describe_put_bindings(const struct opening *o)
{
	int err = 0, end;

	for (int i = 0; pkt_hooks[i].at.target && !err; i = end) {
		for (end = i + 1; pkt_hooks[end].at.target &&
				  pkt_hooks[end].stage == pkt_hooks[i].stage &&
				  pkt_hooks[end].protocol == pkt_hooks[i].protocol;)
			end++;
		if (pkt_hooks[i].stage != STAGE_NONE)
			err = describe_put_binding(o, describe_pick_hook(o->probe, i, end));
	}
	if (!err)
		err = describe_put_udp_sends(o);
	if (!err)
		err = describe_put_function(o);
	return err;
}

/* Puts an EV_FACT for each failed hook that measures no stage itself: what is lost without it. */
static int describe_put_missing(const struct opening *o)
{
	char text[512];
	int err = 0;

	for (int i = 0; pkt_hooks[i].at.target && !err; i++) {
		const struct pkt_hook *h = &pkt_hooks[i];

		if (!h->without || h->slight || o->probe->status[i].state != HOOK_FAILED ||
		    !pkt_stages_selected(o->probe, h->helps))
			continue;
		snprintf(text, sizeof(text), "%x %s; without it, %s", h->helps,
			 o->probe->status[i].why, h->without);
		err = event_put_fact(o->sink, o->now, "missing", text);
		if (!err && h->role == ROLE_RECEIVED_DROPS)
			err = event_put_fact(o->sink, o->now, "drops", "received unknown");
		if (!err && h->role == ROLE_SENT_DROPS)
			err = event_put_fact(o->sink, o->now, "drops", "sent unknown");
	}
	return err;
}

int pkt_probe_describe(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict)
{
	const struct opening o = {
		.probe = probe, .sink = sink, .dict = dict, .now = clock_now(),
	};
	int err = describe_put_bindings(&o);

	if (!err)
		err = describe_put_missing(&o);
	if (!err)
		err = pkt_describe_other_traffic(probe, sink, o.now);
	return err ? err : pkt_probe_clock(probe, sink);
}
