/* SPDX-License-Identifier: Apache-2.0 */
/* The budget and its estimates, step by step; tests/sim/conns_budget.c has them over time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/parse.h"
#include "conns/budget.h"

#define INTERVAL (500 * NS_PER_MS)

static struct budget begin(struct rng *rng)
{
	struct budget_config config;
	struct budget b;

	budget_config_default(&config);
	rng_init(rng, 1);
	budget_init(&b, &config, rng, NS_PER_S);
	return b;
}

/* An interval in which all cost what it is thought to; `push` is a share of a core. */
static void close_as_planned(struct budget *b, struct rng *rng, double push, uint64_t hot,
			     uint64_t warm, uint64_t rest)
{
	struct budget_spent spent = { .length_ns = INTERVAL,
				      .push_ns = (uint64_t)(push * INTERVAL),
				      .members = { hot, warm, rest } };

	for (int k = 0; k < BUDGET_LEVELS; k++) {
		uint64_t walks = b->rates.passes[k], reads = b->rates.reads[k];

		spent.walks[k] = walks;
		spent.visited[k] = walks * b->members[k];
		spent.walk_ns[k] = walks * (20000 + 300 * b->members[k]);
		spent.reads[k] = reads;
		spent.read_ns[k] = reads ? 30000 + 700 * reads : 0;
		spent.cpu_ns += spent.walk_ns[k] + spent.read_ns[k];
	}
	budget_close(b, &spent, rng, b->end);
}

static void few_connections_are_read_at_full_rate(void **state)
{
	struct rng rng;
	struct budget b = begin(&rng);

	(void)state;
	for (int i = 0; i < 10; i++)
		close_as_planned(&b, &rng, 0, 1, 9, 10);
	assert_int_equal(b.rates.state, BUDGET_AT_MAX);
	assert_true(b.rates.hz[BUDGET_HOT] == 100 && b.rates.hz[BUDGET_WARM] == 20);
	assert_true(b.rates.hz[BUDGET_REST] == 0 && b.rates.read_hz[BUDGET_REST] == 0.2);
	assert_true(b.rates.read_hz[BUDGET_HOT] == 2); /* once per interval */
	assert_int_equal(b.rates.reads[BUDGET_HOT], 1);
	assert_int_equal(b.rates.reads[BUDGET_WARM], 9);
	assert_true(b.used < 0.01);
	/* Nobody is hot: who becomes it is sampled with the others at first. */
	close_as_planned(&b, &rng, 0, 0, 10, 10);
	assert_true(b.rates.hz[BUDGET_HOT] == 20);
}

static void many_connections_share_the_budget(void **state)
{
	struct rng rng;
	struct budget b = begin(&rng);
	struct budget_rates rates;

	(void)state;
	for (int i = 0; i < 60; i++)
		close_as_planned(&b, &rng, 0.002, 5, 20000, 1000);
	rates = b.rates;
	assert_int_equal(rates.state & ~(unsigned)BUDGET_UNSAMPLED, 0);
	/* By weight: a hot one ten times as often. */
	assert_float_equal(rates.hz[BUDGET_HOT] / rates.hz[BUDGET_WARM], 10, 1e-6);
	assert_true(rates.read_hz[BUDGET_REST] >= 1.0 / 60);
	/* Nothing changes, nothing moves. */
	for (int i = 0; i < 100; i++) {
		close_as_planned(&b, &rng, 0.002, 5, 20000, 1000);
		assert_memory_equal(b.rates.hz, rates.hz, sizeof(rates.hz));
		assert_true(b.used <= 0.03);
	}
	/* An interval that took no time teaches nothing. */
	budget_close(&b, &(struct budget_spent){ .members = { 5, 20000, 1000 } }, &rng, b.end);
	assert_memory_equal(b.rates.hz, rates.hz, sizeof(rates.hz));
}

static void unreachable_limit_is_reported(void **state)
{
	struct rng rng;
	struct budget b = begin(&rng);
	double floors;

	(void)state;
	close_as_planned(&b, &rng, 0.002, 0, 4000000, 0);
	assert_true(b.rates.state & BUDGET_BELOW_FLOOR);
	assert_true(b.rates.state & BUDGET_UNSAMPLED);
	assert_int_equal(b.rates.passes[BUDGET_WARM], 0);
	assert_true(b.rates.hz[BUDGET_WARM] == 0 && b.rates.sample_ns[BUDGET_WARM] == 0);
	floors = b.rates.read_hz[BUDGET_WARM];
	assert_true(floors > 0 && floors < 0.05); /* and yet nobody is left out */
	close_as_planned(&b, &rng, 0.002, 0, 100, 0);
	assert_int_equal(b.rates.state & (BUDGET_BELOW_FLOOR | BUDGET_UNSAMPLED), 0);
}

