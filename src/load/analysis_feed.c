/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the stream of events, and decides at fixed times whether the samples suffice. */
#include "load/analysis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "load/analysis_state.h"
#include "load/evaluate.h"
#include "load/gates.h"
#include "load/interim.h"
#include "load/methods.h"
#include "load/verdict.h"

#define UNREACHABLE_NS (3 * NS_PER_S) /* a run ends early if no server is reachable for this long */

const char *load_state_name(enum load_state state)
{
	static const char *const names[] = {
		[LOAD_STATE_CONNECTING] = "connecting", [LOAD_STATE_LOADING] = "loading",
		[LOAD_STATE_ARRIVALS] = "arrivals", [LOAD_STATE_WARMUP] = "warm-up",
		[LOAD_STATE_DEPENDENCE] = "dependence", [LOAD_STATE_STATIONARY] = "stationary",
		[LOAD_STATE_INTERVAL] = "interval", [LOAD_STATE_DONE] = "done",
	};

	return names[state];
}

struct load_analysis *load_analysis_new(const struct load_analysis_config *config)
{
	struct load_analysis *a = calloc(1, sizeof(*a));
	const uint32_t loading = config->agents - config->probes;
	int err;

	BUG_ON(!config->agents || config->agents > LOAD_AGENTS_MAX);
	BUG_ON(config->probes > config->agents || !(config->rate > 0));
	if (!a)
		return NULL;
	a->config = *config;
	a->method = load_method(config->method);
	a->main = a->method->from_actual || config->loop == LOOP_CLOSED ? LOAD_ACTUAL :
									  LOAD_INTENDED;
	a->tail_q = 0.99;
	a->look_confidence = interim_confidence(config->confidence, config->ci_width_ns > 0);
	interference_sum_init(&a->interference);
	abort_on_init(&a->abort_on, &config->abort_on);
	for (uint32_t i = 0; i < config->agents; i++) {
		hist_init(&a->agents[i].latency, LOAD_SCHEMA);
		interference_sum_init(&a->agents[i].interference);
		gap_queue_init(&a->agents[i].gaps);
		excise_queue_init(&a->agents[i].excise);
	}
	excise_init(&a->excise, config->percentile);
	/* Windows must be narrow enough for the first interim analysis; later they are merged. */
	err = dial_times_init(&a->dial_times) ?:
	      series_init(&a->series, config->ci_width_ns ? interim_time(config->max_time_ns, 0) :
							    config->max_time_ns);
	if (!err && a->method->init)
		err = a->method->init(a);
	if (!err)
		err = balance_init(&a->balance);
	if (!err)
		err = gaps_init(&a->gaps, &config->arrival,
				config->rate / (loading ? loading : 1), config->max_time_ns);
	if (!err)
		return a;
	load_analysis_free(a);
	return NULL;
}

void load_analysis_free(struct load_analysis *analysis)
{
	if (!analysis)
		return;
	evaluate_release(analysis);
	series_release(&analysis->series);
	gaps_release(&analysis->gaps);
	balance_release(&analysis->balance);
	outcomes_release(&analysis->outcomes);
	dial_times_release(&analysis->dial_times);
	interference_sum_release(&analysis->interference);
	if (analysis->method->release)
		analysis->method->release(analysis);
	for (uint32_t i = 0; i < analysis->config.agents; i++) {
		hist_release(&analysis->agents[i].latency);
		interference_sum_release(&analysis->agents[i].interference);
		gap_queue_release(&analysis->agents[i].gaps);
		excise_queue_release(&analysis->agents[i].excise);
	}
	excise_release(&analysis->excise);
	free(analysis);
}

/* ---- samples ---- */

/* Whether an event at `ns` is too late to count in the interim analysis that ended the run. */
static bool analysis_feed_is_late(const struct load_analysis *a, uint64_t ns)
{
	return a->decided && ns >= a->decided_ns;
}

