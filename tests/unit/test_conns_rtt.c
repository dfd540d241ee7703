/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Round trips by their length: into which bucket one falls, what was gained since the last time
 * though counters run over, sums, and quantiles against the sorted values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <sys/socket.h>

#include "base/bug.h"
#include "base/rng.h"
#include "conns/rtt.h"
#include "conns/conn_accumulate.h"
#include "event/memsource.h"
#include "probe/connection/conn_rtts.h"
#include "probe/connection/conn_delta.h"
#include "stats/bucket_edges.h"

#define MIDDLE 1.0906 /* 2^(1/8), and a rounding */

/* ---- buckets ---- */

static uint32_t bucket_by_search(uint64_t ns)
{
	uint32_t i = 0;

	while (i < CONN_RTTS - 1 &&
	       ns > bucket_edges_floor(CONN_RTT_SCHEMA, CONN_RTT_BASE + (int32_t)i))
		i++;
	return i;
}

static void test_bucket(void **state)
{
	(void)state;
	assert_memory_equal(bucket_edges_steps(CONN_RTT_SCHEMA), bucket_steps_quarters,
			    sizeof(bucket_steps_quarters));
	assert_int_equal(bucket_edges_floor(CONN_RTT_SCHEMA, CONN_RTT_BASE), CONN_RTT_LEAST_NS);
	assert_int_equal(bucket_edges_floor(CONN_RTT_SCHEMA, CONN_RTT_BASE + CONN_RTTS - 2),
			 1ULL << 33);
	for (uint32_t us = 1; us < 100000; us++)
		assert_int_equal(conn_rtt_bucket(us), bucket_by_search(us * 1000ULL));
	for (int i = 0; i < CONN_RTTS - 1; i++) {
		const uint64_t edge = bucket_edges_floor(CONN_RTT_SCHEMA, CONN_RTT_BASE + i);
		const uint32_t us = (uint32_t)(edge / 1000);

		for (uint32_t at = us - 1; at <= us + 2; at++)
			assert_int_equal(conn_rtt_bucket(at), bucket_by_search(at * 1000ULL));
		assert_int_equal(conn_rtt_bucket(us), i);
		assert_int_equal(conn_rtt_bucket(us + 1), i + 1);
	}
	assert_int_equal(conn_rtt_bucket(1), 0);
	assert_int_equal(conn_rtt_bucket(UINT32_MAX), CONN_RTTS - 1);
}

/* ---- since the last time ---- */

/* As the program does it. */
static void count(struct conn_rtts *r, uint32_t bucket, uint32_t times)
{
	while (times--)
		if (!++r->count[bucket])
			r->wrapped[r->wraps++ % CONN_RTT_WRAPS] = (uint8_t)bucket;
}

