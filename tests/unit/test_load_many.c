/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of many runs, from summaries made by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "load/runs.h"

#define PAIRS 10

static const char *const urls[2] = { "echo://a", "echo://b" };
static const struct load_runs_end whole;

static struct load_summary run_of(const char *url, uint64_t ns)
{
	return (struct load_summary){
		.url = url, .rate = 1000, .achieved = 1000, .count = 1000, .sound = true,
		.usable = true, .comparable = true,
		.asked = { .ns = ns, .lo_ns = ns - ns / 100, .hi_ns = ns + ns / 100, .known = true,
			   .bounded = true, .confidence = 0.97 },
	};
}

static const struct value *evidence(const struct report *r, const char *code)
{
	for (const struct table_row *row = r->reasons->first; row; row = row->next)
		if (!strcmp(row->cells[0].string, code))
			return &row->cells[2];
	return NULL;
}

static void begin(struct report *r)
{
	report_init(r, &(struct provenance){ .version = "0", .command = "load", .host = "h" });
}

/* ---- two targets ---- */

/* PAIRS pairs, b a tenth slower; the first `bad` slices of a don't count. */
static void compare_by(size_t bad, const struct load_conditions *conditions, struct report *r,
		       struct load_asserts *judged)
{
	struct load_runs runs;
	struct rng rng;

	rng_init(&rng, 1);
	vec_init(&runs, 2 * PAIRS);
	for (size_t i = 0; i < PAIRS; i++) {
		struct load_summary a = run_of(urls[0], 100000 + i);

		a.comparable = i >= bad;
		assert_int_equal(vec_push(&runs, a), 0);
		assert_int_equal(vec_push(&runs, run_of(urls[1], 110000 + i)), 0);
	}
	begin(r);
	assert_int_equal(load_runs_against(&runs, urls, 0.99, 0.95, &rng, conditions, &whole, r,
					   judged), 0);
	assert_int_equal(report_error(r), 0);
	vec_release(&runs);
}

static void compare(size_t bad, struct report *r)
{
	const struct load_conditions none = { 0 };
	struct load_asserts judged;

	compare_by(bad, &none, r, &judged);
}

static void test_slices(void **state)
{
	struct report r;

	(void)state;
	compare(0, &r);
	assert_string_equal(r.verdict, "ok");
	assert_false(r.partial);
	report_release(&r);
	compare(3, &r);
	assert_string_equal(r.verdict, "partial");
	assert_true(r.partial);
	assert_non_null(evidence(&r, "slices-left-out"));
	assert_string_equal(evidence(&r, "slices-left-out")->string,
			    "3 of 10 slices of echo://a, 0 of 10 of echo://b");
	report_release(&r);
	compare(6, &r);
	assert_string_equal(r.verdict, "n/a");
	assert_non_null(evidence(&r, "slices-left-out"));
	assert_non_null(evidence(&r, "too-few-pairs"));
	report_release(&r);
}

/* PAIRS pairs; the servers' shares of misses, with what chance does to those of b. */
static void compare_shares(double of_a, double of_b, double chance, struct report *r)
{
	const struct load_conditions none = { 0 };
	struct load_asserts judged;
	struct load_runs runs;
	struct rng rng;

	rng_init(&rng, 1);
	vec_init(&runs, 2 * PAIRS);
	for (size_t i = 0; i < PAIRS; i++) {
		struct load_summary a = run_of(urls[0], 100000 + i);
		struct load_summary b = run_of(urls[1], 110000 + i);

		a.misses_known = b.misses_known = true;
		a.misses = (struct load_misses){ 10000, (uint64_t)(10000 * of_a) };
		b.misses = (struct load_misses){
			10000, (uint64_t)(10000 * (of_b + (i & 1 ? chance : -chance))) };
		assert_int_equal(vec_push(&runs, a), 0);
		assert_int_equal(vec_push(&runs, b), 0);
	}
	begin(r);
	assert_int_equal(load_runs_against(&runs, urls, 0.9, 0.95, &rng, &none, &whole, r,
					   &judged), 0);
	assert_int_equal(report_error(r), 0);
	vec_release(&runs);
}

/* A hit and a miss are different work: the servers did not do the same. */
static void test_different_misses_are_reported(void **state)
{
	static const struct {
		double a, b, chance;
		bool differ;
	} cases[] = {
		{ 0, 0.93, 0, true }, { 0.93, 0.1, 0.05, true }, { 0.5, 0.5, 0.1, false },
		{ 0, 0.03, 0, false }, /* too few of them to matter at p90 */
		{ 0.4, 0.5, 0.4, false }, /* that may be chance */
	};
	struct report r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		compare_shares(cases[i].a, cases[i].b, cases[i].chance, &r);
		assert_int_equal(evidence(&r, "misses-differ") != NULL, cases[i].differ);
		assert_string_equal(r.verdict, cases[i].differ ? "partial" : "ok");
		if (!i)
			assert_string_equal(evidence(&r, "misses-differ")->string,
					    "misses: 0 % of the replies of echo://a, "
					    "93 % of the replies of "
					    "echo://b");
		report_release(&r);
	}
}

