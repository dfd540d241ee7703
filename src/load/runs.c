/* SPDX-License-Identifier: Apache-2.0 */
#include "load/runs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "load/asserts.h"
#include "load/findmax_guess.h"
#include "load/interference_bound.h"
#include "load/protocol.h"
#include "load/quantile_words.h"
#include "load/runs_asserts.h"
#include "load/runs_headline.h"
#include "load/setup.h"
#include "report/human.h"

/* Significance level (p) of differences between runs, and between servers' shares of misses. */
#define DIFFER_P 0.01
/* Largest difference between two servers' shares of misses at which they count as equal. */
#define MISSES_ALIKE 0.05

/* ---- table cells ---- */

/* Returns a rate for a table cell: rounded as by human_rate(), below 9.95 as a plain number. */
static struct value rate_cell(double rate)
{
	if (!(rate >= 9.95) || isinf(rate))
		return value_number(rate);
	return value_u64((uint64_t)llround(rate));
}

static struct value runs_quantile(const struct load_quantile *q)
{
	return value_known_ns(q->known, q->ns);
}

static struct value share_or_null(double share)
{
	return isnan(share) ? value_null() : value_fraction(share);
}

/* ---- misses ---- */

/* Returns misses / replies; NaN if unknown or without replies. */
static double miss_share(const struct load_summary *s)
{
	if (!s->misses_known || !s->misses.completed)
		return NAN;
	return (double)s->misses.misses / (double)s->misses.completed;
}

static bool any_misses(const struct load_runs *runs)
{
	vec_for_each(runs, s)
		if (miss_share(s) > 0)
			return true;
	return false;
}

/* Adds a finding about misses: misses are fast, so their latency is not the one of interest. */
static void runs_report_misses(const struct load_runs *runs, struct report *r)
{
	char low[HUMAN_MAX], high[HUMAN_MAX];
	double least = 1, most = 0;

	vec_for_each(runs, s) {
		if (isnan(miss_share(s)))
			continue;
		least = fmin(least, miss_share(s));
		most = fmax(most, miss_share(s));
	}
	if (!any_misses(runs))
		return;
	human_fraction(low, least);
	human_fraction(high, most);
	if (strcmp(low, high) != 0)
		report_finding(r, "misses: %s to %s of the replies of a run had no value", low,
			       high);
	else
		report_finding(r, "misses: %s of the replies had no value", low);
}

/* ---- the table of runs ---- */

/* Returns the requested rate; an absent cell for a closed loop, which has none. */
static struct value rate_asked(const struct load_summary *s)
{
	return s->closed ? value_absent() : rate_cell(s->rate);
}

/* Returns the name of the reported latency, such as "from intended send"; all runs share it. */
static const char *from_words(const struct load_runs *runs, struct report *r)
{
	const struct load_summary *s = runs->items;

	return report_format(r, "%s%s", load_from_words(runs->len ? s->from : LOAD_INTENDED),
			     runs->len && s->closed ? ", closed loop: this is not the latency at a "
						      "given request rate" : "");
}

/* Returns a URL without its password. */
static const char *runs_shown_url(const char *url, struct report *r)
{
	struct strbuf text = STRBUF_INIT(LOAD_SETUP_TEXT_MAX);
	const char *copy;

	target_put_shown(url, &text);
	copy = report_format(r, "%s", strbuf_str(&text));
	strbuf_release(&text);
	return copy;
}

static const char *runs_interval(struct report *r, const struct load_quantile *q)
{
	char low[HUMAN_MAX], high[HUMAN_MAX];

	if (!q->upper)
		return "n/a";
	if (!q->bounded)
		return report_format(r, "at most %s", human_ns(high, q->hi_ns));
	return report_format(r, "[%s, %s]", human_ns(low, q->lo_ns), human_ns(high, q->hi_ns));
}

