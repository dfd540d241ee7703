/* SPDX-License-Identifier: Apache-2.0 */
#include "load/runs_asserts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "report/human.h"

const struct load_quantile *runs_asserts_quantile(const struct load_summary *s, double asked,
						  double q)
{
	static const double kept[REPORT_QUANTILES] = { 0.5, 0.9, 0.99, 0.999 };

	if (q == asked)
		return &s->asked;
	for (int i = 0; i < REPORT_QUANTILES; i++) {
		if (kept[i] == q)
			return &s->quantiles[i];
	}
	return NULL;
}

static void runs_asserts_open(const struct load_assert *a, struct report *r)
{
	load_reason(r, "assert-undecided", a->condition->text, a->condition->seen ?
		    "an --assert-seen condition is undecided: too many runs had another load" :
		    "an --assert condition is undecided: more runs, or longer ones, narrow the "
		    "interval");
}

/* Adds the table, and a reason for each condition that is open while none fails. */
static void runs_asserts_end(const struct load_assert *asserts, uint32_t n, struct report *r,
			     struct load_asserts *out)
{
	*out = (struct load_asserts){ .settled = n > 0 };
	for (uint32_t i = 0; i < n; i++) {
		out->fails |= asserts[i].truth == LOAD_FAILS;
		out->settled &= asserts[i].truth != LOAD_OPEN;
	}
	if (n)
		load_asserts_add(asserts, n, r);
	for (uint32_t i = 0; i < n && !out->fails; i++) {
		if (asserts[i].truth == LOAD_OPEN)
			runs_asserts_open(&asserts[i], r);
	}
}

/* ---- --repeat ---- */

/*
 * Judges a condition of --assert-seen, number `bit` of them, by what the requests of each run show.
 * A disturbance that hits fewer than half of the runs does not decide.
 */
static void runs_asserts_vote(const struct load_runs *runs, uint64_t bit, struct report *r,
			      struct load_assert *a)
{
	uint64_t holds = 0;

	vec_for_each(runs, s) {
		holds += !!(s->seen_holds & bit);
		a->beyond += !!(s->seen_fails & bit);
	}
	a->of = runs->len;
	a->truth = 2 * holds > a->of ? LOAD_HOLDS : 2 * a->beyond >= a->of ? LOAD_FAILS : LOAD_OPEN;
	a->words = report_format(r, "it held in %llu of %llu runs%s", (unsigned long long)holds,
				 (unsigned long long)a->of,
				 a->truth == LOAD_HOLDS ? "" :
				 a->truth == LOAD_FAILS ? "; it must in more than half" :
				 "; too many had another load, or lost samples");
}

/* Returns why not all runs count; "": they do. */
static const char *runs_asserts_left_out(const struct load_runs *runs, uint64_t counted,
					 uint64_t unlike, struct report *r)
{
	if (unlike)
		return report_format(r, "; %llu had another load",
				     (unsigned long long)unlike);
	return counted == runs->len ? "" :
	       report_format(r, "; %llu had too few requests for this percentile",
			     (unsigned long long)(runs->len - counted));
}

static void runs_asserts_combined(const struct between_runs *b, double confidence, bool whole,
				  const char *left_out, struct report *r, struct load_assert *a)
{
	struct load_quantile *q = &a->quantile;
	char mean[HUMAN_MAX], lo[HUMAN_MAX], hi[HUMAN_MAX];

	*q = (struct load_quantile){
		.ns = between_runs_ns(b->mean_ns), .lo_ns = between_runs_ns(b->lo_ns),
		.hi_ns = between_runs_ns(b->hi_ns), .known = true, .upper = true, .bounded = true,
		.confidence = confidence,
	};
	a->truth = load_condition_judge(a->condition, q, LOAD_DRIFT_NONE);
	/*
	 * A run with another load would not have held it. One that has too few requests for the
	 * percentile says nothing.
	 */
	if (a->truth == LOAD_HOLDS && !whole)
		a->truth = LOAD_OPEN;
	a->words = report_format(r, "%s [%s, %s] over %zu runs; it held in %llu of %llu%s",
				 human_ns(mean, q->ns), human_ns(lo, q->lo_ns),
				 human_ns(hi, q->hi_ns), b->n,
				 (unsigned long long)(a->of - a->beyond),
				 (unsigned long long)a->of, left_out);
}

int runs_asserts_repeat(const struct load_runs *runs, const struct load_conditions *conditions,
			double asked, double confidence, struct report *r,
			struct load_asserts *out)
{
	struct load_assert asserts[ARRAY_LEN(conditions->list)] = { 0 };
	struct load_quantile *list = calloc(runs->len + 1, sizeof(*list));
	struct between_runs b;
	uint64_t bit = 1, unlike = 0;

	if (!list)
		return -ENOMEM;
	vec_for_each(runs, s)
		unlike += !s->comparable || !s->asked.known;
	for (uint32_t i = 0; i < conditions->n; i++) {
		struct load_assert *a = &asserts[i];

		a->condition = &conditions->list[i];
		if (a->condition->seen) {
			runs_asserts_vote(runs, bit, r, a);
			bit <<= 1;
			continue;
		}
		vec_for_each(runs, s) {
			const struct load_quantile *q =
				runs_asserts_quantile(s, asked, a->condition->q);

			BUG_ON(!q);
			if (!q->known || !load_summary_counts(s, a->condition->q))
				continue;
			list[a->of++] = *q;
			a->beyond += q->ns >= a->condition->limit_ns;
		}
		if (between_runs_combine(list, a->of, confidence, &b))
			a->words = "fewer than two runs have the requested load and enough "
				   "requests";
		else
			runs_asserts_combined(&b, confidence, !unlike,
					      runs_asserts_left_out(runs, a->of, unlike, r), r, a);
	}
	free(list);
	runs_asserts_end(asserts, conditions->n, r, out);
	return 0;
}

/* ---- --against ---- */

void runs_asserts_against(const struct paired_diff *diff, const size_t left_out[2],
			  const struct load_conditions *conditions, struct report *r,
			  struct load_asserts *out)
{
	struct load_assert asserts[ARRAY_LEN(conditions->list)] = { 0 };

	for (uint32_t i = 0; i < conditions->n; i++) {
		struct load_assert *a = &asserts[i];

		a->condition = &conditions->list[i];
		if (!diff->n) {
			a->words = "too few pairs of slices had a result";
			continue;
		}
		if (diff->lo >= a->condition->limit_ratio && !left_out[0])
			a->truth = LOAD_FAILS;
		else if (diff->hi < a->condition->limit_ratio && !left_out[1])
			a->truth = LOAD_HOLDS;
		a->words = report_format(r, "%+.1f %% [%+.1f, %+.1f]%s", 100 * (diff->ratio - 1),
					 100 * (diff->lo - 1), 100 * (diff->hi - 1),
					 left_out[0] || left_out[1] ? ", slices were left out" :
								      "");
	}
	runs_asserts_end(asserts, conditions->n, r, out);
}
