/* SPDX-License-Identifier: Apache-2.0 */
/* An interval of a connection: its times sum up, each is what was measured. The table behind it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "conns/problem.h"
#include "conns/conn_share.h"
#include "conns/conn_aggregate.h"
#include "conns/conn_accumulate.h"
#include "conns/words.h"
#include "event/conn_times.h"
#include "probe/connection/conn_cover.h"
#include "probe/connection/conn_table.h"

static uint64_t sum(const struct event_conn *c)
{
	return c->sender_app_ns + c->send_buffer_ns + c->congestion_ns + c->receiver_window_ns +
	       c->delayed_ack_ns + c->unknown_ns;
}

/* From 100 to 1100. */
static struct event_conn conn(uint64_t busy, uint64_t window, uint64_t recovery)
{
	return (struct event_conn){
		.from = 100, .to = 1100, .busy_ns = busy, .kernel_rwnd_ns = window,
		.recovery_ns = recovery, .known = CONN_KNOWS_LOSSES,
	};
}

static void test_idle_connection(void **state)
{
	struct event_conn c = conn(0, 0, 0);

	(void)state;
	c.sampled[CONN_AT_IDLE] = 7;
	conn_times(&c);
	assert_int_equal(c.sender_app_ns, 1000);
	assert_int_equal(sum(&c), 1000);
}

static void test_each_limit(void **state)
{
	struct event_conn c = conn(900, 200, 100);

	(void)state;
	c.sampled[CONN_AT_IDLE] = 50;    /* does not count: idling is known */
	c.sampled[CONN_AT_RECOVERY] = 9; /* nor do these: they are known as well */
	c.sampled[CONN_AT_WINDOW] = 20;
	c.sampled[CONN_AT_SEND_BUFFER] = 3;
	c.sampled[CONN_AT_CWND] = 2;
	c.sampled[CONN_AT_DELAYED_ACK] = 1;
	c.sampled[CONN_AT_NAGLE] = 2;
	c.sampled[CONN_AT_FLIGHT] = 2;
	conn_times(&c);
	assert_int_equal(c.receiver_window_ns, 200);
	assert_int_equal(c.send_buffer_ns, 180);
	assert_int_equal(c.congestion_ns, 100 + 120);
	assert_int_equal(c.delayed_ack_ns, 60);
	assert_int_equal(c.sender_app_ns, 100 + 240);
	assert_int_equal(c.unknown_ns, 0);
}

static void test_unknown_time(void **state)
{
	struct event_conn c = conn(600, 100, 200);

	(void)state;
	c.sampled[CONN_AT_IDLE] = 50;
	c.sampled[CONN_AT_FLIGHT] = CONN_SAMPLES_MIN - 1; /* too few to say that it is all */
	conn_times(&c);
	assert_int_equal(c.unknown_ns, 300);
	assert_int_equal(c.sender_app_ns, 400);
	assert_int_equal(sum(&c), 1000);
}

/*
 * A tick, or a stall that began earlier, adds more time than the interval has: the excess is cut.
 */
static void test_time_beyond_interval_is_cut(void **state)
{
	struct event_conn c = conn(4000, 800, 5000);

	(void)state;
	conn_times(&c);
	assert_int_equal(c.receiver_window_ns, 800);
	assert_int_equal(c.congestion_ns, 200);
	assert_int_equal(sum(&c), 1000);
}

static void test_random(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	for (int i = 0; i < 100000; i++) {
		struct event_conn c = conn(rng_below(&rng, 2000), rng_below(&rng, 1500),
					   rng_below(&rng, 1500));

		for (int s = 0; s < CONN_STATES; s++)
			c.sampled[s] = (uint32_t)rng_below(&rng, 4);
		for (int s = 0; s < CONN_STATES && i & 1; s++)
			c.sampled_ns[s] = rng_u64(&rng) >> rng_below(&rng, 64);
		c.unsampled_ns = i & 2 ? rng_below(&rng, 1500) : 0;
		conn_times(&c);
		assert_int_equal(sum(&c), 1000);
	}
}

/* Weights count, not numbers: two samples of a busy level, one that stands for much more. */
static void test_samples_are_weighted(void **state)
{
	struct event_conn c = conn(1000, 0, 0);

	(void)state;
	c.sampled[CONN_AT_SEND_BUFFER] = 8;
	c.sampled_ns[CONN_AT_SEND_BUFFER] = 8 * 10;
	c.sampled[CONN_AT_FLIGHT] = 1;
	c.sampled_ns[CONN_AT_FLIGHT] = 320;
	assert_true(conn_is_weighted(&c));
	conn_times(&c);
	assert_int_equal(c.send_buffer_ns, 200);
	assert_int_equal(c.sender_app_ns, 800);
	c.unsampled_ns = 500; /* half of it is nobody's */
	conn_times(&c);
	assert_int_equal(c.unknown_ns, 500);
	assert_int_equal(c.send_buffer_ns, 100);
	assert_int_equal(sum(&c), 1000);
	memset(c.sampled_ns, 0, sizeof(c.sampled_ns));
	assert_false(conn_is_weighted(&c));
}

