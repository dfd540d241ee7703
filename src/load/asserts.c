/* SPDX-License-Identifier: Apache-2.0 */
#include "load/asserts.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "load/analysis_state.h"
#include "load/gates.h"
#include "load/quantile_words.h"
#include "report/human.h"

void load_reason(struct report *r, const char *code, const char *evidence, const char *message)
{
	if (r->verdict && !strcmp(r->verdict, "ok"))
		report_verdict(r, "partial");
	report_reason(r, code, evidence, "%s", message);
}

static const char *const truths[] = {
	[LOAD_OPEN] = "open", [LOAD_HOLDS] = "holds", [LOAD_FAILS] = "fails",
};

static const char *const sentences[] = {
	[LOAD_OPEN] = "is neither shown nor refuted", [LOAD_HOLDS] = "holds",
	[LOAD_FAILS] = "does not hold",
};

static double asserts_drift(const struct load_assert *a)
{
	return a->drift.rose > 1 ? a->drift.rose : a->drift.fell;
}

static bool asserts_drifts(const struct load_assert *a)
{
	return asserts_drift(a) > 1;
}

void load_asserts_add(const struct load_assert *asserts, uint32_t n, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "condition" }, { .name = "q" }, { .name = "limit_ns" },
		{ .name = "ns" }, { .name = "lo_ns" }, { .name = "hi_ns" }, { .name = "result" },
		{ .name = "by" }, { .name = "of" }, { .name = "beyond" }, { .name = "drift" },
		{ .name = "to_do" },
	};
	struct table *t = table_new(r, columns, sizeof(columns) / sizeof(columns[0]));
	struct string_list *lines = list_new(r);

	for (uint32_t i = 0; i < n; i++) {
		const struct load_assert *a = &asserts[i];
		const struct load_condition *c = a->condition;
		const struct load_quantile *q = &a->quantile;

		TABLE_ADD(t, value_string(c->text), value_number(c->q),
			  c->limit_ns ? value_ns(c->limit_ns) : value_null(),
			  value_known_ns(q->known, q->ns),
			  value_known_ns(a->least_ns || q->bounded, a->least_ns ?: q->lo_ns),
			  value_known_ns(q->upper, q->hi_ns), value_string(truths[a->truth]),
			  value_string(c->seen ? "seen" : "bounds"),
			  a->of ? value_u64(a->of) : value_null(),
			  a->of ? value_u64(a->beyond) : value_null(),
			  asserts_drifts(a) ? value_number(asserts_drift(a)) : value_null(),
			  a->to_do ? value_string(a->to_do) : value_null());
		list_add(lines, "%s %s%s: %s%s%s", c->text, sentences[a->truth],
			 c->seen && a->truth ? " as seen" : "", a->words,
			 a->to_do ? ". To do: " : "", a->to_do ? a->to_do : "");
	}
	object_add(&r->body, "asserts", value_table(t));
	object_add(&r->body, NULL, value_list(lines));
}

/* Refutes a condition whose quantile has a lower bound alone. Returns 0 or -ENOMEM. */
static int asserts_refute(const struct load_analysis *analysis, struct load_assert *a)
{
	const double limit = (double)a->condition->limit_ns;
	uint64_t least_ns;
	int err = load_analysis_least(analysis, a->condition->q, a->condition->limit_ns, &least_ns);

	if (!err && (double)least_ns / a->drift.fell >= limit) {
		a->truth = LOAD_FAILS;
		a->least_ns = least_ns;
	}
	return err;
}

/*
 * Judges a condition, which is open if the run is not sound at the condition's percentile.
 * `undisturbed`: it is about the time apart from gaps, of which there is no lower bound alone.
 */
static int asserts_judge(const struct load_analysis *analysis, bool undisturbed,
			 struct load_assert *a, struct strbuf *why)
{
	struct load_scope scope;
	int ret = load_analysis_sound_at(analysis, a->condition->q, &scope, why);

	a->quantile.run_only |= scope.run_only;
	a->drift = scope.drift;
	if (ret == 1)
		a->truth = load_condition_judge(a->condition, &a->quantile, scope.drift);
	else if (!ret && scope.below && !undisturbed)
		ret = asserts_refute(analysis, a);
	return ret < 0 ? ret : 0;
}

static void asserts_explain_open(const struct load_condition *c, const struct load_quantile *q,
				 const struct strbuf *why, struct report *r)
{
	if (why->len)
		load_reason(r, "assert-undecided",
			    report_format(r, "%s: %s", c->text, strbuf_str(why)),
			    "an --assert condition is undecided: the run is not sound at its "
			    "percentile");
	else if (q->why)
		load_reason(r, "assert-undecided",
			    report_format(r, "%s: %s", c->text, load_quantile_why(q, r)),
			    "an --assert condition is undecided: its percentile lacks a bound");
	else
		load_reason(r, "assert-undecided", c->text,
			    "an --assert condition is undecided: its limit lies within the "
			    "confidence interval; a longer run narrows the interval");
}