static void add_runs(const struct load_runs *runs, double q, struct report *r)
{
	const char *head = report_format(r, "interval of p%g", 100 * q);
	const bool named = runs->len && runs->items[0].url;
	const struct column columns[] = {
		{ .name = "run" },	{ .name = "target", .head = named ? "server" : NULL },
		{ .name = "rate" },	{ .name = "achieved" },
		{ .head = "rate/s" },   { .head = "achieved" },
		{ .name = "count", .head = "requests" },	 { .name = "q" },
		{ .name = "ns" },	{ .name = "lo_ns" },	 { .name = "hi_ns" },
		{ .name = "p50_ns", .head = "p50" },
		{ .name = "p90_ns", .head = "p90" },
		{ .name = "p99_ns", .head = "p99" },
		{ .name = "p999_ns", .head = "p99.9" },		 { .head = head },
		{ .name = "completed" }, { .name = "misses" },
		{ .head = any_misses(runs) ? "misses" : NULL },
		{ .name = "seed" },
		{ .name = "verdict", .head = "verdict" },
		{ .name = "reasons", .head = "why", .flags = COLUMN_FLEX },
		{ .name = "scope" },
	};
	struct table *t = table_new(r, columns, sizeof(columns) / sizeof(columns[0]));

	vec_for_each(runs, s)
		TABLE_ADD(t, value_u64(s->run),
			  s->url ? value_string(runs_shown_url(s->url, r)) : value_absent(),
			  value_number(s->rate), value_number(s->achieved), rate_asked(s),
			  rate_cell(s->achieved),
			  value_u64(s->count), value_number(q), runs_quantile(&s->asked),
			  value_known_ns(s->asked.bounded, s->asked.lo_ns),
			  value_known_ns(s->asked.upper, s->asked.hi_ns),
			  runs_quantile(&s->quantiles[0]), runs_quantile(&s->quantiles[1]),
			  runs_quantile(&s->quantiles[2]), runs_quantile(&s->quantiles[3]),
			  value_string(runs_interval(r, &s->asked)), value_u64(s->misses.completed),
			  s->misses_known ? value_u64(s->misses.misses) : value_null(),
			  share_or_null(miss_share(s)),
			  value_u64(s->seed), value_string(load_summary_verdict(s)),
			  value_string(s->reasons),
			  s->asked.upper ? value_string(load_quantile_scope(&s->asked)) :
					   value_null());
	object_add(&r->body, "runs", value_table(t));
}

/* Places findings and verdict in the report; reasons added later still change the verdict. */
static void runs_finish(const struct load_runs_end *end, struct report *r)
{
	report_place_findings(r);
	report_place_verdict(r);
	if (end->interrupted)
		load_reason(r, "interrupted", NULL, "the runs were interrupted");
	if (end->failed)
		load_reason(r, "run-failed", end->failed,
			    "a run failed: only the earlier runs are shown");
}

static void not_sound(const struct load_runs *runs, struct report *r)
{
	uint64_t bad = 0;

	vec_for_each(runs, s)
		bad += !s->sound;
	if (bad)
		report_reason(r, "runs-not-sound",
			      report_format(r, "%" PRIu64 " of %zu", bad, runs->len),
			      "some runs are not sound: the table lists the reasons");
}

/* ---- sweeps ---- */

static bool runs_differ(const struct load_summary *a, const struct load_summary *b)
{
	return a->sound && b->sound && a->asked.bounded && b->asked.bounded &&
	       !a->asked.run_only && !b->asked.run_only &&
	       (a->asked.hi_ns < b->asked.lo_ns || b->asked.hi_ns < a->asked.lo_ns);
}

/* Runs are ordered by rate: both of a rate are neighbors. */
static void runs_report_unlike(const struct load_runs *runs, double q, struct report *r)
{
	const struct load_summary *first = NULL;
	char rate[HUMAN_MAX], a[HUMAN_MAX], b[HUMAN_MAX];
	uint32_t n = 0;

	for (size_t i = 1; i < runs->len; i++) {
		const struct load_summary *s = &runs->items[i];

		if (s->rate != s[-1].rate || !runs_differ(&s[-1], s))
			continue;
		first = first ?: &s[-1];
		n++;
	}
	if (n)
		report_finding(r, "At %u rates the two runs differ by more than their intervals "
			       "allow, first at %s/s: p%g %s and %s. --repeat tells how much runs "
			       "vary.", n, human_rate(rate, first->rate), 100 * q,
			       human_ns(a, first[0].asked.ns), human_ns(b, first[1].asked.ns));
}

