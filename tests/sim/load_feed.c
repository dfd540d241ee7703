/* SPDX-License-Identifier: Apache-2.0 */
#include "load_feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/kinds.h"
#include "load/analysis_state.h"
#include "stats/order_stat.h"

/* Runs begin at some time of the clock, not at 0. */
#define STARTED 1000000000000ULL
#define BLOCK 512
#define CONNECTIONS 16
#define NS_PER_S 1000000000ULL

struct cursor {
	const struct feed_agent *agent;
	uint32_t number;
	size_t due, sent, done, failed, gaps;
	bool over;
};

struct targets {
	struct load_analysis **items;
	size_t n;
	bool decided[FEED_ANALYSES];
};

static void give(struct targets *to, const struct event_block *block)
{
	for (size_t i = 0; i < to->n; i++) {
		int verdict;

		if (to->decided[i])
			continue;
		verdict = load_analysis_block(to->items[i], block);
		if (verdict < 0) {
			printf("analysis: error %d\n", verdict);
			exit(1);
		}
		to->decided[i] = verdict == LOAD_DECIDED;
	}
}

static void give_record(struct targets *to, uint16_t kind, uint64_t time, const void *payload,
			uint32_t size)
{
	_Alignas(8) unsigned char data[512];
	struct event_record head = {
		.kind = kind, .version = event_kind_info(kind)->version, .size = size,
		.time = time };
	struct event_block block = { .core = EVENT_CORE_NONE, .count = 1, .first = time,
				     .last = time, .reach = time, .data = data,
				     .size = event_record_size(size) };

	memset(data, 0, sizeof(data));
	memcpy(data, &head, sizeof(head));
	memcpy(data + sizeof(head), payload, size);
	give(to, &block);
}

/* Every n-th, for shares. */
static bool falls(size_t i, double share)
{
	return share > 0 && (size_t)((double)(i + 1) * share) != (size_t)((double)i * share);
}

static uint32_t connections_of(const struct feed_faults *f)
{
	return f->connections ? f->connections : CONNECTIONS;
}

static struct event_sample sample_of(const struct cursor *c, size_t i)
{
	const struct feed_faults *f = &c->agent->faults;
	const struct request_times *r = &c->agent->requests->items[i];
	const uint32_t connections = connections_of(f);
	const uint64_t way = r->done - r->sent;
	struct event_sample s = {
		.intended = STARTED + r->intended, .sent = STARTED + r->sent,
		.done = STARTED + r->done,
		.flow = LOAD_FLOW(c->number, 1 + i % connections),
		.flags = (r->failed ? SAMPLE_FAILED : 0) | (f->probe ? SAMPLE_PROBE : 0),
	};

	if (falls(i, f->favoured))
		s.flow = LOAD_FLOW(c->number, 1);
	if (!falls(i, f->unstamped) && way < UINT32_MAX) {
		s.snd_ns = (uint32_t)(way / 10 + 1);
		s.rx_ns = (uint32_t)(way / 5 + 1);
		s.wake_ns = (uint32_t)(way / 10 + 1);
		s.flags |= SAMPLE_ASLEEP;
		if (falls(i, f->censored)) {
			s.rx_ns = s.wake_ns = 1;
			s.flags |= SAMPLE_CENSORED;
		}
	}
	return s;
}

static void give_samples(struct targets *to, const struct cursor *c, size_t from, size_t until)
{
	struct event_sample samples[BLOCK];
	const bool unordered = c->agent->faults.unordered;
	struct event_block block = {
		.kind = EV_SAMPLE, .core = LOAD_CORE(c->number, 0),
		.record_size = sizeof(samples[0]), .data = samples };

	while (from < until) {
		block.count = until - from < BLOCK ? (uint32_t)(until - from) : BLOCK;
		for (uint32_t i = 0; i < block.count; i++)
			samples[i] = sample_of(c, unordered ? until - 1 - i : from + i);
		if (unordered)
			until -= block.count;
		else
			from += block.count;
		block.size = block.count * sizeof(samples[0]);
		give(to, &block);
	}
}

static void give_gap(struct targets *to, const struct cursor *c, uint64_t begin, uint64_t end)
{
	const struct event_noise noise = {
		.agent = c->number, .what = NOISE_GAP, .begin = STARTED + begin,
		.end = STARTED + end, .amount = end - begin };

	give_record(to, EV_NOISE, noise.end, &noise, sizeof(noise));
}

/* Puts the gaps that ended in (from, until]. */
static void give_noise(struct targets *to, struct cursor *c, uint64_t from, uint64_t until)
{
	const struct feed_faults *f = &c->agent->faults;
	const struct spans *stalls = &c->agent->requests->client_stalls;

	for (; f->gaps && c->gaps < stalls->n && stalls->items[c->gaps].end <= until; c->gaps++)
		give_gap(to, c, stalls->items[c->gaps].begin, stalls->items[c->gaps].end);
	if (!f->noise_ns)
		return;
	for (uint64_t at = (from / f->noise_every_ns + 1) * f->noise_every_ns; at <= until;
	     at += f->noise_every_ns)
		give_gap(to, c, at - f->noise_ns, at);
}