/* Counters wrap around, and so does the number of their wraps. */
static void test_counters_wrap_around(void **state)
{
	uint32_t truth[CONN_RTTS], gained[CONN_RTTS];
	struct conn_rtts_seen *seen = NULL;
	struct conn_rtts r = { 0 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	assert_int_equal(conn_rtts_size(seen), 0);
	count(&r, 40, 1);
	assert_int_equal(conn_rtts_gained(&seen, &r, gained), 0);
	assert_int_equal(gained[40], 1);
	r.wraps = seen->wraps = 65530; /* as after 4 thousand million of them */
	memset(r.wrapped, 40, sizeof(r.wrapped));
	for (int round = 0; round < 300; round++) {
		memset(truth, 0, sizeof(truth));
		for (int i = 0; i < 3; i++) {
			const uint32_t at = (uint32_t)(30 + rng_below(&rng, 1 + round / 6));
			const uint32_t n = (uint32_t)rng_below(&rng, 150000);

			truth[at] += n;
			count(&r, at, n);
		}
		assert_int_equal(conn_rtts_gained(&seen, &r, gained), 0);
		assert_memory_equal(gained, truth, sizeof(truth));
	}
	assert_true(r.wraps > 100 && r.wraps < 65530);
	assert_true(conn_rtts_size(seen) <= sizeof(*seen) + sizeof(seen->count[0]) * 50);
	free(seen);
}

/* More counters wrapped than are remembered: this time is unknown, the next one is not. */
static void test_forgotten_wraps_are_unknown(void **state)
{
	struct conn_rtts r = { 0 };
	struct conn_rtts_seen *seen = NULL;
	uint32_t gained[CONN_RTTS];

	(void)state;
	assert_int_equal(conn_rtts_gained(&seen, &r, gained), 0);
	assert_null(seen); /* there is nothing to remember */
	count(&r, 40, 5);
	assert_int_equal(conn_rtts_gained(&seen, &r, gained), 0);
	count(&r, 40, 16 * 65536);
	assert_int_equal(conn_rtts_gained(&seen, &r, gained), 0);
	assert_int_equal(gained[40], 16 * 65536);
	count(&r, 40, 17 * 65536);
	assert_int_equal(conn_rtts_gained(&seen, &r, gained), -ENODATA);
	count(&r, 41, 7);
	assert_int_equal(conn_rtts_gained(&seen, &r, gained), 0);
	assert_int_equal(gained[40], 0);
	assert_int_equal(gained[41], 7);
	free(seen);
}

/* A counter is read between its wrap and the note of it: the next read reports it. */
static void test_wrap_without_note(void **state)
{
	struct conn_rtts r = { 0 }, half;
	struct conn_rtts_seen *seen = NULL;
	uint32_t gained[CONN_RTTS];

	(void)state;
	count(&r, 9, 65530);
	count(&r, 10, 1);
	assert_int_equal(conn_rtts_gained(&seen, &r, gained), 0);
	count(&r, 9, 10);
	half = r;
	half.wraps--;
	assert_int_equal(conn_rtts_gained(&seen, &half, gained), 0);
	assert_int_equal(gained[9], 0);
	count(&r, 9, 1);
	assert_int_equal(conn_rtts_gained(&seen, &r, gained), 0);
	assert_int_equal(gained[9], 11);
	free(seen);
}

static void test_extremes(void **state)
{
	uint32_t gained[CONN_RTTS] = { 0 }, min = 0, max = 0;

	(void)state;
	conn_rtts_extremes(gained, &min, &max);
	assert_int_equal(max, 0);
	gained[conn_rtt_bucket(20000)] = 1;
	conn_rtts_extremes(gained, &min, &max); /* unknown: the bucket's */
	assert_int_equal(min, 19952);
	assert_int_equal(max, 23726);
	min = 20000, max = 20001;
	conn_rtts_extremes(gained, &min, &max); /* they fit */
	assert_int_equal(min, 20000);
	assert_int_equal(max, 20001);
	min = max = 60000;
	gained[conn_rtt_bucket(60000)] = 1;
	conn_rtts_extremes(gained, &min, &max);
	assert_int_equal(min, 19952);
	assert_int_equal(max, 60000);
	min = max = 20000;
	conn_rtts_extremes(gained, &min, &max);
	assert_int_equal(min, 20000);
	assert_int_equal(max, 67108);
}

/* ---- as an event ---- */

struct rig {
	struct conn_delta delta;
	struct event_memsource *queue;
	struct conn_snapshot record;
};

static void rig_open(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	assert_int_equal(conn_delta_init(&r->delta), 0);
	assert_int_equal(event_memsource_new(&r->queue, 1 << 20), 0);
	r->delta.sink = event_memsource_sink(r->queue);
	r->delta.dict = event_dict_new();
	assert_non_null(r->delta.dict);
	r->delta.tick_ns = 1000;
	r->delta.known = CONN_KNOWS_RTT | CONN_KNOWS_RTTS;
	r->record = (struct conn_snapshot){
		.time = 1000,
		.stats = { .idle = { .cookie = 1, .netns = 1, .flags = STATS_RTT },
			  .rtt_min_us = UINT32_MAX },
		.now = { .family = AF_INET },
	};
}

static void rig_close(struct rig *r)
{
	event_dict_free(r->delta.dict);
	event_memsource_free(r->queue);
	conn_delta_release(&r->delta);
}

static void had(struct rig *r, uint32_t us, uint32_t times)
{
	struct conn_stats *k = &r->record.stats;

	k->rtt_samples += times;
	k->rtt_sum_us += (uint64_t)us * times;
	k->rtt_min_us = us < k->rtt_min_us ? us : k->rtt_min_us;
	k->rtt_max_us = us > k->rtt_max_us ? us : k->rtt_max_us;
	count(&r->record.rtts, conn_rtt_bucket(us), times);
	r->record.has_rtts = 1;
}

static struct event_conn tell(struct rig *r)
{
	struct event_block block;
	struct event_conn e;

	r->record.time += 1000;
	conn_delta_add(&r->delta, &r->record, NULL);
	assert_int_equal(r->delta.err, 0);
	assert_true(conn_delta_block(&r->delta, &block));
	event_block_copy(&block, 0, &e, sizeof(e));
	assert_false(conn_delta_block(&r->delta, &block));
	r->record.stats.rtt_min_us = UINT32_MAX;
	r->record.stats.rtt_max_us = 0;
	r->record.has_rtts = 0;
	return e;
}

static void test_reported_rtts(void **state)
{
	const uint32_t short_one = conn_rtt_bucket(20000), long_one = conn_rtt_bucket(60000);
	struct event_conn e;
	struct rig r;

	(void)state;
	rig_open(&r);
	had(&r, 20000, 70000);
	e = tell(&r);
	assert_true(rtt_is_known(&e) && rtt_is_valid(&e));
	assert_int_equal(e.rtts[short_one], 70000);
	assert_int_equal(r.delta.rtts_bytes, sizeof(struct conn_rtts_seen) + 2);
	e = tell(&r);
	assert_true(rtt_is_known(&e) && rtt_is_valid(&e));
	assert_int_equal(e.rtt_samples, 0);
	had(&r, 60000, 3);
	r.record.stats.rtt_samples += 1; /* counted just now, but not in a bucket yet */
	e = tell(&r);
	assert_true(rtt_is_known(&e) && rtt_is_valid(&e));
	assert_int_equal(e.rtt_samples, 3);
	assert_int_equal(e.rtts[short_one], 0);
	assert_int_equal(e.rtts[long_one], 3);
	r.record.closed = 1;
	tell(&r);
	assert_int_equal(r.delta.rtts_bytes, 0);
	rig_close(&r);
}

/*
 * RTTs have a reason for being unknown; followed connections know the number of samples
 * nevertheless.
 */
static void test_unknown_rtts(void **state)
{
	struct event_conn e;
	struct rig r;

	(void)state;
	rig_open(&r);
	had(&r, 20000, 2);
	r.record.stats.idle.flags |= STATS_RTTS_LOST; /* there was no memory */
	e = tell(&r);
	assert_false(rtt_is_known(&e));
	assert_int_equal(e.rtt_samples, 2);
	assert_true(e.known & CONN_KNOWS_RTT);
	r.record.stats.idle.flags &= ~STATS_RTTS_LOST; /* the control */
	had(&r, 20000, 2);
	e = tell(&r);
	assert_true(rtt_is_known(&e));
	assert_int_equal(e.rtt_samples, 2); /* without those of the interval before */
	conn_delta_thin(&r.delta, 2, r.record.time); /* for a part of it nobody was told */
	had(&r, 20000, 5);
	e = tell(&r);
	assert_false(rtt_is_known(&e));
	conn_delta_thin(&r.delta, 1, r.record.time);
	had(&r, 20000, 1);
	e = tell(&r);
	assert_true(rtt_is_known(&e));
	assert_int_equal(e.rtt_samples, 1);
	assert_int_equal(e.rtt_sum_us, 20000);
	had(&r, 20000, 20 * 65536); /* too many at a time */
	e = tell(&r);
	assert_false(rtt_is_known(&e));
	assert_true(conn_accumulate_accepts(&e));
	assert_int_equal(e.rtt_samples, 20 * 65536);
	assert_int_equal(e.rtts[conn_rtt_bucket(20000)], 0);
	had(&r, 20000, 1);
	e = tell(&r);
	assert_true(rtt_is_known(&e));
	assert_int_equal(e.rtt_samples, 1);
	r.record.stats.idle.flags &= ~STATS_RTT; /* nobody is told of its round trips */
	e = tell(&r);
	assert_false(rtt_is_known(&e) || e.known & CONN_KNOWS_RTT);
	rig_close(&r);
}

/* ---- sums and quantiles ---- */

static void add_one(struct event_conn *e, uint32_t us)
{
	e->rtt_min_us = e->rtt_samples && e->rtt_min_us < us ? e->rtt_min_us : us;
	e->rtt_max_us = e->rtt_max_us > us ? e->rtt_max_us : us;
	e->rtt_sum_us += us;
	e->rtt_samples++;
	e->rtts[conn_rtt_bucket(us)]++;
}

static int ascending(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void check_quantiles(const struct rtt_sum *sum, uint32_t *values, uint32_t n)
{
	static const uint32_t permille[] = { 500, 900, 990 };

	qsort(values, n, sizeof(*values), ascending);
	for (size_t i = 0; i < ARRAY_LEN(permille); i++) {
		const struct value found = rtt_quantile_value(sum, permille[i]);
		const uint64_t ns = found.u64;
		double truth;

		assert_int_equal(found.type != VALUE_NULL, n * (1000 - permille[i]) >= 1000);
		if (found.type == VALUE_NULL)
			continue;
		truth = values[(n * permille[i] + 999) / 1000 - 1] * 1e3;
		assert_true((double)ns <= truth * MIDDLE && (double)ns >= truth / MIDDLE);
		assert_true(ns >= values[0] * 1000ULL && ns <= values[n - 1] * 1000ULL);
	}
}

/* RTTs from 9 us to 8 s, each part some octaves wide; the merged parts are the whole. */
static void test_merged_parts_have_same_quantiles(void **state)
{
	uint32_t values[400];
	struct rng rng;

	(void)state;
	rng_init(&rng, 11);
	for (int round = 0; round < 2000; round++) {
		const uint32_t n = 1 + (uint32_t)rng_below(&rng, ARRAY_LEN(values));
		const double least = exp2(3.2 + 16 * rng_uniform(&rng)), octaves =
			(22.9 - log2(least)) * rng_uniform(&rng);
		struct event_conn whole = { .known = 0xfff }, parts[2] = { whole, whole };
		struct event_conn total;
		struct rtt_sum sum = { 0 }, by_parts = { 0 };

		for (uint32_t i = 0; i < n; i++) {
			values[i] = (uint32_t)(least * exp2(octaves * rng_uniform(&rng)));
			add_one(&whole, values[i]);
			add_one(&parts[rng_below(&rng, 2)], values[i]);
		}
		assert_true(rtt_is_valid(&whole) && rtt_is_valid(&parts[0]));
		rtt_add(&sum, &whole);
		rtt_add(&by_parts, &parts[0]);
		rtt_add(&by_parts, &parts[1]);
		assert_int_equal(by_parts.connections, 2);
		by_parts.connections = 1;
		assert_memory_equal(&sum, &by_parts, sizeof(sum));
		total = parts[0];
		conn_accumulate(&total, &parts[1]);
		assert_memory_equal(total.rtts, whole.rtts, sizeof(whole.rtts));
		assert_true(rtt_is_known(&total) && rtt_is_valid(&total));
		check_quantiles(&sum, values, n);
	}
}

static void test_outermost_buckets(void **state)
{
	struct event_conn e = { .known = 0xfff };
	struct rtt_sum sum = { 0 };
	uint64_t ns;

	(void)state;
	assert_int_equal(rtt_quantile_value(&sum, 500).type, VALUE_NULL);
	add_one(&e, 1);
	add_one(&e, 9000000);
	rtt_add(&sum, &e);
	assert_int_not_equal(rtt_quantile_value(&sum, 500).type, VALUE_NULL);
	ns = rtt_quantile_value(&sum, 500).u64;
	assert_true(ns >= 1000 && ns <= CONN_RTT_LEAST_NS);
	e.known &= ~(uint32_t)CONN_KNOWS_RTTS; /* an old recording's: nothing is added */
	rtt_add(&sum, &e);
	assert_int_equal(sum.connections, 1);
	assert_int_equal(sum.samples, 2);
}

/* An unknown part makes the total unknown; so does a sum that overflows. */
static void test_unknown_part_makes_total_unknown(void **state)
{
	struct event_conn a = { .known = 0xfff, .to = 1 }, b = a, sum;

	(void)state;
	add_one(&a, 20000);
	add_one(&b, 20000);
	sum = a;
	conn_accumulate(&sum, &b);
	assert_true(rtt_is_known(&sum));
	b.known &= ~(uint32_t)CONN_KNOWS_RTTS;
	conn_accumulate(&sum, &b);
	assert_false(rtt_is_known(&sum));
	b.known = 0xfff;
	b.rtt_samples = b.rtts[conn_rtt_bucket(20000)] = UINT32_MAX;
	conn_accumulate(&a, &b);
	assert_false(rtt_is_known(&a));
}

static void test_valid(void **state)
{
	struct event_conn good = { .known = 0xfff & ~(uint32_t)CONN_KNOWS_TIMES }, e;

	(void)state;
	add_one(&good, 20000);
	add_one(&good, 60000);
	assert_true(conn_accumulate_accepts(&good));
	e = good;
	e.rtt_samples++;
	assert_false(conn_accumulate_accepts(&e));
	e.known &= ~(uint32_t)CONN_KNOWS_RTTS;
	assert_true(conn_accumulate_accepts(&e));
	e = good;
	e.rtt_min_us = 24000;
	assert_false(conn_accumulate_accepts(&e));
	e = good;
	e.rtt_max_us = 50000;
	assert_false(conn_accumulate_accepts(&e));
	e = good;
	e.rtts[3] = UINT32_MAX; /* the sum would run over */
	e.rtts[4] = 1;
	assert_false(conn_accumulate_accepts(&e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bucket),
		cmocka_unit_test(test_counters_wrap_around),
		cmocka_unit_test(test_forgotten_wraps_are_unknown),
		cmocka_unit_test(test_wrap_without_note),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_reported_rtts),
		cmocka_unit_test(test_unknown_rtts),
		cmocka_unit_test(test_merged_parts_have_same_quantiles),
		cmocka_unit_test(test_outermost_buckets),
		cmocka_unit_test(test_unknown_part_makes_total_unknown),
		cmocka_unit_test(test_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
