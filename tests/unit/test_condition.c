/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions and rates as people write them, and --find-max on servers without noise. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/parse.h"
#include "load/condition.h"
#include "load/findmax.h"
#include "load/rates.h"

static void test_condition(void **state)
{
	static const char *const refused[] = {
		"", "p", "p99", "p99<", "p<500us", "99<500us", "p99<500", "p99>500us", "p99<=500us",
		"p0<1ms", "p100<1ms", "p99<0s", "p9 9<1ms", "p99<1 0ms", "max<1ms", "p99<-1ms",
		"p99.99999999999999999999999999999999<1ms",
	};
	struct load_condition c;

	(void)state;
	assert_int_equal(load_condition_parse("p99<500us", &c), 0);
	assert_true(c.q == 0.99);
	assert_int_equal(c.limit_ns, 500 * NS_PER_US);
	assert_string_equal(c.text, "p99<500us");
	assert_int_equal(load_condition_parse("p99.9<1.5ms", &c), 0);
	assert_true(c.q == 0.999);
	assert_int_equal(c.limit_ns, 1500 * NS_PER_US);
	assert_int_equal(load_condition_parse(" p99 <  2 ms ", &c), 0);
	assert_int_equal(c.limit_ns, 2 * NS_PER_MS);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (!load_condition_parse(refused[i], &c))
			fail_msg("'%s' was taken", refused[i]);
}

static void test_change(void **state)
{
	static const struct {
		const char *text;
		double ratio;
	} taken[] = { { "p99<+20%", 1.2 }, { "p99<+0.5%", 1.005 }, { "p99<-5%", 0.95 },
		      { "p99<+100%", 2 }, { "p99 < + 20 %", 1.2 } };
	static const char *const refused[] = {
		"", "p99<", "p99<20%", "p99<+20", "p99<+", "p99<+%", "p99<%", "p99<-100%",
		"p99<500us", "p0<+20%", "p99<+1/5", "p99<++5%", "p99<+2 0%",
	};
	struct load_condition c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
		assert_int_equal(load_condition_parse_change(taken[i].text, &c), 0);
		assert_true(c.q == 0.99 && !c.limit_ns);
		assert_true(fabs(c.limit_ratio - taken[i].ratio) < 1e-9);
	}
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (!load_condition_parse_change(refused[i], &c))
			fail_msg("'%s' was taken", refused[i]);
}

#define BOTH .known = 1, .upper = 1, .bounded = 1

