/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/hist.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "stats/bucket_edges.h"

void hist_init(struct hist *hist, int schema)
{
	BUG_ON(schema < BUCKET_SCHEMA_MIN || schema > BUCKET_SCHEMA_MAX);
	*hist = (struct hist){ .schema = schema, .min = UINT64_MAX };
}

void hist_release(struct hist *hist)
{
	if (!hist)
		return;
	free(hist->buckets);
	hist_init(hist, hist->schema);
}

void hist_reset(struct hist *hist)
{
	struct hist empty = {
		.schema = hist->schema, .min = UINT64_MAX,
		.buckets = hist->buckets, .first = hist->first, .len = hist->len,
	};

	if (hist->len)
		memset(hist->buckets, 0, hist->len * sizeof(*hist->buckets));
	*hist = empty;
}

/* Widens *from..*to to whole octaves that include the histogram's window; *to becomes exclusive. */
static void hist_widen(const struct hist *hist, int32_t *from, int32_t *to)
{
	const int32_t octave = hist->schema > 0 ? 1 << hist->schema : 1;
	const int32_t end = hist->first + (int32_t)hist->len;
	const bool inside = hist->len && *from >= hist->first && *to < end;

	*from = inside ? hist->first : *from & -octave;
	*to = inside ? end : (*to | (octave - 1)) + 1;
	if (hist->len) {
		*from = *from < hist->first ? *from : hist->first;
		*to = *to > end ? *to : end;
	}
}

