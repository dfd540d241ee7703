/* SPDX-License-Identifier: Apache-2.0 */
#include "load/gates.h"

#include <errno.h>
#include <math.h>

#include "load/interference_bound.h"
#include "load/method.h"
#include "report/human.h"
#include "stats/multiple.h"
#include "stats/special.h"

#define RATE_LEAST 0.99        /* least ratio of answered and failed to due requests */
#define WAITING_MOST 0.25      /* largest share of due requests not yet answered */
#define ARRIVAL_EFFECT 0.05    /* largest tolerated |ECDF - CDF| of the gaps */
#define LAG_HARMLESS 0.1       /* harmless p99 of the send lag, as a share of the latency */
#define CPU_MOST 0.9           /* largest CPU share of the threads' time, without spinning */
/* largest share of lost samples of one agent; interference_bound_limit() may be less */
#define LOST_MOST 0.001
#define NOISE_STOLEN 0.1       /* largest share of time stolen, or runnable without a CPU */
#define STAMPS_MISSING 0.01
#define BALANCE_MOST 4         /* largest ratio of the busiest connection's requests to the mean */
#define BALANCE_REQUESTS 25    /* requests per connection needed to judge the balance */
#define AGENTS_EFFECT 0.1
#define PORTS_MOST 0.001       /* largest share of connects without a local port */
#define STATUS_MOST 0.99       /* largest share of replies without content */
#define ADF_ALPHA 0.05

bool gate_objects(const struct gate *gate)
{
	return !gate->pass && !gate->allowed;
}

/* ---- helpers ---- */

void gate_at_most(struct load_analysis *a, enum gate_id id, double statistic, double threshold)
{
	a->result.gates[id] = (struct gate){
		.known = true, .statistic = statistic, .threshold = threshold,
		.pass = statistic <= threshold };
}

void gate_at_least(struct load_analysis *a, enum gate_id id, double statistic, double threshold)
{
	gate_at_most(a, id, statistic, threshold);
	a->result.gates[id].pass = statistic >= threshold;
}

/* Marks a gate (validity check) that applies but, for the reason `why`, cannot be judged. */
static void gate_untested(struct load_analysis *a, enum gate_id id, const char *why)
{
	a->result.gates[id].untested = why;
}

/* Adds a test's p to a validity check, which then fails only if the adjusted p is significant. */
static void gate_tested(struct load_analysis *a, enum gate_id id, double p)
{
	a->result.gates[id].tested = true;
	a->result.gates[id].p = p;
}

static const struct interval *gates_target_interval(const struct load_analysis *a)
{
	return &a->result.quantiles[a->main][REPORT_QUANTILES];
}

/* ---- the load ---- */

static void gates_judge_server(struct load_analysis *a)
{
	uint32_t unreachable = 0;

	for (uint32_t i = 0; i < a->config.agents; i++)
		unreachable += a->agents[i].unreachable;
	gate_at_most(a, GATE_SERVER, unreachable, 0);
}

/*
 * Judges the share of connects that found no free local port. If it is too large, the server does
 * not count as unreachable.
 */
static void gates_judge_ports(struct load_analysis *a)
{
	const struct load_cause *ports = causes_find(&a->causes, CAUSE_CONNECTION, CAUSE_PORTS);

	if (!ports)
		return;
	gate_at_most(a, GATE_PORTS, (double)ports->count /
	     ((double)ports->count + SUM(double, a, last.connects)), PORTS_MOST);
	if (!a->result.gates[GATE_PORTS].pass)
		a->result.gates[GATE_SERVER].pass = true;
}

/* Fails GATE_STATUS if nearly every HTTP reply is a redirect or says that there is no content. */
static void gates_judge_status(struct load_analysis *a)
{
	const double completed = SUM(double, a, last.completed);
	const uint64_t empty = causes_count(&a->causes, CAUSE_REPLY);

	if (empty && completed > 0)
		gate_at_most(a, GATE_STATUS, (double)empty / completed, STATUS_MOST);
}

