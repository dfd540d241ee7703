/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_result.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "report/human.h"

/* ---- conditions ---- */

int load_asserts_parse(const struct opt_list *texts, struct load_condition out[OPT_LIST_MAX])
{
	for (uint32_t i = 0; i < texts->len; i++) {
		if (!load_condition_parse(texts->items[i], &out[i]))
			continue;
		log_error("load: --assert takes " LOAD_CONDITION_TAKES ", not '%s'",
			  texts->items[i]);
		return -EINVAL;
	}
	return 0;
}

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

static struct value ns_or_null(bool known, uint64_t ns)
{
	return known ? value_ns(ns) : value_null();
}

static const char *interval_text(struct report *r, const struct load_quantile *q)
{
	char value[HUMAN_MAX], low[HUMAN_MAX], high[HUMAN_MAX];

	if (!q->known)
		return "n/a";
	human_ns(value, q->ns);
	if (!q->bounded)
		return report_format(r, "%s, without a valid interval", value);
	return report_format(r, "%s [%s, %s]", value, human_ns(low, q->lo_ns),
			     human_ns(high, q->hi_ns));
}

static void add_assert(const struct load_condition *c, enum load_truth truth,
		       const struct load_quantile *q, struct table *t, struct list *lines)
{
	TABLE_ADD(t, value_string(c->text), value_number(c->q), value_ns(c->limit_ns),
		  ns_or_null(q->known, q->ns), ns_or_null(q->bounded, q->lo_ns),
		  ns_or_null(q->bounded, q->hi_ns), value_string(truths[truth]));
	list_add(lines, "%s %s: %s", c->text, sentences[truth], interval_text(t->report, q));
}

/* A result at one percentile says little of another: each condition needs its own to be sound. */
static int judge(const struct load_analysis *analysis, const struct load_condition *c,
		 const struct load_quantile *q, enum load_truth *truth, struct strbuf *why)
{
	int ret = load_analysis_sound(analysis) ?
		load_analysis_sound_at(analysis, c->q, why) : 0;

	*truth = ret == 1 ? load_condition_judge(c, q) : LOAD_OPEN;
	return ret < 0 ? ret : 0;
}

static void say_open(const struct load_condition *c, const struct load_quantile *q,
		     const struct strbuf *why, struct report *r)
{
	if (why->len)
		load_reason(r, "assert-undecided",
			    report_format(r, "%s: %s", c->text, strbuf_str(why)),
			    "the run is not sound at a condition's percentile");
	else if (!q->bounded)
		load_reason(r, "assert-undecided", c->text,
			    "a condition's percentile has no valid interval: too few requests lie "
			    "beyond it, or too many were disturbed");
	else
		load_reason(r, "assert-undecided", c->text,
			    "a condition's limit lies within the interval: more samples are needed "
			    "to decide");
}

int load_asserts_report(const struct load_condition *conditions, uint32_t n,
			const struct load_analysis *analysis, struct report *r, bool *fails)
{
	static const struct column columns[] = {
		{ .name = "condition" }, { .name = "q" }, { .name = "limit_ns" },
		{ .name = "ns" }, { .name = "lo_ns" }, { .name = "hi_ns" }, { .name = "result" },
	};
	struct table *t = table_new(r, columns, sizeof(columns) / sizeof(columns[0]));
	struct list *lines = list_new(r);
	const enum load_from main = load_analysis_main(analysis);
	struct strbuf why[OPT_LIST_MAX];
	struct load_quantile q[OPT_LIST_MAX];
	enum load_truth truths[OPT_LIST_MAX];
	int err = 0;

	*fails = false;
	for (uint32_t i = 0; i < n; i++) {
		int ret;

		strbuf_init(&why[i], 4096);
		load_analysis_quantile(analysis, main, conditions[i].q, &q[i]);
		ret = judge(analysis, &conditions[i], &q[i], &truths[i], &why[i]);
		err = err ? err : ret;
		add_assert(&conditions[i], truths[i], &q[i], t, lines);
		*fails |= truths[i] == LOAD_FAILS;
	}
	object_add(&r->body, "asserts", value_table(t));
	object_add(&r->body, NULL, value_list(lines));
	for (uint32_t i = 0; i < n; i++) {
		if (load_analysis_sound(analysis) && truths[i] == LOAD_OPEN && !*fails)
			say_open(&conditions[i], &q[i], &why[i], r);
		strbuf_release(&why[i]);
	}
	return err;
}

