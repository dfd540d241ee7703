/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/rtt.h"

#include <math.h>

#include "base/bug.h"
#include "stats/bucket_edges.h"
#include "stats/hist.h"

#define US 1000ull

/* ---- buckets ---- */

/* Finds the range of nonempty buckets. Returns false if all are empty. */
static bool rtt_range(const uint32_t *rtts, uint32_t *first, uint32_t *end)
{
	for (*first = 0; *first < CONN_RTTS && !rtts[*first]; ++*first)
		;
	for (*end = CONN_RTTS; *end > *first && !rtts[*end - 1]; --*end)
		;
	return *end > *first;
}

/* Returns the bucket's exclusive lower bound, in ns. */
static uint64_t rtt_bucket_floor(uint32_t bucket)
{
	return bucket ? bucket_edges_floor(CONN_RTT_SCHEMA,
					   CONN_RTT_BASE + (int32_t)bucket - 1) : 0;
}

static uint64_t rtt_bucket_edge(uint32_t bucket)
{
	return bucket < CONN_RTTS - 1 ?
		       bucket_edges_floor(CONN_RTT_SCHEMA, CONN_RTT_BASE + (int32_t)bucket) :
		       UINT64_MAX;
}

bool rtt_is_valid(const struct event_conn *e)
{
	uint32_t first, end;
	uint64_t sum = 0;

	for (int i = 0; i < CONN_RTTS; i++)
		sum += e->rtts[i];
	if (sum != e->rtt_samples)
		return false;
	return !rtt_range(e->rtts, &first, &end) ||
	       (e->rtt_min_us * US <= rtt_bucket_edge(first) &&
		e->rtt_max_us * US > rtt_bucket_floor(end - 1));
}

void rtt_add(struct rtt_sum *sum, const struct event_conn *e)
{
	if (!rtt_is_known(e))
		return;
	sum->connections++;
	if (!e->rtt_samples)
		return;
	if (!sum->samples || e->rtt_min_us < sum->min_us)
		sum->min_us = e->rtt_min_us;
	if (e->rtt_max_us > sum->max_us)
		sum->max_us = e->rtt_max_us;
	sum->samples += e->rtt_samples;
	if (__builtin_add_overflow(sum->sum_us, e->rtt_sum_us, &sum->sum_us))
		sum->sum_us = UINT64_MAX;
	for (int i = 0; i < CONN_RTTS; i++)
		sum->count[i] += e->rtts[i];
}

/* ---- quantiles ---- */

struct value rtt_quantile_value(const struct rtt_sum *sum, uint32_t permille)
{
	const unsigned __int128 all = (unsigned __int128)sum->samples * permille;
	const uint64_t rank = (uint64_t)((all + 999) / 1000);
	const uint64_t min = sum->min_us * US, max = sum->max_us * US;
	uint64_t before = 0, lo, hi, ns;
	uint32_t i = 0;

	if (hist_beyond(sum->samples, permille / 1000.0) < 1)
		return value_null();
	while (i < CONN_RTTS - 1 && before + sum->count[i] < rank)
		before += sum->count[i++];
	lo = rtt_bucket_floor(i) > min ? rtt_bucket_floor(i) : min;
	hi = rtt_bucket_edge(i) < max ? rtt_bucket_edge(i) : max;
	ns = (uint64_t)(sqrt((double)lo) * sqrt((double)hi));
	return value_ns(ns < lo ? lo : ns > hi ? hi : ns);
}

/* ---- reports ---- */

struct value rtt_value_of(const struct event_conn *e, uint32_t permille)
{
	struct rtt_sum sum = { 0 };

	rtt_add(&sum, e);
	return rtt_quantile_value(&sum, permille);
}

static struct value rtt_buckets_value(const struct rtt_sum *sum, struct report *r)
{
	static const struct column columns[] = {
		{ "gt_ns", NULL, 0, 0 }, { "le_ns", NULL, 0, 0 }, { "samples", NULL, 0, 0 },
	};
	struct table *t;

	if (!sum->connections)
		return value_null();
	t = table_new(r, columns, ARRAY_LEN(columns));
	for (uint32_t i = 0; i < CONN_RTTS; i++)
		if (sum->count[i])
			TABLE_ADD(t, value_ns(rtt_bucket_floor(i)),
				  i < CONN_RTTS - 1 ? value_ns(rtt_bucket_edge(i)) : value_null(),
				  value_u64(sum->count[i]));
	return value_table(t);
}

void rtt_put_extremes(const struct rtt_sum *sum, struct object *to)
{
	const bool some = sum->samples;

	object_add(to, "samples", sum->connections ? value_u64(sum->samples) : value_null());
	object_add(to, "mean_ns", some && sum->sum_us != UINT64_MAX ?
		   value_ns((uint64_t)((double)sum->sum_us * 1e3 / (double)sum->samples)) :
		   value_null());
	object_add(to, "min_ns", some ? value_ns(sum->min_us * US) : value_null());
	object_add(to, "max_ns", some ? value_ns(sum->max_us * US) : value_null());
}

void rtt_put(const struct rtt_sum *sum, struct object *to, struct report *r)
{
	object_add(to, "p50_ns", rtt_quantile_value(sum, 500));
	object_add(to, "p90_ns", rtt_quantile_value(sum, 900));
	object_add(to, "p99_ns", rtt_quantile_value(sum, 990));
	object_add(to, "buckets", rtt_buckets_value(sum, r));
}

void rtt_table(const struct rtt_sum *sum, struct report *r)
{
	static const struct column columns[] = {
		{ .head = "round trips above" }, { .head = "up to" }, { .head = "samples" },
		{ .head = "of all" },
	};
	struct table *t;

	if (!sum->samples)
		return;
	t = table_new(r, columns, ARRAY_LEN(columns));
	for (uint32_t i = 0; i < CONN_RTTS; i++)
		if (sum->count[i])
			TABLE_ADD(t, value_ns(rtt_bucket_floor(i)),
				  i < CONN_RTTS - 1 ? value_ns(rtt_bucket_edge(i)) : value_null(),
				  value_u64(sum->count[i]),
				  value_fraction((double)sum->count[i] / (double)sum->samples));
	object_add(&r->body, NULL, value_table(t));
}
