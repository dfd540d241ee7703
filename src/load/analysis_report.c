/* SPDX-License-Identifier: Apache-2.0 */
/* Reports a finished analysis: sentences for people, and the documented JSON. */
#include <errno.h>
#include <math.h>

#include "load/analysis_quantile.h"
#include "load/counts.h"
#include "load/interference_bound.h"
#include "load/evidence.h"
#include "load/failures.h"
#include "load/gates.h"
#include "load/gates_report.h"
#include "load/methods.h"
#include "load/parts_report.h"
#include "load/plots.h"
#include "load/quantile_words.h"
#include "load/swing_period.h"
#include "load/verdict.h"
#include "report/human.h"
#include "stats/bucket_edges.h"

static const char *const from_names[LOAD_FROMS] = {
	[LOAD_INTENDED] = "intended", [LOAD_ACTUAL] = "actual", [LOAD_KERNEL] = "kernel",
	[LOAD_UNDISTURBED] = "undisturbed",
};

static const char *const from_words[LOAD_FROMS] = {
	[LOAD_INTENDED] = "from intended send", [LOAD_ACTUAL] = "from actual send",
	[LOAD_KERNEL] = "between the kernel's time stamps",
	[LOAD_UNDISTURBED] = "from intended send, away from gaps",
};

/* Whether a latency exists: without a schedule (closed loop) there is no intended send. */
static bool analysis_report_has(const struct load_analysis *a, enum load_from from)
{
	return (a->result.pooled[from].count ||
		(from == LOAD_KERNEL && a->result.censored)) &&
		!(from == LOAD_INTENDED && a->config.loop == LOOP_CLOSED);
}

/* ---- the run ---- */

enum load_from load_analysis_main(const struct load_analysis *analysis)
{
	return analysis->main;
}

const char *load_from_words(enum load_from from)
{
	return from_words[from];
}

uint64_t load_analysis_count(const struct load_analysis *analysis, enum load_from from)
{
	return analysis_report_has(analysis, from) ? analysis->result.pooled[from].count : 0;
}

/* Returns the due, or (`achieved`) completed, requests per second of sending, over all agents. */
static double analysis_report_rate(const struct load_analysis *a, bool achieved)
{
	double sum = 0;

	for (uint32_t i = 0; i < a->config.agents; i++) {
		const struct load_agent *agent = &a->agents[i];
		const uint64_t n = achieved ? agent->sending.completed : agent->sending.scheduled;

		if (agent->sending_ns)
			sum += (double)n / (double)agent->sending_ns * 1e9;
	}
	return sum;
}

void load_analysis_evaluated(const struct load_analysis *a, uint64_t *from_ns, uint64_t *to_ns)
{
	const struct series *s = &a->series;

	*from_ns = (s->first + a->result.from) << s->shift;
	*to_ns = (s->first + a->result.to) << s->shift;
}

double load_analysis_achieved(const struct load_analysis *analysis)
{
	return analysis->elapsed_ns ? analysis_report_rate(analysis, true) : NAN;
}

static void add_rate(const struct load_analysis *a, struct report *r)
{
	const bool known = a->elapsed_ns > 0;
	struct object *o = object_new(r);

	object_add(o, "target", a->config.loop == LOOP_OPEN ? value_number(a->config.rate) :
							       value_null());
	object_add(o, "offered",
		   known ? value_number(analysis_report_rate(a, false)) : value_null());
	object_add(o, "achieved", value_number(load_analysis_achieved(a)));
	object_add(&r->body, "rate", value_object(o));
}

static struct value analysis_report_measured(const struct interval *i, double x)
{
	return interval_measured(i) ? value_number(x) : value_null();
}