/* ---- one of many runs ---- */

static bool is_one_of(const char *code, const char *const *codes)
{
	for (; *codes; codes++)
		if (!strcmp(code, *codes))
			return true;
	return false;
}

/* Reasons that a load beyond the server's capacity gives ... */
static const char *const saturation[] = {
	"rate-not-reached", "closed-loop-behaviour", "non-stationary-trend", "errors-above-limit",
	NULL,
};

/* ... unless it was the load generator that failed, or may have been. */
static const char *const failures[] = {
	"client-saturated", "local-ports-exhausted", "unexpected-status", "interrupted",
	"agent-lost", "server-unreachable", NULL,
};

static const char *const noise[] = { "host-noisy", "host-unknown", NULL };

/* Reasons for which a run can't stand beside another one that was disturbed as much. */
static const char *const other_load[] = {
	"rate-not-reached", "errors-above-limit", "server-unreachable", "local-ports-exhausted",
	"unexpected-status", "interrupted", "agent-lost", NULL,
};

/*
 * Noise that was seen can cost part of a rate; more than half of it is the server's. What nobody
 * saw costs less.
 */
#define SATURATED_SHARE 0.5
#define SATURATED_SHARE_QUIET 0.8

/* Reasons that say no more than that there is no interval. */
static const char *const undecided[] = {
	"not-converged", "too-few-exceedances", "heavy-tail", NULL,
};

void load_summary_reasons(const struct report *r, struct load_summary *out)
{
	const double share = out->achieved / out->rate;
	bool failed = false, noisy = false;
	size_t len = 0;

	out->usable = out->comparable = true;
	for (const struct row *row = r->reasons->first; row; row = row->next) {
		const char *code = row->cells[0].string;

		out->saturated |= is_one_of(code, saturation);
		out->usable &= is_one_of(code, undecided);
		out->comparable &= !is_one_of(code, other_load);
		failed |= is_one_of(code, failures);
		noisy |= is_one_of(code, noise);
		if (len + strlen(code) + 2 > sizeof(out->reasons))
			continue;
		len += (size_t)snprintf(out->reasons + len, sizeof(out->reasons) - len, "%s%s",
					len ? " " : "", code);
	}
	out->saturated &= !failed && (!noisy || share < SATURATED_SHARE);
	out->certain = out->saturated && !noisy && share < SATURATED_SHARE_QUIET;
}

enum load_truth load_summary_judge(const struct load_summary *s, const struct load_condition *c,
				   struct load_quantile *q, bool *doubtful)
{
	*q = s->asked;
	*doubtful = false;
	if (s->sound)
		return load_condition_judge(c, &s->asked);
	if (s->saturated && s->asked.known && s->asked.ns >= c->limit_ns) {
		*doubtful = !s->certain;
		return LOAD_FAILS;
	}
	q->known &= s->usable;
	return LOAD_OPEN;
}

int load_summary_make(struct load_intake *intake, double q, struct load_summary *out)
{
	static const double quantiles[REPORT_QUANTILES] = { 0.5, 0.9, 0.99, 0.999 };
	struct provenance who = run_facts_provenance(&intake->facts, "load", LOAD_REPORT_SCHEMA);
	const struct load_analysis *a = intake->analysis;
	const bool closed = intake->setup.analysis.loop == LOOP_CLOSED;
	const enum load_from from = load_analysis_main(a);
	struct report r;
	int err;

	*out = (struct load_summary){
		.from = from, .closed = closed, .interrupted = intake->interrupted,
		.rate = closed ? NAN : intake->setup.analysis.rate,
		.achieved = load_analysis_achieved(a), .count = load_analysis_count(a, from),
		.sound = load_analysis_sound(a), .seed = intake->setup.config.seed,
	};
	for (int i = 0; i < REPORT_QUANTILES; i++)
		load_analysis_quantile(a, from, quantiles[i], &out->quantiles[i]);
	load_analysis_quantile(a, from, q, &out->asked);
	out->misses_known = load_analysis_misses(a, &out->misses);
	report_init(&r, &who);
	err = load_intake_report(intake, &r);
	if (!err)
		load_summary_reasons(&r, out);
	report_release(&r);
	return err;
}
