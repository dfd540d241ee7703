/* SPDX-License-Identifier: Apache-2.0 */
#include "load/compare.h"

#include <math.h>

#include "load/analysis_state.h"
#include "report/difference.h"

static struct contrast_side side_of(const struct load_analysis *a, enum load_from from, double q)
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
static struct contrast_run windows_of(const struct load_analysis *a, enum load_from from,
				      const struct hist **blocks)
{
	const struct load_result *res = &a->result;
	size_t n = 0;

	for (uint32_t i = res->from; i < res->to && i < a->series.n; i++)
		blocks[n++] = &a->series.windows[i].latency[from];
	return (struct contrast_run){ blocks, n };
}

static int load_compare_quantiles(const struct load_analysis *a, const struct load_analysis *b,
				  enum load_from from, struct quantile_difference *out)
{
	static const double qs[REPORT_QUANTILES] = { 0.5, 0.9, 0.99, 0.999 };
	const struct hist *blocks_a[SERIES_WINDOWS], *blocks_b[SERIES_WINDOWS];
	const struct contrast_run run_a = windows_of(a, from, blocks_a);
	const struct contrast_run run_b = windows_of(b, from, blocks_b);
	struct difference *list[REPORT_QUANTILES];
	int err = 0;

	for (int i = 0; !err && i < REPORT_QUANTILES; i++) {
		struct quantile_difference *d = &out[i];

		*d = (struct quantile_difference){
			.q = qs[i], .a = side_of(a, from, qs[i]), .b = side_of(b, from, qs[i]) };
		contrast_sides(&d->a, &d->b, &d->d.c);
		err = contrast_shares(&run_a, &run_b, qs[i], &d->d.c);
		/*
		 * A quantile without a valid interval in one run is not tested against the other
		 * run.
		 */
		d->d.c.tested &= d->d.c.bounded;
		list[i] = &d->d;
	}
	return err ? err : difference_judge(list, REPORT_QUANTILES);
}

static struct value load_compare_run_value(const struct load_analysis *a, struct report *r)
{
	const enum load_from from = load_analysis_main(a);
	struct object *o = object_new(r);

	object_add(o, "from", value_string(from == LOAD_INTENDED ? "intended" : "actual"));
	object_add(o, "target", value_number(a->config.loop == LOOP_OPEN ? a->config.rate : NAN));
	object_add(o, "achieved", value_number(load_analysis_achieved(a)));
	object_add(o, "count", value_u64(load_analysis_count(a, from)));
	object_add(o, "sound", value_bool(load_analysis_sound(a)));
	return value_object(o);
}

static void load_compare_add_finding(const struct quantile_difference *quantiles, struct report *r)
{
	const struct quantile_difference *q = difference_greatest(quantiles);
	bool tested = false;

	for (int i = 0; i < REPORT_QUANTILES; i++)
		tested |= quantiles[i].d.c.tested;
	if (q)
		report_finding(r, "Requests: %s.", difference_phrase(r, q));
	else if (tested)
		report_finding(r, "No quantile of the requests' latency differs by more than "
			       "chance.");
}

int load_compare_report(const struct load_analysis *a, const struct load_analysis *b,
			struct report *r)
{
	const enum load_from from = load_analysis_main(a);
	struct quantile_difference quantiles[REPORT_QUANTILES];
	struct object *o = object_new(r);
	struct value table;
	int err = 0;

	object_add(o, "a", load_compare_run_value(a, r));
	object_add(o, "b", load_compare_run_value(b, r));
	object_add(&r->body, "load", value_object(o));
	if (from != load_analysis_main(b)) {
		object_add(o, "quantiles", value_null());
		report_reason(r, "load-unlike", NULL, "one run measured latency from the intended "
			      "send, the other run from the actual send");
		return report_error(r);
	}
	err = load_compare_quantiles(a, b, from, quantiles);
	if (err)
		return err;
	table = difference_table(r, quantiles);
	object_add(o, "quantiles", table);
	if (table.type == VALUE_TABLE)
		table.table->head = "requests of the load generator";
	object_add(&r->body, NULL, table); /* no JSON key: a table of the text only */
	load_compare_add_finding(quantiles, r);
	return report_error(r);
}
