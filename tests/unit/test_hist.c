/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "base/rng.h"
#include "hist_at.h"
#include "stats/bucket_edges.h"
#include "stats/hist.h"

#define SAMPLES 20000

/* Latencies over the whole range, some 0 and some above the limit. */
static uint64_t some_latency(struct rng *rng)
{
	return rng_u64(rng) >> (22 + rng_below(rng, 42));
}

static void assert_same(const struct hist *a, const struct hist *b)
{
	int32_t i = INT32_MIN, j = INT32_MIN;
	uint64_t n, m;

	assert_int_equal(a->schema, b->schema);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->zero, b->zero);
	assert_int_equal(a->over, b->over);
	assert_int_equal(a->sum, b->sum);
	assert_int_equal(a->min, b->min);
	assert_int_equal(a->max, b->max);
	while (hist_next(a, &i, &n)) {
		assert_true(hist_next(b, &j, &m));
		assert_int_equal(i, j);
		assert_int_equal(n, m);
	}
	assert_false(hist_next(b, &j, &m));
}

static uint64_t total(const struct hist *hist)
{
	uint64_t n, sum = hist->zero + hist->over;

	for (int32_t i = INT32_MIN; hist_next(hist, &i, &n);)
		sum += n;
	return sum;
}

static void test_empty(void **state)
{
	struct hist hist, zeroed = { 0 };
	struct hist_quantile quantile;

	(void)state;
	hist_init(&hist, 3);
	assert_int_equal(hist_quantile(&hist, 0.5, &quantile), -ENODATA);
	assert_true(isnan(hist_mean(&hist)));
	assert_true(hist.min == UINT64_MAX && hist.max == 0);
	assert_int_equal(hist_at(&hist, 0), 0);
	assert_int_equal(hist_downscale(&hist, 0), 0);
	assert_int_equal(hist_downscale(&hist, 1), -EINVAL);
	hist_release(&hist);
	hist_release(&hist);
	hist_release(&zeroed);
	hist_release(NULL);
}

static void test_limits(void **state)
{
	struct hist hist;
	struct hist_quantile quantile;

	(void)state;
	for (int schema = BUCKET_SCHEMA_MIN; schema <= BUCKET_SCHEMA_MAX; schema++) {
		hist_init(&hist, schema);
		assert_int_equal(hist_record(&hist, 0), 0);
		assert_int_equal(hist_record(&hist, 1), 0);
		assert_int_equal(hist_record(&hist, BUCKET_LIMIT), 0);
		assert_int_equal(hist_record(&hist, BUCKET_LIMIT + 1), 0);
		assert_int_equal(hist_record(&hist, UINT64_MAX), 0);
		assert_int_equal(hist.count, 5);
		assert_int_equal(hist.zero, 1);
		assert_int_equal(hist.over, 2);
		assert_int_equal(hist_at(&hist, 0), 1);
		assert_int_equal(hist_at(&hist, bucket_edges_last(schema)), 1);
		assert_true(hist.sum == UINT64_MAX);
		assert_true(isnan(hist_mean(&hist)));
		assert_int_equal(hist_quantile(&hist, 0.6, &quantile), 0);
		assert_int_equal(quantile.hi, BUCKET_LIMIT);
		assert_int_equal(hist_quantile(&hist, 0.8, &quantile), 0);
		assert_int_equal(quantile.lo, BUCKET_LIMIT + 1);
		assert_true(quantile.value == UINT64_MAX && quantile.hi == UINT64_MAX);
		hist_release(&hist);
	}
}

