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
	load_reason(r, "assert-undecided", a->condition->text,
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

static void runs_asserts_combined(const struct between_runs *b, double confidence, bool whole,
				  struct report *r, struct load_assert *a)
{
	struct load_quantile *q = &a->quantile;
	char mean[HUMAN_MAX], lo[HUMAN_MAX], hi[HUMAN_MAX];

	*q = (struct load_quantile){
		.ns = between_runs_ns(b->mean_ns), .lo_ns = between_runs_ns(b->lo_ns),
		.hi_ns = between_runs_ns(b->hi_ns), .known = true, .upper = true, .bounded = true,
		.confidence = confidence,
	};
	a->truth = load_condition_judge(a->condition, q, 1);
	/* Runs that were left out would not have held it. */
	if (a->truth == LOAD_HOLDS && !whole)
		a->truth = LOAD_OPEN;
	a->words = report_format(r, "%s [%s, %s] over %zu runs; it held in %llu of %llu%s",
				 human_ns(mean, q->ns), human_ns(lo, q->lo_ns),
				 human_ns(hi, q->hi_ns), b->n,
				 (unsigned long long)(a->of - a->beyond),
				 (unsigned long long)a->of,
				 whole ? "" : ", but others had another load, or too few requests");
}

int runs_asserts_repeat(const struct load_runs *runs, const struct load_conditions *conditions,
			double asked, double confidence, struct report *r,
			struct load_asserts *out)
{
	struct load_assert asserts[ARRAY_LEN(conditions->list)] = { 0 };
	struct load_quantile *list = calloc(runs->len + 1, sizeof(*list));
	struct between_runs b;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < conditions->n; i++) {
		struct load_assert *a = &asserts[i];

		a->condition = &conditions->list[i];
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
			runs_asserts_combined(&b, confidence, a->of == runs->len, r, a);
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
