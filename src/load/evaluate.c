/* SPDX-License-Identifier: Apache-2.0 */
#include "load/evaluate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "load/gates.h"
#include "load/gates_allow.h"
#include "load/interference_bound.h"
#include "stats/bucket_edges.h"
#include "stats/rank.h"
#include "stats/tail.h"

#define TAIL_POINTS 500     /* largest number of latencies in a fit of the tail, spaced by rank */
#define TAIL_POINTS_MIN 50
/* Number of batches for checking an interval: few widen the check, many are dependent. */
#define CHECK_BATCHES 20

static const double report_q[REPORT_QUANTILES] = {
	[REPORT_P50] = 0.5, [REPORT_P90] = 0.9, [REPORT_P99] = 0.99, [REPORT_P999] = 0.999,
};

void evaluate_release(struct load_analysis *analysis)
{
	struct load_result *r = &analysis->result;

	if (!analysis->evaluated)
		return;
	for (int i = 0; i < LOAD_FROMS; i++)
		hist_release(&r->pooled[i]);
	for (int i = 0; i < SERIES_LAGS; i++)
		hist_release(&r->lag[i]);
	free(r->parts);
	*r = (struct load_result){ 0 };
	analysis->evaluated = false;
}

static int evaluate_begin(struct load_analysis *analysis, double confidence)
{
	struct load_result *r = &analysis->result;

	evaluate_release(analysis);
	for (int i = 0; i < LOAD_FROMS; i++)
		hist_init(&r->pooled[i], LOAD_SCHEMA);
	for (int i = 0; i < SERIES_LAGS; i++)
		hist_init(&r->lag[i], SERIES_LAG_SCHEMA);
	r->parts = calloc(SERIES_PART_ROWS, sizeof(*r->parts));
	memcpy(r->q, report_q, sizeof(report_q));
	r->q[REPORT_QUANTILES] = analysis->config.percentile;
	r->confidence = confidence;
	r->shape = NAN;
	analysis->evaluated = true;
	return r->parts ? 0 : -ENOMEM;
}

static int evaluate_pool(struct load_analysis *analysis, enum load_from main, bool whole)
{
	struct load_result *r = &analysis->result;
	const struct series *s = &analysis->series;
	int err = 0;

	for (int i = 0; !err && i < SERIES_LAGS; i++)
		err = series_pool_lag(s, r->from, r->to, i, &r->lag[i]);
	for (int i = 0; !err && i < LOAD_FROMS; i++) {
		if (whole || i == (int)main)
			err = series_pool(s, r->from, r->to, i, &r->pooled[i]);
	}
	r->censored = series_censored(s, r->from, r->to);
	r->failed = series_failed(s, r->from, r->to) + analysis->unfinished +
		interference_bound_lost(analysis);
	if (whole)
		series_pool_parts(s, r->from, r->to, r->parts);
	return err;
}

struct interval_range evaluate_range(const struct load_analysis *analysis, enum load_from which)
{
	const struct load_result *r = &analysis->result;

	return (struct interval_range){
		.series = &analysis->series, .from = r->from, .to = r->to,
		.which = which, .pooled = &r->pooled[which], .failed = r->failed,
	};
}

int evaluate_interval(const struct load_analysis *analysis, enum load_from which, double q,
		      struct interval *out)
{
	struct interval_range range = evaluate_range(analysis, which);
	struct hist_quantile found;
	double touched = 0;
	int err;

	if (!hist_quantile(range.pooled, q, &found))
		touched = interference_bound_touched(analysis, which, found.value);
	/*
	 * A delay of a send adds to the latency from the intended send; the latency from the actual
	 * send may get shorter, as the queue is shorter then. So these may have any latency.
	 */
	if (which == LOAD_INTENDED || which == LOAD_UNDISTURBED)
		range.touched = touched;
	else
		range.failed += (uint64_t)ceil(touched * (double)range.pooled->count);
	err = interval_of(&range, q, analysis->result.confidence, out);
	out->touched = touched;
	return err;
}

static int find_intervals(struct load_analysis *analysis, enum load_from which, bool whole)
{
	struct load_result *r = &analysis->result;
	int err = 0;

	for (int i = 0; !err && i < LOAD_QUANTILES; i++) {
		if (whole || i == REPORT_P50 || i == REPORT_QUANTILES)
			err = evaluate_interval(analysis, which, r->q[i], &r->quantiles[which][i]);
	}
	return err;
}

/* Computes the percentile without leaving out the warm-up, to show what that changed. */
static int find_with_warmup(struct load_analysis *analysis, enum load_from main)
{
	struct load_result *r = &analysis->result;
	struct hist_quantile found;
	struct hist all;
	int err;

	if (!r->from)
		return 0;
	hist_init(&all, LOAD_SCHEMA);
	err = series_pool(&analysis->series, 0, r->to, main, &all);
	if (!err && !hist_quantile(&all, analysis->config.percentile, &found))
		r->with_warmup_ns = found.value;
	hist_release(&all);
	return err;
}

