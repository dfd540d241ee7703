/* SPDX-License-Identifier: Apache-2.0 */
/* Anomalous functions that nest: the rule's own examples, and random trees against a naive one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/bug.h"
#include "diagnose/nesting.h"
#include "diagnose/paper.h"
#include "nesting_naive.h"

#define REFERENCES 9

static const struct nesting_limits plenty = NESTING_LIMITS;
static const struct nesting_options by_credit = { .granularity_ns = 10, .mads = 3 };
static const struct nesting_options as_paper = { .granularity_ns = 10,
						.rule = &paper_nesting };

static struct nesting *make(const struct nesting_limits *limits)
{
	struct nesting *n;

	assert_int_equal(nesting_new(&n, limits), 0);
	return n;
}

static void span(struct nesting *n, uint8_t type, uint32_t what, uint8_t depth, uint64_t begin,
		 uint64_t end)
{
	nesting_span(n, &(struct event_span){
		.type = type, .what = what, .depth = depth, .begin = begin, .end = end }, false);
}

static void call(struct nesting *n, uint32_t what, uint8_t depth, uint64_t begin, uint64_t end)
{
	span(n, SPAN_FUNCTION, what, depth, begin, end);
}

static void begin(struct nesting *n, bool reference)
{
	nesting_begin(n, reference);
	nesting_piece(n, PIECE_APPLICATION, 0, 100000);
}

static uint32_t end(struct nesting *n)
{
	uint32_t message;

	assert_int_equal(nesting_end(n, &message), 0);
	return message;
}

/* Function 1 calls 2, which calls 3, ...: each one's time with those within it. */
static uint32_t chain(struct nesting *n, bool reference, const uint64_t *ns, int len)
{
	begin(n, reference);
	for (int i = len; i--;)
		call(n, (uint32_t)i + 1, (uint8_t)i, 50, 50 + ns[i]);
	return end(n);
}

/* References take 3000, 2000, 1000, ..., and the target so much longer. */
static struct nesting_verdict judge_chain(struct nesting *n, const uint64_t *longer, int len,
					  const struct nesting_options *options)
{
	uint64_t ns[8];
	struct nesting_verdict v;
	uint32_t target;

	for (int i = 0; i < len; i++)
		ns[i] = 1000 * (uint64_t)(len - i);
	for (int i = 0; i < REFERENCES; i++)
		chain(n, true, ns, len);
	for (int i = 0; i < len; i++)
		ns[i] += longer[i];
	target = chain(n, false, ns, len);
	assert_int_equal(nesting_judge(n, target, options, &v), 0);
	assert_int_equal(v.references, REFERENCES);
	assert_int_equal(v.window_ns, 100000);
	return v;
}

static void expect(const struct nesting *n, const struct nesting_cause *cause, const char *path,
		   uint64_t self, uint64_t deviation, enum nesting_type type)
{
	uint32_t symbols[EVENT_DEPTH_MAX];
	uint32_t len = nesting_path(n, cause->node, symbols);

	assert_int_equal(len, strlen(path));
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(symbols[i], path[i] - '0');
	assert_int_equal(cause->self_ns, self);
	assert_int_equal(cause->deviation_ns, deviation);
	assert_int_equal(cause->type, type);
}

/* ---- the examples of the rule ---- */

