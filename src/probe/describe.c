/* SPDX-License-Identifier: Apache-2.0 */
/* What opens a stream: which hook measures each stage or why none does, and the clock. */
#include <errno.h>

#include "clock/clock.h"
#include "probe/watch_internal.h"

struct opening {
	const struct watch_probe *probe;
	struct event_sink *sink;
	struct event_dict *dict;
	uint64_t now;
};

static uint32_t name_id(const struct opening *o, const char *text)
{
	return event_dict_intern(o->dict, DICT_STRING, text, o->sink, o->now);
}

static const char *binding_why(const struct watch_probe *probe, const struct hook *h, int i)
{
	uint32_t bit = 1U << h->stage;

	if (probe->status[i].state == HOOK_FAILED)
		return probe->status[i].why;
	return probe->config.stages & bit ? "not needed" : "not selected";
}

static int put_binding(const struct opening *o, int i)
{
	const struct hook *h = &hooks[i];
	bool bound = o->probe->status[i].state == HOOK_BOUND &&
		     (o->probe->config.stages & (1U << h->stage));
	struct event_binding e = {
		.stage = h->stage, .direction = DIR_INGRESS, .protocol = h->protocol,
		.bound = bound,
		.hook = name_id(o, h->target), .kind = name_id(o, hook_kind_name(h->kind)),
		.why = bound ? 0 : name_id(o, binding_why(o->probe, h, i)),
	};

	return event_put(o->sink, EV_BINDING, o->now, &e, sizeof(e));
}

/* The hook that is bound; else the last of the ladder, with its reason. */
static int put_bindings(const struct opening *o)
{
	int err = 0;

	for (int i = 0; hooks[i].target && !err; i++) {
		const struct hook *next = &hooks[i + 1];
		enum hook_state state = o->probe->status[i].state;
		bool last = next->stage != hooks[i].stage || next->protocol != hooks[i].protocol;
		bool other = false;

		if (hooks[i].stage == STAGE_NONE)
			continue;
		for (int j = 0; hooks[j].target; j++)
			other |= j != i && hooks[j].stage == hooks[i].stage &&
				 hooks[j].protocol == hooks[i].protocol &&
				 o->probe->status[j].state == HOOK_BOUND;
		if (state == HOOK_BOUND || (last && !other))
			err = put_binding(o, i);
	}
	return err;
}

int watch_describe(struct watch_probe *probe, struct event_sink *sink, struct event_dict *dict)
{
	const struct opening o = {
		.probe = probe, .sink = sink, .dict = dict, .now = clock_mono_ns(clock_system()),
	};
	int err = put_bindings(&o);

	return err ? err : watch_clock(probe, sink);
}
