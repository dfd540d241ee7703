/* SPDX-License-Identifier: Apache-2.0 */
#include "load/convert.h"

#include <errno.h>

#include "load/config.h"

#define FLOW_NUMBERS LOAD_FLOW(1, 0) /* flow numbers of one agent are below FLOW_NUMBERS */

static int convert_time(const struct convert *c, __u64 *ns)
{
	uint64_t ours;

	if (!offset_to_ours(&c->offset, *ns, &ours) || ours >= c->until_ns)
		return -EBADMSG;
	*ns = ours;
	return 0;
}

/* ---- samples ---- */

static int convert_sample(const struct convert *c, struct event_sample *s)
{
	if (s->sent < s->intended || s->done < s->sent || s->flow >= FLOW_NUMBERS ||
	    convert_time(c, &s->intended) || convert_time(c, &s->sent) ||
	    convert_time(c, &s->done) || s->intended < c->from_ns)
		return -EBADMSG;
	s->flow = LOAD_FLOW(c->agent, s->flow);
	s->flags &= ~SAMPLE_PROBE;
	s->flags |= c->probe ? SAMPLE_PROBE : 0;
	return 0;
}

int convert_samples(const struct convert *c, const struct event_block *in, uint32_t *at,
		    struct event_sample to[CONVERT_SAMPLES], struct event_block *out)
{
	uint32_t n = 0;

	if (in->core >= LOAD_THREADS_MAX || *at >= in->count)
		return -EBADMSG;
	*out = (struct event_block){
		.kind = EV_SAMPLE,
		.core = LOAD_CORE(c->agent, in->core),
		.record_size = sizeof(*to),
		.first = UINT64_MAX,
		.reach = UINT64_MAX,
		.data = to,
	};
	for (; n < CONVERT_SAMPLES && *at < in->count; n++, ++*at) {
		event_block_copy(in, *at, &to[n], sizeof(to[n]));
		if (convert_sample(c, &to[n]))
			return -EBADMSG;
		out->first = to[n].done < out->first ? to[n].done : out->first;
		out->last = to[n].done > out->last ? to[n].done : out->last;
		out->reach = to[n].intended < out->reach ? to[n].intended : out->reach;
	}
	out->count = n;
	out->size = n * sizeof(*to);
	return 0;
}

/* ---- records ---- */

/* Whether an agent's request counters add up to the scheduled requests, without overflow. */
static bool convert_counters_balance(const struct event_load *l)
{
	__u64 sum;

	return !__builtin_add_overflow(l->completed, l->failed, &sum) &&
	       !__builtin_add_overflow(sum, l->unsent, &sum) &&
	       !__builtin_add_overflow(sum, l->in_flight, &sum) && sum == l->scheduled;
}

static int convert_load(const struct convert *c, const struct event *event, uint64_t time,
			struct event_sink *sink)
{
	struct event_load load;

	event_copy(event, &load, sizeof(load));
	if (!convert_counters_balance(&load) || load.misses > load.completed ||
	    convert_time(c, &load.oldest_ns))
		return -EBADMSG;
	if (load.flags & LOAD_STARTED &&
	    (convert_time(c, &load.started_ns) || load.started_ns < c->from_ns))
		return -EBADMSG;
	load.agent = c->agent;
	return event_put(sink, EV_LOAD, time, &load, sizeof(load));
}

static int convert_interference(const struct convert *c, const struct event *event, uint64_t time,
				struct event_sink *sink)
{
	struct event_noise noise;

	event_copy(event, &noise, sizeof(noise));
	if (noise.end < noise.begin || convert_time(c, &noise.begin) || convert_time(c, &noise.end))
		return -EBADMSG;
	noise.agent = c->agent;
	return event_put(sink, EV_NOISE, time, &noise, sizeof(noise));
}

/* Converts a flow; drops the network namespace number, which is valid on the agent's host only. */
static int convert_flow(const struct convert *c, const struct event *event, uint64_t time,
			struct event_sink *sink)
{
	struct event_flow flow;

	event_copy(event, &flow, sizeof(flow));
	if (flow.id >= FLOW_NUMBERS)
		return -EBADMSG;
	flow.id = LOAD_FLOW(c->agent, flow.id);
	flow.netns = 0;
	return event_put(sink, EV_FLOW, time, &flow, sizeof(flow));
}

/*
 * Converts a clock reading: realtime minus the coordinator's clock is (realtime - agent's clock) +
 * (agent's clock - coordinator's clock).
 */
static int convert_clock(const struct convert *c, const struct event *event, uint64_t time,
			 struct event_sink *sink)
{
	struct event_clock clock;

	event_copy(event, &clock, sizeof(clock));
	if (convert_time(c, &clock.mono_ns) ||
	    __builtin_add_overflow(clock.realtime_minus_mono_ns, c->offset.ns,
				   &clock.realtime_minus_mono_ns) ||
	    __builtin_add_overflow(clock.error_ns, c->offset.error_ns, &clock.error_ns))
		return -EBADMSG;
	return event_put(sink, EV_CLOCK, time, &clock, sizeof(clock));
}

int convert_record(const struct convert *c, const struct event *event, struct event_sink *sink)
{
	__u64 time = event->time;

	if (convert_time(c, &time))
		return -EBADMSG;
	switch (event->kind) {
	case EV_LOAD:
		return convert_load(c, event, time, sink);
	case EV_NOISE:
		return convert_interference(c, event, time, sink);
	case EV_FLOW:
		return convert_flow(c, event, time, sink);
	case EV_CLOCK:
		return c->clock ? convert_clock(c, event, time, sink) : 0;
	default:
		return 0;
	}
}