static void test_window_grows_both_ways(void **state)
{
	struct hist hist;

	(void)state;
	hist_init(&hist, 3);
	hist_record(&hist, 1000);
	assert_int_equal(hist.len, 8);
	hist_record(&hist, 100000);
	hist_record_n(&hist, 3, 7);
	assert_int_equal(hist_at(&hist, bucket_edges_index(3, 1000)), 1);
	assert_int_equal(hist_at(&hist, bucket_edges_index(3, 100000)), 1);
	assert_int_equal(hist_at(&hist, bucket_edges_index(3, 3)), 7);
	assert_int_equal(total(&hist), 9);
	assert_int_equal(hist.sum, 1000 + 100000 + 21);
	hist_reset(&hist);
	assert_int_equal(total(&hist), 0);
	assert_true(hist.count == 0 && hist.sum == 0 && hist.min == UINT64_MAX && hist.max == 0);
	hist_release(&hist);
}

static void test_reserve(void **state)
{
	struct hist hist;
	uint64_t *buckets;

	(void)state;
	hist_init(&hist, 3);
	assert_int_equal(hist_reserve(&hist, 1, UINT64_MAX), 0);
	assert_int_equal(hist.len, 41 * 8);
	buckets = hist.buckets;
	hist_record(&hist, 1);
	hist_record(&hist, BUCKET_LIMIT);
	assert_ptr_equal(hist.buckets, buckets);
	hist_release(&hist);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void check_quantiles(const struct hist *hist, const uint64_t *sorted, uint64_t n)
{
	static const double qs[] = { 0, 0.001, 0.07, 0.5, 0.9, 0.99, 0.999, 0.9999, 1 };

	for (size_t i = 0; i < sizeof(qs) / sizeof(*qs); i++) {
		uint64_t rank = (uint64_t)ceill((long double)qs[i] * n - 1e-6L);
		uint64_t truth = sorted[rank ? rank - 1 : 0];
		struct hist_quantile quantile;

		assert_int_equal(hist_quantile(hist, qs[i], &quantile), 0);
		assert_in_range(truth, quantile.lo, quantile.hi);
		assert_in_range(quantile.value, quantile.lo, quantile.hi);
		if (truth && truth <= BUCKET_LIMIT)
			assert_int_equal(bucket_edges_index(hist->schema, quantile.value),
					 bucket_edges_index(hist->schema, truth));
	}
}

static void test_quantiles_hold_the_truth(void **state)
{
	uint64_t *values = calloc(SAMPLES, sizeof(*values));
	struct rng rng;

	(void)state;
	rng_init(&rng, 2);
	for (int i = 0; i < SAMPLES; i++)
		values[i] = some_latency(&rng);
	qsort(values, SAMPLES, sizeof(*values), compare_u64);
	for (int schema = BUCKET_SCHEMA_MIN; schema <= BUCKET_SCHEMA_MAX; schema++) {
		struct hist hist;

		hist_init(&hist, schema);
		for (int i = 0; i < SAMPLES; i++)
			hist_record(&hist, values[i]);
		check_quantiles(&hist, values, SAMPLES);
		hist_release(&hist);
	}
	free(values);
}

/* 0.07 * 100 is a little more than 7 in doubles, but the rank is 7, not 8. */
static void test_rank_is_not_rounded_up(void **state)
{
	struct hist hist;
	struct hist_quantile quantile;

	(void)state;
	hist_init(&hist, 3);
	hist_record_n(&hist, 1000, 7);
	hist_record_n(&hist, 1000000, 93);
	hist_quantile(&hist, 0.07, &quantile);
	assert_int_equal(quantile.lo, 1000);
	hist_quantile(&hist, 0.0701, &quantile);
	assert_int_equal(quantile.hi, 1000000);
	hist_release(&hist);
}

/* Four values in (2^10, 2^11]: the k-th is put at 2^(10 + k/4), as Prometheus does. */
static void test_interpolation(void **state)
{
	struct hist hist;
	struct hist_quantile quantile;

	(void)state;
	hist_init(&hist, 0);
	hist_add_at(&hist, 11, 4);
	hist_add_stats(&hist, 6000, 0, UINT64_MAX);
	hist_quantile(&hist, 0.25, &quantile);
	assert_int_equal(quantile.value, 1218); /* 2^10.25 = 1217.7 */
	assert_int_equal(quantile.lo, 1025);
	assert_int_equal(quantile.hi, 2048);
	hist_quantile(&hist, 1, &quantile);
	assert_int_equal(quantile.value, 2048);
	hist_release(&hist);
}

static void test_extremes_narrow_bounds(void **state)
{
	struct hist hist;
	struct hist_quantile quantile;

	(void)state;
	hist_init(&hist, -4);
	hist_record(&hist, 300);
	hist_record(&hist, 310);
	assert_int_equal(hist_quantile(&hist, 0.5, &quantile), 0);
	assert_int_equal(quantile.lo, 300);
	assert_int_equal(quantile.hi, 310);
	hist_record(&hist, BUCKET_LIMIT + 5);
	assert_int_equal(hist_quantile(&hist, 1, &quantile), 0);
	assert_int_equal(quantile.hi, BUCKET_LIMIT + 5);
	assert_int_equal(hist_quantile(&hist, -0.1, &quantile), -EINVAL);
	assert_int_equal(hist_quantile(&hist, NAN, &quantile), -EINVAL);
	hist_release(&hist);
}

/* A histogram merged from parts, finer schemas included, equals one that counted everything. */
static void test_merge_equals_one(void **state)
{
	(void)state;
	for (int schema = BUCKET_SCHEMA_MIN; schema <= BUCKET_SCHEMA_MAX; schema++) {
		struct hist one, merged, part[4];
		struct rng rng;

		rng_init(&rng, 3);
		hist_init(&one, schema);
		hist_init(&merged, BUCKET_SCHEMA_MAX);
		for (int cpu = 0; cpu < 4; cpu++)
			hist_init(&part[cpu], schema + cpu < 8 && cpu ? schema + cpu : schema);
		for (int i = 0; i < SAMPLES; i++) {
			uint64_t value = some_latency(&rng);

			hist_record(&one, value);
			hist_record(&part[i % 4], value);
		}
		for (int cpu = 0; cpu < 4; cpu++) {
			assert_int_equal(hist_merge(&merged, &part[cpu]), 0);
			hist_release(&part[cpu]);
		}
		assert_same(&one, &merged);
		hist_release(&one);
		hist_release(&merged);
	}
}

/* As often as if each value had come so many times, in place and into another. */
static void test_times_equals_recording(void **state)
{
	struct hist one, times, merged;
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	hist_init(&one, 3);
	hist_init(&times, 3);
	hist_init(&merged, 3);
	for (int i = 0; i < SAMPLES; i++) {
		uint64_t value = some_latency(&rng);

		hist_record(&one, value);
		hist_record_n(&times, value, 64);
	}
	assert_int_equal(hist_merge(&merged, &one), 0);
	assert_int_equal(hist_merge_times(&merged, &one, 63), 0);
	assert_same(&times, &merged);
	hist_multiply(&one, 64);
	assert_same(&times, &one);
	hist_record(&one, BUCKET_LIMIT + 1);
	one.sum = UINT64_MAX / 2;
	hist_multiply(&one, 3);
	assert_int_equal(one.over, times.over * 3 + 3);
	assert_true(one.sum == UINT64_MAX);
	hist_release(&one);
	hist_release(&times);
	hist_release(&merged);
}

static void test_downscale_equals_recording(void **state)
{
	(void)state;
	for (int from = BUCKET_SCHEMA_MIN; from <= BUCKET_SCHEMA_MAX; from++) {
		for (int to = BUCKET_SCHEMA_MIN; to <= from; to++) {
			struct hist fine, coarse;
			struct rng rng;

			rng_init(&rng, 4);
			hist_init(&fine, from);
			hist_init(&coarse, to);
			for (int i = 0; i < 2000; i++) {
				uint64_t value = some_latency(&rng);

				hist_record(&fine, value);
				hist_record(&coarse, value);
			}
			assert_int_equal(hist_downscale(&fine, to), 0);
			assert_same(&fine, &coarse);
			assert_int_equal(hist_record(&fine, 12345678), 0);
			assert_int_equal(total(&fine), 2001);
			hist_release(&fine);
			hist_release(&coarse);
		}
	}
}

static void test_rebuilt_from_deltas(void **state)
{
	struct hist original, rebuilt;
	int32_t index = INT32_MIN;
	struct rng rng;
	uint64_t n;

	(void)state;
	rng_init(&rng, 5);
	hist_init(&original, 3);
	hist_init(&rebuilt, 3);
	for (int i = 0; i < SAMPLES; i++)
		hist_record(&original, some_latency(&rng));
	while (hist_next(&original, &index, &n))
		assert_int_equal(hist_add_at(&rebuilt, index, n), 0);
	hist_add_zero(&rebuilt, original.zero);
	hist_add_over(&rebuilt, original.over);
	hist_add_stats(&rebuilt, original.sum, original.min, original.max);
	assert_same(&original, &rebuilt);
	assert_int_equal(hist_add_at(&rebuilt, -1, 1), -ERANGE);
	assert_int_equal(hist_add_at(&rebuilt, BUCKET_COUNT_DEFAULT, 1), -ERANGE);
	assert_int_equal(hist_add_at(&rebuilt, 1, 1), -ERANGE); /* (1, 1.09]: no integer */
	assert_same(&original, &rebuilt);
	hist_release(&original);
	hist_release(&rebuilt);
}

static void test_mean(void **state)
{
	struct hist hist;

	(void)state;
	hist_init(&hist, 3);
	hist_record_n(&hist, 10, 3);
	hist_record(&hist, 20);
	hist_record_n(&hist, 77, 0);
	assert_true(hist_mean(&hist) == 12.5);
	assert_int_equal(hist.max, 20);
	hist_record_n(&hist, BUCKET_LIMIT, BUCKET_LIMIT);
	assert_true(hist.sum == UINT64_MAX && isnan(hist_mean(&hist)));
	hist_release(&hist);
}

/* A quantile needs a value beyond it: exactly from 2, 10, 100 and 1,000 values on. */
static void test_beyond(void **state)
{
	static const struct {
		double q;
		uint64_t least;
	} cases[] = { { 0.5, 2 }, { 0.9, 10 }, { 0.99, 100 }, { 0.999, 1000 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(hist_beyond(cases[i].least, cases[i].q) >= 1);
		assert_true(hist_beyond(cases[i].least - 1, cases[i].q) < 1);
		assert_true(hist_beyond(10 * cases[i].least, cases[i].q) >= 10);
		assert_true(hist_beyond(10 * cases[i].least - 1, cases[i].q) < 10);
	}
	assert_true(hist_beyond(0, 0.5) == 0);
}

/* The number of values that have half of the sum. */
static void test_half(void **state)
{
	struct hist hist;

	(void)state;
	hist_init(&hist, 3);
	assert_int_equal(hist_count_half(&hist), 0);
	hist_record_n(&hist, 1024, 100); /* all alike, at an edge of a bucket */
	assert_int_equal(hist_count_half(&hist), 50);
	hist_record(&hist, 1 << 20); /* as much as 1,024 of them */
	assert_int_equal(hist_count_half(&hist), 1);
	hist_record_n(&hist, 1 << 20, 9);
	assert_int_equal(hist_count_half(&hist), 6); /* 5 and a little */
	hist_record(&hist, BUCKET_LIMIT + 1000);
	assert_int_equal(hist_count_half(&hist), 1);
	hist_release(&hist);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_window_grows_both_ways),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_quantiles_hold_the_truth),
		cmocka_unit_test(test_rank_is_not_rounded_up),
		cmocka_unit_test(test_interpolation),
		cmocka_unit_test(test_extremes_narrow_bounds),
		cmocka_unit_test(test_merge_equals_one),
		cmocka_unit_test(test_times_equals_recording),
		cmocka_unit_test(test_downscale_equals_recording),
		cmocka_unit_test(test_rebuilt_from_deltas),
		cmocka_unit_test(test_mean),
		cmocka_unit_test(test_beyond),
		cmocka_unit_test(test_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