/* An interval with some samples tells what the preceding interval without samples was. */
static void test_interval_without_samples_follows_next(void **state)
{
	struct event_conn total = conn(1000, 0, 0), next = conn(1000, 0, 0), sums;

	(void)state;
	total.known = next.known = CONN_KNOWS_TIMES | CONN_KNOWS_LOSSES;
	next.from = 1100;
	next.to = 2100;
	total.samples = total.sampled[CONN_AT_SEND_BUFFER] = CONN_SAMPLES_MIN;
	total.sampled_ns[CONN_AT_SEND_BUFFER] = 1600;
	conn_times(&total);
	conn_times(&next);
	assert_int_equal(next.unknown_ns, 1000);
	sums = total;
	conn_accumulate(&sums, &next);
	assert_int_equal(sums.unknown_ns, 1000);
	assert_int_equal(sums.send_buffer_ns, 1000);
	conn_accumulate_next(&total, &next);
	assert_int_equal(total.unknown_ns, 0);
	assert_int_equal(total.send_buffer_ns, 2000);
	assert_int_equal(total.sampled_ns[CONN_AT_SEND_BUFFER], 1600);
	assert_int_equal(sum(&total), 2000);
}

/*
 * Each connection has too few samples; together they suffice, and connections with enough are left
 * out.
 */
static void test_few_samples_add_up(void **state)
{
	struct conn_aggregate s = { .connections = 0 };

	(void)state;
	for (int i = 0; i < 13; i++) {
		struct event_conn c = conn(1000, 0, 0);
		const struct conn_view view = { .c = &c };
		const bool enough = i == 10 || i == 11;
		const enum conn_sample_state at = i % 2 ? CONN_AT_CWND : CONN_AT_FLIGHT;

		c.known = CONN_KNOWS_TIMES | CONN_KNOWS_LOSSES;
		c.samples = c.sampled[at] = enough ? 100 : 1;
		c.sampled_ns[at] = enough ? 100 : at == CONN_AT_CWND ? 300000 : 900000;
		if (i == 0)
			c.unsampled_ns = 1000; /* nothing at all is known of this one */
		if (i == 12) { /* chance took none, as of most that are short */
			c.samples = c.sampled[at] = 0;
			c.sampled_ns[at] = 0;
		}
		conn_times(&c);
		assert_int_equal(c.unknown_ns, enough ? 0 : 1000);
		conn_aggregate_add(&s, &view);
	}
	assert_int_equal(s.sum.unknown_ns, 11000);
	conn_aggregate_finish(&s);
	assert_int_equal(s.sum.unknown_ns, 1000);
	assert_int_equal(s.sum.congestion_ns, 1000 + 10000 / 4);
	assert_int_equal(s.sum.sender_app_ns, 1000 + 10000 * 3 / 4);
	conn_aggregate_finish(&s); /* once */
	assert_int_equal(s.sum.unknown_ns, 1000);
}

/* Unknown time counts as part of the total; no limit is named if unknown time could change it. */
static void test_unknown_time_hides_limit(void **state)
{
	struct event_conn c = conn(1000, 100, 0);
	double share;

	(void)state;
	c.known = CONN_KNOWS_TIMES;
	conn_times(&c);
	assert_int_equal(c.unknown_ns, 900);
	assert_float_equal(conn_share(&c, c.receiver_window_ns), 0.1, 1e-12);
	assert_null(words_limit(&c, &share));
	c.kernel_rwnd_ns = 600;
	conn_times(&c);
	assert_string_equal(words_limit(&c, &share), "receiver-window");
	assert_float_equal(share, 0.6, 1e-12);
}

/* A connection that was left out at any time has no log: followed ones stand for as many. */
static void test_left_out_connections_are_estimated(void **state)
{
	struct event_conn thinned = conn(0, 0, 0), later = conn(0, 0, 0), other = conn(0, 0, 0);
	const struct conn_view view = { .c = &thinned }, another = { .c = &other };
	struct conn_aggregate s = { .connections = 0 };

	(void)state;
	thinned.known = later.known = CONN_KNOWS_CALLS;
	thinned.thinned_one_in = 4;
	later.thinned_one_in = 1;
	thinned.send_calls = later.send_calls = 5;
	conn_accumulate(&thinned, &later);
	assert_int_equal(thinned.thinned_one_in, 4);
	conn_aggregate_add(&s, &view);
	assert_float_equal(s.send_calls, 40, 0);
	assert_true(s.estimated && !s.calls_missing);
	other.thinned_one_in = 4; /* one of those that it stands for */
	conn_aggregate_add(&s, &another);
	assert_false(s.calls_missing);
	other.thinned_one_in = 1; /* nobody stands for this one */
	conn_aggregate_add(&s, &another);
	assert_true(s.calls_missing);
}

#define MS 1000000ULL

