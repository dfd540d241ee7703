/* SPDX-License-Identifier: Apache-2.0 */
#include "load/runs_headline.h"

#include <math.h>

#include "load/quantile_words.h"
#include "report/human.h"

void runs_headline_sweep(const struct load_runs *runs, double q, size_t sound, struct report *r)
{
	const struct load_summary *low = NULL, *high = NULL;
	char least[HUMAN_MAX], most[HUMAN_MAX];

	vec_for_each(runs, s) {
		if (!s->asked.known || !s->comparable || !isfinite(s->rate))
			continue;
		low = low && low->rate <= s->rate ? low : s;
		high = high && high->rate > s->rate ? high : s;
	}
	if (!low || low->rate == high->rate)
		report_headline_said(r, "Latency over load is not known: fewer than two rates "
				     "were reached; sound: %zu of %zu runs.",
				     sound, runs->len);
	else
		report_headline_said(r, "p%g is %s at %s/s and %s at %s/s; sound: %zu of %zu "
				     "runs.", 100 * q,
				     load_quantile_short(&low->asked, false, r),
				     human_rate(least, low->rate),
				     load_quantile_short(&high->asked, false, r),
				     human_rate(most, high->rate), sound, runs->len);
}

void runs_headline_between(const struct between_runs *b, double q, double confidence,
			   struct report *r)
{
	char mean[HUMAN_MAX], lo[HUMAN_MAX], hi[HUMAN_MAX];

	report_headline_said(r, "p%g is %s [%s, %s] at %g %%, over %zu runs.", 100 * q,
			     human_ns(mean, between_runs_ns(b->mean_ns)),
			     human_ns(lo, between_runs_ns(b->lo_ns)),
			     human_ns(hi, between_runs_ns(b->hi_ns)), 100 * confidence, b->n);
}

void runs_headline_pairs(const struct paired_diff *v, const char *const urls[2], double q,
			 double confidence, struct report *r)
{
	char a[HUMAN_MAX], b[HUMAN_MAX];

	report_headline_said(r, "p%g is %s at %s and %s at %s: %.3g times as long [%.3g, %.3g] at "
			     "%g %%.", 100 * q, human_ns(a, between_runs_ns(v->a_ns)), urls[0],
			     human_ns(b, between_runs_ns(v->b_ns)), urls[1], v->ratio, v->lo,
			     v->hi, 100 * confidence);
}