static void add_method(const struct load_analysis *a, struct report *r)
{
	const struct load_result *res = &a->result;
	const struct interval *i = &res->quantiles[a->main][REPORT_QUANTILES];
	const uint64_t needed = gate_needed(a);
	struct object *o = object_new(r);

	object_add(o, "name", value_string(load_method_name(a->config.method)));
	object_add(o, "loop", value_string(a->config.loop == LOOP_OPEN ? "open" : "closed"));
	object_add(o, "state", value_string(load_state_name(res->state)));
	object_add(o, "elapsed_ns", a->elapsed_ns ? value_ns(a->elapsed_ns) : value_null());
	object_add(o, "looks", value_u64(a->looks));
	object_add(o, "percentile", value_number(100 * a->config.percentile));
	object_add(o, "confidence", value_number(a->config.confidence));
	object_add(o, "look_confidence", value_number(res->confidence));
	object_add(o, "window_ns", value_ns(1ULL << a->series.shift));
	object_add(o, "windows", value_u64(res->to - res->from));
	object_add(o, "warmup_ns", value_ns((uint64_t)res->from << a->series.shift));
	object_add(o, "with_warmup_ns",
		   res->with_warmup_ns ? value_ns(res->with_warmup_ns) : value_null());
	object_add(o, "autocorrelation_windows", analysis_report_measured(i, i->tau));
	object_add(o, "inflation", analysis_report_measured(i, i->inflation));
	object_add(o, "spearman", value_number(res->spearman));
	object_add(o, "degrees_of_freedom", analysis_report_measured(i, i->df));
	object_add(o, "check_lo_ns", res->check_hi_ns ? value_ns(res->check_lo_ns) : value_null());
	object_add(o, "check_hi_ns", res->check_hi_ns ? value_ns(res->check_hi_ns) : value_null());
	object_add(o, "tail_shape", value_number(res->shape));
	object_add(o, "slow_share", value_number(res->regimes.share));
	object_add(o, "slow_factor", res->regimes.found ? value_number(res->regimes.factor) :
							   value_null());
	object_add(o, "slow_stretches", value_u64(res->regimes.stretches));
	object_add(o, "needed", needed ? value_u64(needed) : value_null());
	if (a->method->report)
		a->method->report(a, o);
	object_add(&r->body, "method", value_object(o));
}

/* Whether a thread of any agent gave up real-time priority at times. */
static bool any_yielded(const struct load_analysis *a)
{
	for (uint32_t i = 0; i < a->config.agents; i++)
		if (a->agents[i].last.flags & LOAD_YIELDED)
			return true;
	return false;
}

static void analysis_report_interference(const struct load_analysis *a, struct report *r)
{
	const uint32_t unknown = interference_bound_unknown(a, true);
	const bool stat = !(unknown & LOAD_NO_STAT), schedstat = !(unknown & LOAD_NO_SCHEDSTAT);
	const struct interference_sum *l = &a->interference;
	struct object *o = object_new(r);

	object_add(o, "gaps", value_u64(l->count[NOISE_GAP]));
	object_add(o, "gap_ns", value_ns(l->amount[NOISE_GAP]));
	object_add(o, "longest_gap_ns", l->gaps.count ? value_ns(l->gaps.max) : value_null());
	object_add(o, "steal_ns", value_known_ns(stat, l->amount[NOISE_STEAL]));
	object_add(o, "softirq_ns", value_known_ns(stat, l->amount[NOISE_SOFTIRQ]));
	object_add(o, "preempted_ns", value_known_ns(schedstat, l->amount[NOISE_PREEMPTED]));
	object_add(o, "lowest_khz", l->lowest_khz ? value_u64(l->lowest_khz) : value_null());
	object_add(o, "highest_khz", l->highest_khz ? value_u64(l->highest_khz) : value_null());
	object_add(o, "client_cpu_ns", value_ns(SUM(uint64_t, a, last.cpu_ns)));
	object_add(o, "client_spin_ns", value_ns(SUM(uint64_t, a, last.spin_ns)));
	object_add(o, "yielded", value_bool(any_yielded(a)));
	object_add(&r->body, "noise", value_object(o));
}

/* ---- latencies ---- */

static struct value quantile_table(const struct load_analysis *a, enum load_from from,
				   struct report *r)
{
	static const struct column columns[] = {
		{ .name = "q" }, { .name = "ns" }, { .name = "lo_ns" }, { .name = "hi_ns" },
		{ .name = "effective_exceedances" }, { .name = "inflation" },
		{ .name = "disturbed" }, { .name = "why" }, { .name = "needed" },
		{ .name = "scope" },
	};
	const struct load_result *res = &a->result;
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	struct load_quantile q;

	for (int i = 0; i < LOAD_QUANTILES; i++) {
		const struct interval *interval = &res->quantiles[from][i];

		if (analysis_quantile_is_again(res, i))
			continue;
		load_analysis_quantile(a, from, res->q[i], &q);
		TABLE_ADD(t, value_number(res->q[i]), value_known_ns(q.known, q.ns),
			  q.bounded ? value_ns(q.lo_ns) : value_null(),
			  q.upper ? value_ns(q.hi_ns) : value_null(),
			  analysis_report_measured(interval, interval->exceedances),
			  analysis_report_measured(interval, interval->inflation),
			  value_number(q.touched), value_string(load_why_code(q.why)),
			  q.needed ? value_u64(q.needed) : value_null(),
			  q.upper ? value_string(load_quantile_scope(&q)) : value_null());
	}
	return value_table(t);
}