static void give_tick(struct targets *to, struct cursor *c, uint64_t now, uint64_t duration,
		      bool final)
{
	const struct feed_faults *f = &c->agent->faults;
	const struct requests *r = c->agent->requests;
	const uint64_t end = f->ends_ns && f->ends_ns < duration ? f->ends_ns : duration;
	struct event_load tick = {
		.agent = c->number, .started_ns = STARTED, .flags = LOAD_STARTED,
		.oldest_ns = STARTED + (c->done < c->due ? r->items[c->done].intended : now),
		.scheduled = c->due, .completed = c->done - c->failed, .failed = c->failed,
		.unsent = c->due - c->sent, .in_flight = c->sent - c->done,
		.refused = c->failed, .connects = connections_of(f),
		.open_connections = connections_of(f),
		.samples_lost = (uint64_t)(f->samples_lost * (double)c->done),
		.cpu_ns = (uint64_t)(f->cpu * (double)now),
	};

	if (tick.scheduled != tick.completed + tick.failed + tick.unsent + tick.in_flight) {
		printf("requests don't balance\n");
		exit(1);
	}
	tick.flags |= now >= end ? LOAD_EXHAUSTED : 0;
	tick.flags |= final ? LOAD_FINAL : 0;
	tick.flags |= f->unreachable ? LOAD_UNREACHABLE : 0;
	tick.flags |= f->unread;
	give_record(to, EV_LOAD, STARTED + now, &tick, sizeof(tick));
}

/* Puts the events until `now`. */
static void step(struct targets *to, struct cursor *c, uint64_t now, uint64_t duration)
{
	const struct feed_faults *f = &c->agent->faults;
	const struct requests *r = c->agent->requests;
	const size_t done = c->done;
	size_t n = r->n;

	if (c->over || (f->stops_ns && now > f->stops_ns))
		return;
	while (f->ends_ns && n && r->items[n - 1].intended >= f->ends_ns)
		n--;
	for (; c->due < n && r->items[c->due].intended <= now; c->due++)
		;
	for (; c->sent < n && r->items[c->sent].sent <= now; c->sent++)
		;
	for (; c->done < n && r->items[c->done].done <= now; c->done++)
		c->failed += r->items[c->done].failed;
	give_samples(to, c, done, c->done);
	give_noise(to, c, now - LOAD_TICK_NS, now);
	c->over = c->done == n && now >= duration;
	give_tick(to, c, now, duration, c->over);
}

void feed(const struct feed_agent *agents, uint32_t n, uint64_t duration_ns,
	  struct load_analysis **analyses, size_t n_analyses)
{
	struct targets to = { .items = analyses, .n = n_analyses };
	struct cursor cursors[LOAD_AGENTS_MAX] = { 0 };
	bool over = false;

	for (uint32_t i = 0; i < n; i++)
		cursors[i] = (struct cursor){ .agent = &agents[i], .number = i };
	for (uint64_t now = LOAD_TICK_NS; !over; now += LOAD_TICK_NS) {
		bool decided = true;

		over = true;
		for (uint32_t i = 0; i < n; i++) {
			const uint64_t stops = agents[i].faults.stops_ns;

			step(&to, &cursors[i], now, duration_ns);
			over &= cursors[i].over || (stops && now > stops);
		}
		for (size_t i = 0; i < n_analyses; i++)
			decided &= to.decided[i];
		over |= decided;
	}
}

struct load_analysis *feed_analysis(const struct model *model, uint32_t agents,
				    double percentile, uint64_t ci_width_ns)
{
	const struct load_analysis_config config = {
		.rate = model_rate(model) * agents, .arrival.kind = ARRIVAL_POISSON,
		.agents = agents, .percentile = percentile, .ci_width_ns = ci_width_ns,
		.confidence = 0.95, .max_time_ns = model->duration_ns, .max_errors = 0.01 };
	struct load_analysis *a = load_analysis_new(&config);

	if (!a) {
		perror("analysis");
		exit(1);
	}
	return a;
}

bool feed_iid_covers(const struct load_analysis *a, double q, uint64_t truth)
{
	const struct hist *pooled = &a->result.pooled[LOAD_INTENDED];
	struct hist_quantile lo, hi;
	struct order_stat_ranks ranks;

	if (order_stat_interval(pooled->count, q, 0.95, ORDER_STAT_BOTH, 1, &ranks) || !ranks.lo ||
	    ranks.hi > pooled->count)
		return false;
	return !hist_quantile(pooled, (double)ranks.lo / (double)pooled->count, &lo) &&
	       !hist_quantile(pooled, (double)ranks.hi / (double)pooled->count, &hi) &&
	       lo.lo <= truth && truth <= hi.hi;
}
