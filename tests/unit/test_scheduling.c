/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of real-time priority that leave others a CPU. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/parse.h"
#include "load/scheduling.h"

/* Feeds ticks of 100 ms of the given busy share. A decision is taken every fifth. */
static void live(struct scheduling_yield *y, uint64_t *now, uint64_t *cpu, double busy, int ticks)
{
	for (int i = 0; i < ticks; i++) {
		*now += 100 * NS_PER_MS;
		*cpu += (uint64_t)(busy * 100 * NS_PER_MS);
		scheduling_yield(y, *now, *cpu);
	}
}

/* Spins no more before it yields, yields only while it stays busy, and takes the priority back. */
static void test_busy_thread_yields_in_steps(void **state)
{
	struct scheduling_yield y = { 0 };
	uint64_t now = NS_PER_S, cpu = 0;

	(void)state;
	live(&y, &now, &cpu, 0.85, 51);
	assert_false(y.frugal || y.ever);
	live(&y, &now, &cpu, 0.95, 5);
	assert_true(y.frugal);
	live(&y, &now, &cpu, 0.85, 50);
	assert_false(y.yields);
	live(&y, &now, &cpu, 0.95, 5);
	assert_true(y.yields);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	live(&y, &now, &cpu, 0.85, 20);
	assert_true(y.yields);
	live(&y, &now, &cpu, 0.5, 5);
	assert_false(y.yields);
	assert_true(y.ever && y.frugal);
	(void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
}

/* A busy tick among idle ones is none of its business. */
static void test_short_bursts_are_no_reason(void **state)
{
	struct scheduling_yield y = { 0 };
	uint64_t now = NS_PER_S, cpu = 0;

	(void)state;
	for (int i = 0; i < 50; i++) {
		now += 100 * NS_PER_MS;
		cpu += i % 5 ? 30 * NS_PER_MS : 100 * NS_PER_MS;
		scheduling_yield(&y, now, cpu);
	}
	assert_false(y.frugal || y.ever);
}

static void test_who_is_granted_what(void **state)
{
	struct load_config config = { .threads = 1, .priority = PRIORITY_NORMAL };

	(void)state;
	assert_int_equal(scheduling_granted(&config), PRIORITY_NORMAL);
	config.priority = PRIORITY_HIGH;
	assert_in_range(scheduling_granted(&config), PRIORITY_NORMAL, PRIORITY_HIGH);
	config.priority = PRIORITY_REALTIME;
	config.spin = true;
	assert_int_equal(scheduling_granted(&config), PRIORITY_NORMAL);
	config.spin = false;
	config.threads = 100000; /* as many as there are CPUs or more */
	assert_int_equal(scheduling_granted(&config), PRIORITY_NORMAL);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_busy_thread_yields_in_steps),
		cmocka_unit_test(test_short_bursts_are_no_reason),
		cmocka_unit_test(test_who_is_granted_what),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