static struct value latency_object(const struct load_analysis *a, enum load_from from,
				   struct report *r)
{
	const struct hist *hist = &a->result.pooled[from];
	const struct interval *i = &a->result.quantiles[from][REPORT_QUANTILES];
	struct object *o = object_new(r);
	double mean = hist_mean(hist);

	object_add(o, "count", value_u64(hist->count));
	object_add(o, "effective_count",
		   interval_measured(i) ? value_u64((uint64_t)i->effective) : value_null());
	object_add(o, "mean_ns", isnan(mean) ? value_null() : value_ns((uint64_t)llround(mean)));
	object_add(o, "max_ns", hist->count ? value_ns(hist->max) : value_null());
	if (from == LOAD_KERNEL)
		object_add(o, "censored", value_u64(a->result.censored));
	object_add(o, "quantiles", quantile_table(a, from, r));
	return value_object(o);
}

static void analysis_report_latency(const struct load_analysis *a, struct report *r)
{
	struct object *o = object_new(r);

	for (int from = 0; from < LOAD_FROMS; from++)
		object_add(o, from_names[from],
			   analysis_report_has(a, from) ? latency_object(a, from, r)
							: value_null());
	object_add(&r->body, "latency", value_object(o));
}

static void add_histogram(const struct load_analysis *a, struct report *r)
{
	const enum load_from main = a->main;
	static const struct column columns[] = { { .name = "le_ns" }, { .name = "count" } };
	const struct hist *h = &a->result.pooled[main];
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	struct object *o = object_new(r);
	int32_t index = INT32_MIN;
	uint64_t n;

	if (h->zero)
		TABLE_ADD(t, value_ns(0), value_u64(h->zero));
	while (hist_next(h, &index, &n))
		TABLE_ADD(t, value_ns(bucket_edges_floor(h->schema, index)), value_u64(n));
	if (h->over)
		TABLE_ADD(t, value_null(), value_u64(h->over));
	object_add(o, "of", value_string(from_names[main]));
	object_add(o, "schema", value_s64(h->schema));
	object_add(o, "buckets", value_table(t));
	object_add(&r->body, "histogram", value_object(o));
}

/* ---- text ---- */

/* Delays are told from this share of those that may make up the tail on. */
#define TOUCHED_SHOWN 0.1

/* Least share of the offered rate that counts as reached; other requests may be in flight. */
#define REACHED 0.98
#define FAILURES_TOLD 0.01 /* share of failed requests, from which the headline has it */

static void add_rate_words(const struct load_analysis *a, struct report *r)
{
	const double due = analysis_report_rate(a, false), answered = analysis_report_rate(a, true);
	char offered[HUMAN_MAX], reached[HUMAN_MAX];

	if (!a->elapsed_ns) {
		report_summary(r, "rate n/a");
		return;
	}
	human_rate(offered, due);
	human_rate(reached, answered);
	if (a->config.loop == LOOP_CLOSED)
		report_summary(r, "%s/s reached", reached);
	else if (a->result.gates[GATE_RATE].pass && answered >= REACHED * due)
		report_summary(r, "%s/s offered and reached", offered);
	else
		report_summary(r, "%s/s offered, %s/s reached", offered, reached);
}

/* Returns "500 requests/s", or "500/s of 514/s offered" if the rate was not reached. */
static const char *analysis_report_pace(const struct load_analysis *a, struct report *r)
{
	const double due = analysis_report_rate(a, false), answered = analysis_report_rate(a, true);
	char offered[HUMAN_MAX], reached[HUMAN_MAX];

	human_rate(reached, answered);
	if (a->config.loop == LOOP_CLOSED)
		return report_format(r, "%s requests/s in a closed loop", reached);
	if (a->result.gates[GATE_RATE].pass && answered >= REACHED * due)
		return report_format(r, "%s requests/s", reached);
	return report_format(r, "%s/s of %s/s offered", reached, human_rate(offered, due));
}

/* Returns ", and 12 % of the requests failed" if more than 1 % did; else "". */
static const char *analysis_report_failures(const struct load_analysis *a, struct report *r)
{
	uint64_t failed = 0, due = 0;
	char share[HUMAN_MAX];

	for (uint32_t i = 0; i < a->config.agents; i++) {
		failed += a->agents[i].sending.failed;
		due += a->agents[i].sending.scheduled;
	}
	if ((double)failed <= FAILURES_TOLD * (double)due)
		return "";
	return report_format(r, ", and %s of the requests failed",
			     human_fraction(share, (double)failed / (double)due));
}

/* Sets the headline, which says the title's numbers as a sentence. */
static void analysis_report_headline(const struct load_analysis *a, enum load_from main,
				     struct report *r)
{
	const bool sound = load_analysis_sound(a);
	struct load_quantile asked, usual;

