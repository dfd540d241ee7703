/* SPDX-License-Identifier: Apache-2.0 */
/* Baselines, and what exceeds them: what is expected of references that are alike, and unlike. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/vec.h"
#include "diagnose/excess.h"

#define REFERENCES 1000u
#define APPLICATION CAUSE_PLACE(CAUSE_APPLICATION, WHERE_APPLICATION)

static const enum cause rare[] = { CAUSE_CPU_WAIT, CAUSE_LOCK, CAUSE_IO_WAIT, CAUSE_INTERRUPT,
				   CAUSE_SOFTIRQ };
#define RARE (sizeof(rare) / sizeof(*rare))

static const struct excess_options options = { .granularity = 1000, .noise_times = 3 };

static struct breakdown breakdowns[REFERENCES];

static void make_baseline(struct baseline *baseline)
{
	const struct breakdown *all[REFERENCES];

	for (unsigned int i = 0; i < REFERENCES; i++)
		all[i] = &breakdowns[i];
	*baseline = (struct baseline){ 0 };
	assert_int_equal(baseline_make(baseline, all, REFERENCES), 0);
}

static uint64_t sum_of(const uint64_t ns[CAUSE_PLACES])
{
	uint64_t sum = 0;

	for (unsigned int place = 0; place < CAUSE_PLACES; place++)
		sum += ns[place];
	return sum;
}

static void assert_exact(const struct excess *e)
{
	assert_int_equal((int64_t)e->latency,
			 (int64_t)e->expected + e->offset + (int64_t)sum_of(e->ns));
}

/* Each reference waits for one of five causes, 30 % of its latency; a third are in a mean. */
static void test_mixed_references(void **state)
{
	const uint64_t application = 70000, wait = 30000;
	struct baseline baseline;

	(void)state;
	memset(breakdowns, 0, sizeof(breakdowns));
	for (unsigned int i = 0; i < REFERENCES; i++) {
		breakdowns[i].ns[APPLICATION] = application;
		breakdowns[i].ns[CAUSE_PLACE(rare[i % RARE], WHERE_APPLICATION)] = wait;
	}
	make_baseline(&baseline);
	assert_int_equal(baseline.latency, application + wait);
	assert_true(fabs((double)baseline.expected[APPLICATION] / (double)application - 1) < 0.05);
	for (size_t i = 0; i < RARE; i++)
		assert_int_equal(baseline.expected[CAUSE_PLACE(rare[i], WHERE_APPLICATION)],
				 wait / RARE);
	assert_int_equal(sum_of(baseline.expected), baseline.latency);
}

/* Means that don't divide: the parts still sum to the latency. */
static void test_sums_are_exact(void **state)
{
	struct breakdown target = { 0 };
	struct baseline baseline;
	struct excess e = { 0 };

	(void)state;
	for (unsigned int i = 0; i < REFERENCES; i++)
		for (unsigned int place = 0; place < CAUSE_PLACES; place++)
			breakdowns[i].ns[place] = i * 7919 % (11 + place);
	make_baseline(&baseline);
	assert_int_equal(sum_of(baseline.expected), baseline.latency);
	target.ns[APPLICATION] = 5000000;
	excess_of(&baseline, &target, sum_of(target.ns), &options, &e);
	assert_exact(&e);
}

/*
 * Time of the references that has no cause is expected, too: a message with as much has no more of
 * it, and one with ten times as much has it as its excess.
 */
static void test_unexplained_references(void **state)
{
	const unsigned int unexplained = CAUSE_PLACE(CAUSE_UNEXPLAINED, WHERE_APPLICATION);
	struct breakdown target = { 0 };
	struct baseline baseline;
	struct excess e = { 0 };

	(void)state;
	memset(breakdowns, 0, sizeof(breakdowns));
	for (unsigned int i = 0; i < REFERENCES; i++) {
		breakdowns[i].ns[APPLICATION] = 50000;
		breakdowns[i].ns[unexplained] = 20000;
	}
	make_baseline(&baseline);
	target.ns[unexplained] = 20000;
	target.ns[APPLICATION] = 950000;
	excess_of(&baseline, &target, sum_of(target.ns), &options, &e);
	assert_exact(&e);
	assert_int_equal(e.ns[unexplained], 0);
	assert_int_equal(e.found, 900000);
	assert_true(fabs(e.coverage - 1) < 1e-9);
	target.ns[unexplained] = 200000;
	e = (struct excess){ 0 };
	excess_of(&baseline, &target, sum_of(target.ns), &options, &e);
	assert_exact(&e);
	assert_int_equal(e.ns[unexplained], 180000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mixed_references),
		cmocka_unit_test(test_sums_are_exact),
		cmocka_unit_test(test_unexplained_references),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
