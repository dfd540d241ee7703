/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probe/connection/conns_cost.h"

/* conns_cost.c adds the time before the first reading: a fifth and three clock reads in 16 runs. */
#define PRICE(ns, clock) (1.2 * (ns) + 3.0 * (clock) / 16)
#define ASSUMED 1000

/* As of two CPUs. */
static struct conn_counts counts[2];
static struct conn_timed timed[2];
static struct conns_cost cost;

static int begin(void **state)
{
	(void)state;
	memset(counts, 0, sizeof(counts));
	memset(timed, 0, sizeof(timed));
	cost = (struct conns_cost){ .cpus = 2 };
	return 0;
}

/* So many runs, of which some are timed, all alike. */
static void run(int cpu, int use, uint64_t n, uint32_t of_them, uint64_t ns, uint64_t clock_ns)
{
	counts[cpu].used[use] += n;
	timed[cpu].runs[use] += of_them;
	timed[cpu].ns[use] += of_them * ns;
	timed[cpu].clock_ns += of_them * clock_ns;
	if (of_them && ns > timed[cpu].max_ns[use])
		timed[cpu].max_ns[use] = (uint32_t)ns;
}

static void expect(double ns, bool known)
{
	struct conns_push push;

	assert_int_equal(conns_cost_since(&cost, counts, timed, &push), known);
	assert_in_range(push.ns, (uint64_t)(ns * 0.999), (uint64_t)(ns * 1.001) + 1);
	assert_false(push.exact);
}

static void test_runs_cost_their_mean_time(void **state)
{
	(void)state;
	run(0, USE_SEND, 1600, 100, 200, 20);
	run(1, USE_STATE, 16, 16, 3000, 20);
	expect(1600 * PRICE(200, 20) + 16 * PRICE(3000, 20), true);
	expect(0, true);
	run(0, USE_SEND, 10, 0, 0, 0);
	expect(10 * PRICE(200, 20), true);
}

static void test_counters_wrap_around(void **state)
{
	(void)state;
	timed[0].runs[USE_SEND] = 0xfffffff0;
	cost.timed[0].runs[USE_SEND] = 0xfffffff0;
	run(0, USE_SEND, 512, 32, 100, 20);
	expect(512 * PRICE(100, 20), true);
}

static void test_interrupted_run(void **state)
{
	(void)state;
	run(0, USE_SEND, 160, 10, 200, 20);
	run(0, USE_SEND, 1, 1, 10000000, 20);
	expect(161 * PRICE(200, 20), true);
	run(0, USE_SEND, 1, 1, 10000000, 20);
	expect(1 * PRICE(200, 20), true);
}

static void test_outlying_first_cost_is_ignored(void **state)
{
	(void)state;
	run(0, USE_RTT, 1, 1, 10000000, 20);
	expect(ASSUMED, false);
	run(0, USE_RTT, 16, 16, 300, 20);
	expect(16 * PRICE(300, 20), true);
}

static void test_lost_additions(void **state)
{
	(void)state;
	run(0, USE_SEND, 100, 10, 200, 0);
	expect(100 * PRICE(200, 0), true);
	counts[0].used[USE_SEND] -= 3;
	timed[0].ns[USE_SEND] -= 500;
	expect(0, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_runs_cost_their_mean_time, begin),
		cmocka_unit_test_setup(test_counters_wrap_around, begin),
		cmocka_unit_test_setup(test_interrupted_run, begin),
		cmocka_unit_test_setup(test_outlying_first_cost_is_ignored, begin),
		cmocka_unit_test_setup(test_lost_additions, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