static void test_pairs(void **state)
{
	static const struct {
		uint64_t child;
		uint64_t parent_self, parent_self_paper, child_self_paper;
	} cases[] = {
		{ 900, 0, 0, 900 },
		{ 800, 0, 0, 800 },
		{ 799, 201, 1000, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const uint64_t longer[] = { 1000, cases[i].child };
		struct nesting *n = make(&plenty);
		struct nesting_verdict v = judge_chain(n, longer, 2, &by_credit);

		expect(n, &v.causes[0], "12", cases[i].child, cases[i].child, NESTING_SLOWER);
		assert_int_equal(v.n_causes, 1 + !!cases[i].parent_self);
		if (cases[i].parent_self)
			expect(n, &v.causes[1], "1", cases[i].parent_self, 1000, NESTING_SLOWER);
		assert_int_equal(v.charged_ns, cases[i].child + cases[i].parent_self);
		assert_int_equal(nesting_judge(n, REFERENCES, &as_paper, &v), 0);
		assert_int_equal(v.n_causes, 1);
		if (cases[i].child_self_paper)
			expect(n, &v.causes[0], "12", cases[i].child, cases[i].child,
			       NESTING_SLOWER);
		else
			expect(n, &v.causes[0], "1", 1000, 1000, NESTING_SLOWER);
		nesting_free(n);
	}
}

static void test_chain(void **state)
{
	static const uint64_t longer[] = { 1000, 850, 722 };
	struct nesting *n = make(&plenty);
	struct nesting_verdict v = judge_chain(n, longer, 3, &by_credit);

	(void)state;
	assert_int_equal(v.n_causes, 2);
	expect(n, &v.causes[0], "123", 722, 722, NESTING_SLOWER);
	expect(n, &v.causes[1], "1", 278, 1000, NESTING_SLOWER);
	assert_int_equal(v.charged_ns, 1000);
	assert_int_equal(nesting_judge(n, REFERENCES, &as_paper, &v), 0);
	assert_int_equal(v.n_causes, 1);
	expect(n, &v.causes[0], "123", 722, 722, NESTING_SLOWER);
	nesting_free(n);
}

static void recurse(struct nesting *n, bool reference, uint64_t outer, uint64_t inner)
{
	begin(n, reference);
	call(n, 1, 1, 10, 10 + inner);
	call(n, 1, 0, 10, 10 + outer);
	end(n);
}

static void test_recursion(void **state)
{
	struct nesting *n = make(&plenty);
	struct nesting_verdict v;

	(void)state;
	for (int i = 0; i < REFERENCES; i++)
		recurse(n, true, 2000, 1000);
	recurse(n, false, 3000, 1900);
	recurse(n, false, 3000, 1799);
	assert_int_equal(nesting_judge(n, REFERENCES, &by_credit, &v), 0);
	assert_int_equal(v.n_causes, 1);
	expect(n, &v.causes[0], "11", 900, 900, NESTING_SLOWER);
	assert_int_equal(v.causes[0].count, 1);
	assert_int_equal(nesting_judge(n, REFERENCES + 1, &by_credit, &v), 0);
	assert_int_equal(v.n_causes, 2);
	expect(n, &v.causes[1], "1", 201, 1000, NESTING_SLOWER);
	nesting_free(n);
}

static void two_parents(struct nesting *n, bool reference, uint64_t longer)
{
	begin(n, reference);
	call(n, 3, 1, 0, 1000 + longer);
	call(n, 1, 0, 0, 1500 + longer);
	call(n, 3, 1, 20000, 21000);
	call(n, 2, 0, 20000, 21500);
	end(n);
}

static void test_two_parents(void **state)
{
	struct nesting *n = make(&plenty);
	struct nesting_verdict v;

	(void)state;
	for (int i = 0; i < REFERENCES; i++)
		two_parents(n, true, 0);
	two_parents(n, false, 700);
	assert_int_equal(nesting_judge(n, REFERENCES, &by_credit, &v), 0);
	assert_int_equal(v.n_causes, 1);
	expect(n, &v.causes[0], "13", 700, 700, NESTING_SLOWER);
	assert_int_equal(v.causes[0].usual_ns, 1000);
	nesting_free(n);
}

/* ---- types, thresholds ---- */

static void test_types(void **state)
{
	struct nesting *n = make(&plenty);
	struct nesting_verdict v;

	(void)state;
	for (int i = 0; i < REFERENCES; i++) {
		begin(n, true);
		call(n, 1, 0, 0, 100);
		call(n, 2, 0, 1000, 1100);
		if (i < REFERENCES / 2)
			call(n, 3, 0, 2000, 2100);
		end(n);
	}
	begin(n, false);
	call(n, 1, 0, 0, 400);
	for (uint64_t i = 0; i < 3; i++)
		call(n, 2, 0, 1000 + 200 * i, 1100 + 200 * i);
	call(n, 3, 0, 2000, 2100);
	end(n);
	assert_int_equal(nesting_judge(n, REFERENCES, &by_credit, &v), 0);
	assert_int_equal(v.n_causes, 3);
	expect(n, &v.causes[0], "1", 300, 300, NESTING_SLOWER);
	expect(n, &v.causes[1], "2", 200, 200, NESTING_MORE_FREQUENT);
	assert_int_equal(v.causes[1].count, 3);
	assert_int_equal(v.causes[1].usual_count, 1);
	expect(n, &v.causes[2], "3", 100, 100, NESTING_UNEXPECTED);
	assert_int_equal(v.causes[2].present, REFERENCES / 2);
	assert_int_equal(v.causes[2].usual_ns, 0);
	assert_int_equal(v.causes[2].usual_p95_ns, 100);
	nesting_free(n);
}

/* 1000, 1010, ... 1080: the median is 1040, the median deviation from it 20. */
static void test_median_and_deviation(void **state)
{
	const struct nesting_options fine = { .mads = 3 }, coarse = { .granularity_ns = 61 };
	const struct nesting_options none = { .mads = UINT32_MAX }, two = { .mads = 2 };
	struct nesting *n = make(&plenty);
	struct nesting_verdict v;
	uint32_t at, beyond;
	uint64_t ns;

	(void)state;
	for (uint64_t i = 0; i < REFERENCES; i++)
		chain(n, true, (ns = 1000 + 10 * i, &ns), 1);
	at = chain(n, false, (ns = 1100, &ns), 1);
	beyond = chain(n, false, (ns = 1101, &ns), 1);
	assert_int_equal(nesting_judge(n, at, &fine, &v), 0);
	assert_int_equal(v.n_causes, 0);
	assert_int_equal(v.charged_ns, 0);
	assert_int_equal(nesting_judge(n, at, &two, &v), 0);
	assert_int_equal(v.n_causes, 1);
	assert_int_equal(nesting_judge(n, beyond, &fine, &v), 0);
	assert_int_equal(v.n_causes, 1);
	assert_int_equal(v.causes[0].self_ns, 61);
	assert_int_equal(nesting_judge(n, beyond, &coarse, &v), 0);
	assert_int_equal(v.n_causes, 0);
	assert_int_equal(nesting_judge(n, beyond, &none, &v), 0);
	assert_int_equal(v.n_causes, 0);
	nesting_free(n);
}

/* One child takes as much less time as another takes more. */
static void test_one_child_saves_what_another_costs(void **state)
{
	struct nesting *n = make(&plenty);
	struct nesting_verdict v;

	(void)state;
	for (int i = 0; i < REFERENCES; i++) {
		begin(n, true);
		call(n, 2, 1, 0, 100);
		call(n, 3, 1, 1000, 2000);
		call(n, 1, 0, 0, 2000);
		end(n);
	}
	begin(n, false);
	call(n, 2, 1, 0, 900);
	call(n, 1, 0, 0, 2100);
	end(n);
	assert_int_equal(nesting_judge(n, REFERENCES, &by_credit, &v), 0);
	assert_int_equal(v.n_causes, 1);
	expect(n, &v.causes[0], "12", 800, 800, NESTING_SLOWER);
	assert_int_equal(v.over_ns, 700);
	assert_int_equal(v.saved_ns, 1000);
	nesting_free(n);
}

/* ---- windows and contexts ---- */

static void test_straddling(void **state)
{
	const struct event_track track = { .depth = 2, .open = {
		{ .begin = 1500, .what = 4, .type = SPAN_FUNCTION, .depth = 0 },
		{ .begin = 1900, .what = 5, .type = SPAN_FUNCTION | SPAN_CONT, .depth = 1 },
	} };
	struct nesting *n = make(&plenty);
	struct nesting_verdict v;

	(void)state;
	nesting_begin(n, true);
	end(n);
	nesting_begin(n, false);
	nesting_piece(n, PIECE_RECEIVE, 1000, 2000);
	call(n, 2, 1, 500, 900);
	call(n, 3, 1, 900, 1100);
	call(n, 1, 0, 500, 1300);
	nesting_open(n, &track, 0);
	end(n);
	assert_int_equal(nesting_judge(n, 1, &by_credit, &v), 0);
	assert_int_equal(v.window_ns, 1000);
	assert_int_equal(v.n_causes, 4);
	expect(n, &v.causes[0], "4", 400, 500, NESTING_UNEXPECTED);
	expect(n, &v.causes[1], "1", 200, 300, NESTING_UNEXPECTED);
	expect(n, &v.causes[2], "13", 100, 100, NESTING_UNEXPECTED);
	expect(n, &v.causes[3], "45", 100, 100, NESTING_UNEXPECTED);
	for (uint32_t i = 0; i < v.n_causes; i++) {
		assert_true(v.causes[i].partial);
		assert_int_equal(v.causes[i].count, 1);
		assert_int_equal(v.causes[i].role, PIECE_RECEIVE);
	}
	nesting_free(n);
}

/* A softirq in the middle of a call: in one run only shown, in the other charged, too. */
static void test_softirq_inside_a_call(void **state)
{
	struct nesting *n = make(&plenty);
	struct nesting_verdict v;

	(void)state;
	nesting_begin(n, true);
	end(n);
	for (int charged = 0; charged < 2; charged++) {
		begin(n, false);
		call(n, 2, 2, 200, 500);
		nesting_span(n, &(struct event_span){
			.type = SPAN_SOFTIRQ, .depth = 1, .begin = 100, .end = 600 }, charged);
		span(n, SPAN_SYSCALL, 7, 1, 600, 700);
		call(n, 1, 0, 0, 1000);
		end(n);
	}
	assert_int_equal(nesting_judge(n, 1, &by_credit, &v), 0);
	assert_int_equal(v.n_causes, 2);
	expect(n, &v.causes[0], "1", 500, 500, NESTING_UNEXPECTED);
	expect(n, &v.causes[1], "2", 300, 300, NESTING_UNEXPECTED);
	assert_int_equal(v.causes[0].context, SPAN_NONE);
	assert_int_equal(v.causes[1].context, SPAN_SOFTIRQ);
	assert_int_equal(nesting_judge(n, 2, &by_credit, &v), 0);
	assert_int_equal(v.n_causes, 1);
	expect(n, &v.causes[0], "1", 500, 500, NESTING_UNEXPECTED);
	nesting_free(n);
}

/* A call that waits and goes on is one call. */
static void test_resumed(void **state)
{
	struct nesting *n = make(&plenty);
	struct nesting_verdict v;

	(void)state;
	nesting_begin(n, true);
	end(n);
	begin(n, false);
	for (uint64_t i = 0; i < 3; i++)
		nesting_span(n, &(struct event_span){ .type = SPAN_FUNCTION, .what = 1,
			.begin = 100 * i, .end = 100 * i + 50, .resumed = i, .cut = i < 2 }, false);
	end(n);
	assert_int_equal(nesting_judge(n, 1, &by_credit, &v), 0);
	assert_int_equal(v.n_causes, 1);
	assert_int_equal(v.causes[0].count, 1);
	assert_int_equal(v.causes[0].ns, 150);
	nesting_free(n);
}

/* ---- limits and what makes no sense ---- */

static void test_limits(void **state)
{
	const struct nesting_limits one_node = { .nodes = 1, .spans = 4, .values = 2 };
	struct nesting *n = make(&one_node);
	struct nesting_losses losses;
	struct nesting_verdict v;
	uint32_t message;

	(void)state;
	assert_int_equal(nesting_judge(n, 0, &by_credit, &v), -EINVAL);
	begin(n, false);
	call(n, 2, 1, 0, 400);
	call(n, 1, 0, 0, 1000);
	end(n);
	nesting_losses(n, &losses);
	assert_int_equal(losses.spans_without_node, 1);
	assert_int_equal(nesting_judge(n, 0, &by_credit, &v), -ENODATA);
	nesting_begin(n, true);
	end(n);
	assert_int_equal(nesting_judge(n, 0, &by_credit, &v), 0);
	assert_int_equal(v.n_causes, 1);
	expect(n, &v.causes[0], "1", 1000, 1000, NESTING_UNEXPECTED);

	begin(n, true);
	for (uint64_t i = 0; i < 5; i++)
		call(n, 1, 0, 10 * i, 10 * i + 5);
	assert_int_equal(nesting_end(n, &message), -E2BIG);
	begin(n, false);
	assert_int_equal(nesting_end(n, &message), -E2BIG);
	nesting_losses(n, &losses);
	assert_int_equal(losses.references, 1);
	assert_int_equal(losses.targets, 1);
	nesting_free(n);
}

static void test_invalid(void **state)
{
	struct nesting *n = make(&plenty);
	struct nesting_losses losses;
	struct nesting_verdict v;
	uint32_t message;

	(void)state;
	for (int i = 0; i < 3; i++) {
		begin(n, true);
		if (i == 0)
			nesting_piece(n, PIECE_RECEIVE, 99999, 200000);
		else if (i == 1)
			nesting_piece(n, PIECE_RECEIVE, 200000, 199999);
		else
			nesting_piece(n, PIECE_ROLE_MAX, 200000, 200001);
		assert_int_equal(nesting_end(n, &message), -EINVAL);
	}
	nesting_begin(n, true);
	end(n);
	begin(n, false);
	call(n, 2, 1, 0, 3000);
	call(n, 3, 1, 1000, 9000);
	call(n, 1, 0, 500, 4000);
	end(n);
	nesting_losses(n, &losses);
	assert_int_equal(losses.references, 3);
	assert_int_equal(losses.overlapping, 2);
	assert_int_equal(nesting_judge(n, 1, &by_credit, &v), 0);
	assert_int_equal(v.charged_ns, 3500);
	expect(n, &v.causes[0], "13", 3000, 3000, NESTING_UNEXPECTED);
	expect(n, &v.causes[1], "2", 500, 500, NESTING_UNEXPECTED);
	nesting_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_two_parents),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_median_and_deviation),
		cmocka_unit_test(test_one_child_saves_what_another_costs),
		cmocka_unit_test(test_straddling),
		cmocka_unit_test(test_softirq_inside_a_call),
		cmocka_unit_test(test_resumed),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_naive),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
