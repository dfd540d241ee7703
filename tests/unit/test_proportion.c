/* SPDX-License-Identifier: Apache-2.0 */
/* Shares that were counted, against the roots of (share - x)^2 = z^2 x (1 - x) / n, by Python. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "stats/proportion.h"

static void is_wilsons_interval(void **state)
{
	static const struct {
		uint64_t hits, n;
		double confidence, lo, hi;
	} cases[] = {
		{ 5, 10, 0.95, 0.2365930905, 0.7634069095 },
		{ 0, 10, 0.95, 0, 0.2775327999 },
		{ 10, 10, 0.95, 0.7224672001, 1 },
		{ 1, 20, 0.95, 0.0088814488, 0.2361311934 },
		{ 3, 100, 0.99, 0.0076121694, 0.1108752772 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct proportion p = proportion_interval(cases[i].hits, cases[i].n,
								cases[i].confidence);

		assert_true(fabs(p.share - (double)cases[i].hits / (double)cases[i].n) < 1e-12);
		assert_true(fabs(p.lo - cases[i].lo) < 1e-9);
		assert_true(fabs(p.hi - cases[i].hi) < 1e-9);
	}
}

static void knows_nothing_of_nothing(void **state)
{
	const struct proportion none = proportion_interval(0, 0, 0.95);
	const struct proportion absurd = proportion_interval(3, 2, 0.95);

	(void)state;
	assert_true(none.lo == 0 && none.hi == 1);
	assert_true(absurd.lo == 0 && absurd.hi == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_wilsons_interval),
		cmocka_unit_test(knows_nothing_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