/* Adds a request with a reply to the latencies by outcome. */
static int analysis_feed_outcome(struct load_analysis *a, const struct event_sample *s)
{
	if (s->flags & SAMPLE_FAILED && s->outcome <= OUTCOME_MISS)
		return 0;
	return outcomes_add(&a->outcomes, s->outcome,
			    s->done - (a->main == LOAD_ACTUAL ? s->sent : s->intended));
}

/* Adds a request whose latency counts: if there are latency agents, only their latencies do. */
static int analysis_feed_latency(struct load_analysis *a, struct load_agent *agent,
				 const struct event_sample *s)
{
	int err;

	if (s->flags & SAMPLE_UNSENT)
		return series_add_failed(&a->series, s->intended);
	err = analysis_feed_outcome(a, s);
	if (!err)
		err = series_add(&a->series, s);
	if (err || s->flags & SAMPLE_FAILED)
		return err;
	agent->samples++;
	if (a->config.agents > 1)
		err = hist_record(&agent->latency, s->done - s->intended);
	if (!err && a->config.excise)
		err = excise_add(&a->excise, &agent->excise, s->intended, s->done - s->intended);
	if (!err && a->method->add)
		err = a->method->add(a, s);
	return err;
}

static int analysis_feed_sample(struct load_analysis *a, struct load_agent *agent,
				const struct event_sample *s)
{
	const bool probe = s->flags & SAMPLE_PROBE;
	int err = 0;

	if (s->sent < s->intended || s->done < s->sent)
		return -EBADMSG;
	a->never_sent += !!(s->flags & SAMPLE_UNSENT);
	if (analysis_feed_is_late(a, s->intended))
		return 0;
	a->retransmitted += !!(s->flags & SAMPLE_RETRANSMIT);
	if (!probe && !(s->flags & SAMPLE_UNSENT)) {
		balance_add(&a->balance, s->flow);
		err = gaps_add(&a->gaps, &agent->gaps, s->intended, s->sent);
	}
	if (err || s->flags & SAMPLE_WARMUP)
		return err;
	if (probe == (a->config.probes > 0))
		return analysis_feed_latency(a, agent, s);
	return probe || s->flags & SAMPLE_UNSENT ? 0 : series_add_load(&a->series, s);
}

static int analysis_feed_samples(struct load_analysis *a, const struct event_block *block)
{
	const uint32_t n = block->core / LOAD_THREADS_MAX;
	struct event_sample sample;
	int err = 0;

	if (n >= a->config.agents)
		return -EBADMSG;
	a->agents[n].threads |= 1ULL << block->core % LOAD_THREADS_MAX;
	for (uint32_t i = 0; !err && i < block->count; i++) {
		event_block_copy(block, i, &sample, sizeof(sample));
		err = analysis_feed_sample(a, &a->agents[n], &sample);
	}
	return err;
}

/* ---- ticks ---- */

/* Returns a time in ns: every request intended before it has ended. */
static uint64_t analysis_feed_horizon(const struct load_analysis *a)
{
	uint64_t ns = UINT64_MAX;

	for (uint32_t i = 0; i < a->config.agents; i++) {
		const struct load_agent *agent = &a->agents[i];

		if (agent->final || (agent->lost && !agent->seen))
			continue;
		if (!agent->seen)
			return 0;
		ns = agent->last.oldest_ns < ns ? agent->last.oldest_ns : ns;
	}
	return ns;
}

uint64_t load_analysis_start(const struct load_analysis *a)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < a->config.agents; i++) {
		if (a->agents[i].seen && a->agents[i].last.started_ns > ns)
			ns = a->agents[i].last.started_ns;
	}
	return ns;
}

/*
 * Stores an agent's counters (EV_LOAD, every 100 ms) during its schedule: the last ones, and those
 * whose number is a power of two, for the rate in the later part of the run.
 */
static void analysis_feed_sending(struct load_analysis *a, struct load_agent *agent,
				  uint64_t elapsed, const struct event_load *tick)
{
	a->elapsed_ns = elapsed > a->elapsed_ns ? elapsed : a->elapsed_ns;
	agent->sending = *tick;
	agent->sending_ns = elapsed;
	agent->ticks++;
	agent->ticks_waiting += tick->unsent > 0 &&
				(tick->in_flight >= tick->open_connections ||
				 tick->flags & LOAD_NODE_BUSY);
	if (agent->ticks & (agent->ticks - 1))
		return;
	agent->before = agent->half;
	agent->half = *tick;
}

