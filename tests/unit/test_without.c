/* SPDX-License-Identifier: Apache-2.0 */
/* A quantile without a cause, of messages whose causes are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "diagnose/without.h"

#define N 20000u
#define SLOW (N / 100)
#define BASE 100000u
#define EXTRA 10000000u

struct world {
	struct diagnosis d;
	uint64_t cause_ns[N];   /* time of each message's cause */
	enum cause cause[N];
	uint64_t latency[N];
};

static struct world world;

static int by_latency(const void *a, const void *b)
{
	const uint64_t x = world.latency[*(const uint32_t *)a],
		       y = world.latency[*(const uint32_t *)b];

	return x != y ? (x < y ? 1 : -1) : *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* Makes the slowest 1 % targets, and four times as many of the next ones near. */
static void select_subjects(bool *target, bool *near)
{
	static uint32_t order[N];

	for (uint32_t i = 0; i < N; i++)
		order[i] = i;
	qsort(order, N, sizeof(*order), by_latency);
	for (uint32_t i = 0; i < 5 * SLOW; i++) {
		target[order[i]] = i < SLOW;
		near[order[i]] = i >= SLOW;
	}
}

static void add_excess(struct diagnosis *d, uint32_t subject, uint32_t message,
		       struct excess_list *out)
{
	struct excess e = { .subject = subject, .latency = world.latency[message],
			    .expected = BASE };

	e.ns[CAUSE_PLACE(world.cause[message], WHERE_APPLICATION)] = world.cause_ns[message];
	e.ns[CAUSE_PLACE(CAUSE_APPLICATION, WHERE_APPLICATION)] +=
		world.latency[message] - BASE - world.cause_ns[message];
	memcpy(d->own.breakdowns[subject].ns, e.ns, sizeof(e.ns));
	assert_int_equal(vec_push(out, e), 0);
}

static void make_diagnosis(struct diagnosis *d)
{
	static bool target[N], near[N];

	memset(target, 0, sizeof(target));
	memset(near, 0, sizeof(near));
	*d = (struct diagnosis){ .options.selection = { .from = 0.99, .to = 1, .wider = true } };
	select_subjects(target, near);
	vec_init(&d->own.messages.all, N);
	vec_init(&d->own.subjects, N);
	vec_init(&d->excesses, N);
	vec_init(&d->near, N);
	d->own.breakdowns = calloc(N, sizeof(*d->own.breakdowns));
	assert_non_null(d->own.breakdowns);
	for (uint32_t i = 0; i < N; i++) {
		const struct message m = { .id = i + 1, .first = (uint64_t)i * 1000000,
					   .read = (uint64_t)i * 1000000 + world.latency[i] };
		const uint32_t subject = (uint32_t)d->own.subjects.len;

		assert_int_equal(vec_push(&d->own.messages.all, m), 0);
		if (!target[i] && !near[i])
			continue;
		assert_int_equal(vec_push(&d->own.subjects, (struct subject){
			.message = i, .target = target[i], .near = near[i] }), 0);
		add_excess(d, subject, i, target[i] ? &d->excesses : &d->near);
	}
}

static void free_diagnosis(struct diagnosis *d)
{
	free(d->without);
	free(d->own.breakdowns);
	vec_release(&d->own.messages.all);
	vec_release(&d->own.subjects);
	vec_release(&d->excesses);
	vec_release(&d->near);
}

static void find(struct world *w)
{
	make_diagnosis(&w->d);
	assert_int_equal(without_find_messages(&w->d.without, &w->d), 0);
	assert_non_null(w->d.without);
}

/* All messages take 100 to 110 us; `cause` takes `ns` more in every `every`-th from `first` on. */
static void quiet(struct rng *rng)
{
	for (uint32_t i = 0; i < N; i++) {
		world.cause_ns[i] = 0;
		world.cause[i] = CAUSE_CPU_WAIT;
		world.latency[i] = BASE + rng_below(rng, 10000);
	}
}

static void disturb(enum cause cause, uint32_t first, uint32_t every, uint64_t ns)
{
	for (uint32_t i = first; i < N; i += every) {
		world.cause[i] = cause;
		world.cause_ns[i] = ns;
		world.latency[i] += ns;
	}
}

/* Two causes in 2 % of the messages each: neither alone changes p99, both do. */
static void test_pair(void **state)
{
	struct rng rng;
	const struct without *w;
	const struct without_case *pair;
	uint64_t shares[2] = { 0 };

	(void)state;
	rng_init(&rng, 1);
	quiet(&rng);
	disturb(CAUSE_CPU_WAIT, 3, 50, EXTRA);
	disturb(CAUSE_SOFTIRQ, 20, 50, EXTRA);
	find(&world);
	w = world.d.without;
	vec_for_each(&world.d.excesses, e) {
		shares[0] += e->ns[CAUSE_PLACE(CAUSE_CPU_WAIT, WHERE_APPLICATION)];
		shares[1] += e->ns[CAUSE_PLACE(CAUSE_SOFTIRQ, WHERE_APPLICATION)];
	}
	assert_in_range(shares[0] * 100 / (shares[0] + shares[1]), 40, 60);
	assert_in_range(w->now.ns, EXTRA + BASE, EXTRA + BASE + 10000);
	assert_true(without_gain(w, without_single(w, CAUSE_CPU_WAIT)) < 0.05);
	assert_true(without_gain(w, without_single(w, CAUSE_SOFTIRQ)) < 0.05);
	pair = &w->cases[w->n - 1];
	assert_true(pair->keys[1] != EXCESS_KEYS);
	assert_true(without_gain(w, pair) > 0.8);
	assert_in_range(pair->latency.ns, w->floor_ns, BASE + 10000);
	free_diagnosis(&world.d);
}

/* Control: one cause does it all. There is no pair, and the quantile is that of a quiet host. */
static void test_single(void **state)
{
	struct rng rng;
	const struct without *w;
	const struct without_case *one;

	(void)state;
	rng_init(&rng, 2);
	quiet(&rng);
	disturb(CAUSE_LOCK, 7, 50, EXTRA);
	find(&world);
	w = world.d.without;
	one = without_single(w, CAUSE_LOCK);
	assert_in_range(one->latency.ns, w->floor_ns, BASE + 10000);
	assert_true(without_gain(w, one) > 0.95);
	for (uint32_t i = 0; i < w->n; i++)
		assert_int_equal(w->cases[i].keys[1], EXCESS_KEYS);
	free_diagnosis(&world.d);
}

/* More messages are slow by one cause than are divided: the quantile is only known to be below. */
static void test_below(void **state)
{
	struct rng rng;
	const struct without *w;
	const struct without_case *one;

	(void)state;
	rng_init(&rng, 6);
	quiet(&rng);
	disturb(CAUSE_LOCK, 7, 10, EXTRA);
	find(&world);
	w = world.d.without;
	one = without_single(w, CAUSE_LOCK);
	assert_true(one->latency.below);
	assert_int_equal(one->latency.ns, w->floor_ns);
	free_diagnosis(&world.d);
}

/* A tail of which the cause took a known part: the quantile without it is exact. */
static void test_exact(void **state)
{
	struct rng rng;
	const struct without *w;
	const struct without_case *one;
	uint64_t left = 0;

	(void)state;
	rng_init(&rng, 3);
	quiet(&rng);
	disturb(CAUSE_IO_WAIT, 0, 200, EXTRA);
	for (uint32_t i = 1; i < N; i += 50)
		world.latency[i] += 2000000 + i * 7919 % N * 10;
	find(&world);
	w = world.d.without;
	one = without_single(w, CAUSE_IO_WAIT);
	assert_false(one->latency.below);
	/* The 200th largest of the 400 messages that are slow without the cause. */
	left = 2000000 + BASE + 10 * N / 2;
	assert_in_range(one->latency.ns, left - 1000, left + 12000);
	assert_true(one->latency.bounded);
	assert_in_range(one->latency.ns, one->latency.lo_ns, one->latency.hi_ns);
	free_diagnosis(&world.d);
}

/* For independent messages, the bounds hold the truth about as often as promised. */
static void test_bounds_cover(void **state)
{
	const uint64_t truth = 1000000 + BASE;
	unsigned int hits = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	for (unsigned int run = 0; run < 60; run++) {
		const struct without_case *one;

		quiet(&rng);
		for (uint32_t i = 0; i < N; i++) {
			const uint64_t u = rng_below(&rng, 1000000);

			/* From 2 % down to 1 % of the messages, uniform from 0.5 to 1 ms. */
			if (u < 20000)
				world.latency[i] += u < 10000 ? 1000000 + u * 100 :
								500000 + (20000 - u) * 50;
			else if (u < 25000) {
				world.cause[i] = CAUSE_STOPPED;
				world.cause_ns[i] = EXTRA;
				world.latency[i] += EXTRA;
			}
		}
		find(&world);
		one = without_single(world.d.without, CAUSE_STOPPED);
		assert_true(one->latency.bounded);
		hits += one->latency.lo_ns <= truth + 10000 && one->latency.hi_ns >= truth;
		free_diagnosis(&world.d);
	}
	assert_in_range(hits, 52, 60);
}

/* Nothing is told of messages that are not the slowest. */
static void test_inner_slice(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	quiet(&rng);
	disturb(CAUSE_LOCK, 7, 50, EXTRA);
	find(&world);
	free(world.d.without);
	world.d.options.selection.to = 0.995;
	assert_int_equal(without_find_messages(&world.d.without, &world.d), 0);
	assert_null(world.d.without);
	free_diagnosis(&world.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pair),
		cmocka_unit_test(test_single),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_bounds_cover),
		cmocka_unit_test(test_inner_slice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