/*
 * Compares the requests that were answered or failed with those due, in the later half to three
 * quarters of the sending time. A queue that only fluctuates leaves a difference of a few square
 * roots of the count. An open loop without due requests fails.
 */
static void gates_judge_rate(struct load_analysis *a)
{
	const double due = SUM(double, a, sending.scheduled) - SUM(double, a, before.scheduled);
	const double over = SUM(double, a, sending.completed) + SUM(double, a, sending.failed) -
		SUM(double, a, before.completed) - SUM(double, a, before.failed);

	if (!(due > 0) && a->config.loop == LOOP_CLOSED) {
		gate_untested(a, GATE_RATE, "no request was sent in the later part of the run");
		return;
	}
	gate_at_least(a, GATE_RATE, due > 0 ? over / due : NAN, RATE_LEAST);
	if (due > 0 && due - over < fmin(5 * sqrt(due), WAITING_MOST * due))
		a->result.gates[GATE_RATE].pass = true;
}

static void gates_judge_gaps(struct load_analysis *a, enum gate_id id, const struct gap_fit *fit)
{
	if (!fit->known) {
		if (a->config.arrival.kind != ARRIVAL_FILE)
			gate_untested(a, id, "too few requests");
		return;
	}
	gate_at_most(a, id, fit->effect, ARRIVAL_EFFECT);
	gate_tested(a, id, fit->p);
}

static double lag_quantile(const struct hist *lag, double q)
{
	struct hist_quantile found;

	return hist_quantile(lag, q, &found) ? 0 : (double)found.hi;
}

/* Returns the send lags of the load-generating requests, whose interarrival times are judged. */
static const struct hist *load_lag(const struct load_analysis *a)
{
	return &a->result.lag[a->config.probes ? LAG_LOAD : LAG_COUNTED];
}

/*
 * Requests that enter a first-come-first-served system up to d late leave it up to d late. So a
 * send lag that is small compared to the latency cannot distort the latency, even where the lag
 * changes short gaps between requests.
 */
static void gates_judge_arrivals(struct load_analysis *a)
{
	const struct load_result *r = &a->result;

	if (a->config.loop == LOOP_CLOSED)
		return;
	gates_judge_gaps(a, GATE_SCHEDULE, &r->schedule);
	gates_judge_gaps(a, GATE_ARRIVALS, &r->sent);
	if (lag_quantile(load_lag(a), 0.99) <= LAG_HARMLESS * (double)gates_target_interval(a)->ns)
		a->result.gates[GATE_ARRIVALS].pass = true;
}

/* Returns the CPU share of the busiest agent, which idle agents cannot compensate. */
static double gates_busiest_agent(const struct load_analysis *a)
{
	double most = 0;

	for (uint32_t i = 0; i < a->config.agents; i++) {
		const struct load_agent *agent = &a->agents[i];
		const double time = fmax(1, __builtin_popcountll(agent->threads)) *
			(double)agent->sending_ns;

		if (agent->sending_ns)
			most = fmax(most, ((double)agent->sending.cpu_ns -
					   (double)agent->sending.spin_ns) / time);
	}
	return most;
}

/* Returns the share of lost samples of the agent with the largest share. */
static double gates_lost(const struct load_analysis *a)
{
	double most = 0;

	for (uint32_t i = 0; i < a->config.agents; i++) {
		const struct event_load *last = &a->agents[i].last;
		const double over = (double)last->completed + (double)last->failed;

		if (over > 0)
			most = fmax(most, (double)last->samples_lost / over);
	}
	return most;
}

/*
 * Finds why requests are sent late: they waited for a free connection, or the client was too slow.
 * Requests waited if ticks (counters, ten per second) often show unsent requests. As ticks are few,
 * their share is only compared roughly.
 */