/* A version that did not count misses does not mean that there were none. */
static void test_misses_unknown(void **state)
{
	struct report r;

	(void)state;
	compare(0, &r);
	assert_null(evidence(&r, "misses-differ"));
	for (const struct object_field *f = r.body.first; f; f = f->next) {
		if (!f->name || strcmp(f->name, "comparison") != 0)
			continue;
		for (const struct object_field *g = f->value.object->first; g; g = g->next)
			if (!strcmp(g->name, "a_misses") || !strcmp(g->name, "b_misses"))
				assert_int_equal(g->value.type, VALUE_NULL);
	}
	report_release(&r);
}

/* ---- conditions ---- */

static struct load_conditions conditions_of(const char *text, bool change)
{
	struct load_conditions c = { .n = 1 };

	assert_int_equal(change ? load_condition_parse_change(text, c.list) :
				  load_condition_parse(text, c.list), 0);
	return c;
}

/* b takes 1.1 times as long as a. */
static void test_changes_are_judged(void **state)
{
	static const struct {
		const char *text;
		size_t bad;
		bool fails, open;
	} cases[] = {
		{ "p99<+20%", 0, false, false }, { "p99<+5%", 0, true, false },
		{ "p99<-5%", 0, true, false },
		/* Without slow slices of a, b looks slower than it is, and not faster. */
		{ "p99<+20%", 3, false, false }, { "p99<+5%", 3, false, true },
		{ "p99<+20%", PAIRS - 1, false, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct load_conditions c = conditions_of(cases[i].text, true);
		struct load_asserts judged;
		struct report r;

		compare_by(cases[i].bad, &c, &r, &judged);
		assert_int_equal(judged.fails, cases[i].fails);
		assert_int_equal(!!evidence(&r, "assert-undecided"), cases[i].open);
		report_release(&r);
	}
}

/*
 * Ten runs with p99 from 100 to 109 us; `unlike` of them at another load, `unsure` not sound, and
 * `few` with too few requests.
 */
static void repeat(const char *text, size_t unlike, size_t unsure, size_t few, struct report *r,
		   struct load_asserts *judged)
{
	const struct load_conditions c = conditions_of(text, false);
	struct load_runs runs;

	vec_init(&runs, PAIRS);
	for (size_t i = 0; i < PAIRS; i++) {
		struct load_summary s = run_of(NULL, 100000 + 1000 * i);

		s.comparable = i >= unlike;
		s.sound = i >= unlike + unsure;
		s.asked.bounded &= s.sound;
		s.count = i < few ? 999 : s.count;
		assert_int_equal(vec_push(&runs, s), 0);
	}
	begin(r);
	assert_int_equal(load_runs_repeat(&runs, 0.99, 0.95, &c, &whole, r, judged), 0);
	assert_int_equal(report_error(r), 0);
	vec_release(&runs);
}

static void test_repetitions_are_judged(void **state)
{
	static const struct {
		const char *text;
		size_t unlike, unsure, few;
		bool fails, settled;
	} cases[] = {
		{ "p99<120us", 0, 0, 0, false, true }, { "p99<90us", 0, 0, 0, true, true },
		{ "p99<104us", 0, 0, 0, false, false }, /* within the interval */
		/* Runs that are not sound count; one with another load leaves it open. */
		{ "p99<120us", 0, 4, 0, false, true }, { "p99<120us", 1, 0, 0, false, false },
		{ "p99<90us", 1, 0, 0, true, true }, { "p99<120us", 9, 0, 0, false, false },
		/* Those with too few requests say nothing; the others decide, if there are two. */
		{ "p99<120us", 0, 0, 8, false, true }, { "p99<120us", 0, 0, 9, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct load_asserts judged;
		struct report r;

		repeat(cases[i].text, cases[i].unlike, cases[i].unsure, cases[i].few, &r,
		       &judged);
		assert_int_equal(judged.fails, cases[i].fails);
		assert_int_equal(judged.settled, cases[i].settled);
		assert_int_equal(!!evidence(&r, "assert-undecided"), !cases[i].settled);
		report_release(&r);
	}
}

/*
 * Runs whose requests show "p99<500us" to hold, to fail, or neither. All show the condition before
 * it to hold, which must not be taken for it.
 */
static void vote(size_t holding, size_t failing, size_t neither, struct load_asserts *judged)
{
	struct load_conditions c = { .n = 2 };
	const size_t n = holding + failing + neither;
	struct load_runs runs;
	struct report r;

	assert_int_equal(load_condition_parse("p99<1s", &c.list[0]), 0);
	assert_int_equal(load_condition_parse("p99<500us", &c.list[1]), 0);
	c.list[0].seen = c.list[1].seen = true;
	vec_init(&runs, n);
	for (size_t i = 0; i < n; i++) {
		struct load_summary s = run_of(NULL, 1000000);

		s.seen_holds = 1 | (i < holding ? 2 : 0);
		s.seen_fails = i >= holding && i < holding + failing ? 2 : 0;
		assert_int_equal(vec_push(&runs, s), 0);
	}
	begin(&r);
	assert_int_equal(load_runs_repeat(&runs, 0.99, 0.95, &c, &whole, &r, judged), 0);
	assert_int_equal(report_error(&r), 0);
	assert_int_equal(!!evidence(&r, "assert-undecided"), !judged->settled);
	report_release(&r);
	vec_release(&runs);
}

/* More than half of the runs must hold: one that something else disturbed does not decide. */
static void test_runs_vote(void **state)
{
	static const struct {
		size_t holding, failing, neither;
		bool fails, settled;
	} cases[] = {
		{ 5, 0, 0, false, true }, { 3, 2, 0, false, true }, { 2, 3, 0, true, true },
		{ 3, 3, 0, true, true },  { 0, 5, 0, true, true },  { 3, 0, 2, false, true },
		{ 2, 0, 3, false, false }, { 2, 1, 2, false, false }, { 0, 3, 2, true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct load_asserts judged;

		vote(cases[i].holding, cases[i].failing, cases[i].neither, &judged);
		assert_int_equal(judged.fails, cases[i].fails);
		assert_int_equal(judged.settled, cases[i].settled);
	}
}

/* ---- a closed loop ---- */

/* A closed loop has no latency from the intended send, and no rate to be compared with. */
static void test_closed_loop_has_no_rate_to_compare(void **state)
{
	const struct load_conditions none = { 0 };
	struct load_summary s = run_of(NULL, 100000);
	struct load_asserts judged;
	struct load_runs runs;
	struct report r;

	(void)state;
	s.from = LOAD_ACTUAL;
	s.closed = true;
	s.rate = NAN;
	vec_init(&runs, 2);
	assert_int_equal(vec_push(&runs, s), 0);
	assert_int_equal(vec_push(&runs, s), 0);
	begin(&r);
	assert_int_equal(load_runs_repeat(&runs, 0.99, 0.95, &none, &whole, &r, &judged), 0);
	assert_int_equal(report_error(&r), 0);
	assert_string_equal(r.summary.first->string,
			    "from actual send, closed loop: this is not the latency at a given "
			    "request rate");
	report_release(&r);
	vec_release(&runs);
}

/* ---- a probe of --find-max ---- */

/* p99<500us, measured 1 ms: what a run with these reasons (separated by blanks) shows of it. */
static enum load_truth judge(const char *reasons, double achieved, bool *doubtful)
{
	struct load_summary s = run_of(NULL, 1000000);
	char copy[64], *rest = copy, *code;
	struct load_condition c;
	struct load_quantile q;
	struct report r;

	assert_int_equal(load_condition_parse("p99<500us", &c), 0);
	assert_true(strlen(reasons) < sizeof(copy));
	memcpy(copy, reasons, strlen(reasons) + 1);
	begin(&r);
	while ((code = strsep(&rest, " ")))
		report_reason(&r, code, NULL, "%s", code);
	s.sound = s.asked.bounded = false;
	s.achieved = achieved;
	assert_int_equal(report_error(&r), 0);
	load_summary_reasons(&r, &s);
	report_release(&r);
	return load_summary_judge(&s, &c, &q, doubtful);
}

/* The rate exceeds what can be served: if nothing else can be the reason, one probe is enough. */
static void test_one_overloaded_probe_is_enough(void **state)
{
	static const struct {
		const char *reasons;
		double achieved; /* rate, of 1000 asked for */
		enum load_truth truth;
		bool doubtful;
	} cases[] = {
		{ "rate-not-reached", 500, LOAD_FAILS, false },
		{ "rate-not-reached", 950, LOAD_FAILS, true },
		{ "closed-loop-behaviour", 999, LOAD_FAILS, true },
		{ "closed-loop-behaviour non-stationary-trend", 999, LOAD_FAILS, true },
		{ "non-stationary-trend", 999, LOAD_OPEN, false },
		{ "rate-not-reached host-noisy", 400, LOAD_FAILS, true },
		{ "rate-not-reached host-noisy", 700, LOAD_OPEN, false },
		{ "rate-not-reached client-saturated", 400, LOAD_OPEN, false },
		{ "host-noisy", 999, LOAD_OPEN, false },
		{ "not-converged", 999, LOAD_OPEN, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool doubtful;

		assert_int_equal(judge(cases[i].reasons, cases[i].achieved, &doubtful),
				 cases[i].truth);
		assert_int_equal(doubtful, cases[i].doubtful);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_changes_are_judged),
		cmocka_unit_test(test_repetitions_are_judged),
		cmocka_unit_test(test_runs_vote),
		cmocka_unit_test(test_closed_loop_has_no_rate_to_compare),
		cmocka_unit_test(test_different_misses_are_reported),
		cmocka_unit_test(test_misses_unknown),
		cmocka_unit_test(test_one_overloaded_probe_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