static void frequent_pushes_are_sampled(void **state)
{
	struct rng rng;
	struct budget b = begin(&rng);

	(void)state;
	close_as_planned(&b, &rng, 0.02, 1, 99, 0);
	assert_int_equal(b.rates.thin_one_in, 1);
	close_as_planned(&b, &rng, 0.1, 1, 99, 0);
	assert_int_equal(b.rates.thin_one_in, 4);	/* at once as much as is needed */
	close_as_planned(&b, &rng, 0.025, 1, 99, 0);
	assert_int_equal(b.rates.thin_one_in, 4);
	for (int i = 0; i < 40; i++)
		close_as_planned(&b, &rng, 0.0005, 1, 99, 0);
	assert_int_equal(b.rates.thin_one_in, 1);
	for (int i = 0; i < 20; i++)
		close_as_planned(&b, &rng, 0.06, 1, 99, 0); /* thinning doesn't help */
	assert_int_equal(b.rates.thin_one_in, BUDGET_THIN_MAX);
	assert_true(b.rates.state & BUDGET_PUSHES_TOO_DEAR);
}

/* Read times are uniform in the interval, in order, and as many per level as planned. */
static void reads_are_uniform_in_the_interval(void **state)
{
	double sum = 0, squares = 0, n = 0;
	uint64_t at, last, counts = 0;
	struct rng rng;
	struct budget b = begin(&rng);
	unsigned levels;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		uint32_t seen[BUDGET_LEVELS + 1] = { 0 };

		close_as_planned(&b, &rng, 0.002, 5, 2000, 0);
		last = b.at;
		while (budget_next(&b, &rng, 0, &at, &levels)) {
			double share = ((double)at - ((double)b.end - INTERVAL)) / INTERVAL;

			assert_true(at >= last && at <= b.end && levels >= 1);
			last = at;
			for (unsigned k = 0; k < levels; k++)
				seen[k]++;
			sum += share;
			squares += share * share;
			n++;
		}
		for (int k = 0; k < BUDGET_LEVELS; k++)
			assert_int_equal(seen[k], b.rates.passes[k]);
		counts += seen[BUDGET_WARM];
	}
	assert_true(fabs(sum / n - 0.5) < 5 * sqrt(1 / 12.0 / n));
	assert_true(fabs(squares / n - 1 / 3.0) < 5 * sqrt(4 / 45.0 / n));
	assert_true(fabs((double)counts / 2000 - b.rates.hz[BUDGET_WARM] / 2) < 0.3);
}

/* Where all has become far dearer than was planned, the rest of the interval is left alone. */
static void a_step_is_stopped(void **state)
{
	struct rng rng;
	struct budget b = begin(&rng);
	unsigned levels;
	uint64_t at;

	(void)state;
	for (int i = 0; i < 5; i++)
		close_as_planned(&b, &rng, 0, 1, 9, 0);
	assert_true(budget_next(&b, &rng, 1000000, &at, &levels));
	assert_false(budget_next(&b, &rng, 30000000, &at, &levels));
}

/* The time that a step took is not caught up: all connections are read as before. */
static void a_step_is_forgiven(void **state)
{
	struct budget_spent spent = { .length_ns = INTERVAL, .members = { 0, 1000, 0 } };
	struct rng rng;
	struct budget b = begin(&rng);
	uint64_t reads;

	(void)state;
	for (int i = 0; i < 20; i++)
		close_as_planned(&b, &rng, 0.002, 0, 1000, 0);
	reads = b.rates.reads[BUDGET_WARM];
	assert_true(reads > 0);
	/* For one interval there were a million. */
	spent.walks[BUDGET_WARM] = 1;
	spent.visited[BUDGET_WARM] = 1000000;
	spent.walk_ns[BUDGET_WARM] = spent.cpu_ns = 300000000;
	budget_close(&b, &spent, &rng, b.end);
	assert_true(b.rates.reads[BUDGET_WARM] >= reads - 1);
	assert_true(b.used > 0.03);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_connections_are_read_at_full_rate),
		cmocka_unit_test(many_connections_share_the_budget),
		cmocka_unit_test(unreachable_limit_is_reported),
		cmocka_unit_test(frequent_pushes_are_sampled),
		cmocka_unit_test(reads_are_uniform_in_the_interval),
		cmocka_unit_test(a_step_is_stopped),
		cmocka_unit_test(a_step_is_forgiven),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