void load_runs_sweep(const struct load_runs *runs, double q, const struct load_runs_end *end,
		       struct report *r)
{
	size_t sound = 0;

	vec_for_each(runs, s)
		sound += s->sound;
	runs_headline_sweep(runs, q, sound, r);
	report_title(r, "latency %s by rate, %zu runs", from_words(runs, r), runs->len);
	runs_report_unlike(runs, q, r);
	runs_report_misses(runs, r);
	add_runs(runs, q, r);
	report_verdict(r, !sound ? "n/a" : sound < runs->len ? "partial" : "ok");
	runs_finish(end, r);
	not_sound(runs, r);
}

/* ---- repetitions ---- */

static void add_between(const struct between_runs *b, struct report *r)
{
	struct object *o = object_new(r);
	bool known = b->n >= 2;

	object_add(o, "runs", value_u64(b->n));
	object_add(o, "mean_ns", value_known_ns(known, between_runs_ns(b->mean_ns)));
	object_add(o, "lo_ns", value_known_ns(known, between_runs_ns(b->lo_ns)));
	object_add(o, "hi_ns", value_known_ns(known, between_runs_ns(b->hi_ns)));
	object_add(o, "min_ns", value_known_ns(known, between_runs_ns(b->min_ns)));
	object_add(o, "max_ns", value_known_ns(known, between_runs_ns(b->max_ns)));
	object_add(o, "p_value", b->tested ? value_number(b->p) : value_null());
	object_add(o, "between_share", b->tested ? value_number(b->share) : value_null());
	object_add(&r->body, "between", value_object(o));
}

static void runs_report_between(const struct between_runs *b, double q, double confidence,
				const char *from, struct report *r)
{
	char mean[HUMAN_MAX], low[HUMAN_MAX], high[HUMAN_MAX], share[HUMAN_MAX];

	report_title(r, "p%g  %s  [%s, %s] at %g %%", 100 * q,
		     human_ns(mean, between_runs_ns(b->mean_ns)),
		     human_ns(low, between_runs_ns(b->lo_ns)),
		     human_ns(high, between_runs_ns(b->hi_ns)), 100 * confidence);
	report_summary(r, "%s", from);
	report_summary(r, "over %zu runs with fresh connections", b->n);
	runs_headline_between(b, q, confidence, r);
	if (!b->tested)
		return;
	if (b->p < DIFFER_P)
		report_finding(r, "The runs differ by more than their own intervals allow (p = "
			       "%.2g): %s of the variance is between runs. A single run's interval "
			       "is too narrow to predict the next run.", b->p,
			       human_fraction(share, b->share));
	else
		report_finding(r, "The runs differ no more than their own intervals allow "
			       "(p = %.2g).", b->p);
}

/*
 * Runs count also if they are not sound (load_summary_counts()): a selection of the calm ones would
 * tell of calm only.
 */
int load_runs_repeat(const struct load_runs *runs, double q, double confidence,
		     const struct load_conditions *conditions, const struct load_runs_end *end,
		     struct report *r, struct load_asserts *judged)
{
	struct load_quantile *asked = calloc(runs->len + 1, sizeof(*asked));
	struct between_runs b = { 0 };
	size_t n = 0, sound = 0;
	bool known;
	int err;