static void gates_judge_client(struct load_analysis *a)
{
	const double limit = interference_bound_limit(a->config.percentile);
	const double ticks = SUM(double, a, ticks),
		     late = interference_bound_late(a, gates_target_interval(a)->ns);
	const double waiting = ticks > 0 ? SUM(double, a, ticks_waiting) / ticks : 0;
	const bool waits = waiting > late / 4;
	const double samples = SUM(double, a, last.completed) + SUM(double, a, last.failed);

	/* The latency decides how late a send may be: without it, lateness is not judged. */
	if (a->config.loop == LOOP_OPEN && gates_target_interval(a)->ns) {
		gate_at_most(a, GATE_LOOP, waits ? late : 0, limit);
		gate_at_most(a, GATE_CLIENT, waits ? 0 : late, limit);
	}
	if (a->elapsed_ns)
		gate_at_most(a, GATE_CPU, gates_busiest_agent(a), CPU_MOST);
	else
		gate_untested(a, GATE_CPU, "the run ended before CPU time was measured");
	if (samples > 0)
		gate_at_most(a, GATE_SAMPLES, gates_lost(a), fmin(LOST_MOST, limit));
	else
		gate_untested(a, GATE_SAMPLES, "no request has ended");
}

/* ---- the host ---- */

static void gates_judge_interference(struct load_analysis *a)
{
	const struct interval *i = gates_target_interval(a);
	double stolen;

	if (!a->elapsed_ns || !i->ns) {
		gate_untested(a, GATE_NOISE, "no latency was measured");
		gate_untested(a, GATE_HOST, "no latency was measured");
		return;
	}
	gate_at_most(a, GATE_HOST, __builtin_popcount(interference_bound_unknown(a, false)), 0);
	gate_at_most(a, GATE_NOISE, interference_bound_gaps(a, i->ns),
		     fmin(interference_bound_limit(a->config.percentile),
			  INTERFERENCE_GAPS_MOST));
	stolen = interference_bound_stolen(a);
	if (stolen > NOISE_STOLEN)
		gate_at_most(a, GATE_NOISE, stolen, NOISE_STOLEN);
}

/* ---- the replies ---- */

static uint64_t samples_of(const struct load_analysis *a, enum load_from which)
{
	uint64_t sum = 0;

	for (uint32_t i = a->result.from; i < a->result.to; i++)
		sum += a->series.windows[i].latency[which].count;
	return sum;
}

static void gates_judge_balance(struct load_analysis *a)
{
	const struct balance *b = &a->balance;

	_Static_assert(BALANCE_REQUESTS == 25, "its words say so");
	if (b->n <= 1)
		return;
	if (a->cluster.nodes > 1)
		gate_untested(a, GATE_CONNECTIONS, "in a cluster, the keys choose the connections");
	else if (b->overflow)
		gate_untested(a, GATE_CONNECTIONS, "too many connections to count their requests");
	else if (b->requests < (uint64_t)b->n * BALANCE_REQUESTS)
		gate_untested(a, GATE_CONNECTIONS, "fewer than 25 requests per connection");
	else
		gate_at_most(a, GATE_CONNECTIONS, balance_ratio(b), BALANCE_MOST);
}

static void gates_judge_replies(struct load_analysis *a)
{
	const double failed = SUM(double, a, last.failed);
	const double over = failed + SUM(double, a, last.completed);
	const uint64_t samples = samples_of(a, LOAD_ACTUAL);

	if (over > 0)
		gate_at_most(a, GATE_ERRORS, failed / over, a->config.max_errors);
	else
		gate_untested(a, GATE_ERRORS, "no request has ended");
	gates_judge_balance(a);
	/*
	 * A censored reply, which one read returned with later replies, has the stamp of a later
	 * reply: it does not count as missing.
	 */
	if (a->config.stamps != STAMPS_USER && !samples)
		gate_untested(a, GATE_TIMESTAMPS, "no request was answered");
	else if (a->config.stamps != STAMPS_USER)
		gate_at_most(a, GATE_TIMESTAMPS,
		     1 - (double)(samples_of(a, LOAD_KERNEL) + a->result.censored) /
		     (double)samples, STAMPS_MISSING);
}

