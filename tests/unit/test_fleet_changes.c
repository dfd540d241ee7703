/* SPDX-License-Identifier: Apache-2.0 */
/* Which findings begin, go on and end at successive looks, and how often that is chance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "fleet/changes.h"
#include "stats/special.h"

#define ALPHA 0.05
#define LOOKS 60
#define PERIODS 4000
#define STRONG 1e-6
#define NONE 1.0

/* Looks at one problem, of which p is more than ALPHA if it is not found; returns what changes. */
static enum fleet_change look(struct fleet_changes *c, uint64_t to_ns, double p, bool *ends)
{
	const struct fleet_problem problem = { FLEET_TIMEOUT, "link", "uplink", p };
	enum fleet_change change = FLEET_UNCHANGED;
	const struct fleet_followed *ended;

	fleet_changes_begin(c, to_ns);
	if (p <= ALPHA)
		assert_int_equal(fleet_changes_see(c, &problem, &change), 0);
	ended = fleet_changes_next_ended(c);
	*ends = ended != NULL;
	if (ended) {
		assert_string_equal(ended->problem.name, "uplink");
		assert_null(fleet_changes_next_ended(c));
	}
	return change;
}

static void test_begins_goes_on_ends(void **state)
{
	struct fleet_changes c;
	bool ends;

	(void)state;
	fleet_changes_init(&c, ALPHA, 10, 1);
	assert_int_equal(look(&c, 100, NONE, &ends), FLEET_UNCHANGED);
	assert_int_equal(look(&c, 101, STRONG, &ends), FLEET_BEGINS);
	assert_int_equal(fleet_changes_open(&c), 1);
	for (uint64_t t = 102; t < 111; t++)
		assert_int_equal(look(&c, t, ALPHA, &ends), FLEET_UNCHANGED);
	assert_int_equal(look(&c, 111, ALPHA, &ends), FLEET_GOES_ON);
	assert_int_equal(look(&c, 112, ALPHA, &ends), FLEET_UNCHANGED);
	assert_int_equal(look(&c, 113, NONE, &ends), FLEET_UNCHANGED);
	assert_false(ends);
	look(&c, 114, NONE, &ends);
	assert_true(ends);
	assert_int_equal(fleet_changes_open(&c), 0);
	look(&c, 115, NONE, &ends);
	assert_false(ends);
	assert_int_equal(look(&c, 116, STRONG, &ends), FLEET_BEGINS);
	fleet_changes_release(&c);
}

/* A finding that is there at every second look begins once, and does not end. */
static void test_flickers(void **state)
{
	unsigned int begins = 0, ended = 0;
	struct fleet_changes c;
	bool ends;

	(void)state;
	fleet_changes_init(&c, ALPHA, 10, 1);
	for (uint64_t t = 100; t < 200; t++) {
		begins += look(&c, t, t & 1 ? NONE : STRONG, &ends) == FLEET_BEGINS;
		ended += ends;
	}
	assert_int_equal(begins, 1);
	assert_int_equal(ended, 0);
	fleet_changes_release(&c);
}

/* A whole look spends half of alpha, the others share the rest; one alone has all of it. */
static void test_limits(void **state)
{
	struct fleet_changes c;
	bool ends;

	(void)state;
	fleet_changes_init(&c, ALPHA, 10, 1);
	assert_int_equal(look(&c, 100, ALPHA / 1.99, &ends), FLEET_WEAK);
	assert_int_equal(look(&c, 101, ALPHA / 2, &ends), FLEET_WEAK);
	assert_int_equal(look(&c, 102, ALPHA / 17.9, &ends), FLEET_WEAK);
	assert_int_equal(look(&c, 103, NAN, &ends), FLEET_UNCHANGED);
	assert_int_equal(look(&c, 110, ALPHA / 2.01, &ends), FLEET_BEGINS);
	fleet_changes_release(&c);
	fleet_changes_init(&c, ALPHA, 10, 1);
	look(&c, 100, NONE, &ends);
	assert_int_equal(look(&c, 101, ALPHA / 18.1, &ends), FLEET_BEGINS);
	fleet_changes_release(&c);
	fleet_changes_init(&c, ALPHA, 10, 10);
	assert_int_equal(look(&c, 100, ALPHA, &ends), FLEET_BEGINS);
	fleet_changes_release(&c);
}

/* Data may become less: time does not go back then. */
static void test_time_goes_back(void **state)
{
	struct fleet_changes c;
	bool ends;

	(void)state;
	fleet_changes_init(&c, ALPHA, 10, 1);
	assert_int_equal(look(&c, 100, STRONG, &ends), FLEET_BEGINS);
	assert_int_equal(look(&c, 50, STRONG, &ends), FLEET_UNCHANGED);
	assert_int_equal(look(&c, 109, STRONG, &ends), FLEET_UNCHANGED);
	assert_int_equal(look(&c, 110, STRONG, &ends), FLEET_GOES_ON);
	fleet_changes_release(&c);
}

static double normal(struct rng *rng)
{
	return sqrt(-2 * log(1 - rng_uniform(rng))) * cos(2 * M_PI * rng_uniform(rng));
}

/*
 * A resource without a problem: independent normal values, one for each look, of which each look
 * tests the mean of the last LOOKS. Counts the periods of LOOKS looks in which a finding begins,
 * and those in which a report at each look would have found something that the last one did not.
 */
static void test_false_begins(void **state)
{
	const char *seed_text = getenv("HOSTLAT_SEED");
	const uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : 1;
	double values[LOOKS] = { 0 }, sum = 0;
	uint64_t with = 0, naive = 0;
	struct fleet_changes c;
	struct rng rng;

	(void)state;
	printf("seed %llu\n", (unsigned long long)seed);
	rng_init(&rng, seed);
	fleet_changes_init(&c, ALPHA, LOOKS, 1);
	for (uint64_t period = 0; period < PERIODS; period++) {
		bool begins = false, found = false, before = false, ends;

		for (uint64_t i = 0; i < LOOKS; i++) {
			const double value = normal(&rng);
			double p;

			sum += value - values[i];
			values[i] = value;
			p = period ? normal_sf(sum / sqrt(LOOKS)) : NONE;
			begins |= look(&c, period * LOOKS + i + 1, p, &ends) == FLEET_BEGINS;
			found |= p <= ALPHA && !before;
			before = p <= ALPHA;
		}
		with += begins;
		naive += found;
	}
	fleet_changes_release(&c);
	printf("%.1f %% of the periods with a false begin, %.1f %% without the correction\n",
	       100.0 * (double)with / PERIODS, 100.0 * (double)naive / PERIODS);
	/* three standard errors of a share of 5 % are 1 % */
	assert_true((double)with / PERIODS < ALPHA + 0.01);
	assert_true((double)naive / PERIODS > 4 * ALPHA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_begins_goes_on_ends),
		cmocka_unit_test(test_flickers),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_time_goes_back),
		cmocka_unit_test(test_false_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
