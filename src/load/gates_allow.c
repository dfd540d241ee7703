/* SPDX-License-Identifier: Apache-2.0 */
/* Which failed gates are no objection: the bounds allow for them, or are of this run alone. */
#include "load/gates_allow.h"

#include <math.h>

#include "load/gates.h"
#include "load/interference_bound.h"
#include "load/method.h"

/*
 * ratio of the levels at the ends of a run from which a trend is a queue or a cache that fills:
 * then the result depends on how long the run was
 */
#define TREND_MOST 3
#define PERIODS_MANY 20 /* whole periods from which a periodic latency is no objection */

/* Makes a failed gate no objection, since the bounds allow for what it found. */
static void gate_allow(struct load_analysis *a, enum gate_id id)
{
	a->result.gates[id].allowed = !a->result.gates[id].pass;
}

static const struct interval *gates_allow_asked(const struct load_analysis *a)
{
	return &a->result.quantiles[a->main][REPORT_QUANTILES];
}

/*
 * A quantile over all phases of a period is well defined, and its interval is right if the run has
 * many periods: the cosines of the interval are slower than these.
 */
static void gates_allow_periods(struct load_analysis *a, const struct stationarity_tests *s,
				enum gate_id id)
{
	const double run_ns = ldexp(a->result.to - a->result.from, (int)a->series.shift);

	if (s->known && s->period_ns > 0 && run_ns >= PERIODS_MANY * s->period_ns)
		gate_allow(a, id);
}

/*
 * Whether the tail may be the measuring host's: enough requests may be delayed, by as much as the
 * quantile. A tail that is longer than all delays is the server's, whatever the host did.
 */
static bool gates_is_ours(const struct load_analysis *a, const struct interval *i)
{
	const struct hist *lag = interference_bound_lag(a, i->ns);
	uint64_t longest = lag->count ? lag->max : 0;

	if (a->interference.gaps.count && a->interference.gaps.max > longest)
		longest = a->interference.gaps.max;
	return i->touched > interference_bound_limit(a->config.percentile) && longest >= i->ns;
}

bool gate_is_heavy(const struct load_analysis *a, const struct interval *i)
{
	return a->result.shape > GATE_SHAPE_MOST && interval_share(i) > 1 && !gates_is_ours(a, i);
}

/*
 * A delay by the measuring host only adds to latencies from the intended send: the upper bound
 * holds, and the lower bound allows for it. This includes requests that are sent in bunches after
 * a gap. The tail then may be the host's, and so may be what changes in it. If the rate was not
 * reached, the host may be why, and must be named.
 */
static void gates_allow_interference(struct load_analysis *a)
{
	const struct interval *i = gates_allow_asked(a);

	if (!a->method->keeps_confidence || a->main != LOAD_INTENDED ||
	    !a->result.gates[GATE_RATE].pass || interference_bound_breaks(a, i->ns))
		return;
	gate_allow(a, GATE_CLIENT);
	gate_allow(a, GATE_NOISE);
	if (a->result.gates[GATE_SCHEDULE].pass)
		gate_allow(a, GATE_ARRIVALS);
	if (!i->why)
		gate_allow(a, GATE_SAMPLES);
	if (!gates_is_ours(a, i))
		return;
	gate_allow(a, GATE_TREND_TAIL);
	gate_allow(a, GATE_SHIFT_TAIL);
	gate_allow(a, GATE_PERIODIC_TAIL);
	gate_allow(a, GATE_TAIL);
}

/* Adds how far a latency drifts to the drift of others; a small change is no drift. */
static void gates_add_drift(const struct load_analysis *a, const struct stationarity_tests *s,
			    enum gate_id trend, struct load_drift *drift)
{
	const struct gate *gates = a->result.gates;
	const double change = s->known ? log1p(s->trend) : 0;

	if (exp(fabs(change)) <= TREND_MOST || !(gate_objects(&gates[trend]) ||
						 gate_objects(&gates[GATE_UNIT_ROOT])))
		return;
	if (change > 0)
		drift->rose = fmax(drift->rose, exp(change));
	else
		drift->fell = fmax(drift->fell, exp(-change));
}

/*
 * A server whose latency moves has no law that one run could tell. But what the run saw is a fact:
 * the bounds then are those of this run. If its length made the result, load_condition_judge()
 * takes account of the drift.
 */