	if (!asked)
		return -ENOMEM;
	vec_for_each(runs, s) {
		sound += s->sound;
		if (load_summary_counts(s, q))
			asked[n++] = s->asked;
	}
	known = !between_runs_combine(asked, n, confidence, &b);
	report_headline_said(r, "How much runs differ is not known.");
	if (known)
		runs_report_between(&b, q, confidence, from_words(runs, r), r);
	runs_report_misses(runs, r);
	add_between(&b, r);
	add_runs(runs, q, r);
	report_verdict(r, known ? sound == runs->len ? "ok" : "partial" : "n/a");
	runs_finish(end, r);
	not_sound(runs, r);
	if (!known)
		report_reason(r, "too-few-runs", NULL,
			      "at least two runs with the requested load and enough requests are "
			      "needed to compare runs");
	free(asked);
	err = runs_asserts_repeat(runs, conditions, q, confidence, r, judged);
	judged->settled &= !end->interrupted && !end->failed;
	return err;
}

/* ---- the highest rate ---- */

static const struct {
	const char *code, *message;
} ends[] = {
	[FINDMAX_TIME] = { "not-converged",
			   "the search ran out of time (--for) before its result was "
			   "precise enough" },
	[FINDMAX_PROBES_USED] = { "not-converged",
				  "the search used up its trial runs before its result was "
				  "precise enough" },
	[FINDMAX_ABOVE_MAX] = { "above-range",
				"the condition holds even at the highest rate of the search" },
	[FINDMAX_BELOW_MIN] = { "below-range",
				"the condition fails even at the lowest rate of the search" },
};

static int add_answer(const struct load_runs *runs, const struct load_condition *c,
		      const struct findmax *fm, struct report *r)
{
	struct object *o = object_new(r);

	object_add(o, "condition", value_string(c->text));
	object_add(o, "rate", value_number(fm->lo ? fm->lo : NAN));
	object_add(o, "lo", value_number(fm->lo ? fm->lo : NAN));
	object_add(o, "hi", value_number(fm->hi ? fm->hi : NAN));
	object_add(o, "confidence", value_number(fm->config.confidence));
	object_add(o, "probes", value_u64(fm->probes));
	object_add(o, "confirmed", value_bool(fm->confirming == 2 && fm->confirmed));
	object_add(o, "end", value_string(findmax_end_name(fm->end)));
	object_add(&r->body, "find_max", value_object(o));
	return findmax_guess_report(runs, c, fm, o, r);
}

/*
 * Returns a text with the number of trial runs that had no result, and the reasons of the last such
 * run. NULL: there is no such run.
 */
static const char *runs_count_unanswered(const struct load_runs *runs, struct report *r)
{
	const char *why = NULL;
	size_t n = 0;

	vec_for_each(runs, s) {
		if (s->sound || s->usable || s->saturated)
			continue;
		why = s->reasons;
		n++;
	}
	return n ? report_format(r, "%zu of %zu trial runs had no result: %s", n, runs->len, why)
		 : NULL;
}

/* Tells of trial runs whose bounds hold for them alone: the server may do otherwise later. */
static void runs_report_run_only(const struct load_runs *runs, struct report *r)
{
	size_t n = 0;

	vec_for_each(runs, s)
		n += s->sound && s->asked.run_only;
	if (n)
		report_finding(r, "The latency changed during %zu of %zu trial runs: their bounds "
			       "hold for that run only.", n, runs->len);
}

/* Returns what the search has shown of the highest rate. */
static const char *runs_found_words(const struct findmax *fm, struct report *r)
{
	char low[HUMAN_MAX], high[HUMAN_MAX];

	if (fm->lo && fm->hi)
		return report_format(r, "in [%s, %s]", human_rate(low, fm->lo),
				     human_rate(high, fm->hi));
	if (fm->lo)
		return report_format(r, "at least %s/s", human_rate(low, fm->lo));
	return fm->hi ? report_format(r, "below %s/s", human_rate(high, fm->hi)) : NULL;
}