/*
 * Gets the quantile that a condition is about: with --excise, that of undisturbed time, if it has
 * bounds. Returns whether it is that one.
 */
static bool asserts_quantile(const struct load_analysis *analysis, double q,
			     struct load_quantile *out)
{
	load_analysis_quantile(analysis, LOAD_UNDISTURBED, q, out);
	if (out->bounded)
		return true;
	load_analysis_quantile(analysis, load_analysis_main(analysis), q, out);
	return false;
}

/* Whether `beyond` of so many requests leave quantile q below the limit; by whole requests. */
static bool asserts_below(double q, uint64_t beyond, uint64_t requests)
{
	return (double)beyond <= (1 - q) * (double)requests + 1e-6;
}

/*
 * Judges by the requests that were seen, failed ones included: at most 1 - q may be beyond. Lost
 * samples may have any latency.
 */
static void asserts_see(const struct load_analysis *analysis, bool as_asked, struct report *r,
			struct load_assert *out)
{
	const struct load_condition *c = out->condition;
	char limit[HUMAN_MAX], beyond[HUMAN_MAX], requests[HUMAN_MAX], share[HUMAN_MAX];
	struct load_beyond seen;

	load_analysis_quantile(analysis, load_analysis_main(analysis), c->q, &out->quantile);
	load_analysis_beyond(analysis, c->limit_ns, &seen);
	if (!seen.requests || !out->quantile.known) {
		out->words = "no request was answered";
		return;
	}
	if (!asserts_below(c->q, seen.beyond, seen.requests + seen.lost))
		out->truth = LOAD_FAILS;
	else if (as_asked && asserts_below(c->q, seen.beyond + seen.lost,
					   seen.requests + seen.lost))
		out->truth = LOAD_HOLDS;
	out->of = seen.requests;
	out->beyond = seen.beyond;
	out->words = report_format(r, "%s of %s requests (%s) took %s or longer, or failed%s",
				   human_count(beyond, seen.beyond),
				   human_count(requests, seen.requests),
				   human_fraction(share, (double)seen.beyond /
							 (double)seen.requests),
				   human_ns(limit, c->limit_ns),
				   out->truth ? "" : as_asked ? ", but too many have no sample" :
				   ", but the load was not as requested");
}

void load_asserts_see_run(const struct load_conditions *conditions,
			  const struct load_analysis *analysis, struct report *r,
			  struct load_summary *out)
{
	const bool as_asked = load_summary_is_as_asked(analysis, r);
	uint64_t bit = 1;

	for (uint32_t i = 0; i < conditions->n; i++) {
		struct load_assert a = { .condition = &conditions->list[i] };

		if (!conditions->list[i].seen)
			continue;
		asserts_see(analysis, as_asked, r, &a);
		out->seen_holds |= a.truth == LOAD_HOLDS ? bit : 0;
		out->seen_fails |= a.truth == LOAD_FAILS ? bit : 0;
		bit <<= 1;
	}
}

/* Returns what a drift has to do with a condition that was judged; "": nothing. */
static const char *asserts_drift_words(const struct load_assert *a, struct report *r)
{
	if (!asserts_drifts(a))
		return "";
	return report_format(r, ", while it %s by a factor of %.2g%s",
			     a->drift.rose > 1 ? "rose" : "fell", asserts_drift(a),
			     a->truth ? "" : a->drift.rose > 1 ? ": a longer run would show more" :
			     ", which both bounds must allow for");
}

/* A longer run than this is no advice. */
#define ADVISED_MOST_NS (3600.0 * NS_PER_S)
/* Bounds as wide as is expected decide in half of the runs only. */
#define ADVISED_MARGIN 1.5

/*
 * Estimates how long a run must last for the bounds to decide, if the latency stays as it is: their
 * distance shrinks with the square root of the time. It is the least time where there are no
 * bounds yet. Returns NaN if time alone does not tell.
 */
static double asserts_needed_ns(const struct load_analysis *analysis, const struct load_assert *a)
{
	const struct load_quantile *q = &a->quantile;
	const double limit = (double)a->condition->limit_ns, ns = (double)q->ns;
	uint64_t from_ns, to_ns;
	double bound, run_ns;

	load_analysis_evaluated(analysis, &from_ns, &to_ns);
	run_ns = (double)(to_ns - from_ns);
	if (q->needed)
		return ADVISED_MARGIN * run_ns * (double)q->needed /
		       (double)load_analysis_count(analysis, load_analysis_main(analysis));
	bound = log((double)(limit > ns ? q->hi_ns : q->lo_ns) / ns) / log(limit / ns);
	return q->bounded && !q->run_only && !asserts_drifts(a) && bound > 1 ?
	       ADVISED_MARGIN * run_ns * bound * bound : NAN;
}