/*
 * Tests by Cochran's Q whether agents have equal shares of requests up to the pooled quantile, with
 * the variance inflated for dependence. The effect is the largest deviation of an agent's own
 * quantile.
 */
static void gates_judge_agents(struct load_analysis *a)
{
	const struct interval *i = gates_target_interval(a);
	struct hist_quantile own;
	double shares[LOAD_AGENTS_MAX], weights[LOAD_AGENTS_MAX], mean = 0, sum = 0;
	double q = 0, effect = 0;
	uint32_t n = 0;

	for (uint32_t k = 0; k < a->config.agents; k++) {
		const struct hist *h = &a->agents[k].latency;

		if (hist_quantile(h, a->config.percentile, &own) || !i->ns)
			continue;
		shares[n] = (double)interval_at_most(h, i->ns) / (double)h->count;
		weights[n] = (double)h->count;
		mean += shares[n] * weights[n];
		sum += weights[n++];
		effect = fmax(effect, fabs(log((double)own.value / (double)i->ns)));
	}
	if (n < 2) {
		if ((a->config.probes ?: a->config.agents) > 1)
			gate_untested(a, GATE_AGENTS,
				      "fewer than two agents have measured a latency");
		return;
	}
	mean /= sum;
	for (uint32_t k = 0; k < n; k++)
		q += weights[k] * (shares[k] - mean) * (shares[k] - mean) /
			(mean * (1 - mean) * i->inflation);
	gate_at_most(a, GATE_AGENTS, expm1(effect), fmax(AGENTS_EFFECT, interval_effect(i)));
	gate_tested(a, GATE_AGENTS, mean < 1 ? chi2_sf(q, n - 1) : 1);
}

/* ---- stationarity ---- */

static void gates_judge_series(struct load_analysis *a, const struct stationarity_tests *s,
			       const struct interval *i, enum gate_id trend, enum gate_id shift,
			       enum gate_id periodic)
{
	const double limit = interval_effect(i);

	if (!s->known) {
		gate_untested(a, trend, s->untested);
		gate_untested(a, shift, s->untested);
		gate_untested(a, periodic, s->untested);
		return;
	}
	gate_at_most(a, trend, fabs(s->trend), limit);
	gate_tested(a, trend, s->trend_p);
	gate_at_most(a, shift, fabs(s->shift), limit);
	gate_tested(a, shift, s->shift_p);
	gate_at_most(a, periodic, s->swing, limit);
	gate_tested(a, periodic, s->swing_p);
}

/*
 * The null hypothesis of Dickey-Fuller is a unit root, that of KPSS is stationarity. If both say
 * unit root, the series wanders. If only KPSS rejects, there is a trend or a shift, which have
 * gates of their own. If neither rejects, the series is short, and GATE_DEPENDENCE judges it.
 */
const struct stationarity_tests *gate_root(const struct load_result *r)
{
	if (r->tail.known && r->median.known && r->median.adf_p > r->tail.adf_p)
		return &r->median;
	return r->tail.known ? &r->tail : &r->median;
}

static void gates_judge_unit_root(struct load_analysis *a)
{
	const struct stationarity_tests *s = gate_root(&a->result);

	if (!s->known) {
		gate_untested(a, GATE_UNIT_ROOT, s->untested);
		return;
	}
	gate_at_most(a, GATE_UNIT_ROOT, s->adf_p, ADF_ALPHA);
	gate_tested(a, GATE_UNIT_ROOT, s->kpss_p);
}

