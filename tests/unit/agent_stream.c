/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_stream.h"

#include "base/bug.h"
#include "base/version.h"
#include "load/agent.h"
#include "load/config.h"

const char *stream_priority;

static void say(struct event_writer *w, uint64_t now, const char *key, const char *value)
{
	BUG_ON(event_put_fact(event_writer_sink(w), now, key, value));
	BUG_ON(event_writer_flush(w));
}

void stream_hello(struct event_writer *w, uint64_t now)
{
	say(w, now, AGENT_VERSION, hostlat_version());
	say(w, now, "run.host", "far");
	if (stream_priority)
		say(w, now, AGENT_PRIORITY, stream_priority);
	say(w, now, "load.rate", "not ours to tell");
	say(w, now, AGENT_STATE, AGENT_MADE);
}

void stream_connected(struct event_writer *w, uint64_t now)
{
	const struct event_flow flow = { .id = STREAM_FLOW, .netns = 3, .local_port = 4711 };

	BUG_ON(event_put(event_writer_sink(w), EV_FLOW, now, &flow, sizeof(flow)));
	BUG_ON(event_writer_flush(w));
	say(w, now, AGENT_STATE, AGENT_CONNECTED);
}

struct event_sample stream_sample(uint64_t start, uint32_t i)
{
	const uint64_t intended = start + (uint64_t)i * STREAM_GAP;

	return (struct event_sample){
		.intended = intended, .sent = intended + 10, .done = intended + 500 + i,
		.tx_offset = i, .flow = STREAM_FLOW, .flags = SAMPLE_PROBE,
	};
}

static void put_tick(struct event_writer *w, uint64_t start, uint32_t n, uint32_t flags)
{
	const uint64_t now = start + (uint64_t)n * STREAM_GAP + 1000;
	const struct event_noise noise = {
		.agent = 99, .what = NOISE_GAP, .begin = now - 100, .end = now, .amount = 100,
	};
	const struct event_load load = {
		.agent = 99, .flags = LOAD_STARTED | flags, .started_ns = start, .oldest_ns = now,
		.scheduled = n, .completed = n,
	};

	BUG_ON(event_put(event_writer_sink(w), EV_NOISE, now, &noise, sizeof(noise)));
	BUG_ON(event_put(event_writer_sink(w), EV_LOAD, now, &load, sizeof(load)));
	BUG_ON(event_writer_flush(w));
}

void stream_run(struct event_writer *w, uint64_t start)
{
	for (uint32_t tick = 1; tick <= STREAM_TICKS; tick++) {
		for (uint32_t i = (tick - 1) * STREAM_PER_TICK; i < tick * STREAM_PER_TICK; i++) {
			const struct event_sample s = stream_sample(start, i);

			BUG_ON(event_writer_span(w, 1, 0, EV_SAMPLE, s.intended, s.done, &s));
		}
		BUG_ON(event_writer_flush(w));
		put_tick(w, start, tick * STREAM_PER_TICK,
			 tick == STREAM_TICKS ? LOAD_FINAL : 0);
	}
}
