/* SPDX-License-Identifier: Apache-2.0 */
#include "load/swing_period.h"

#include <math.h>

#include "load/evidence.h"
#include "load/interference_bound.h"

#define PERIODS_TOLD 3 /* whole periods from which a period is told */

/* Returns whether a run has so many periods that it is not a single rise and fall. */
static bool swing_period_is_repeated(const struct load_analysis *a, double period_ns)
{
	const double run_ns = ldexp(a->result.to - a->result.from, (int)a->series.shift);

	return run_ns >= PERIODS_TOLD * period_ns;
}

static bool swing_period_is_found(const struct load_analysis *a, const struct stationarity_tests *s,
				  enum gate_id id)
{
	return s->known && !a->result.gates[id].pass && swing_period_is_repeated(a, s->period_ns);
}

double swing_period_of(const struct load_analysis *a)
{
	const struct load_result *result = &a->result;

	if (result->period_ns > 0 && swing_period_is_repeated(a, result->period_ns))
		return result->period_ns;
	if (swing_period_is_found(a, &result->tail, GATE_PERIODIC_TAIL))
		return result->tail.period_ns;
	return swing_period_is_found(a, &result->median, GATE_PERIODIC_MEDIAN) ?
	       result->median.period_ns : 0;
}

void swing_period_report(const struct load_analysis *a, struct report *r)
{
	const struct load_result *res = &a->result;
	const struct interval *asked = &res->quantiles[a->main][REPORT_QUANTILES];
	const bool median = swing_period_is_found(a, &res->median, GATE_PERIODIC_MEDIAN);
	const bool tail = swing_period_is_found(a, &res->tail, GATE_PERIODIC_TAIL);
	struct strbuf text = STRBUF_INIT(256);

	if (asked->touched > interference_bound_limit(a->config.percentile) || (!median && !tail))
		return;
	if (median)
		gate_evidence(a, GATE_PERIODIC_MEDIAN, &text);
	if (median && tail)
		strbuf_puts(&text, "; ");
	if (tail)
		gate_evidence(a, GATE_PERIODIC_TAIL, &text);
	report_finding(r, "periodic: %s: look for a timer or a cron job with that period",
		       strbuf_str(&text));
	strbuf_release(&text);
}