	load_analysis_quantile(a, main, a->config.percentile, &asked);
	load_analysis_quantile(a, main, 0.5, &usual);
	if (!asked.known || !usual.known || !a->elapsed_ns) {
		report_headline_said(r, "The latency of the requests is not known.");
		return;
	}
	usual.bounded = true; /* no bounds, and without them as a number that is just a scale */
	report_headline_said(r, "%s%s is %s%s, the median %s, at %s%s.", sound ? "" : "Not sound: ",
			     load_quantile_name(r, a->config.percentile),
			     load_quantile_short(&asked, sound, r),
			     sound && asked.run_only ? " in this run only" : "",
			     load_quantile_short(&usual, false, r), analysis_report_pace(a, r),
			     analysis_report_failures(a, r));
}

static void analysis_report_title(const struct load_analysis *a, enum load_from main,
				  struct report *r)
{
	const struct interval *i = &a->result.quantiles[main][REPORT_QUANTILES];
	char n[HUMAN_MAX], effective[HUMAN_MAX];

	report_title(r, "%s", load_quantile_line(a, main, a->config.percentile, r));
	report_summary(r, "%s%s", from_words[main],
		       a->config.loop == LOOP_CLOSED ? ", closed loop: this is not the latency at "
						       "a given request rate" : "");
	human_count(n, a->result.pooled[main].count);
	if (interval_measured(i))
		report_summary(r, "%s requests (worth %s independent request%s)", n,
			       human_count(effective, (uint64_t)i->effective),
			       (uint64_t)i->effective == 1 ? "" : "s");
	else
		report_summary(r, "%s requests (dependence not measured)", n);
	add_rate_words(a, r);
}

/* Reports, for each quantile, how many dependent requests are worth one independent request. */
static void add_sampling(const struct load_analysis *a, enum load_from main, struct report *r)
{
	const char *words = NULL;

	for (int i = 0; i < LOAD_QUANTILES; i++) {
		const struct interval *interval = &a->result.quantiles[main][i];

		if (analysis_quantile_is_again(&a->result, i) || !interval_measured(interval))
			continue;
		words = report_format(r, "%s%s%.*f%s at %s", words ? words : "",
				      words ? ", " : "", interval->inflation < 9.95,
				      interval->inflation, words ? "" : " requests",
				      load_quantile_name(r, a->result.q[i]));
	}
	if (words)
		report_finding(r, "dependence: %s are worth one independent request",
			       words);
}

/* Reports delays by the measuring host, if they matter for the percentile. */
static void add_touched(const struct load_analysis *a, struct report *r)
{
	const double q = a->config.percentile;
	struct load_quantile found;
	char share[HUMAN_MAX];

	load_analysis_quantile(a, a->main, q, &found);
	/* Requests that wait for a connection are late, too, but by the server. */
	if (found.upper && a->result.gates[GATE_LOOP].pass &&
	    found.touched > TOUCHED_SHOWN * interference_bound_limit(q))
		report_finding(r, "disturbed: this host may have delayed %s of the requests; the "
			       "bounds allow for it", human_fraction(share, found.touched));
}

/* Reports the percentile without the time around gaps (--excise). */
static void add_undisturbed(const struct load_analysis *a, struct report *r)
{
	char share[HUMAN_MAX];

	if (a->config.excise && a->result.pooled[LOAD_UNDISTURBED].count)
		report_finding(r, "%s  without the time around gaps of this host (%s of the "
			       "requests are left)",
			       load_quantile_line(a, LOAD_UNDISTURBED, a->config.percentile, r),
			       human_fraction(share, excise_share(&a->excise)));
}

/* Reports the share of misses, since servers answer a miss faster than other requests. */
static void add_misses(const struct load_analysis *a, struct report *r)
{
	struct load_misses m;
	char share[HUMAN_MAX];

	if (load_analysis_misses(a, &m) && m.misses)
		report_finding(r, "misses: %s of the replies had no value",
			       human_fraction(share, (double)m.misses / (double)m.completed));
}

static void add_censored(const struct load_analysis *a, struct report *r)
{
	const uint64_t censored = a->result.censored;
	const uint64_t all = censored + a->result.pooled[LOAD_KERNEL].count;
	char share[HUMAN_MAX];

	if (censored)
		report_finding(r, "time stamps: %s of the replies were read together with a later "
			       "reply and have no time stamp of their own; the kernel latency and "
			       "its parts exclude these replies (--outstanding 1 avoids this)",
			       human_fraction(share, (double)censored / (double)all));
}

