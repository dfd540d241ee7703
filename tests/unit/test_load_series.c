/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of a run, and the parts of a request's way. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/rng.h"
#include "hist_at.h"
#include "load/series.h"

#define START (7000ULL << SERIES_SHIFT)

static struct event_sample sample_at(uint64_t intended, uint64_t lag, uint64_t way)
{
	return (struct event_sample){
		.intended = intended, .sent = intended + lag, .done = intended + lag + way };
}

static void add(struct series *s, struct event_sample sample)
{
	assert_int_equal(series_add(s, &sample), 0);
}

static uint64_t count_all(const struct series *s, enum load_from which)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += s->windows[i].latency[which].count;
	return n;
}

static void samples_lie_where_they_were_due(void **state)
{
	const uint64_t width = 1ULL << SERIES_SHIFT;
	struct series s;

	(void)state;
	assert_int_equal(series_init(&s, 0), 0);
	add(&s, sample_at(START + 3 * width, 0, 100));
	/* A stall of hours later, and earlier than all before: each in its own window. */
	add(&s, sample_at(START + 5 * width - 1, 1ULL << 42, 100));
	add(&s, sample_at(START, 0, 100));
	assert_int_equal(s.n, 5);
	assert_int_equal(s.first, START >> SERIES_SHIFT);
	assert_int_equal(s.windows[0].latency[LOAD_INTENDED].count, 1);
	assert_int_equal(s.windows[3].latency[LOAD_INTENDED].count, 1);
	assert_int_equal(s.windows[4].latency[LOAD_INTENDED].over, 1);
	assert_int_equal(s.windows[4].latency[LOAD_ACTUAL].over, 0);
	assert_int_equal(series_before(&s, START + 3 * width - 1), 2);
	assert_int_equal(series_before(&s, START + 3 * width), 3);
	assert_int_equal(series_before(&s, 0), 0);
	assert_int_equal(series_before(&s, UINT64_MAX), 5);
	series_release(&s);
}

static void contradictions_are_refused(void **state)
{
	struct event_sample early = { .intended = 10, .sent = 9, .done = 20 };
	struct event_sample late = { .intended = 10, .sent = 15, .done = 14 };
	struct series s;

	(void)state;
	assert_int_equal(series_init(&s, 0), 0);
	assert_int_equal(series_add(&s, &early), -EBADMSG);
	assert_int_equal(series_add(&s, &late), -EBADMSG);
	assert_int_equal(s.n, 0);
	series_release(&s);
}

static void failures_count_without_latency(void **state)
{
	struct event_sample refused = sample_at(START, 5, 100);
	struct hist lag;
	struct series s;

	(void)state;
	refused.flags = SAMPLE_FAILED;
	assert_int_equal(series_init(&s, 0), 0);
	add(&s, refused);
	assert_int_equal(series_add_failed(&s, START), 0);
	assert_int_equal(series_failed(&s, 0, s.n), 2);
	assert_int_equal(count_all(&s, LOAD_INTENDED), 0);
	hist_init(&lag, SERIES_LAG_SCHEMA);
	assert_int_equal(series_pool_lag(&s, 0, s.n, LAG_COUNTED, &lag), 0);
	assert_int_equal(lag.count, 1); /* the other was never sent */
	hist_release(&lag);
	series_release(&s);
}

