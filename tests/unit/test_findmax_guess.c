/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that the guess of --find-max agrees with most trial runs, and keeps what was shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "load/findmax_guess.h"
#include "load/runs.h"

/* Trial runs of a text such as "500- 1k+": rates, + where the condition held. */
static size_t seen_of(const char *text, struct findmax_seen *seen)
{
	size_t n = 0;

	for (; *text; text++) {
		double rate = 0;

		for (; *text >= '0' && *text <= '9'; text++)
			rate = 10 * rate + (*text - '0');
		if (rate)
			seen[n++] = (struct findmax_seen){ rate, *text == '+' };
		if (!*text)
			break;
	}
	return n;
}

static void test_most_trial_runs_decide(void **state)
{
	static const struct {
		const char *seen;
		double lo, hi;     /* shown */
		double rate, above;
		size_t agree;
	} cases[] = {
		{ "1000+ 2000+ 4000-", 0, 0, 2000, 4000, 3 },
		/* One disturbed run at a low rate, and one at 4,000, don't decide. */
		{ "500- 1000+ 2000+ 2000+ 4000+ 4000- 8000+ 16000- 32000-", 0, 32000, 8000, 16000,
		  7 },
		{ "1000- 500- 250-", 0, 250, 0, 250, 3 },
		{ "1000+ 2000+ 2000+", 0, 0, 2000, 0, 3 },
		/* Shown rates stay, whatever the runs saw. */
		{ "1000+ 1000+ 2000+", 1000, 2000, 1000, 2000, 2 },
		{ "500+ 707- 595-", 500, 707, 500, 595, 3 },
		/* As many agree with 200 and 400. */
		{ "100- 200+ 400-", 0, 0, 0, 100, 2 },
	};
	/* Too few runs, or no majority. */
	static const char *const open[] = {
		"1000+ 2000+", "1000+ 1000-", "100- 200+", "1000- 1000- 2000+ 2000+",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct findmax_seen seen[16];
		struct findmax_guess g;
		size_t n = seen_of(cases[i].seen, seen);

		assert_true(findmax_guess(seen, n, cases[i].lo, cases[i].hi, &g));
		assert_int_equal(g.rate, cases[i].rate);
		assert_int_equal(g.above, cases[i].above);
		assert_int_equal(g.agree, cases[i].agree);
	}
	for (size_t i = 0; i < ARRAY_LEN(open); i++) {
		struct findmax_seen seen[16];
		struct findmax_guess g;

		if (findmax_guess(seen, seen_of(open[i], seen), 0, 0, &g))
			fail_msg("a guess by %s", open[i]);
	}
}

static void test_no_trial_run_no_guess(void **state)
{
	struct findmax_guess g;

	(void)state;
	assert_false(findmax_guess(NULL, 0, 0, 0, &g));
}

/* ---- the report ---- */

static struct load_summary probe(double rate, uint64_t p99_ns, const char *reason)
{
	struct load_summary s = { .rate = rate, .achieved = rate, .count = 10000 };
	struct report r;

	report_init(&r, &(struct provenance){ .version = "0", .command = "load", .host = "h" });
	if (reason)
		report_reason(&r, reason, NULL, "%s", reason);
	assert_int_equal(report_error(&r), 0);
	s.asked = (struct load_quantile){ .known = true, .ns = p99_ns };
	load_summary_reasons(&r, &s);
	report_release(&r);
	return s;
}

/* Returns whether the report has a finding that begins so; `end` and hi are what the search has. */
static bool finds(enum findmax_end end, double hi, const char *begin)
{
	const struct load_runs_end whole = { 0 };
	struct findmax fm = { .end = end, .hi = hi };
	struct load_condition c;
	struct load_runs runs;
	struct report r;
	bool found = false;

	assert_int_equal(load_condition_parse("p99<5ms", &c), 0);
	vec_init(&runs, 8);
	assert_int_equal(vec_push(&runs, probe(1000, 2000000, "not-converged")), 0);
	assert_int_equal(vec_push(&runs, probe(2000, 3000000, "not-converged")), 0);
	/* The load generator failed, not the server: this run does not count. */
	assert_int_equal(vec_push(&runs, probe(3000, 9000000, "local-ports-exhausted")), 0);
	assert_int_equal(vec_push(&runs, probe(4000, 9000000, "rate-not-reached")), 0);
	report_init(&r, &(struct provenance){ .version = "0", .command = "load", .host = "h" });
	assert_int_equal(load_runs_find_max(&runs, &c, &fm, &whole, &r), 0);
	for (const struct item *f = r.findings.first; f; f = f->next)
		found |= !strncmp(f->string, begin, strlen(begin));
	assert_int_equal(report_error(&r), 0);
	report_release(&r);
	vec_release(&runs);
	return found;
}

static void test_guess_is_told_where_search_is_open(void **state)
{
	static const char guess[] = "Best guess, not shown: the highest rate is between "
				    "2 000/s and 4 000/s, as 3 of 3 trial runs saw it.";

	(void)state;
	assert_true(finds(FINDMAX_TIME, 0, guess));
	assert_true(finds(FINDMAX_PROBES_USED, 4000, guess));
	assert_false(finds(FINDMAX_FOUND, 4000, "Best guess"));
	assert_false(finds(FINDMAX_ABOVE_MAX, 0, "Best guess"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_most_trial_runs_decide),
		cmocka_unit_test(test_no_trial_run_no_guess),
		cmocka_unit_test(test_guess_is_told_where_search_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