static int check_by_batches(struct load_analysis *analysis, enum load_from main)
{
	struct load_result *r = &analysis->result;
	const struct interval_range range = evaluate_range(analysis, main);
	int err = interval_by_batches(&range, analysis->config.percentile, r->confidence,
				      CHECK_BATCHES, &r->check_lo_ns, &r->check_hi_ns);

	return err == -ENODATA ? 0 : err;
}

/* Reads latencies (ns) at evenly spaced ranks of the slowest `share`. Returns their number. */
static size_t tail_points(const struct hist *hist, double share, double *out)
{
	const double slowest = share * (double)hist->count;
	const size_t n = slowest < TAIL_POINTS ? (size_t)slowest : TAIL_POINTS;
	double below = (double)hist->zero;
	int32_t index = INT32_MIN;
	uint64_t count;
	size_t i = 0;

	while (hist_next(hist, &index, &count)) {
		below += (double)count;
		for (; i < n && (double)hist->count - below <
			     slowest * (1 - ((double)i + 0.5) / (double)n); i++)
			out[i] = bucket_edges_double(hist->schema, index);
	}
	for (; i < n; i++)
		out[i] = (double)hist->max;
	return n;
}

/*
 * Fits the tail's shape beyond two thresholds and uses the smaller shape, since a mixture of fast
 * and slow requests looks heavy at one threshold only. NaN: too few requests.
 */
static int fit_tail(struct load_analysis *analysis, enum load_from main)
{
	static const double shares[] = { 0.1, 0.05 };
	const struct hist *hist = &analysis->result.pooled[main];
	double points[TAIL_POINTS], shape = INFINITY;
	struct hist_quantile found;
	struct tail tail;
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_LEN(shares); i++) {
		const size_t n = tail_points(hist, shares[i], points);

		if (n < TAIL_POINTS_MIN || hist_quantile(hist, 1 - shares[i], &found))
			return 0;
		err = tail_gpd(points, n, (double)found.value, &tail);
		shape = err ? NAN : fmin(shape, tail.shape);
	}
	analysis->result.shape = shape;
	return err == -ENOMEM ? err : 0;
}

/*
 * Correlates the share of fast requests (up to the median) of each window with the share of the
 * next window.
 */
static int find_spearman(struct load_analysis *analysis, enum load_from main)
{
	struct load_result *r = &analysis->result;
	const uint64_t median = r->quantiles[main][REPORT_P50].ns;
	double share[SERIES_WINDOWS];
	struct spearman s = { .rho = NAN, .p = 1 };
	uint32_t n = 0;
	int err;

	for (uint32_t i = r->from; i < r->to; i++) {
		const struct hist *h = &analysis->series.windows[i].latency[main];

		if (h->count)
			share[n++] = (double)interval_at_most(h, median) / (double)h->count;
	}
	err = spearman_lag(share, n, 1, &s);
	r->spearman = s.rho;
	return err == -ENOMEM ? err : 0;
}

static int evaluate_stationarity(struct load_analysis *analysis, enum load_from main)
{
	struct load_result *r = &analysis->result;
	const double asked = analysis->config.percentile;
	const double q = asked > 0.5 ? asked : analysis->tail_q;
	const struct interval *i = r->quantiles[main];
	int err;

	regimes_find(&analysis->series, r->from, r->to, main, &r->regimes);
	err = stationarity_test(&analysis->series, r->from, r->to, 0.5, i[REPORT_P50].tau,
				&r->median);

	if (!err)
		err = stationarity_test(&analysis->series, r->from, r->to, q,
					i[REPORT_QUANTILES].tau, &r->tail);
	if (!err)
		err = stationarity_period(&analysis->series, r->from, r->to, q, &r->period_ns);
	return err;
}

static int fit_gaps(struct load_analysis *analysis)
{
	struct load_result *r = &analysis->result;
	int err;

	if (analysis->config.loop == LOOP_CLOSED)
		return 0;
	err = gaps_fit(&analysis->gaps, &analysis->gaps.schedule, &r->schedule);
	return err ? err : gaps_fit(&analysis->gaps, &analysis->gaps.sent, &r->sent);
}

int evaluate(struct load_analysis *analysis, uint64_t horizon_ns, double confidence, bool whole)
{
	const enum load_from main = analysis->main;
	struct load_result *r = &analysis->result;
	int err = evaluate_begin(analysis, confidence);

	if (err)
		return err;
	r->to = horizon_ns == UINT64_MAX ? analysis->series.n :
		series_before(&analysis->series, horizon_ns);
	err = stationarity_warmup(&analysis->series, r->to, &r->from);
	if (!err)
		err = evaluate_pool(analysis, main, whole);
	for (int i = 0; !err && i < LOAD_FROMS; i++) {
		if (whole || i == (int)main)
			err = find_intervals(analysis, i, whole);
	}
	if (!err && whole)
		err = check_by_batches(analysis, main);
	if (!err && whole)
		err = find_with_warmup(analysis, main);
	if (!err)
		err = evaluate_stationarity(analysis, main);
	if (!err)
		err = fit_gaps(analysis);
	if (!err)
		err = fit_tail(analysis, main);
	if (!err)
		err = find_spearman(analysis, main);
	if (!err)
		err = gates_judge(analysis);
	if (!err)
		gates_allow(analysis);
	return err;
}
