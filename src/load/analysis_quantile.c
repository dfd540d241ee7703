/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles of a finished analysis, with the bounds that hold; the whole curve. */
#include <math.h>

#include "base/bug.h"
#include "load/analysis_quantile.h"
#include "load/evaluate.h"
#include "load/gates.h"
#include "load/interference_bound.h"
#include "load/method.h"
#include "stats/bucket_edges.h"

static double analysis_quantile_touched(const void *context, uint64_t ns)
{
	return interference_bound_touched(context, LOAD_INTENDED, ns);
}

int analysis_quantile_each(const struct load_analysis *analysis, enum load_from from,
			   void (*put)(void *context, const struct ccdf_point *point),
			   void *context)
{
	const struct interval_range range = evaluate_range(analysis, from);
	struct ccdf_band band;
	int err;

	BUG_ON(!analysis->finished);
	err = ccdf_band(&range, analysis->result.confidence, &band);
	if (err)
		return err;
	band.valid &= !interference_bound_breaks(analysis, 0);
	band.touched = analysis_quantile_touched;
	band.context = analysis;
	ccdf_each(&range, &band, put, context);
	return 0;
}

int load_analysis_ccdf(const struct load_analysis *analysis, struct strbuf *csv)
{
	const bool closed = analysis->config.loop == LOOP_CLOSED;
	int err;

	strbuf_puts(csv, CCDF_CSV_HEAD);
	err = analysis_quantile_each(analysis, closed ? LOAD_ACTUAL : LOAD_INTENDED, ccdf_put_csv,
				     csv);
	return err ? err : csv->error;
}

/*
 * Gets the confidence interval of quantile q, which the last evaluation may have computed already.
 * Returns false: no memory.
 */
static bool find_interval(const struct load_analysis *a, enum load_from from, double q,
			  struct interval *out)
{
	const struct load_result *r = &a->result;

	for (int i = 0; i < LOAD_QUANTILES; i++) {
		if (r->q[i] == q) {
			*out = r->quantiles[from][i];
			return true;
		}
	}
	return !evaluate_interval(a, from, q, out);
}

/*
 * Largest share of censored replies up to which kernel quantiles have an interval. A censored reply
 * has no receive stamp of its own: one receive call returned it with later replies. With a larger
 * share, the uncensored replies are a biased selection: the last replies of their receive calls.
 */
#define CENSORED_MOST 0.01

static bool analysis_quantile_is_selection(const struct load_analysis *a, enum load_from from)
{
	const double censored = (double)a->result.censored;

	return from == LOAD_KERNEL &&
	       censored > CENSORED_MOST * (censored + (double)a->result.pooled[from].count);
}

/*
 * Whether the time that is left out is long enough: the percentile does not depend on it, and the
 * quantile is not so far out that requests as slow as it could still be under way in a gap.
 */
static bool analysis_quantile_is_stable(const struct load_analysis *a, const struct interval *i)
{
	const struct excise *e = &a->excise;
	const struct interval *asked = &a->result.quantiles[LOAD_UNDISTURBED][REPORT_QUANTILES];
	struct hist_quantile found;

	if (e->overflow || i->ns > e->near_ns || asked->why ||
	    hist_quantile(&e->checked, e->q, &found))
		return false;
	return found.value >= asked->own_lo_ns && found.value <= asked->hi_ns;
}