int load_runs_find_max(const struct load_runs *runs, const struct load_condition *condition,
		       const struct findmax *fm, const struct load_runs_end *end, struct report *r)
{
	const char *found = runs_found_words(fm, r);
	char low[HUMAN_MAX];
	int err;

	if (fm->lo)
		report_title(r, "%s holds up to %s/s", condition->text, human_rate(low, fm->lo));
	else
		report_title(r, "%s was not shown to hold at any rate", condition->text);
	report_headline_said(r, "%s.", r->title ?: condition->text);
	if (found)
		report_summary(r, "the highest rate is %s at %g %%", found,
			       100 * fm->config.confidence);
	report_summary(r, "%u trial runs", fm->probes);
	runs_report_run_only(runs, r);
	runs_report_misses(runs, r);
	err = add_answer(runs, condition, fm, r);
	add_runs(runs, condition->q, r);
	report_verdict(r, fm->end == FINDMAX_FOUND ? "ok" : fm->lo ? "partial" : "n/a");
	runs_finish(end, r);
	if (fm->end != FINDMAX_FOUND && fm->end != FINDMAX_GOES_ON)
		report_reason(r, ends[fm->end].code, runs_count_unanswered(runs, r), "%s",
			      ends[fm->end].message);
	return err;
}

/* ---- two targets ---- */

static void add_paired_diff(const struct paired_diff *v, const struct share_gap *misses,
			    const char *const urls[2], struct report *r)
{
	struct object *o = object_new(r);
	bool known = v->n;

	object_add(o, "a", value_string(urls[0]));
	object_add(o, "b", value_string(urls[1]));
	object_add(o, "pairs", value_u64(v->n));
	object_add(o, "a_ns", value_known_ns(known, between_runs_ns(v->a_ns)));
	object_add(o, "b_ns", value_known_ns(known, between_runs_ns(v->b_ns)));
	object_add(o, "ratio", known ? value_number(v->ratio) : value_null());
	object_add(o, "ratio_lo", known ? value_number(v->lo) : value_null());
	object_add(o, "ratio_hi", known ? value_number(v->hi) : value_null());
	object_add(o, "p_value", known ? value_number(v->p) : value_null());
	object_add(o, "a_misses", share_or_null(misses->a));
	object_add(o, "b_misses", share_or_null(misses->b));
	object_add(&r->body, "comparison", value_object(o));
}

static void runs_report_paired_diff(const struct paired_diff *v, const char *const urls[2],
				    double q, double confidence, const char *from, bool all,
				    struct report *r)
{
	const char *where = all ? "" : "In the usable slices, ";
	char a[HUMAN_MAX], b[HUMAN_MAX];

	report_title(r, "p%g  %s at %s, %s at %s", 100 * q,
		     human_ns(a, between_runs_ns(v->a_ns)), urls[0],
		     human_ns(b, between_runs_ns(v->b_ns)), urls[1]);
	report_summary(r, "%s", from);
	runs_headline_pairs(v, urls, q, confidence, r);
	report_summary(r, "%.3f times as long [%.3f, %.3f] at %g %%", v->ratio, v->lo, v->hi,
		       100 * confidence);
	report_summary(r, "p = %.2g, %zu pairs of slices", v->p, v->n);
	if (v->p < 1 - confidence)
		report_finding(r, "%s%s is %s.", where, urls[1],
			       v->ratio > 1 ? "slower" : "faster");
	else
		report_finding(r, "The two servers do not differ significantly.");
}

/*
 * Returns the quantile of a slice (a short run against one server); unknown unless the load was as
 * requested. The result need not be sound: slices are too short for that, and host interference
 * affects both servers alike.
 */
static struct load_quantile runs_slice(const struct load_summary *s)
{
	return s->comparable ? s->asked : (struct load_quantile){ .known = false };
}

static size_t runs_count_left_out(const struct load_quantile *slices, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += !slices[i].known;
	return sum;
}

/*
 * Reports the numbers of excluded slices (short runs whose load was not as requested), since their
 * exclusion makes an overloaded server look better than it is.
 */
static void runs_report_left_out(size_t of_a, size_t of_b, size_t pairs, const char *const urls[2],
				 struct report *r)
{
	if (of_a || of_b)
		load_reason(r, "slices-left-out",
			    report_format(r, "%zu of %zu slices of %s, %zu of %zu of %s", of_a,
					  pairs, urls[0], of_b, pairs, urls[1]),
			    "slices whose load was not as requested are excluded: a server that "
			    "was overloaded in these slices is slower than shown");
}

