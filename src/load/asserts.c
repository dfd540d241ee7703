/* SPDX-License-Identifier: Apache-2.0 */
#include "load/asserts.h"

#include <string.h>

#include "load/quantile_words.h"

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

static void add_assert(const struct load_condition *c, enum load_truth truth,
		       const struct load_quantile *q, bool undisturbed, struct table *t,
		       struct string_list *lines)
{
	TABLE_ADD(t, value_string(c->text), value_number(c->q), value_ns(c->limit_ns),
		  value_known_ns(q->known, q->ns), value_known_ns(q->bounded, q->lo_ns),
		  value_known_ns(q->upper, q->hi_ns), value_string(truths[truth]));
	list_add(lines, "%s %s: %s%s%s", c->text, sentences[truth],
		 load_quantile_value(q, t->report),
		 undisturbed ? "  without the time around gaps" : "",
		 q->upper && q->run_only ? ", in this run only" : "");
}

/* Judges a condition, which is open if the run is not sound at the condition's percentile. */
static int asserts_judge(const struct load_analysis *analysis, const struct load_condition *c,
			 struct load_quantile *q, enum load_truth *truth, struct strbuf *why)
{
	bool run_only = false;
	int ret = load_analysis_sound(analysis) ?
		load_analysis_sound_at(analysis, c->q, &run_only, why) : 0;

	q->run_only |= run_only;
	*truth = ret == 1 ? load_condition_judge(c, q) : LOAD_OPEN;
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

int load_asserts_report(const struct load_condition *conditions, uint32_t n,
			const struct load_analysis *analysis, struct report *r, bool *fails)
{
	static const struct column columns[] = {
		{ .name = "condition" }, { .name = "q" }, { .name = "limit_ns" },
		{ .name = "ns" }, { .name = "lo_ns" }, { .name = "hi_ns" }, { .name = "result" },
	};
	struct table *t = table_new(r, columns, sizeof(columns) / sizeof(columns[0]));
	struct string_list *lines = list_new(r);
	struct strbuf why[OPT_LIST_MAX];
	struct load_quantile q[OPT_LIST_MAX];
	enum load_truth truths[OPT_LIST_MAX];
	int err = 0;

	*fails = false;
	for (uint32_t i = 0; i < n; i++) {
		bool undisturbed;
		int ret;

		strbuf_init(&why[i], 4096);
		undisturbed = asserts_quantile(analysis, conditions[i].q, &q[i]);
		ret = asserts_judge(analysis, &conditions[i], &q[i], &truths[i], &why[i]);
		err = err ? err : ret;
		add_assert(&conditions[i], truths[i], &q[i], undisturbed, t, lines);
		*fails |= truths[i] == LOAD_FAILS;
	}
	object_add(&r->body, "asserts", value_table(t));
	object_add(&r->body, NULL, value_list(lines));
	for (uint32_t i = 0; i < n; i++) {
		if (load_analysis_sound(analysis) && truths[i] == LOAD_OPEN && !*fails)
			asserts_explain_open(&conditions[i], &q[i], &why[i], r);
		strbuf_release(&why[i]);
	}
	return err;
}