static void gates_allow_changes(struct load_analysis *a)
{
	static const enum gate_id changes[] = {
		GATE_DEPENDENCE, GATE_UNIT_ROOT, GATE_TREND_MEDIAN, GATE_TREND_TAIL,
		GATE_SHIFT_MEDIAN, GATE_SHIFT_TAIL, GATE_PERIODIC_MEDIAN, GATE_PERIODIC_TAIL,
		GATE_TAIL,
	};
	struct load_result *r = &a->result;

	for (size_t i = 0; i < ARRAY_LEN(changes); i++)
		r->run_only |= gate_objects(&r->gates[changes[i]]);
	r->run_only |= r->regimes.found && r->regimes.stretches < REGIMES_FEW &&
		       !gates_is_ours(a, gates_allow_asked(a));
	r->drift = LOAD_DRIFT_NONE;
	gates_add_drift(a, &r->median, GATE_TREND_MEDIAN, &r->drift);
	gates_add_drift(a, &r->tail, GATE_TREND_TAIL, &r->drift);
	if (!a->method->keeps_confidence || gates_allow_asked(a)->why)
		return;
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		struct gate *g = &r->gates[changes[i]];

		/* It is why the width that was asked for needs more requests. */
		if (changes[i] == GATE_TAIL && gate_objects(&r->gates[GATE_WIDTH]))
			continue;
		if (r->drift.rose > 1 || r->drift.fell > 1) {
			g->drifts = gate_objects(g);
			continue;
		}
		g->run_only = gate_objects(g);
		gate_allow(a, changes[i]);
	}
}

bool gates_allow_lower(const struct load_analysis *a)
{
	static const enum gate_id harmless[] = {
		GATE_LOOP, GATE_DEPENDENCE, GATE_UNIT_ROOT, GATE_TREND_MEDIAN, GATE_TREND_TAIL,
		GATE_SHIFT_MEDIAN, GATE_SHIFT_TAIL, GATE_PERIODIC_MEDIAN, GATE_PERIODIC_TAIL,
		GATE_EXCEEDANCES, GATE_TAIL, GATE_WIDTH,
	};
	/* A full server keeps the rate from being reached, and makes sends follow replies. */
	static const enum gate_id by_loop[] = { GATE_RATE, GATE_ARRIVALS };
	uint64_t objecting = 0;

	for (int i = 0; i < GATES; i++)
		objecting |= gate_objects(&a->result.gates[i]) ? 1ull << i : 0;
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		objecting &= ~(1ull << harmless[i]);
	for (size_t i = 0; i < ARRAY_LEN(by_loop) && !a->result.gates[GATE_LOOP].pass; i++)
		objecting &= ~(1ull << by_loop[i]);
	return !objecting && a->method->keeps_confidence && a->main == LOAD_INTENDED;
}

static enum load_state state_of(enum gate_id failed)
{
	if (failed <= GATE_RATE)
		return LOAD_STATE_LOADING;
	if (failed < GATE_DEPENDENCE)
		return LOAD_STATE_ARRIVALS;
	if (failed == GATE_DEPENDENCE)
		return LOAD_STATE_DEPENDENCE;
	return failed < GATE_EXCEEDANCES ? LOAD_STATE_STATIONARY : LOAD_STATE_INTERVAL;
}

/* A reason that the user tolerates is told, but is no objection; bounds are as they are. */
static void gates_allow_tolerated(struct load_analysis *a)
{
	for (int i = 0; i < GATES; i++) {
		struct gate *g = &a->result.gates[i];

		g->tolerated = gate_objects(g) && a->config.tolerated >> i & 1;
		g->allowed |= g->tolerated;
	}
}

void gates_allow(struct load_analysis *a)
{
	struct load_result *r = &a->result;

	r->drift = LOAD_DRIFT_NONE;
	gates_allow_periods(a, &a->result.median, GATE_PERIODIC_MEDIAN);
	gates_allow_periods(a, &a->result.tail, GATE_PERIODIC_TAIL);
	gates_allow_interference(a);
	gates_allow_changes(a);
	gates_allow_tolerated(a);
	r->state = LOAD_STATE_DONE;
	for (int i = GATES; i-- > 0;) {
		if (gate_objects(&r->gates[i]))
			r->state = state_of(i);
	}
}
