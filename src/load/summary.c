/* SPDX-License-Identifier: Apache-2.0 */
#include "load/summary.h"

#include "load/gates.h"
#include "load/swing_period.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_one_of(const char *code, const char *const *codes)
{
	for (; *codes; codes++)
		if (!strcmp(code, *codes))
			return true;
	return false;
}

/*
 * Codes of reasons against a result that indicate a load beyond the server's capacity, unless
 * another reason indicates a failure of the load generator. A trend alone does not: machines drift
 * at any rate, and a queue that grows soon keeps all connections busy as well.
 */
static const char *const saturation[] = {
	"rate-not-reached", "closed-loop-behaviour", "errors-above-limit", "aborted", NULL,
};

/* Codes of reasons that indicate an actual or possible failure of the load generator. */
static const char *const failures[] = {
	"client-saturated", "local-ports-exhausted", "unexpected-status", "interrupted",
	"agent-lost", "server-unreachable", NULL,
};

static const char *const interference[] = { "host-noisy", "host-unknown", NULL };

/*
 * Codes of reasons that mean that the actual load differed from the requested load: the run is not
 * comparable with other runs.
 */
static const char *const other_load[] = {
	"rate-not-reached", "errors-above-limit", "server-unreachable", "local-ports-exhausted",
	"unexpected-status", "interrupted", "agent-lost", "aborted", NULL,
};

/*
 * Achieved shares of the requested rate. With host interference, which may cost up to half of the
 * rate, a run is saturated below 0.5; without it, saturation is certain below 0.8.
 */
#define SATURATED_SHARE 0.5
#define SATURATED_SHARE_QUIET 0.8

/* Requests beyond a quantile from which it is not mostly chance; it is too low with fewer. */
#define BEYOND_LEAST 10.0

/* Codes of reasons that mean only that there is no confidence interval. */
static const char *const undecided[] = {
	"not-converged", "too-few-exceedances", "heavy-tail", NULL,
};

void load_summary_reasons(const struct report *r, struct load_summary *out)
{
	const double share = out->achieved / out->rate;
	bool failed = false;
	size_t len = 0;

	out->usable = out->comparable = true;
	for (const struct table_row *row = r->reasons->first; row; row = row->next) {
		const char *code = row->cells[0].string;

		out->saturated |= is_one_of(code, saturation);
		out->aborted |= !strcmp(code, "aborted");
		out->usable &= is_one_of(code, undecided);
		out->comparable &= !is_one_of(code, other_load);
		failed |= is_one_of(code, failures);
		out->noisy |= is_one_of(code, interference);
		if (len + strlen(code) + 2 > sizeof(out->reasons))
			continue;
		len += (size_t)snprintf(out->reasons + len, sizeof(out->reasons) - len, "%s%s",
					len ? " " : "", code);
	}
	out->saturated &= !failed && (!out->noisy || share < SATURATED_SHARE);
	out->certain = out->saturated && !out->noisy && share < SATURATED_SHARE_QUIET;
}

bool load_summary_enough(uint64_t requests, double q)
{
	return (double)requests * fmin(q, 1 - q) >= BEYOND_LEAST - 1e-6;
}

bool load_summary_counts(const struct load_summary *s, double q)
{
	return s->comparable && load_summary_enough(s->count, q);
}

bool load_summary_is_as_asked(const struct load_analysis *analysis, const struct report *r)
{
	for (int i = 0; i < GATES; i++)
		if (analysis->result.gates[i].tolerated && is_one_of(gate_code(i), other_load))
			return false;
	for (const struct table_row *row = r->reasons->first; row; row = row->next)
		if (is_one_of(row->cells[0].string, other_load))
			return false;
	return true;
}

enum load_truth load_summary_judge(const struct load_summary *s, const struct load_condition *c,
				   struct load_quantile *q, bool *doubtful)
{
	*q = s->asked;
	*doubtful = false;
	if (s->sound)
		return load_condition_judge(c, &s->asked, LOAD_DRIFT_NONE);
	if (s->saturated && (s->aborted || (s->asked.known && s->asked.ns >= c->limit_ns))) {
		*doubtful = !s->certain;
		return LOAD_FAILS;
	}
	q->known &= s->usable;
	return LOAD_OPEN;
}

void load_summary_make(const struct load_analysis *a, const struct load_setup *setup, double q,
		       const struct report *r, struct load_summary *out)
{
	static const double quantiles[REPORT_QUANTILES] = { 0.5, 0.9, 0.99, 0.999 };
	const bool closed = setup->analysis.loop == LOOP_CLOSED;
	const enum load_from from = load_analysis_main(a);

	*out = (struct load_summary){
		.from = from, .closed = closed,
		.rate = closed ? NAN : setup->analysis.rate,
		.achieved = load_analysis_achieved(a), .count = load_analysis_count(a, from),
		.sound = load_analysis_sound(a), .noisy = load_analysis_noisy(a),
		.seed = setup->config.seed, .period_ns = swing_period_of(a),
	};
	load_analysis_evaluated(a, &out->from_ns, &out->to_ns);
	for (int i = 0; i < REPORT_QUANTILES; i++)
		load_analysis_quantile(a, from, quantiles[i], &out->quantiles[i]);
	load_analysis_quantile(a, from, q, &out->asked);
	out->misses_known = load_analysis_misses(a, &out->misses);
	load_summary_reasons(r, out);
}