static void analysis_feed_counters(struct load_analysis *a, struct load_agent *agent, uint64_t now,
				   const struct event_load *tick)
{
	const bool started = tick->flags & LOAD_STARTED && now >= tick->started_ns;
	const uint64_t elapsed = started ? now - tick->started_ns : 0;
	const uint64_t max = a->config.max_time_ns;

	agent->seen = true;
	agent->last = *tick;
	agent->final = tick->flags & LOAD_FINAL;
	agent->unreachable = tick->flags & LOAD_UNREACHABLE;
	if (!agent->unreachable || !agent->reachable_ns)
		agent->reachable_ns = now;
	if (tick->flags & LOAD_EXHAUSTED && !agent->exhausted) {
		agent->exhausted = true;
		agent->exhausted_ns = elapsed;
	}
	if (!started || a->decided || a->abort_on.met)
		return;
	if (!agent->exhausted && !agent->final)
		analysis_feed_sending(a, agent, elapsed, tick);
	/* A schedule shorter than the counters' period (100 ms) has counters only at its end. */
	else if (agent->exhausted && !agent->sending_ns)
		analysis_feed_sending(a, agent, elapsed < max ? elapsed : max, tick);
}

/* Whether no agent reaches its server; an outage below UNREACHABLE_NS is part of a measurement. */
static bool all_unreachable(const struct load_analysis *a, uint64_t now)
{
	for (uint32_t i = 0; i < a->config.agents; i++) {
		const struct load_agent *agent = &a->agents[i];

		if (!agent->lost && (!agent->unreachable ||
				     now - agent->reachable_ns < UNREACHABLE_NS))
			return false;
	}
	return true;
}

static int analysis_feed_keep(void *context, uint64_t intended, uint64_t ns)
{
	struct load_analysis *a = context;

	return series_add_undisturbed(&a->series, intended, ns);
}

/* Decides about the requests due before `until` which are near a gap. */
static int analysis_feed_excise(struct load_analysis *a, struct load_agent *agent, uint64_t until)
{
	return a->config.excise ? excise_decide(&a->excise, &agent->excise, until,
						analysis_feed_keep, a) : 0;
}

/* Whether --abort-on ends the run, by the counters of all agents while they send. */
static bool analysis_feed_aborts(struct load_analysis *a, uint64_t now)
{
	const uint64_t start = load_analysis_start(a);
	struct abort_on_counts counts;
	bool sending = false;

	for (uint32_t i = 0; i < a->config.agents; i++) {
		const struct load_agent *agent = &a->agents[i];

		if (!agent->lost && (!agent->seen || !(agent->last.flags & LOAD_STARTED)))
			return false;
		sending |= !agent->exhausted && !agent->final;
	}
	if (a->abort_on.met || !sending || a->interrupted || now < start)
		return a->abort_on.met;
	counts = (struct abort_on_counts){
		.at_ns = now - start,
		.scheduled = SUM(uint64_t, a, last.scheduled),
		.completed = SUM(uint64_t, a, last.completed),
		.failed = SUM(uint64_t, a, last.failed),
		.timeouts = SUM(uint64_t, a, last.timeouts),
		.unsent = SUM(uint64_t, a, last.unsent),
	};
	return abort_on_feed(&a->abort_on, &counts);
}

static int analysis_feed_tick(struct load_analysis *a, const struct event *event)
{
	struct load_agent *agent;
	struct event_load tick;
	int err;

	event_copy(event, &tick, sizeof(tick));
	if (tick.agent >= a->config.agents)
		return -EBADMSG;
	agent = &a->agents[tick.agent];
	analysis_feed_counters(a, agent, event->time, &tick);
	if (tick.flags & LOAD_STARTED && !a->decided)
		gaps_keep_complete(&a->gaps, &agent->gaps, tick.started_ns,
				   agent->final ? UINT64_MAX : tick.oldest_ns);
	if (a->decided || analysis_feed_aborts(a, event->time) || all_unreachable(a, event->time))
		return LOAD_DECIDED;
	err = analysis_feed_excise(a, agent, excise_known(&a->excise, tick.oldest_ns));
	return err ? err : a->method->look(a, load_analysis_start(a), analysis_feed_horizon(a));
}

