/* SPDX-License-Identifier: Apache-2.0 */
/* What opens a stream: which hook measures each stage or why none does, and the clock. */
#include <errno.h>
#include <stdio.h>

#include "clock/clock.h"
#include "event/names.h"
#include "probe/packet/pkt_internal.h"

struct opening {
	const struct pkt_probe *probe;
	struct event_sink *sink;
	struct event_dict *dict;
	uint64_t now;
};

static uint32_t name_id(const struct opening *o, const char *text)
{
	return event_dict_intern(o->dict, DICT_STRING, text, o->sink, o->now);
}

static const char *binding_why(const struct pkt_probe *probe, const struct hook *h, int i)
{
	uint32_t bit = 1U << h->stage;
	const char *why = NULL;

	if (probe->status[i].state == HOOK_FAILED)
		return probe->status[i].why;
	if (h->stage == STAGE_SEGMENT && h->protocol == PROTO_UDP)
		pkt_sends_udp(probe, &why);
	if (why && probe->config.stages & bit)
		return why;
	return probe->config.stages & bit ? "not needed" : "not selected";
}

/* Before the stack a stage's numbers come from several hooks: why one of the others failed. */
static const char *helper_why(const struct pkt_probe *probe, const struct hook *h)
{
	uint32_t bit = STAGE_BIT(h->stage) & ARRIVAL_STAGES;

	for (int i = 0; hooks[i].target; i++)
		if (hooks[i].stage == STAGE_NONE && hooks[i].helps & bit &&
		    probe->status[i].state == HOOK_FAILED)
			return probe->status[i].why;
	return NULL;
}

static int put_binding(const struct opening *o, int i)
{
	const struct hook *h = &hooks[i];
	const char *missing = helper_why(o->probe, h);
	bool bound = o->probe->status[i].state == HOOK_BOUND && !missing &&
		     (o->probe->config.stages & (1U << h->stage));
	struct event_binding e = {
		.stage = h->stage, .direction = stage_direction(h->stage), .protocol = h->protocol,
		.bound = bound,
		.hook = name_id(o, h->target), .kind = name_id(o, hook_kind_name(h->kind)),
		.why = bound ? 0 : name_id(o, missing ? missing : binding_why(o->probe, h, i)),
	};

	return event_put(o->sink, EV_BINDING, o->now, &e, sizeof(e));
}

/* The hook that is bound; else the last of the ladder that was tried, with its reason. */
static int chosen(const struct pkt_probe *probe, int first, int end)
{
	int best = end - 1;

	for (int i = first; i < end; i++)
		if (probe->status[i].state == HOOK_BOUND)
			return i;
	while (best > first && probe->status[best].state != HOOK_FAILED)
		best--;
	return probe->status[best].state == HOOK_FAILED ? best : end - 1;
}

/* Behind `segment`, UDP is measured by TCP's hooks, if its send calls are seen. */
static int put_udp_sends(const struct opening *o)
{
	const char *why;
	bool calls = pkt_sends_udp(o->probe, &why);
	int err = 0;

	for (int i = 0; hooks[i].target && !err; i++) {
		const struct hook *h = &hooks[i];
		struct event_binding e = {
			.stage = h->stage, .direction = DIR_EGRESS, .protocol = PROTO_UDP,
			.hook = name_id(o, h->target), .kind = name_id(o, hook_kind_name(h->kind)),
		};

		if (h->protocol != PROTO_TCP || h->stage < STAGE_QDISC || h->stage > STAGE_SENT)
			continue;
		e.bound = calls && o->probe->status[i].state == HOOK_BOUND &&
			  (o->probe->config.stages & (1U << h->stage));
		if (!e.bound)
			e.why = name_id(o, why && (o->probe->config.stages & (1U << h->stage)) ?
				why : binding_why(o->probe, h, i));
		err = event_put(o->sink, EV_BINDING, o->now, &e, sizeof(e));
	}
	return err;
}

/* --probe: what is bound, or the last that was tried. */
static int put_function(const struct opening *o)
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
	e.hook = name_id(o, f->hook.target);
	e.kind = name_id(o, hook_kind_name(f->hook.kind));
	e.why = e.bound ? 0 : name_id(o, f->status.why);
	return event_put(o->sink, EV_BINDING, o->now, &e, sizeof(e));
}

static int put_bindings(const struct opening *o)
{
	int err = 0, end;

	for (int i = 0; hooks[i].target && !err; i = end) {
		for (end = i + 1; hooks[end].target && hooks[end].stage == hooks[i].stage &&
				  hooks[end].protocol == hooks[i].protocol;)
			end++;
		if (hooks[i].stage != STAGE_NONE)
			err = put_binding(o, chosen(o->probe, i, end));
	}
	if (!err)
		err = put_udp_sends(o);
	if (!err)
		err = put_function(o);
	return err;
}

/* A hook that only helps, and is refused: before the stack it is the stage's own reason. */
static int put_missing(const struct opening *o)
{
	char text[512];
	int err = 0;

	for (int i = 0; hooks[i].target && !err; i++) {
		const struct hook *h = &hooks[i];

		if (!h->without || h->slight || o->probe->status[i].state != HOOK_FAILED ||
		    !pkt_asked(o->probe, h->helps))
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

int pkt_describe(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict)
{
	const struct opening o = {
		.probe = probe, .sink = sink, .dict = dict, .now = clock_now(),
	};
	int err = put_bindings(&o);

	if (!err)
		err = put_missing(&o);
	if (!err)
		err = pkt_describe_others(probe, sink, o.now);
	return err ? err : pkt_clock(probe, sink);
}