static void gates_judge_stationary(struct load_analysis *a)
{
	struct load_result *r = &a->result;
	const struct interval *i = r->quantiles[a->main];
	const struct interval *asked = &i[REPORT_QUANTILES];

	if (asked->why == INTERVAL_NO_SAMPLES)
		gate_untested(a, GATE_DEPENDENCE, "no request was answered");
	else if (asked->why == INTERVAL_FEW_WINDOWS)
		gate_at_least(a, GATE_DEPENDENCE, r->to - r->from, INTERVAL_WINDOWS_MIN);
	else
		gate_at_most(a, GATE_DEPENDENCE, asked->tau, asked->longest);
	gates_judge_unit_root(a);
	gates_judge_series(a, &r->median, &i[REPORT_P50], GATE_TREND_MEDIAN, GATE_SHIFT_MEDIAN,
			   GATE_PERIODIC_MEDIAN);
	gates_judge_series(a, &r->tail, &i[REPORT_QUANTILES], GATE_TREND_TAIL, GATE_SHIFT_TAIL,
			   GATE_PERIODIC_TAIL);
}

/* ---- the interval ---- */

static void gates_judge_interval(struct load_analysis *a)
{
	const struct interval *i = gates_target_interval(a);
	const struct load_result *r = &a->result;
	bool narrow = !i->why;

	gate_at_least(a, GATE_EXCEEDANCES, i->exceedances, i->exceedances_needed);
	/* A bound beyond all requests, or one that may be a failed request, decides. */
	a->result.gates[GATE_EXCEEDANCES].pass =
		i->why != INTERVAL_FEW_EXCEEDANCES && i->why != INTERVAL_FAILURES &&
		i->why != INTERVAL_NO_SAMPLES;
	if (a->config.ci_width_ns && narrow) {
		gate_at_most(a, GATE_WIDTH, (double)(i->hi_ns - i->lo_ns),
			     (double)a->config.ci_width_ns);
		narrow = (double)(i->hi_ns - i->own_lo_ns) <= (double)a->config.ci_width_ns &&
			 interval_share(i) <= 1;
	} else if (a->config.ci_width_ns) {
		gate_untested(a, GATE_WIDTH, "there is no valid interval");
	} else if (narrow) {
		narrow = interval_share(i) <= 1;
	}
	if (isnan(r->shape))
		return;
	/*
	 * With a narrow interval, a heavy tail does not matter: a quantile does not need a finite
	 * variance. A heavy tail only explains why an interval is missing or wide.
	 */
	gate_at_most(a, GATE_TAIL, r->shape, GATE_SHAPE_MOST);
	a->result.gates[GATE_TAIL].pass |= narrow;
}

/* Adjusts the tests' p (Holm): a validity check passes if its adjusted p is not significant. */
static int gates_adjust(struct load_analysis *a)
{
	double p[GATES], adjusted[GATES];
	size_t n = 0;
	int err;

	for (int i = 0; i < GATES; i++) {
		if (a->result.gates[i].tested)
			p[n++] = fmin(1, fmax(0, a->result.gates[i].p));
	}
	err = holm_adjust(p, n, adjusted);
	n = 0;
	for (int i = 0; !err && i < GATES; i++) {
		struct gate *g = &a->result.gates[i];

		if (!g->tested)
			continue;
		g->p = adjusted[n++];
		g->pass |= g->p > GATE_ALPHA;
	}
	return err;
}

uint64_t gate_needed(const struct load_analysis *a)
{
	double requests, ratio;
	uint64_t width_ns;

	if (!a->config.ci_width_ns || !a->method->width(a, &requests, &width_ns))
		return 0;
	ratio = (double)width_ns / (double)a->config.ci_width_ns;
	return (uint64_t)fmin(fmax(1, ceil(requests * ratio * ratio)), 0x1p63);
}

int gates_judge(struct load_analysis *a)
{
	struct load_result *r = &a->result;

	r->run_only = false;
	for (int i = 0; i < GATES; i++)
		r->gates[i] = (struct gate){ .pass = true };
	gates_judge_server(a);
	gates_judge_ports(a);
	gates_judge_status(a);
	gates_judge_rate(a);
	gates_judge_arrivals(a);
	gates_judge_client(a);
	gates_judge_interference(a);
	gates_judge_replies(a);
	gates_judge_agents(a);
	gates_judge_stationary(a);
	gates_judge_interval(a);
	if (a->method->judge)
		a->method->judge(a);
	return gates_adjust(a);
}
