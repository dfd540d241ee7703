/* SPDX-License-Identifier: Apache-2.0 */
/* Requests near gaps are left out by when they were due. How well: tests/sim/load_disturbed.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "load/excise.h"
#include "stats/bucket_edges.h"

#define EVERY 1000000ULL /* ns between requests */
#define LATENCY 100000ULL
#define REQUESTS 4000

struct kept {
	uint64_t n, first_missing, last_missing, next;
};

/* Notes the range of requests that are not kept. */
static int keep(void *context, uint64_t intended, uint64_t ns)
{
	struct kept *k = context;

	assert_int_equal(ns, LATENCY);
	assert_true(intended >= k->next);
	if (intended > k->next) {
		k->first_missing = k->first_missing ? k->first_missing : k->next;
		k->last_missing = intended - EVERY;
	}
	k->next = intended + EVERY;
	k->n++;
	return 0;
}

static struct kept run(struct excise *e, const struct interference_span *gap, uint64_t tick_ns)
{
	struct kept kept = { .next = EVERY };
	struct excise_queue queue;

	excise_init(e, 0.99);
	excise_queue_init(&queue);
	for (uint64_t i = 1; i <= REQUESTS; i++)
		assert_int_equal(excise_add(e, &queue, i * EVERY, LATENCY), 0);
	if (gap)
		assert_int_equal(excise_gap(e, &queue, gap->begin, gap->end), 0);
	for (uint64_t at = tick_ns; at <= REQUESTS * EVERY; at += tick_ns)
		assert_int_equal(excise_decide(e, &queue, at, keep, &kept), 0);
	assert_int_equal(excise_decide(e, &queue, UINT64_MAX, keep, &kept), 0);
	assert_int_equal(queue.requests.len, 0);
	excise_queue_release(&queue);
	return kept;
}

static void without_gaps_all_are_kept(void **state)
{
	struct excise e;

	(void)state;
	assert_int_equal(run(&e, NULL, 100 * EVERY).n, REQUESTS);
	assert_true(excise_share(&e) == 1);
	assert_false(e.overflow);
	excise_release(&e);
}

/* From L before the gap until 4 times its length and 2 L after it. */
static void time_around_a_gap_is_left_out(void **state)
{
	const struct interference_span gap = { 3000 * EVERY, 3050 * EVERY };
	struct kept kept;
	struct excise e;

	(void)state;
	kept = run(&e, &gap, 100 * EVERY);
	/* L is twice the latency, but for the width of a bucket. */
	assert_in_range(e.near_ns, 2 * LATENCY - LATENCY / 100, 2 * LATENCY + LATENCY / 100);
	assert_int_equal(kept.first_missing, 3000 * EVERY);
	assert_int_equal(kept.last_missing, 3250 * EVERY);
	assert_int_equal(kept.n, REQUESTS - 251);
	/* Twice the time after the gap: 200 more. */
	assert_int_equal(e.checked.count, e.kept.count - 200);
	excise_release(&e);
	/* In one go, and in many: what is kept is the same once L is known. */
	assert_int_equal(run(&e, &gap, EVERY).n, kept.n);
	excise_release(&e);
}

static void nothing_decided_is_unknown(void **state)
{
	struct excise_queue queue;
	struct kept kept = { 0 };
	struct excise e;

	(void)state;
	excise_init(&e, 0.99);
	excise_queue_init(&queue);
	assert_true(excise_share(&e) != excise_share(&e)); /* NaN */
	assert_int_equal(excise_add(&e, &queue, 5 * EVERY, LATENCY), 0);
	assert_int_equal(excise_decide(&e, &queue, 5 * EVERY, keep, &kept), 0);
	assert_int_equal(e.seen, 0);
	excise_queue_release(&queue);
	excise_release(&e);
}

static void full_queues_are_noted(void **state)
{
	struct excise_queue queue;
	struct excise e;

	(void)state;
	excise_init(&e, 0.99);
	excise_queue_init(&queue);
	queue.gaps.max = 1;
	assert_int_equal(excise_gap(&e, &queue, 1, 2), 0);
	assert_false(e.overflow);
	assert_int_equal(excise_gap(&e, &queue, 3, 4), 0);
	assert_true(e.overflow);
	excise_queue_release(&queue);
	excise_release(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_gaps_all_are_kept),
		cmocka_unit_test(time_around_a_gap_is_left_out),
		cmocka_unit_test(nothing_decided_is_unknown),
		cmocka_unit_test(full_queues_are_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