/* Samples of unequal weights count as fewer equal ones than there are. */
static void test_effective_sample_size(void **state)
{
	struct event_conn c = { .samples = 200 };
	struct proportion equal, weighted;

	(void)state;
	c.sampled[CONN_AT_CWND] = c.sampled[CONN_AT_FLIGHT] = 100;
	equal = conn_share_sampled(&c, 0, 100, 0.95);
	c.sampled_ns[CONN_AT_CWND] = c.sampled_ns[CONN_AT_FLIGHT] = 100 * 50 * MS;
	weighted = conn_share_sampled(&c, 100 * 50 * MS, 100, 0.95);
	assert_float_equal(equal.share, 0.5, 0);
	assert_float_equal(weighted.share, 0.5, 0);
	assert_float_equal(weighted.lo, equal.lo, 1e-12);
	c.sampled_ns[CONN_AT_CWND] = 100 * MS; /* samples of a level that is sampled more often */
	weighted = conn_share_sampled(&c, c.sampled_ns[CONN_AT_CWND], 100, 0.95);
	assert_float_equal(weighted.share, 100.0 / 5100, 1e-12);
	assert_true(weighted.lo < weighted.share && weighted.share < weighted.hi);
	c.sampled[CONN_AT_FLIGHT] = 1; /* all of the rest is by one sample */
	c.sampled[CONN_AT_IDLE] = 99;
	equal = weighted;
	weighted = conn_share_sampled(&c, c.sampled_ns[CONN_AT_CWND], 100, 0.95);
	assert_true(weighted.hi > 2 * equal.hi);
}

/* ---- gaps in sampling ---- */

static void test_gaps_in_recordings(void **state)
{
	struct conn_cover cover = { .n = 0 };

	(void)state;
	assert_int_equal(conn_cover_missing(&cover, 0, 1000), 0);
	conn_cover_set(&cover, true, 50);
	conn_cover_set(&cover, false, 100);
	conn_cover_set(&cover, false, 200); /* it goes on */
	assert_int_equal(conn_cover_missing(&cover, 0, 250), 150);
	assert_int_equal(conn_cover_missing(&cover, 210, 250), 40);
	assert_int_equal(conn_cover_missing(&cover, 0, 90), 0);
	conn_cover_set(&cover, true, 300);
	assert_int_equal(cover.n, 1);
	conn_cover_gap(&cover, 400, 500, 30);
	assert_int_equal(conn_cover_missing(&cover, 0, 1000), 230);
	assert_int_equal(conn_cover_missing(&cover, 250, 450), 50 + 15);
	assert_int_equal(conn_cover_missing(&cover, 300, 400), 0);
	assert_int_equal(conn_cover_missing(&cover, 450, 450), 0);
	/* Gaps that are forgotten count as missing time. */
	for (uint64_t i = 0; i < CONN_GAPS; i++)
		conn_cover_gap(&cover, 1000 + 10 * i, 1005 + 10 * i, 1);
	assert_int_equal(cover.forgotten, 500);
	assert_int_equal(conn_cover_missing(&cover, 450, 1005), 50 + 1);
	assert_int_equal(conn_cover_missing(&cover, 500, 2000), CONN_GAPS);
}

/* ---- the table ---- */

#define COOKIES 5000

/* Against an array: after any insertions and removals, every entry is found. */
static void test_table_finds_all_entries(void **state)
{
	struct conn_seen *in[COOKIES] = { NULL };
	struct conn_table table = { .item = sizeof(struct conn_seen) };
	struct rng rng;
	size_t n = 0;

	(void)state;
	rng_init(&rng, 9);
	assert_null(conn_table_find(&table, 1, 1));
	for (int i = 0; i < 40000; i++) {
		uint32_t cookie = (uint32_t)rng_below(&rng, COOKIES), netns = cookie % 3;
		struct conn_seen *s = conn_table_find(&table, netns, cookie);

		assert_ptr_equal(s, in[cookie]);
		assert_null(conn_table_find(&table, netns + 7, cookie));
		if (s) {
			assert_int_equal(s->key.cookie, cookie);
			if (rng_below(&rng, 2)) {
				s = conn_table_resize(&table, &s->key, sizeof(*s) + 500);
				assert_ptr_equal(conn_table_find(&table, netns, cookie), s);
				assert_int_equal(s->key.cookie, cookie);
			}
			conn_table_remove(&table, &s->key);
			in[cookie] = NULL;
			n--;
		} else {
			in[cookie] = conn_table_add(&table, netns, cookie);
			assert_non_null(in[cookie]);
			n++;
		}
		assert_int_equal(table.n, n);
	}
	for (uint32_t c = 0; c < COOKIES; c++)
		assert_ptr_equal(conn_table_find(&table, c % 3, c), in[c]);
	conn_table_free(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_connection),
		cmocka_unit_test(test_each_limit),
		cmocka_unit_test(test_unknown_time),
		cmocka_unit_test(test_time_beyond_interval_is_cut),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_samples_are_weighted),
		cmocka_unit_test(test_interval_without_samples_follows_next),
		cmocka_unit_test(test_few_samples_add_up),
		cmocka_unit_test(test_unknown_time_hides_limit),
		cmocka_unit_test(test_left_out_connections_are_estimated),
		cmocka_unit_test(test_effective_sample_size),
		cmocka_unit_test(test_gaps_in_recordings),
		cmocka_unit_test(test_table_finds_all_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