/* A run decides only if a bound lies on the right side of the limit. */
static void test_interval_beyond_limit_decides(void **state)
{
	static const struct {
		struct load_quantile quantile;
		enum load_truth truth;
		struct load_drift drift;
	} cases[] = {
		{ { .ns = 400, .lo_ns = 390, .hi_ns = 499, BOTH }, LOAD_HOLDS, { 1, 1 } },
		{ { .ns = 400, .lo_ns = 390, .hi_ns = 500, BOTH }, LOAD_OPEN, { 1, 1 } },
		{ { .ns = 600, .lo_ns = 500, .hi_ns = 700, BOTH }, LOAD_FAILS, { 1, 1 } },
		{ { .ns = 600, .lo_ns = 499, .hi_ns = 700, BOTH }, LOAD_OPEN, { 1, 1 } },
		/* Requests that the host may have delayed: the upper bound alone. */
		{ { .ns = 400, .hi_ns = 499, .known = 1, .upper = 1 }, LOAD_HOLDS, { 1, 1 } },
		{ { .ns = 600, .hi_ns = 700, .known = 1, .upper = 1 }, LOAD_OPEN, { 1, 1 } },
		{ { .ns = 100, .known = 1 }, LOAD_OPEN, { 1, 1 } },
		{ { .ns = 900, .known = 1 }, LOAD_OPEN, { 1, 1 } },
		{ { .known = 0 }, LOAD_OPEN, { 1, 1 } },
		/* A latency that fell to a quarter: at either end of the run. */
		{ { .ns = 110, .lo_ns = 100, .hi_ns = 124, BOTH }, LOAD_HOLDS, { 1, 4 } },
		{ { .ns = 110, .lo_ns = 100, .hi_ns = 125, BOTH }, LOAD_OPEN, { 1, 4 } },
		{ { .ns = 2100, .lo_ns = 2000, .hi_ns = 2200, BOTH }, LOAD_FAILS, { 1, 4 } },
		{ { .ns = 2100, .lo_ns = 1999, .hi_ns = 2200, BOTH }, LOAD_OPEN, { 1, 4 } },
		/* One that rose, or of which the tail rose: longer runs show more, and not less. */
		{ { .ns = 110, .lo_ns = 100, .hi_ns = 124, BOTH }, LOAD_OPEN, { 4, 1 } },
		{ { .ns = 110, .lo_ns = 100, .hi_ns = 124, BOTH }, LOAD_OPEN, { 4, 4 } },
		{ { .ns = 550, .lo_ns = 500, .hi_ns = 600, BOTH }, LOAD_FAILS, { 4, 1 } },
		{ { .ns = 550, .lo_ns = 500, .hi_ns = 600, BOTH }, LOAD_OPEN, { 4, 4 } },
	};
	struct load_condition c;

	(void)state;
	assert_int_equal(load_condition_parse("p99<500ns", &c), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(load_condition_judge(&c, &cases[i].quantile, cases[i].drift),
				 cases[i].truth);
}

static void test_rates(void **state)
{
	static const char *const refused[] = {
		"", "1:2", "1:2:3:4", "2:1:1", "1:2:0", "0:2:1", "1:1001:1", "a:b:c", "1::1",
		":1:1",
	};
	struct load_rates rates;

	(void)state;
	assert_int_equal(load_rates_parse("1k:20k:500", &rates), 0);
	assert_int_equal(rates.n, 39);
	assert_true(load_rates_at(&rates, 38) == 20000);
	assert_int_equal(load_rates_parse("1:2:0.1", &rates), 0);
	assert_int_equal(rates.n, 11);
	assert_int_equal(load_rates_parse("10:25:10", &rates), 0);
	assert_int_equal(rates.n, 2);
	assert_int_equal(load_rates_parse("5:5:1", &rates), 0);
	assert_int_equal(rates.n, 1);
	assert_int_equal(load_rates_parse("1:1000:1", &rates), 0);
	assert_int_equal(rates.n, LOAD_RATES_MAX);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (!load_rates_parse(refused[i], &rates))
			fail_msg("'%s' was taken", refused[i]);
}

/* A server whose condition holds up to `truth`, told with an interval that shrinks with time. */
struct server {
	double truth, noise;
};

static enum load_truth ask(const struct server *server, const struct findmax_probe *probe,
			   struct load_quantile *q)
{
	double ns = 1e6 * probe->rate / server->truth;
	double half = server->noise / sqrt((double)probe->duration_ns / NS_PER_S);

	*q = (struct load_quantile){
		.ns = (uint64_t)ns, .lo_ns = (uint64_t)(ns * exp(-half)),
		.hi_ns = (uint64_t)(ns * exp(half)), .known = true, .bounded = true,
	};
	return q->hi_ns < 1000000 ? LOAD_HOLDS : q->lo_ns >= 1000000 ? LOAD_FAILS : LOAD_OPEN;
}

static struct findmax search(const struct server *server, uint64_t budget_ns)
{
	const struct findmax_config config = {
		.q = 0.99, .limit_ns = 1000000, .confidence = 0.95, .precision = 0.02,
		.start = 1000, .min = 10, .max = 1e6, .probe_ns = NS_PER_S, .budget_ns = budget_ns,
	};
	struct findmax_probe probe;
	struct load_quantile q;
	struct findmax fm;

	findmax_init(&fm, &config);
	while (findmax_next(&fm, &probe)) {
		assert_true(probe.rate >= config.min && probe.rate <= config.max);
		assert_true(probe.duration_ns >= config.probe_ns);
		assert_true(probe.duration_ns + fm.used_ns <= config.budget_ns);
		findmax_feed(&fm, ask(server, &probe, &q), &q, probe.duration_ns);
		assert_true(!fm.lo || fm.lo < server->truth);
		assert_true(!fm.hi || fm.hi >= server->truth);
	}
	return fm;
}

static void test_findmax(void **state)
{
	static const struct server servers[] = {
		{ 1000, 0.05 }, { 12345, 0.3 }, { 50, 0.1 }, { 700000, 0.01 }, { 16000, 0.05 },
		{ 4000, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
		struct findmax fm = search(&servers[i], 100000 * NS_PER_S);

		assert_int_equal(fm.end, FINDMAX_FOUND);
		assert_true(fm.hi / fm.lo <= 1.02);
	}
}

static void test_findmax_ends(void **state)
{
	static const struct server fast = { 1e9, 0.01 }, slow = { 1, 0.01 }, noisy = { 9000, 2 };
	struct findmax fm = search(&fast, 1000 * NS_PER_S);

	(void)state;
	assert_string_equal(findmax_end_name(fm.end), "above-max");
	assert_true(fm.lo == 1e6);
	fm = search(&slow, 10000 * NS_PER_S);
	assert_string_equal(findmax_end_name(fm.end), "below-min");
	assert_true(fm.hi == 10 && !fm.lo);
	/* Too little time for the precision: what is shown is still true. */
	fm = search(&noisy, 60 * NS_PER_S);
	assert_string_equal(findmax_end_name(fm.end), "time");
	assert_true(!fm.hi || fm.hi / fm.lo > 1.02);
}

/*
 * Every third probe is disturbed by something other than the load: none of them decides. Beyond the
 * capacity a probe always fails, without an interval: two of them decide.
 */
static void test_findmax_ignores_disturbed_probes(void **state)
{
	static const struct server server = { 5000, 0.05 };
	const struct findmax_config config = {
		.q = 0.99, .limit_ns = 1000000, .confidence = 0.95, .precision = 0.02,
		.start = 1000, .min = 10, .max = 1e6, .probe_ns = NS_PER_S,
		.budget_ns = 100000 * NS_PER_S,
	};
	struct findmax_probe probe;
	struct load_quantile q;
	struct findmax fm;

	(void)state;
	findmax_init(&fm, &config);
	for (uint32_t n = 0; findmax_next(&fm, &probe); n++) {
		enum load_truth truth = ask(&server, &probe, &q);

		if (n % 3 == 2 || probe.rate > 1.2 * server.truth)
			findmax_doubt(&fm, &q, probe.duration_ns);
		else
			findmax_feed(&fm, truth, &q, probe.duration_ns);
		assert_true(!fm.lo || fm.lo < server.truth);
		assert_true(!fm.hi || fm.hi >= server.truth);
	}
	assert_int_equal(fm.end, FINDMAX_FOUND);
}

/* The server gets slower, or faster, once the search has found a range: the range moves. */
static void check_change(double factor)
{
	struct server server = { 5000, 0.05 };
	const struct findmax_config config = {
		.q = 0.99, .limit_ns = 1000000, .confidence = 0.95, .precision = 0.02,
		.start = 1000, .min = 10, .max = 1e6, .probe_ns = NS_PER_S,
		.budget_ns = 100000 * NS_PER_S,
	};
	bool changed = false;
	struct findmax_probe probe;
	struct load_quantile q;
	struct findmax fm;

	findmax_init(&fm, &config);
	while (findmax_next(&fm, &probe)) {
		enum load_truth truth;

		if (!changed && fm.lo && fm.hi && fm.hi / fm.lo <= 1.02) {
			changed = true;
			server.truth *= factor;
		}
		truth = ask(&server, &probe, &q);
		findmax_feed(&fm, truth, &q, probe.duration_ns);
	}
	assert_true(changed);
	assert_int_equal(fm.end, FINDMAX_FOUND);
	assert_true(fm.confirming == 2 && fm.confirmed);
	assert_true(fm.lo < server.truth && server.truth <= fm.hi);
}

static void test_findmax_confirms(void **state)
{
	(void)state;
	check_change(0.7);
	check_change(1.4);
	check_change(1);
}

/* The time that probes take beyond their length, to connect and for the last replies, counts. */
static void test_findmax_time(void **state)
{
	static const struct server server = { 9000, 2 };
	const struct findmax_config config = {
		.q = 0.99, .limit_ns = 1000000, .confidence = 0.95, .precision = 0.02,
		.start = 1000, .min = 10, .max = 1e6, .probe_ns = NS_PER_S,
		.budget_ns = 20 * NS_PER_S,
	};
	struct findmax_probe probe;
	struct load_quantile q;
	uint64_t took_ns = 0;
	struct findmax fm;

	(void)state;
	findmax_init(&fm, &config);
	while (findmax_next(&fm, &probe)) {
		enum load_truth truth = ask(&server, &probe, &q);

		findmax_feed(&fm, truth, &q, probe.duration_ns + NS_PER_S);
		took_ns += probe.duration_ns + NS_PER_S;
	}
	assert_int_equal(fm.end, FINDMAX_TIME);
	assert_in_range(took_ns, 15 * NS_PER_S, 20 * NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_condition),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_interval_beyond_limit_decides),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_findmax),
		cmocka_unit_test(test_findmax_ends),
		cmocka_unit_test(test_findmax_ignores_disturbed_probes),
		cmocka_unit_test(test_findmax_confirms),
		cmocka_unit_test(test_findmax_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