static int window_cover(struct hist *hist, int32_t from, int32_t to)
{
	uint64_t *buckets;

	hist_widen(hist, &from, &to);
	if (hist->len == (uint32_t)(to - from))
		return 0;
	buckets = calloc(to - from, sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	if (hist->len)
		memcpy(buckets + (hist->first - from), hist->buckets,
		       hist->len * sizeof(*buckets));
	free(hist->buckets);
	hist->buckets = buckets;
	hist->first = from;
	hist->len = to - from;
	return 0;
}

static uint64_t clamp_to_limit(uint64_t value)
{
	return value < BUCKET_LIMIT ? value : BUCKET_LIMIT;
}

int hist_reserve(struct hist *hist, uint64_t from, uint64_t to)
{
	BUG_ON(from < 1 || from > to);
	return window_cover(hist, bucket_edges_index(hist->schema, clamp_to_limit(from)),
			    bucket_edges_index(hist->schema, clamp_to_limit(to)));
}

static int hist_add_at(struct hist *hist, int32_t index, uint64_t n)
{
	int err = window_cover(hist, index, index);

	if (err)
		return err;
	hist->buckets[index - hist->first] += n;
	hist->count += n;
	return 0;
}

int hist_record(struct hist *hist, uint64_t value)
{
	return hist_record_n(hist, value, 1);
}

int hist_record_n(struct hist *hist, uint64_t value, uint64_t n)
{
	uint64_t sum;
	int err = 0;

	if (!n)
		return 0;
	if (!value)
		hist_add_zero(hist, n);
	else if (value > BUCKET_LIMIT)
		hist_add_over(hist, n);
	else
		err = hist_add_at(hist, bucket_edges_index(hist->schema, value), n);
	if (err)
		return err;
	if (__builtin_mul_overflow(value, n, &sum))
		sum = UINT64_MAX;
	hist_add_stats(hist, sum, value, value);
	return 0;
}

bool hist_has_index(int schema, int32_t index)
{
	return index >= 0 && index <= bucket_edges_last(schema) &&
	       bucket_edges_floor(schema, index - 1) != bucket_edges_floor(schema, index);
}

void hist_add_zero(struct hist *hist, uint64_t n)
{
	hist->zero += n;
	hist->count += n;
}

void hist_add_over(struct hist *hist, uint64_t n)
{
	hist->over += n;
	hist->count += n;
}

void hist_add_stats(struct hist *hist, uint64_t sum, uint64_t min, uint64_t max)
{
	if (__builtin_add_overflow(hist->sum, sum, &hist->sum))
		hist->sum = UINT64_MAX;
	if (min < hist->min)
		hist->min = min;
	if (max > hist->max)
		hist->max = max;
}

/* Returns the index `by` schemas coarser: ceil(index / 2^by), since upper edges are inclusive. */
static int32_t hist_coarser(int32_t index, int by)
{
	return (index + (1 << by) - 1) >> by;
}

size_t hist_bytes(const struct hist *hist)
{
	return hist->len * sizeof(*hist->buckets);
}

size_t hist_bytes_with(const struct hist *hist, int schema, int32_t from, int32_t to)
{
	struct hist scaled = *hist;
	int by = hist->schema - schema;

	if (by > 0) { /* `hist` is finer: hist_cover() would downscale it */
		scaled.schema = schema;
		scaled.first = hist_coarser(hist->first, by);
		if (hist->len)
			scaled.len = hist_coarser(hist->first + (int32_t)hist->len - 1, by) -
				     scaled.first + 1;
	}
	by = schema - scaled.schema;
	from = hist_coarser(from, by);
	to = hist_coarser(to, by);
	hist_widen(&scaled, &from, &to);
	return (to - from) * sizeof(*hist->buckets);
}

int hist_cover(struct hist *hist, int schema, int32_t from, int32_t to)
{
	if (schema < hist->schema)
		hist_downscale(hist, schema);
	return window_cover(hist, hist_coarser(from, schema - hist->schema),
			    hist_coarser(to, schema - hist->schema));
}

int hist_add_scaled(struct hist *hist, int schema, int32_t index, uint64_t n)
{
	BUG_ON(schema < hist->schema);
	if (!hist_has_index(schema, index))
		return -ERANGE;
	return n ? hist_add_at(hist, hist_coarser(index, schema - hist->schema), n) : 0;
}

/* Adds all buckets of `from`. Equal schemas are added at memory speed: analyses merge thousands. */
static void hist_add_buckets(struct hist *into, const struct hist *from, int by, uint64_t times)
{
	uint64_t *to;

	for (uint32_t i = 0; by && i < from->len; i++)
		into->buckets[hist_coarser(from->first + (int32_t)i, by) - into->first] +=
			from->buckets[i] * times;
	if (by || !from->len)
		return;
	to = into->buckets + (from->first - into->first);
	for (uint32_t i = 0; i < from->len; i++)
		to[i] += from->buckets[i] * times;
}

static uint64_t hist_multiplied(uint64_t sum, uint64_t times)
{
	return __builtin_mul_overflow(sum, times, &sum) ? UINT64_MAX : sum;
}

int hist_merge_times(struct hist *into, const struct hist *from, uint64_t times)
{
	int by, err;

	BUG_ON(into == from);
	if (from->schema < into->schema)
		hist_downscale(into, from->schema);
	by = from->schema - into->schema;
	if (from->len) {
		err = window_cover(into, hist_coarser(from->first, by),
				   hist_coarser(from->first + (int32_t)from->len - 1, by));
		if (err)
			return err;
	}
	hist_add_buckets(into, from, by, times);
	into->count += from->count * times;
	into->zero += from->zero * times;
	into->over += from->over * times;
	hist_add_stats(into, hist_multiplied(from->sum, times), from->min, from->max);
	return 0;
}

int hist_merge(struct hist *into, const struct hist *from)
{
	return hist_merge_times(into, from, 1);
}

void hist_multiply(struct hist *hist, uint64_t times)
{
	for (uint32_t i = 0; i < hist->len; i++)
		hist->buckets[i] *= times;
	hist->count *= times;
	hist->zero *= times;
	hist->over *= times;
	hist->sum = hist_multiplied(hist->sum, times);
}

/* Works in place: a bucket never moves to a higher position, so no unread bucket is overwritten. */
int hist_downscale(struct hist *hist, int schema)
{
	int by = hist->schema - schema;
	uint64_t *buckets;
	int32_t first;

	if (by < 0 || schema < BUCKET_SCHEMA_MIN)
		return -EINVAL;
	first = hist_coarser(hist->first, by);
	for (uint32_t i = 0; i < hist->len; i++) {
		uint64_t n = hist->buckets[i];

		hist->buckets[i] = 0;
		hist->buckets[hist_coarser(hist->first + (int32_t)i, by) - first] += n;
	}
	if (hist->len)
		hist->len = hist_coarser(hist->first + (int32_t)hist->len - 1, by) - first + 1;
	hist->first = first;
	hist->schema = schema;
	if (hist->len) { /* memory limits count hist_bytes(): frees the excess */
		buckets = realloc(hist->buckets, hist->len * sizeof(*buckets));
		hist->buckets = buckets ? buckets : hist->buckets;
	}
	return 0;
}

bool hist_next(const struct hist *hist, int32_t *index, uint64_t *n)
{
	int32_t i = *index < hist->first ? hist->first : *index + 1;

	for (; i < hist->first + (int32_t)hist->len; i++) {
		*n = hist->buckets[i - hist->first];
		if (*n) {
			*index = i;
			return true;
		}
	}
	return false;
}

static void narrow_by_extremes(const struct hist *hist, struct hist_quantile *result)
{
	if (hist->min > hist->max)
		return;
	if (hist->min > result->lo && hist->min <= result->hi)
		result->lo = hist->min;
	if (hist->max < result->hi && hist->max >= result->lo)
		result->hi = hist->max;
}

/* Sets the quantile to the `rank`-th of the n values in bucket `index`. */
static void quantile_in_bucket(const struct hist *hist, int32_t index, uint64_t rank, uint64_t n,
			       struct hist_quantile *result)
{
	double lower = bucket_edges_double(hist->schema, index - 1);
	double width_log2 = ldexp(1, -hist->schema);
	double value = lower * exp2(width_log2 * ((double)rank / (double)n));

	result->lo = bucket_edges_floor(hist->schema, index - 1) + 1;
	result->hi = clamp_to_limit(bucket_edges_floor(hist->schema, index));
	narrow_by_extremes(hist, result);
	result->value = value < (double)BUCKET_LIMIT ? (uint64_t)llround(value) : BUCKET_LIMIT;
	if (result->value < result->lo)
		result->value = result->lo;
	if (result->value > result->hi)
		result->value = result->hi;
}

/*
 * Returns ceil(q * count) in 1..count. If rounding alone puts the product above an integer, that
 * integer is the result.
 */
static uint64_t hist_rank(double q, uint64_t count)
{
	double rank = ceil(q * (double)count * (1 - 4 * DBL_EPSILON));

	if (rank < 1)
		return 1;
	return rank < (double)count ? (uint64_t)rank : count;
}

double hist_beyond(uint64_t n, double q)
{
	const double beyond = (double)n - q * (double)n, whole = round(beyond);

	/* 0.9 of 10 values is not exactly 9 */
	return fabs(beyond - whole) < 1e-9 * fmax(1, whole) ? whole : beyond;
}

uint64_t hist_count_half(const struct hist *hist)
{
	uint64_t left = hist->count - hist->zero, count;
	const double half = (double)hist->sum / 2;
	double below = 0;
	int32_t index = INT32_MIN;

	while (hist_next(hist, &index, &count)) {
		const double edge = fmin((double)bucket_edges_floor(hist->schema, index),
					 (double)hist->max);

		if (below + edge * (double)count > half)
			return left - (uint64_t)((half - below) / edge);
		below += edge * (double)count;
		left -= count;
	}
	return left;
}

int hist_quantile(const struct hist *hist, double q, struct hist_quantile *result)
{
	uint64_t rank, n;
	int32_t index = INT32_MIN;

	if (!(q >= 0 && q <= 1))
		return -EINVAL;
	if (!hist->count)
		return -ENODATA;
	rank = hist_rank(q, hist->count);
	*result = (struct hist_quantile){ 0 };
	if (rank <= hist->zero)
		return 0;
	rank -= hist->zero;
	while (hist_next(hist, &index, &n)) {
		if (rank <= n) {
			quantile_in_bucket(hist, index, rank, n, result);
			return 0;
		}
		rank -= n;
	}
	result->lo = BUCKET_LIMIT + 1;
	result->hi = UINT64_MAX;
	narrow_by_extremes(hist, result);
	result->value = result->hi;
	return 0;
}

double hist_mean(const struct hist *hist)
{
	if (!hist->count || hist->sum == UINT64_MAX)
		return NAN;
	return (double)hist->sum / (double)hist->count;
}
