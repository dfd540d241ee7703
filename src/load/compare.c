/* SPDX-License-Identifier: Apache-2.0 */
#include "load/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "load/analysis_state.h"
#include "report/human.h"

/* Rates are alike if the greatest is at most this many times the least. */
#define RATES_ALIKE 1.05

struct load_series_of_runs {
	struct difference_series series;  /* the first member: load_series_side() relies on it */
	const struct load_compared *runs; /* borrowed */
	const struct hist *blocks[][SERIES_WINDOWS];
};

static struct contrast_side load_compare_quantile(const struct load_analysis *a,
						  enum load_from from, double q)
{
	struct load_quantile found;

	load_analysis_quantile(a, from, q, &found);
	/* Bounds of the run alone do not tell how another run would differ. */
	return (struct contrast_side){ .known = found.known,
				       .bounded = found.bounded && !found.run_only,
				       .ns = found.ns, .lo_ns = found.lo_ns,
				       .hi_ns = found.hi_ns };
}

/*
 * Returns a run's latency histograms, one per evaluated time window. Stores pointers to the
 * histograms in `blocks`, an array of SERIES_WINDOWS.
 */
static struct contrast_run load_compare_windows(const struct load_analysis *a,
						enum load_from from, const struct hist **blocks)
{
	const struct load_result *res = &a->result;
	size_t n = 0;

	for (uint32_t i = res->from; i < res->to && i < a->series.n; i++)
		blocks[n++] = &a->series.windows[i].latency[from];
	return (struct contrast_run){ blocks, n };
}

static int load_series_side(const struct difference_series *series, size_t i, double q,
			    struct contrast_side *out)
{
	const struct load_series_of_runs *all = (const struct load_series_of_runs *)series;
	const struct load_analysis *run = all->runs->runs[i];

	*out = load_compare_quantile(run, load_analysis_main(run), q);
	return 0;
}

int load_series_new(struct load_series_of_runs **out, const struct load_compared *side)
{
	static const double qs[REPORT_QUANTILES] = { 0.5, 0.9, 0.99, 0.999 };
	struct load_series_of_runs *all =
		calloc(1, sizeof(*all) + side->n * sizeof(*all->blocks));
	struct difference_series *series;

	*out = all;
	if (!all)
		return -ENOMEM;
	series = &all->series;
	series->strict = true;
	series->side = load_series_side;
	all->runs = side;
	for (size_t i = 0; i < side->n; i++) {
		const enum load_from from = load_analysis_main(side->runs[i]);

		if (from != load_analysis_main(side->runs[0]))
			return -EINVAL;
		series->runs[i] =
			load_compare_windows(side->runs[i], from, all->blocks[i]);
		for (int k = 0; k < REPORT_QUANTILES; k++)
			series->sides[i][k] = load_compare_quantile(side->runs[i], from, qs[k]);
		if (series->runs[i].n)
			series->schema = all->blocks[i][0]->schema;
		series->n++;
	}
	return 0;
}

void load_series_free(struct load_series_of_runs *series)
{
	free(series);
}

const struct difference_series *load_series_get(const struct load_series_of_runs *series)
{
	return &series->series;
}

static double load_compare_target(const struct load_analysis *a)
{
	return a->config.loop == LOOP_OPEN ? a->config.rate : NAN;
}

/* Returns a side in numbers: of several runs the target that all have, and the mean rate. */
static struct value load_compare_side_value(const struct load_compared *side, struct report *r)
{
	const enum load_from from = load_analysis_main(side->runs[0]);
	double target = load_compare_target(side->runs[0]), achieved = 0;
	struct object *o = object_new(r);
	uint64_t count = 0;
	bool sound = true;

	for (size_t i = 0; i < side->n; i++) {
		const struct load_analysis *run = side->runs[i];

		if (load_compare_target(run) != target)
			target = NAN;
		achieved += load_analysis_achieved(run) / (double)side->n;
		count += load_analysis_count(run, from);
		sound &= load_analysis_sound(run);
	}
	object_add(o, "from", value_string(from == LOAD_INTENDED ? "intended" : "actual"));
	object_add(o, "target", value_number(target));
	object_add(o, "achieved", value_number(achieved));
	object_add(o, "count", value_u64(count));
	object_add(o, "sound", value_bool(sound));
	return value_object(o);
}

static int load_compare_quantiles(const struct load_compared *a, const struct load_compared *b,
				  struct quantile_difference *out, struct report *r,
				  struct value *curve)
{
	struct load_series_of_runs *series_a = NULL, *series_b = NULL;
	int err = load_series_new(&series_a, a);

	if (!err)
		err = load_series_new(&series_b, b);
	if (!err && load_analysis_main(a->runs[0]) != load_analysis_main(b->runs[0]))
		err = -EINVAL;
	if (!err)
		err = difference_quantiles(&series_a->series, &series_b->series, out);
	if (!err)
		err = difference_curve(&series_a->series, &series_b->series, r, curve);
	load_series_free(series_a);
	load_series_free(series_b);
	return err;
}

/* Widens [*least, *most] by the requested rates of a side's open loops. */
static void load_compare_add_rates(const struct load_compared *side, double *least, double *most)
{
	for (size_t i = 0; i < side->n; i++) {
		const double rate = load_compare_target(side->runs[i]);

		*least = fmin(*least, rate);
		*most = fmax(*most, rate);
	}
}

void load_compare_check_rates(const struct load_compared *a, const struct load_compared *b,
			      struct report *r)
{
	double least = INFINITY, most = 0;
	char lo[HUMAN_MAX], hi[HUMAN_MAX];

	load_compare_add_rates(a, &least, &most);
	load_compare_add_rates(b, &least, &most);
	if (most <= RATES_ALIKE * least)
		return;
	report_reason(r, "load-unlike",
		      report_format(r, "%s/s to %s/s", human_rate(lo, least),
				    human_rate(hi, most)),
		      "the runs had different rates, and so may have different latencies: measure "
		      "them again with one --rate");
}

int load_compare_report(const struct load_compared *a, const struct load_compared *b,
			struct report *r, struct difference_tally *tally)
{
	struct quantile_difference quantiles[REPORT_QUANTILES];
	struct object *o = object_new(r);
	struct value table, curve;
	int err;

	object_add(o, "a", load_compare_side_value(a, r));
	object_add(o, "b", load_compare_side_value(b, r));
	object_add(&r->body, "load", value_object(o));
	load_compare_check_rates(a, b, r);
	err = load_compare_quantiles(a, b, quantiles, r, &curve);
	if (err == -EINVAL) {
		object_add(o, "quantiles", value_null());
		report_reason(r, "load-unlike", NULL, "one run measured latency from the intended "
			      "send, the other run from the actual send");
		return report_error(r);
	}
	if (!err)
		err = difference_judge_quantiles(quantiles, tally);
	if (err)
		return err;
	table = difference_table(r, quantiles);
	object_add(o, "quantiles", table);
	object_add(o, "curve", curve);
	if (table.type == VALUE_TABLE)
		table.table->head = "requests of the load generator";
	object_add(&r->body, NULL, table); /* no JSON key: a table of the text only */
	difference_add_findings(r, "requests", quantiles);
	return report_error(r);
}