/* Failures, TLS handshakes and times of connects are facts; the caller reads all other facts. */
static int analysis_feed_fact(struct load_analysis *a, const struct event *event)
{
	const char *key, *value;

	event_fact_get(event, &key, &value);
	if (!strcmp(key, LOAD_FACT_TLS))
		return tls_counts_add_fact(&a->tls, value);
	if (!strcmp(key, LOAD_FACT_CLUSTER))
		return cluster_counts_add_fact(&a->cluster, value);
	if (!strcmp(key, LOAD_FACT_DIAL))
		return dial_times_add_fact(&a->dial_times, value);
	return strcmp(key, LOAD_FACT_CAUSE) ? 0 : causes_add_fact(&a->causes, value);
}

static int analysis_feed_event(struct load_analysis *a, const struct event *event)
{
	struct event_noise noise;
	int err;

	if (event->kind == EV_FACT)
		return analysis_feed_fact(a, event);
	if (event->kind == EV_LOAD)
		return analysis_feed_tick(a, event);
	if (event->kind != EV_NOISE)
		return LOAD_MORE;
	event_copy(event, &noise, sizeof(noise));
	if (noise.agent >= a->config.agents)
		return -EBADMSG;
	if (analysis_feed_is_late(a, noise.begin))
		return LOAD_MORE;
	if (noise.what == NOISE_GAP)
		gap_series_add(&a->agents[noise.agent].gap_times, noise.begin, noise.end,
			       noise.amount);
	err = interference_sum_add(&a->interference, &noise);
	if (!err && a->config.excise && noise.what == NOISE_GAP && noise.end >= noise.begin)
		err = excise_gap(&a->excise, &a->agents[noise.agent].excise, noise.begin,
				 noise.end);
	return err ? err : interference_sum_add(&a->agents[noise.agent].interference, &noise);
}

int load_analysis_block(struct load_analysis *analysis, const struct event_block *block)
{
	struct event event;
	int verdict = LOAD_MORE, err;
	size_t at = 0;

	BUG_ON(analysis->finished);
	if (block->kind == EV_SAMPLE)
		return analysis_feed_samples(analysis, block);
	if (block->record_size)
		return LOAD_MORE;
	while (event_block_next(block, &at, &event)) {
		err = analysis_feed_event(analysis, &event);
		if (err < 0)
			return err;
		if (err == LOAD_DECIDED)
			verdict = LOAD_DECIDED;
	}
	return verdict;
}

void load_analysis_interrupted(struct load_analysis *analysis)
{
	analysis->interrupted = true;
}

void load_analysis_agent_lost(struct load_analysis *analysis, uint32_t agent, const char *why)
{
	BUG_ON(agent >= analysis->config.agents);
	analysis->agents[agent].lost = true;
	snprintf(analysis->agents[agent].why, AGENT_WHY_MAX, "%s", why);
}

/* ---- results ---- */

/*
 * Counts requests that neither completed nor failed. If a server froze just before the end of the
 * run, these requests are the slowest and have no samples, so they rank like failed requests.
 */
static uint64_t analysis_feed_unfinished(const struct load_analysis *a)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < a->config.agents; i++) {
		if (a->agents[i].final)
			n += a->agents[i].last.unsent + a->agents[i].last.in_flight;
	}
	return n;
}

/* Whether an interim analysis decided the run, so that later samples do not count. */
static bool is_by_look(const struct load_analysis *a)
{
	return a->decided && a->decided_ns != UINT64_MAX;
}

/* Returns the time in ns before which samples count in the result. */
static uint64_t analysis_feed_end(const struct load_analysis *a)
{
	return is_by_look(a) ? a->decided_ns : analysis_feed_horizon(a);
}

