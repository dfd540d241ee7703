/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the numbers behind the outcomes of validity checks (gates.c) as text. */
#include "load/evidence.h"

#include <math.h>

#include "load/interference_bound.h"
#include "load/failures.h"
#include "load/method.h"
#include "report/human.h"

static void evidence_put_lag(const struct load_analysis *a, struct strbuf *out)
{
	const struct hist *lag =
		interference_bound_lag(a, a->result.quantiles[a->main][REPORT_QUANTILES].ns);
	const double q = fmax(0.99, a->config.percentile);
	struct hist_quantile median = { 0 }, tail = { 0 };
	char buf[HUMAN_MAX];

	hist_quantile(lag, 0.5, &median);
	hist_quantile(lag, q, &tail);
	strbuf_printf(out, "requests were sent late by %s at the median",
		      human_ns(buf, median.value));
	strbuf_printf(out, ", %s at the %gth percentile", human_ns(buf, tail.value), 100 * q);
}

static void evidence_put_fit(const struct load_analysis *a, const struct gap_fit *fit,
			     const char *what, struct strbuf *out)
{
	char buf[HUMAN_MAX];

	if (a->config.arrival.kind == ARRIVAL_FIXED) {
		strbuf_printf(out, "%s: %.1f %% of %s gaps between requests differ from the "
			      "declared gap by more than 25 %%", what, 100 * fit->effect,
			      human_count(buf, fit->n));
		return;
	}
	strbuf_printf(out, "%s: the distribution of %s gaps between requests differs from the "
		      "declared distribution by up to %.3f (difference of CDFs)", what,
		      human_count(buf, fit->n), fit->effect);
}

static void evidence_put_root(const struct load_result *r, struct strbuf *out)
{
	const struct stationarity_tests *s = gate_root(r);

	strbuf_printf(out, "%s has a unit root (Dickey-Fuller p %.3g, KPSS p %.3g)",
		      s == &r->tail ? "the tail" : "the median", s->adf_p, s->kpss_p);
}

static void evidence_put_change(const char *what, double change, const struct gate *g,
				struct strbuf *out)
{
	strbuf_printf(out, "%s changed by %+.0f %% (p %.3g)", what, 100 * change, g->p);
}

static void evidence_put_period(const char *what, const struct stationarity_tests *s,
				struct strbuf *out)
{
	char buf[HUMAN_MAX];

	strbuf_printf(out, "%s swings by %.0f %% with a period of %s", what, 100 * s->swing,
		      human_ns(buf, (uint64_t)s->period_ns));
}

static void evidence_put_interference(const struct load_analysis *a, struct strbuf *out)
{
	const struct interference_sum *l = &a->interference;
	const char *between = "";
	char buf[HUMAN_MAX];

	for (uint32_t what = NOISE_GAP; what < NOISE_FREQUENCY; what++) {
		if (!l->amount[what])
			continue;
		strbuf_printf(out, "%s%s %s", between, interference_name(what),
			      human_ns(buf, l->amount[what]));
		between = ", ";
	}
	strbuf_printf(out, " in %s", human_ns(buf, a->elapsed_ns));
}

static void evidence_put_unknown(const struct load_analysis *a, struct strbuf *out)
{
	const uint32_t unknown = interference_bound_unknown(a, false);

	if (unknown & LOAD_NO_STAT)
		strbuf_puts(out, "/proc/stat cannot be read");
	if (unknown & LOAD_NO_SCHEDSTAT)
		strbuf_printf(out, "%s/proc/self/schedstat cannot be read",
			      unknown & LOAD_NO_STAT ? ", " : "");
}

static void evidence_put_cause(const struct load_analysis *a, enum cause_of of, const char *between,
			       struct strbuf *out)
{
	if (!causes_top(&a->causes, of))
		return;
	strbuf_puts(out, between);
	failures_evidence(&a->causes, of, out);
}

static void evidence_put_outage(const struct load_analysis *a, struct strbuf *out)
{
	struct strbuf outage = STRBUF_INIT(256);

	if (failures_outage(&a->causes, &outage))
		strbuf_printf(out, "; %s", strbuf_str(&outage));
	strbuf_release(&outage);
}

static void load_evidence_put_count(const struct load_analysis *a, enum gate_id id,
				    struct strbuf *out)
{
	const struct gate *g = &a->result.gates[id];

	switch (id) {
	case GATE_SERVER:
		strbuf_printf(out, "%.0f of %u agents cannot reach the server",
			      g->statistic, a->config.agents);
		evidence_put_cause(a, CAUSE_CONNECTION, "; ", out);
		break;
	case GATE_RATE:
		if (isnan(g->statistic))
			strbuf_puts(out, "no request is known to have been due in the later part "
					 "of the run");
		else
			strbuf_printf(out, "in the later part of the run, %.1f %% as many "
				      "requests were answered or failed as were due",
				      100 * g->statistic);
		break;
	case GATE_CPU:
		strbuf_printf(out, "the busiest load generator's threads were busy %.0f %% of "
			      "the time", 100 * g->statistic);
		break;
	case GATE_SAMPLES:
		strbuf_printf(out, "%.2f %% of the samples were lost", 100 * g->statistic);
		break;
	case GATE_ERRORS:
		strbuf_printf(out, "%.2f %% of the requests failed", 100 * g->statistic);
		evidence_put_cause(a, CAUSE_REQUEST, "; ", out);
		evidence_put_outage(a, out);
		break;
	case GATE_PORTS:
		evidence_put_cause(a, CAUSE_CONNECTION, "", out);
		break;
	case GATE_STATUS:
		evidence_put_cause(a, CAUSE_REPLY, "", out);
		strbuf_puts(out, "; --expect can make this status a success");
		break;
	case GATE_CONNECTIONS:
		strbuf_printf(out, "the busiest connection carried %.1f times the mean number of "
				   "requests", g->statistic);
		break;
	case GATE_TIMESTAMPS:
		strbuf_printf(out, "time stamps are missing for %.1f %% of the answered "
			      "requests", 100 * g->statistic);
		break;
	case GATE_AGENTS:
		strbuf_printf(out, "one agent's percentile and the percentile of all agents differ "
				   "by a factor of %.2f", 1 + g->statistic);
		break;
	case GATE_TAIL:
		strbuf_printf(out, "shape of the generalized Pareto tail: %.2f; from 0.5 on, the "
			      "variance is infinite",
			      g->statistic);
		break;
	default:
		strbuf_printf(out, "%s %.3g, threshold %.3g", gate_name(id), g->statistic,
			      g->threshold);
		break;
	}
}