/* Returns whether --repeat with runs like this one can judge the condition. */
static bool asserts_can_repeat(const struct load_analysis *analysis, double q)
{
	bool reported = false;

	for (int i = 0; i < LOAD_QUANTILES; i++)
		reported |= analysis->result.q[i] == q;
	return reported &&
	       load_summary_enough(load_analysis_count(analysis, load_analysis_main(analysis)), q);
}

static const char *asserts_advice_add(const char *advice, const char *more, struct report *r)
{
	return advice ? report_format(r, "%s; %s", advice, more) : more;
}

/* Says what these requests show of an open condition, and how to decide it. */
static void asserts_advise(const struct load_analysis *analysis, bool as_asked, struct report *r,
			   struct load_assert *a)
{
	const double needed_ns = asserts_needed_ns(analysis, a);
	struct load_assert seen = { .condition = a->condition };

	asserts_see(analysis, as_asked, r, &seen);
	if (seen.truth)
		a->words = report_format(r, "%s. As seen it %s: %s", a->words,
					 sentences[seen.truth], seen.words);
	if (as_asked && needed_ns < ADVISED_MOST_NS)
		a->to_do = report_format(r, "a new run with --for %.0f%c or longer, if the latency "
					 "stays as it is",
					 ceil(needed_ns / (needed_ns < 100.0 * NS_PER_S ?
							1.0 : 60.0) / NS_PER_S),
					 needed_ns < 100.0 * NS_PER_S ? 's' : 'm');
	if (as_asked && asserts_can_repeat(analysis, a->condition->q))
		a->to_do = asserts_advice_add(a->to_do, "--repeat 6, which judges by how runs "
					      "differ", r);
	if (seen.truth)
		a->to_do = asserts_advice_add(a->to_do, "--assert-seen, which takes what was seen "
					      "as the answer", r);
}

/* Judges by the bounds of the quantile. `why`: why the run is not sound there. */
static int asserts_prove(const struct load_analysis *analysis, struct report *r,
			 struct strbuf *why, struct load_assert *out)
{
	const bool undisturbed = asserts_quantile(analysis, out->condition->q, &out->quantile);
	int err = asserts_judge(analysis, undisturbed, out, why);
	char least[HUMAN_MAX];

	if (out->least_ns)
		out->words = report_format(r, "at least %s  (%s), in this run only%s",
					   human_ns(least, out->least_ns),
					   load_quantile_value(&out->quantile, r),
					   asserts_drift_words(out, r));
	else
		out->words = report_format(r, "%s%s%s%s", load_quantile_value(&out->quantile, r),
				   undisturbed ? "  without the time around gaps" : "",
				   out->quantile.upper && out->quantile.run_only ?
				   ", in this run only" : "", asserts_drift_words(out, r));
	return err;
}

bool load_asserts_settle(const struct load_asserts *asserts, const struct report *r)
{
	for (const struct table_row *row = r->reasons->first; row; row = row->next) {
		if (!gate_mask(row->cells[0].string))
			return false;
	}
	return asserts->settled;
}

int load_asserts_report(const struct load_conditions *conditions,
			const struct load_analysis *analysis, struct report *r,
			struct load_asserts *out)
{
	const bool as_asked = load_summary_is_as_asked(analysis, r);
	struct load_assert asserts[ARRAY_LEN(conditions->list)] = { 0 };
	struct strbuf why[ARRAY_LEN(conditions->list)];
	int err = 0, ret;

	*out = (struct load_asserts){ .settled = conditions->n };
	for (uint32_t i = 0; i < conditions->n; i++) {
		asserts[i].condition = &conditions->list[i];
		strbuf_init(&why[i], 4096);
		ret = 0;
		if (conditions->list[i].seen)
			asserts_see(analysis, as_asked, r, &asserts[i]);
		else
			ret = asserts_prove(analysis, r, &why[i], &asserts[i]);
		if (!ret && !conditions->list[i].seen && asserts[i].truth == LOAD_OPEN)
			asserts_advise(analysis, as_asked, r, &asserts[i]);
		err = err ? err : ret;
		out->fails |= asserts[i].truth == LOAD_FAILS;
		out->settled &= asserts[i].truth != LOAD_OPEN;
	}
	out->settled |= out->fails;
	load_asserts_add(asserts, conditions->n, r);
	for (uint32_t i = 0; i < conditions->n; i++) {
		if (load_analysis_sound(analysis) && !asserts[i].truth && !out->fails &&
		    !asserts[i].condition->seen)
			asserts_explain_open(asserts[i].condition, &asserts[i].quantile, &why[i],
					     r);
		strbuf_release(&why[i]);
	}
	return err;
}