int load_analysis_finish(struct load_analysis *analysis)
{
	const bool by_look = is_by_look(analysis);
	int err = 0;

	if (analysis->finished)
		return 0;
	for (uint32_t i = 0; i < analysis->config.agents; i++) {
		struct load_agent *agent = &analysis->agents[i];

		if (agent->seen && agent->last.flags & LOAD_STARTED && !by_look)
			gaps_keep_complete(&analysis->gaps, &agent->gaps, agent->last.started_ns,
					   agent->final ? UINT64_MAX : agent->last.oldest_ns);
	}
	if (!by_look)
		analysis->unfinished = analysis_feed_unfinished(analysis);
	for (uint32_t i = 0; !err && i < analysis->config.agents; i++)
		err = analysis_feed_excise(analysis, &analysis->agents[i], UINT64_MAX);
	if (!err)
		err = evaluate(analysis, analysis_feed_end(analysis), analysis->look_confidence,
			       true);
	if (!by_look && analysis->method->looks_at_end)
		analysis->looks++;
	analysis->finished = !err;
	return err;
}

void load_analysis_status(const struct load_analysis *analysis, struct load_status *out)
{
	const struct load_result *r = &analysis->result;
	const struct interval *i = &r->quantiles[analysis->main][REPORT_QUANTILES];
	const uint64_t max = analysis->config.max_time_ns;

	*out = (struct load_status){
		.state = analysis->evaluated ? r->state :
			analysis->elapsed_ns ? LOAD_STATE_LOADING : LOAD_STATE_CONNECTING,
		.elapsed_ns = analysis->elapsed_ns,
		.remaining_ns = max > analysis->elapsed_ns ? max - analysis->elapsed_ns : 0,
		.looks = analysis->looks,
	};
	if (analysis->decided || analysis->finished)
		out->state = LOAD_STATE_DONE;
	for (uint32_t k = 0; k < analysis->config.agents; k++)
		out->samples += analysis->agents[k].samples;
	if (analysis->evaluated && !i->why) {
		out->quantile_ns = i->ns;
		out->lo_ns = i->lo_ns;
		out->hi_ns = i->hi_ns;
	}
	out->needed = gate_needed(analysis);
}

bool load_analysis_sound(const struct load_analysis *analysis)
{
	BUG_ON(!analysis->finished);
	return verdict_sound(analysis);
}

bool load_analysis_noisy(const struct load_analysis *analysis)
{
	const struct gate *gates = analysis->result.gates;

	BUG_ON(!analysis->finished);
	return !gates[GATE_NOISE].pass || !gates[GATE_CLIENT].pass;
}

int load_analysis_sound_at(const struct load_analysis *analysis, double q, struct load_scope *scope,
			   struct strbuf *why)
{
	struct load_analysis *at_q;
	int ret;

	BUG_ON(!analysis->finished);
	*scope = (struct load_scope){ .run_only = analysis->result.run_only,
				      .drift = LOAD_DRIFT_NONE,
				      .below = true };
	if (q == analysis->config.percentile && verdict_sound(analysis))
		return 1;
	at_q = malloc(sizeof(*at_q));
	if (!at_q)
		return -ENOMEM;
	/* evaluate() replaces only `result`; other memory of this shallow copy stays shared. */
	*at_q = *analysis;
	at_q->result = (struct load_result){ 0 };
	at_q->evaluated = false;
	at_q->config.percentile = q;
	/*
	 * A quantile q <= 0.5 uses the tail tests of the run's own percentile: a change farther out
	 * in the tail does not make q unsound.
	 */
	if (analysis->config.percentile > 0.5)
		at_q->tail_q = analysis->config.percentile;
	at_q->config.ci_width_ns = 0;
	ret = evaluate(at_q, analysis_feed_end(analysis), analysis->look_confidence, false);
	if (!ret) {
		ret = verdict_sound_with_drift(at_q);
		scope->run_only = at_q->result.run_only;
		scope->drift = at_q->result.drift;
		scope->below = verdict_sound_below(at_q);
		if (!ret)
			verdict_why(at_q, why);
	}
	evaluate_release(at_q);
	free(at_q);
	return ret;
}