/*
 * Compares two servers' shares of misses, in runs whose load was as requested. Returns 0 (NaN if
 * the shares are unknown) or -ENOMEM.
 */
static int compare_misses(const struct load_runs *runs, const char *const urls[2],
			  struct share_gap *out)
{
	const size_t pairs = runs->len / 2;
	double *a = calloc(2 * pairs + 1, sizeof(*a)), *b = a + pairs;

	if (!a)
		return -ENOMEM;
	for (size_t i = 0; i < 2 * pairs; i++) {
		const struct load_summary *s = &runs->items[i];

		(s->url == urls[0] ? a : b)[i / 2] = s->comparable ? miss_share(s) : NAN;
	}
	if (between_runs_compare_shares(a, b, pairs, 1 - DIFFER_P, out))
		*out = (struct share_gap){ .a = NAN, .b = NAN };
	free(a);
	return 0;
}

/*
 * Reports servers whose shares of misses differ too much, since misses and hits are different work.
 * The difference moves the rank of a quantile by at most that share. The limit is the same as for
 * the share of requests affected by host interference, but at most MISSES_ALIKE.
 */
static void runs_report_misses_differ(const struct share_gap *gap, double q,
				      const char *const urls[2], struct report *r)
{
	const double most = fmin(MISSES_ALIKE, interference_bound_limit(q));
	char a[HUMAN_MAX], b[HUMAN_MAX];

	if (!(fabs(gap->b - gap->a) > most) || (gap->lo <= 0 && gap->hi >= 0))
		return;
	load_reason(r, "misses-differ",
		    report_format(r, "misses: %s of the replies of %s, %s of the replies of %s",
				  human_fraction(a, gap->a), urls[0], human_fraction(b, gap->b),
				  urls[1]),
		    "one server had more misses than the other: their latencies are not "
		    "comparable");
}

int load_runs_against(const struct load_runs *runs, const char *const urls[2], double q,
		      double confidence, struct rng *rng,
		      const struct load_conditions *conditions, const struct load_runs_end *end,
		      struct report *r, struct load_asserts *judged)
{
	const char *const names[2] = { runs_shown_url(urls[0], r), runs_shown_url(urls[1], r) };
	size_t pairs = runs->len / 2;
	struct load_quantile *a = calloc(2 * pairs + 1, sizeof(*a)), *b = a + pairs;
	struct share_gap misses;
	struct paired_diff v = { 0 };
	size_t out[2];
	int err;

	if (!a || compare_misses(runs, urls, &misses)) {
		free(a);
		return -ENOMEM;
	}
	for (size_t i = 0; i < 2 * pairs; i++)
		(runs->items[i].url == urls[0] ? a : b)[i / 2] = runs_slice(&runs->items[i]);
	err = between_runs_compare_targets(a, b, pairs, confidence, rng, &v);
	out[0] = runs_count_left_out(a, pairs);
	out[1] = runs_count_left_out(b, pairs);
	free(a);
	report_headline_said(r, "Whether the two servers differ is not known.");
	if (!err)
		runs_report_paired_diff(&v, names, q, confidence, from_words(runs, r),
					!out[0] && !out[1], r);
	runs_report_misses(runs, r);
	add_paired_diff(&v, &misses, names, r);
	add_runs(runs, q, r);
	report_verdict(r, !err ? "ok" : "n/a");
	runs_finish(end, r);
	runs_report_left_out(out[0], out[1], pairs, names, r);
	runs_report_misses_differ(&misses, q, names, r);
	if (err)
		report_reason(r, "too-few-pairs", NULL,
			      "at least %d pairs of usable slices are needed: see the table",
			      BETWEEN_RUNS_PAIRS_MIN);
	runs_asserts_against(&v, out, conditions, r, judged);
	judged->settled = false; /* a reason against the comparison stands */
	return err == -ENODATA ? 0 : err;
}
