/* SPDX-License-Identifier: Apache-2.0 */
#include "load/over_time.h"

#include <math.h>

#include "load/interference_bound.h"

/* A stretch: windows [from, to) of the series. */
struct over_time_part {
	uint32_t from, to;
	uint64_t begin_ns, end_ns; /* monotonic time */
};

/* Returns the number of stretches of 2^`shift` windows, aligned as the windows are. */
static uint64_t over_time_rows(const struct series *s, uint32_t to, uint32_t shift)
{
	return ((s->first + to - 1) >> shift) - (s->first >> shift) + 1;
}

/* Returns how many windows are merged into a stretch, as a power of two. */
static uint32_t over_time_shift(const struct load_analysis *a)
{
	const double beyond = fmin(a->config.percentile, 1 - a->config.percentile) *
			      (double)a->result.pooled[a->main].count;
	uint32_t shift = 0;
	uint64_t rows;

	while ((rows = over_time_rows(&a->series, a->result.to, shift)) > OVER_TIME_ROWS ||
	       (rows >= 2 * OVER_TIME_ROWS_MIN && beyond < OVER_TIME_BEYOND * (double)rows))
		shift++;
	return shift;
}

static struct over_time_part over_time_stretch(const struct series *s, uint32_t to, uint32_t shift,
					       uint32_t row)
{
	const uint64_t number = (s->first >> shift) + row;
	const uint64_t first = row ? number << shift : s->first;
	const uint64_t last = (number + 1) << shift;
	const uint64_t end = last < s->first + to ? last : s->first + to;

	return (struct over_time_part){
		.from = (uint32_t)(first - s->first), .to = (uint32_t)(end - s->first),
		.begin_ns = first << s->shift, .end_ns = end << s->shift,
	};
}

/*
 * Returns the share of a stretch in which a thread that measures latency did not run, in gaps of at
 * least about `least` ns, 0..1.
 */
static double over_time_gaps(const struct load_analysis *a, const struct over_time_part *s,
			     uint64_t least)
{
	int threads = 0;
	double gaps = 0;

	for (uint32_t i = 0; i < a->config.agents; i++) {
		const struct load_agent *agent = &a->agents[i];

		if (!interference_bound_counts(a, agent))
			continue;
		threads += __builtin_popcountll(agent->threads);
		gaps += gap_series_between(&agent->gap_times, s->begin_ns, s->end_ns, least);
	}
	return fmin(1, gaps / (fmax(1, threads) * (double)(s->end_ns - s->begin_ns)));
}

/* Whether gaps that are not short for the percentile may be most of what lies beyond it. */
static bool over_time_is_disturbed(const struct load_analysis *a, const struct over_time_part *s)
{
	const uint64_t ns = a->result.quantiles[a->main][REPORT_QUANTILES].ns;

	return over_time_gaps(a, s, interference_bound_harmless(ns)) >
	       interference_bound_limit(a->config.percentile);
}

/* Whether an interim analysis was of the time up to a point in this stretch, or to its end. */
static bool over_time_has_look(const struct load_analysis *a, const struct over_time_part *s,
			       bool last)
{
	for (uint32_t i = 0; i < a->looks_timed; i++) {
		if (a->look_ns[i] > s->begin_ns && (a->look_ns[i] <= s->end_ns || last))
			return true;
	}
	return false;
}

static struct value over_time_quantile(const struct hist *h, double q)
{
	struct hist_quantile found;

	/* The percentile of fewer requests is the largest or the smallest latency. */
	if ((double)h->count * fmin(q, 1 - q) < 1 || hist_quantile(h, q, &found))
		return value_null();
	return value_ns(found.value);
}

static int over_time_add(const struct load_analysis *a, const struct over_time_part *s,
			 uint64_t start_ns, bool last, struct table *t)
{
	struct hist h;
	int err;

	hist_init(&h, LOAD_SCHEMA);
	err = series_pool(&a->series, s->from, s->to, a->main, &h);
	if (!err)
		TABLE_ADD(t, value_ns(s->begin_ns > start_ns ? s->begin_ns - start_ns : 0),
			  value_ns(s->end_ns > start_ns ? s->end_ns - start_ns : 0),
			  value_u64(h.count), value_u64(series_failed(&a->series, s->from, s->to)),
			  over_time_quantile(&h, 0.5),
			  over_time_quantile(&h, a->config.percentile),
			  value_fraction(over_time_gaps(a, s, 0)),
			  value_bool(over_time_is_disturbed(a, s)),
			  value_bool(over_time_has_look(a, s, last)),
			  value_bool(s->from < a->result.from));
	hist_release(&h);
	return err;
}

int over_time_report(const struct load_analysis *a, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "from_ns" }, { .name = "to_ns" }, { .name = "count" },
		{ .name = "failed" }, { .name = "p50_ns" }, { .name = "tail_ns" },
		{ .name = "gap_share" }, { .name = "disturbed" }, { .name = "look" },
		{ .name = "warmup" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	const uint64_t start_ns = load_analysis_start(a);
	const uint32_t to = a->result.to, shift = to ? over_time_shift(a) : 0;
	const uint32_t rows = to ? (uint32_t)over_time_rows(&a->series, to, shift) : 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < rows; i++) {
		const struct over_time_part s = over_time_stretch(&a->series, to, shift, i);

		err = over_time_add(a, &s, start_ns, i + 1 == rows, t);
	}
	object_add(&r->body, "over_time", value_table(t));
	return err;
}