/* If two replies come in one receive call, the stamp belongs to the later one, not to the first. */
static void censored_stamps_are_left_out(void **state)
{
	struct event_sample last = sample_at(START, 10, 1000), first = last, no_tx;
	uint64_t parts[LOAD_PARTS], ns;
	struct series s;

	(void)state;
	last.snd_ns = 100;
	last.rx_ns = 300;
	first = last;
	first.rx_ns = 50;
	first.wake_ns = 20;
	first.flags = SAMPLE_CENSORED | SAMPLE_ASLEEP;
	no_tx = first;
	no_tx.snd_ns = 0;
	assert_int_equal(series_init(&s, 0), 0);
	add(&s, last);
	add(&s, first);
	add(&s, no_tx);
	assert_int_equal(count_all(&s, LOAD_INTENDED), 3);
	assert_int_equal(count_all(&s, LOAD_KERNEL), 1);
	assert_int_equal(s.windows[0].latency[LOAD_KERNEL].max, 600);
	assert_int_equal(series_censored(&s, 0, s.n), 1); /* the third lacks a stamp anyway */
	assert_false(load_kernel_ns(&first, &ns));
	load_parts(&first, parts);
	assert_int_equal(parts[PART_CLIENT_QUEUE], 10);
	assert_int_equal(parts[PART_TRANSMIT], 100);
	assert_int_equal(parts[PART_UNEXPLAINED], 900);
	assert_int_equal(parts[PART_WIRE_SERVER] + parts[PART_RECEIVE] + parts[PART_WAKEUP], 0);
	load_parts(&no_tx, parts);
	assert_int_equal(parts[PART_UNEXPLAINED], 1000);
	/* The control: the last reply of the call has its own stamp. */
	assert_true(load_kernel_ns(&last, &ns));
	load_parts(&last, parts);
	assert_int_equal(parts[PART_WIRE_SERVER], 600);
	assert_int_equal(parts[PART_RECEIVE], 300);
	series_release(&s);
}

static void expect_same(const struct series *a, const struct series *b)
{
	assert_int_equal(a->shift, b->shift);
	assert_int_equal(a->first, b->first);
	assert_int_equal(a->n, b->n);
	for (uint32_t i = 0; i < a->n; i++) {
		for (int k = 0; k < LOAD_FROMS; k++) {
			const struct hist *x = &a->windows[i].latency[k];
			const struct hist *y = &b->windows[i].latency[k];
			int32_t at = INT32_MIN;
			uint64_t n;

			assert_int_equal(x->count, y->count);
			assert_int_equal(x->sum, y->sum);
			assert_int_equal(x->max, y->max);
			while (hist_next(x, &at, &n))
				assert_int_equal(hist_at(y, at), n);
		}
		assert_int_equal(a->windows[i].failed, b->windows[i].failed);
	}
}

/* Windows merge when they become too many; whatever the order, the same series comes out. */
static void order_does_not_matter(void **state)
{
	enum { N = 20000 };
	static struct event_sample samples[N];
	struct series forward, shuffled;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < N; i++) {
		samples[i] = sample_at(START + rng_below(&rng, 90000000000), rng_below(&rng, 1000),
				       1000 + rng_below(&rng, 1000000));
		samples[i].flags = rng_below(&rng, 50) ? 0 : SAMPLE_FAILED;
	}
	assert_int_equal(series_init(&forward, 0), 0);
	assert_int_equal(series_init(&shuffled, 0), 0);
	for (int i = 0; i < N; i++)
		add(&forward, samples[i]);
	for (int i = N - 1; i > 0; i--) {
		int k = (int)rng_below(&rng, (uint64_t)i + 1);
		struct event_sample swap = samples[i];

		samples[i] = samples[k];
		samples[k] = swap;
	}
	for (int i = 0; i < N; i++)
		add(&shuffled, samples[i]);
	assert_true(forward.shift > SERIES_SHIFT);
	assert_in_range(forward.n, SERIES_WINDOWS / 2 - 1, SERIES_WINDOWS);
	assert_int_equal(count_all(&forward, LOAD_INTENDED) +
			 series_failed(&forward, 0, forward.n), N);
	expect_same(&forward, &shuffled);
	series_release(&forward);
	series_release(&shuffled);
}

/* A time from a broken file may be anything; memory stays bounded. */
static void extreme_times_are_survived(void **state)
{
	struct series s;

	(void)state;
	assert_int_equal(series_init(&s, UINT64_MAX), 0);
	add(&s, sample_at(UINT64_MAX - 10, 1, 2));
	add(&s, sample_at(0, 1, 2));
	assert_true(s.n <= SERIES_WINDOWS);
	assert_int_equal(count_all(&s, LOAD_ACTUAL), 2);
	series_release(&s);
}

