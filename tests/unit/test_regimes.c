/* SPDX-License-Identifier: Apache-2.0 */
/* Regimes: found where a server has two, and not where latencies only vary. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "load/regimes.h"

#define WIDTH (1ULL << SERIES_SHIFT)
#define WINDOWS 200
#define EACH 100

/* Windows of which those in [slow, until), and again `every` windows later, are slower. */
static struct regimes regimes_of(double factor, uint32_t slow, uint32_t until, uint32_t every,
				 double spread)
{
	struct regimes found;
	struct series series;
	struct rng rng;

	rng_init(&rng, 4);
	assert_int_equal(series_init(&series, 0), 0);
	for (uint32_t w = 0; w < WINDOWS; w++) {
		const bool in = every && w % every >= slow && w % every < until;
		const double level = exp(spread * (rng_uniform(&rng) - 0.5));

		for (uint32_t i = 0; i < EACH; i++) {
			const uint64_t at = w * WIDTH;
			const struct event_sample s = {
				.intended = at, .sent = at,
				.done = at + 1 + (uint64_t)(rng_exponential(&rng, 1e5) * level *
							    (in ? factor : 1)) };

			assert_int_equal(series_add(&series, &s), 0);
		}
	}
	regimes_find(&series, 0, series.n, LOAD_INTENDED, &found);
	series_release(&series);
	return found;
}

static void slow_stretches_are_found(void **state)
{
	struct regimes r = regimes_of(3, 40, 50, WINDOWS, 0);

	(void)state;
	assert_true(r.found && r.stretches == 1);
	assert_true(fabs(r.share - 0.05) < 0.001);
	assert_true(r.factor > 2.5 && r.factor < 3.5);
	r = regimes_of(3, 5, 8, 20, 0);
	assert_true(r.found && r.stretches == 10);
	assert_true(fabs(r.share - 0.15) < 0.001);
}

static void one_regime_is_none(void **state)
{
	(void)state;
	assert_false(regimes_of(1, 0, 0, 0, 0).found);
	assert_false(regimes_of(1, 0, 0, 0, 2).found);      /* as many levels as windows */
	assert_false(regimes_of(1.3, 40, 60, WINDOWS, 0).found);
	assert_false(regimes_of(3, 0, 150, WINDOWS, 0).found); /* slow most of the time */
}

static void few_windows_tell_nothing(void **state)
{
	struct regimes found = { .found = true };
	struct series series;

	(void)state;
	assert_int_equal(series_init(&series, 0), 0);
	regimes_find(&series, 0, 0, LOAD_INTENDED, &found);
	assert_false(found.found);
	series_release(&series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_stretches_are_found),
		cmocka_unit_test(one_regime_is_none),
		cmocka_unit_test(few_windows_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