static void add_yielded(const struct load_analysis *a, struct report *r)
{
	if (any_yielded(a))
		report_finding(r, "priority: a thread was busy for more than 90 %% of the time and "
			       "gave up real-time priority meanwhile (--threads, or a lower rate)");
}

static void add_regimes(const struct load_analysis *a, struct report *r)
{
	const struct regimes *found = &a->result.regimes;
	char share[HUMAN_MAX];

	if (found->found)
		report_finding(r, "regimes: the server was %.1f times slower for %s of the time, "
			       "in %u stretch%s%s", found->factor,
			       human_fraction(share, found->share), found->stretches,
			       found->stretches == 1 ? "" : "es",
			       found->stretches >= REGIMES_FEW ? "" :
			       ": so few do not tell how often that comes (--repeat may)");
}

/* Reports why the bounds hold for this run only. */
static void add_run_only(const struct load_analysis *a, struct report *r)
{
	struct strbuf text = STRBUF_INIT(256);
	int id = 0;

	while (id < GATES && !a->result.gates[id].run_only)
		id++;
	if (id < GATES) {
		gate_evidence(a, id, &text);
		report_finding(r, "this run only: %s; --repeat tells what other runs would give",
			       strbuf_str(&text));
	}
	strbuf_release(&text);
}

/* Reports what --tolerate made no objection. */
static void add_tolerated(const struct load_analysis *a, struct report *r)
{
	struct strbuf text = STRBUF_INIT(256);

	for (int id = 0; id < GATES; id++) {
		if (!a->result.gates[id].tolerated)
			continue;
		strbuf_reset(&text);
		gate_evidence(a, id, &text);
		report_finding(r, "tolerated: %s (%s: %s)", gate_sentence(id), gate_code(id),
			       strbuf_str(&text));
	}
	strbuf_release(&text);
}

/* Reports the warm-up, and what leaving it out changes, if that is more than the uncertainty. */
static void add_warmup(const struct load_analysis *a, struct report *r)
{
	const uint64_t with = a->result.with_warmup_ns;
	char cut[HUMAN_MAX], value[HUMAN_MAX];
	struct load_quantile q;

	if (!a->result.from)
		return;
	load_analysis_quantile(a, a->main, a->config.percentile, &q);
	human_ns(cut, (uint64_t)a->result.from << a->series.shift);
	if (with && (!q.upper || with > q.hi_ns || with < q.lo_ns))
		report_finding(r, "warm-up: the first %s are excluded; with them, %s is %s", cut,
			       load_quantile_name(r, a->config.percentile), human_ns(value, with));
	else
		report_finding(r, "warm-up: the first %s are excluded", cut);
}

static void analysis_report_text(const struct load_analysis *a, struct report *r)
{
	const enum load_from main = a->main;

	analysis_report_headline(a, main, r);
	analysis_report_title(a, main, r);
	failures_find(&a->causes, r);
	for (int i = REPORT_QUANTILES; i-- > 0;) {
		const double q = a->result.q[i];

		const char *parts = i == REPORT_P50 ? parts_report_words(a, q, r) : "";

		if (q != a->config.percentile && a->result.pooled[main].count)
			report_finding(r, "%s%s%s", load_quantile_line(a, main, q, r),
				       *parts ? "      " : "", parts);
	}
	add_sampling(a, main, r);
	add_touched(a, r);
	add_undisturbed(a, r);
	add_misses(a, r);
	add_censored(a, r);
	counts_words(a, r);
	dial_times_words(&a->dial_times, r);
	add_warmup(a, r);
	add_yielded(a, r);
	add_regimes(a, r);
	add_run_only(a, r);
	add_tolerated(a, r);
	swing_period_report(a, r);
	gates_report_words(a, r);
}

int load_analysis_report(struct load_analysis *analysis, struct report *r)
{
	int err;

	BUG_ON(!analysis->finished);
	analysis_report_text(analysis, r);
	report_place_findings(r);
	report_place_verdict(r);
	verdict_report(analysis, r);
	object_add(&r->body, "confidence", value_string(verdict_confidence(analysis)));
	counts_report(analysis, r);
	failures_report(&analysis->causes, r);
	outcomes_report(&analysis->outcomes, &analysis->causes, r);
	dial_times_report(&analysis->dial_times, r);
	add_rate(analysis, r);
	analysis_report_latency(analysis, r);
	parts_report(analysis, r);
	gates_report(analysis, r);
	add_method(analysis, r);
	analysis_report_interference(analysis, r);
	add_histogram(analysis, r);
	err = load_plots_report_rows(analysis, r);
	return err ? err : report_error(r);
}