/* ---- parts ---- */

static uint64_t whole(const uint64_t parts[LOAD_PARTS])
{
	uint64_t sum = 0;

	for (int i = 0; i < LOAD_PARTS; i++)
		sum += parts[i];
	return sum;
}

static void parts_of_a_request(void **state)
{
	struct event_sample s = sample_at(1000, 30, 500);
	uint64_t parts[LOAD_PARTS], kernel;

	(void)state;
	load_parts(&s, parts);
	assert_int_equal(parts[PART_CLIENT_QUEUE], 30);
	assert_int_equal(parts[PART_UNEXPLAINED], 500);
	assert_false(load_kernel_ns(&s, &kernel));

	s.snd_ns = 40;
	s.rx_ns = 60;
	load_parts(&s, parts);
	assert_int_equal(parts[PART_TRANSMIT], 40);
	assert_int_equal(parts[PART_WIRE_SERVER], 400);
	assert_int_equal(parts[PART_RECEIVE], 60);
	assert_int_equal(parts[PART_UNEXPLAINED], 0);
	assert_true(load_kernel_ns(&s, &kernel));
	assert_int_equal(kernel, 400);

	s.wake_ns = 20; /* means something only if the reader slept */
	load_parts(&s, parts);
	assert_int_equal(parts[PART_WAKEUP], 0);
	s.flags = SAMPLE_ASLEEP;
	load_parts(&s, parts);
	assert_int_equal(parts[PART_WAKEUP], 40);
	assert_int_equal(parts[PART_RECEIVE], 20);

	s.rx_ns = 480; /* more than there is: nothing of it is believed */
	load_parts(&s, parts);
	assert_int_equal(parts[PART_UNEXPLAINED], 500);
	assert_false(load_kernel_ns(&s, &kernel));
}

static void parts_sum_to_the_whole(void **state)
{
	struct rng rng;
	uint64_t parts[LOAD_PARTS];

	(void)state;
	rng_init(&rng, 2);
	for (int i = 0; i < 100000; i++) {
		struct event_sample s = sample_at(rng_below(&rng, 1000), rng_below(&rng, 100),
						  rng_below(&rng, 300));

		s.snd_ns = (uint32_t)rng_below(&rng, 200);
		s.rx_ns = (uint32_t)rng_below(&rng, 200);
		s.wake_ns = (uint32_t)rng_below(&rng, 200);
		s.flags = rng_below(&rng, 2) ? SAMPLE_ASLEEP : 0;
		load_parts(&s, parts);
		assert_int_equal(whole(parts), s.done - s.intended);
	}
}

static void pooled_parts_sum_to_the_mean(void **state)
{
	struct parts_row *rows = calloc(SERIES_PART_ROWS, sizeof(*rows));
	uint64_t sum = 0, count = 0;
	struct series s;

	(void)state;
	assert_non_null(rows);
	assert_int_equal(series_init(&s, 0), 0);
	for (uint64_t i = 0; i < 5000; i++)
		add(&s, sample_at(START + i * 1000000, i % 7, i * i));
	series_pool_parts(&s, 0, s.n, rows);
	for (int i = 0; i < SERIES_PART_ROWS; i++) {
		sum += whole(rows[i].ns);
		count += rows[i].count;
	}
	assert_int_equal(count, 5000);
	for (uint64_t i = 0; i < 5000; i++)
		sum -= i % 7 + i * i;
	assert_int_equal(sum, 0);
	series_release(&s);
	free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_lie_where_they_were_due),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(failures_count_without_latency),
		cmocka_unit_test(censored_stamps_are_left_out),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(extreme_times_are_survived),
		cmocka_unit_test(parts_of_a_request),
		cmocka_unit_test(parts_sum_to_the_whole),
		cmocka_unit_test(pooled_parts_sum_to_the_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