static enum load_why why_of(const struct load_analysis *a, enum load_from from,
			    const struct interval *i)
{
	static const enum load_why whys[] = {
		[INTERVAL_NO_SAMPLES] = LOAD_WHY_NO_SAMPLES,
		[INTERVAL_FEW_EXCEEDANCES] = LOAD_WHY_FEW_REQUESTS,
		[INTERVAL_FEW_WINDOWS] = LOAD_WHY_SHORT,
		[INTERVAL_LONG_DEPENDENCE] = LOAD_WHY_SHORT,
		[INTERVAL_FAILURES] = LOAD_WHY_FAILURES,
	};

	if (i->why == INTERVAL_NO_SAMPLES)
		return LOAD_WHY_NO_SAMPLES;
	if (interference_bound_breaks(a, i->ns))
		return LOAD_WHY_STOPPED;
	if (analysis_quantile_is_selection(a, from))
		return LOAD_WHY_CENSORED;
	if (from == LOAD_UNDISTURBED && !analysis_quantile_is_stable(a, i))
		return LOAD_WHY_UNSTABLE;
	if (i->why)
		return whys[i->why];
	return i->lo_ns ? LOAD_WHY_NONE : LOAD_WHY_DISTURBED;
}

void load_analysis_quantile(const struct load_analysis *analysis, enum load_from from, double q,
			    struct load_quantile *out)
{
	struct hist_quantile found;
	struct interval interval;

	BUG_ON(!analysis->finished);
	*out = (struct load_quantile){ .why = LOAD_WHY_NO_SAMPLES };
	out->known = hist_quantile(&analysis->result.pooled[from], q, &found) == 0;
	out->ns = out->known ? found.value : 0;
	if (!out->known || !find_interval(analysis, from, q, &interval))
		return;
	out->touched = interval.touched;
	out->why = why_of(analysis, from, &interval);
	out->run_only = analysis->result.run_only || interval.run_only ||
			gate_is_heavy(analysis, &interval);
	if (out->why == LOAD_WHY_FEW_REQUESTS)
		out->needed = interval.needed;
	analysis->method->bound(analysis, from, q, &interval, out);
}

/* Raises *least_ns to the lower bound of one latency, if that is higher. */
static int analysis_quantile_raise(const struct load_analysis *a, enum load_from from, double q,
				   double touched, uint64_t *least_ns)
{
	struct interval_range range = evaluate_range(a, from);
	struct interval found;
	int err;

	range.touched = touched;
	err = interval_of(&range, q, a->result.confidence, &found);
	if (!err && found.least_ns > *least_ns)
		*least_ns = found.least_ns;
	return err;
}

int load_analysis_least(const struct load_analysis *analysis, double q, uint64_t limit_ns,
			uint64_t *least_ns)
{
	const double gaps = interference_bound_gaps(analysis, limit_ns);
	int err;

	BUG_ON(!analysis->finished);
	*least_ns = 0;
	if (interference_bound_breaks(analysis, limit_ns))
		return 0;
	err = analysis_quantile_raise(analysis, LOAD_INTENDED, q,
				      interference_bound_touched(analysis, LOAD_INTENDED, limit_ns),
				      least_ns);
	/* Without the wait for a free connection, only this host can delay a request. */
	if (!err && !analysis->result.gates[GATE_LOOP].pass)
		err = analysis_quantile_raise(analysis, LOAD_ACTUAL, q, fmin(1, 2 * gaps),
					      least_ns);
	return err;
}

void load_analysis_beyond(const struct load_analysis *analysis, uint64_t ns,
			  struct load_beyond *out)
{
	const struct load_result *r = &analysis->result;
	const struct hist *hist = &r->pooled[analysis->main];
	uint64_t below = hist->count - hist->over;

	BUG_ON(!analysis->finished || !ns);
	if (ns <= BUCKET_LIMIT)
		below = interval_at_most(hist, bucket_edges_floor(LOAD_SCHEMA,
				(int32_t)bucket_edges_index(LOAD_SCHEMA, ns) - 1));
	*out = (struct load_beyond){ .lost = interference_bound_lost(analysis) };
	out->requests = hist->count + r->failed - out->lost;
	out->beyond = out->requests - below;
}

bool analysis_quantile_is_again(const struct load_result *res, int i)
{
	bool again = false;

	for (int k = 0; k < i; k++)
		again |= res->q[k] == res->q[i];
	return again;
}