static void evidence_put_needed(const struct load_analysis *a, struct strbuf *out)
{
	const uint64_t needed = gate_needed(a);
	char buf[HUMAN_MAX];

	if (needed)
		strbuf_printf(out, ", about %s requests are needed", human_count(buf, needed));
	else
		strbuf_printf(out, ", but the resolution of latencies is coarser than the "
			      "requested %s: request a greater width",
			      human_ns(buf, a->config.ci_width_ns));
}

/* Explains why GATE_EXCEEDANCES failed: few exceedances, or a bound beyond all latencies. */
static void evidence_put_exceedances(const struct load_analysis *a, const struct interval *i,
				     struct strbuf *out)
{
	char buf[HUMAN_MAX], other[HUMAN_MAX];

	if (i->why == INTERVAL_FAILURES)
		strbuf_printf(out, "%s of %s requests had no reply: a bound of the interval may be "
				   "the unknown latency of one of these",
			      human_count(buf, a->result.failed),
			      human_count(other, i->count + a->result.failed));
	else if (i->why == INTERVAL_FEW_EXCEEDANCES)
		strbuf_printf(out, "about %s requests are needed: %s requests have %.1f "
			      "independent ones beyond the percentile",
			      human_count(other, i->needed), human_count(buf, i->count),
			      i->exceedances);
	else
		strbuf_printf(out, "%s requests were answered", human_count(buf, i->count));
}

static void evidence_put_dependence(const struct load_analysis *a, const struct interval *i,
				    struct strbuf *out)
{
	const uint32_t windows = a->result.to - a->result.from;
	const double window_ns = ldexp(1, (int)a->series.shift);
	char buf[HUMAN_MAX], other[HUMAN_MAX];

	if (interval_measured(i))
		strbuf_printf(out, "latencies stay correlated for %s or longer, in a run of %s",
			      human_ns(buf, (uint64_t)(i->tau * window_ns)),
			      human_ns(other, (uint64_t)(windows * window_ns)));
	else
		strbuf_printf(out, "%s requests in %u time window%s, %d windows are needed",
			      human_count(buf, i->count), windows, windows == 1 ? "" : "s",
			      INTERVAL_WINDOWS_MIN);
}

static void evidence_put_interval(const struct load_analysis *a, enum gate_id id,
				  struct strbuf *out)
{
	const struct interval *i =
		&a->result.quantiles[a->main][REPORT_QUANTILES];
	char buf[HUMAN_MAX], other[HUMAN_MAX], count[HUMAN_MAX];

	if (id == GATE_WIDTH)
		strbuf_printf(out, "interval [%s, %s] from %s requests", human_ns(buf, i->lo_ns),
			      human_ns(other, i->hi_ns), human_count(count, i->count));
	else if (id == GATE_DEPENDENCE)
		evidence_put_dependence(a, i, out);
	else
		evidence_put_exceedances(a, i, out);
	if (id == GATE_WIDTH)
		evidence_put_needed(a, out);
}

void gate_evidence(const struct load_analysis *a, enum gate_id id, struct strbuf *out)
{
	const struct load_result *r = &a->result;

	if (a->method->evidence && a->method->evidence(a, id, out))
		return;
	switch (id) {
	case GATE_SCHEDULE:
		evidence_put_fit(a, &r->schedule, "as scheduled", out);
		break;
	case GATE_ARRIVALS:
		evidence_put_fit(a, &r->sent, "as sent", out);
		break;
	case GATE_LOOP:
	case GATE_CLIENT:
		evidence_put_lag(a, out);
		evidence_put_outage(a, out);
		break;
	case GATE_NOISE:
		evidence_put_interference(a, out);
		break;
	case GATE_HOST:
		evidence_put_unknown(a, out);
		break;
	case GATE_UNIT_ROOT:
		evidence_put_root(r, out);
		break;
	case GATE_TREND_MEDIAN:
		evidence_put_change("the median", r->median.trend, &r->gates[id], out);
		break;
	case GATE_TREND_TAIL:
		evidence_put_change("the tail", r->tail.trend, &r->gates[id], out);
		break;
	case GATE_SHIFT_MEDIAN:
		evidence_put_change("the median", r->median.shift, &r->gates[id], out);
		break;
	case GATE_SHIFT_TAIL:
		evidence_put_change("the tail", r->tail.shift, &r->gates[id], out);
		break;
	case GATE_PERIODIC_MEDIAN:
		evidence_put_period("the median", &r->median, out);
		break;
	case GATE_PERIODIC_TAIL:
		evidence_put_period("the tail", &r->tail, out);
		break;
	case GATE_DEPENDENCE:
	case GATE_EXCEEDANCES:
	case GATE_WIDTH:
		evidence_put_interval(a, id, out);
		break;
	default:
		load_evidence_put_count(a, id, out);
		break;
	}
}
