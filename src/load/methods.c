/* SPDX-License-Identifier: Apache-2.0 */
/* The table of methods to compute intervals (--method), and the method that uses all samples. */
#include "load/methods.h"

#include "base/bug.h"
#include "load/evaluate.h"
#include "load/interim.h"
#include "load/method_lancet.h"
#include "load/verdict.h"
#include "stats/bucket_edges.h"

/* ---- all samples, with interim analyses at times fixed in advance ---- */

/* Makes an interim analysis if one is due; the last analysis is at the end of the run. */
static int all_look(struct load_analysis *a, uint64_t start_ns, uint64_t horizon_ns)
{
	const uint64_t max = a->config.max_time_ns;
	uint64_t at;
	int err;

	while (a->next_look + 1 < INTERIM_LOOKS &&
	       interim_time(max, a->next_look) < a->config.first_look_ns)
		a->next_look++;
	at = start_ns + interim_time(max, a->next_look);
	if (!a->config.ci_width_ns || a->next_look + 1 >= INTERIM_LOOKS || horizon_ns < at)
		return LOAD_MORE;
	err = evaluate(a, at, a->look_confidence, false);
	if (err)
		return err;
	a->looks++;
	a->next_look++;
	a->look_ns[a->looks_timed++] = at;
	/* Bounds of this run alone would be those of the calmest look. */
	a->decided = verdict_sound(a) && !a->result.run_only;
	if (a->decided)
		a->decided_ns = at;
	return a->decided ? LOAD_DECIDED : LOAD_MORE;
}

/* Returns the smallest possible width of an interval, in ns: one histogram bucket. */
static uint64_t finest_width(const struct interval *i)
{
	int32_t index;

	if (!i->ns || i->ns > BUCKET_LIMIT)
		return 0;
	index = (int32_t)bucket_edges_index(LOAD_SCHEMA, i->ns);
	return bucket_edges_floor(LOAD_SCHEMA, index) -
	       bucket_edges_floor(LOAD_SCHEMA, index - 1) - 1;
}

static bool all_width(const struct load_analysis *a, double *requests, uint64_t *width_ns)
{
	const struct interval *i = &a->result.quantiles[a->main][REPORT_QUANTILES];

	if (!a->evaluated || i->why || a->config.ci_width_ns < finest_width(i))
		return false;
	*requests = (double)i->count;
	*width_ns = i->hi_ns - i->lo_ns;
	return true;
}

static void all_bound(const struct load_analysis *a, enum load_from from, double q,
		      const struct interval *interval, struct load_quantile *out)
{
	(void)from;
	(void)q;
	out->bounded = out->why == LOAD_WHY_NONE;
	out->upper = out->bounded || out->why == LOAD_WHY_DISTURBED;
	if (!out->upper)
		return;
	out->confidence = a->result.confidence;
	out->lo_ns = interval->lo_ns;
	out->hi_ns = interval->hi_ns;
}

static const struct method method_all = {
	.keeps_confidence = true,
	.looks_at_end = true,
	.look = all_look,
	.width = all_width,
	.bound = all_bound,
};

/* ---- the table ---- */

#define METHOD_ROW(id, name, help, row) { name, &row },

static const struct {
	const char *name;
	const struct method *method;
} methods[METHODS] = { METHOD_ROWS(METHOD_ROW) };

const struct method *load_method(uint32_t method)
{
	BUG_ON(method >= METHODS);
	return methods[method].method;
}

const char *load_method_name(uint32_t method)
{
	BUG_ON(method >= METHODS);
	return methods[method].name;
}
