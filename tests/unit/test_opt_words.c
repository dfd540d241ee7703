/* SPDX-License-Identifier: Apache-2.0 */
/* Options as words again: read back, they are the same. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/opt_parse.h"
#include "base/opt_words.h"

struct config {
	bool flag, other_flag;
	uint64_t number, time, size;
	double fraction, percent, rate;
	const char *text, *other_text;
	uint32_t choice, plain_choice;
	struct opt_list list, words;
};

static const struct opt_choice choices[] = {
	{ "first", 0, NULL }, { "second", 1, NULL }, { NULL, 0, NULL },
};

static const struct opt rows[] = {
	OPT_FLAG(struct config, flag, .name = "flag", .help = "x"),
	OPT_FLAG(struct config, other_flag, .name = "other-flag", .help = "x"),
	OPT_U64(struct config, number, .name = "number", .help = "x"),
	OPT_DURATION(struct config, time, .name = "time", .def = "3s", .help = "x"),
	OPT_SIZE(struct config, size, .name = "size", .help = "x"),
	OPT_FRACTION(struct config, fraction, .name = "fraction", .help = "x"),
	OPT_PERCENT(struct config, percent, .name = "percent", .help = "x"),
	OPT_RATE(struct config, rate, .name = "rate", .help = "x"),
	OPT_STRING(struct config, text, .name = "text", .help = "x"),
	OPT_STRING(struct config, other_text, .name = "other-text", .help = "x"),
	OPT_CHOICE(struct config, choice, .name = "choice", .choices = choices, .def = "second",
		   .help = "x"),
	OPT_CHOICE(struct config, plain_choice, .name = "plain-choice", .choices = choices,
		   .help = "x"),
	OPT_LIST(struct config, list, .name = "list", .help = "x"),
	OPT_LIST(struct config, words, .name = "WORDS", .positional = true, .help = "x"),
	OPT_END,
};

static const struct config given = {
	.flag = true, .number = UINT64_MAX, .time = 1234567891, .size = 4097, .fraction = 0.25,
	.percent = 0.999, .rate = 33333.333333, .text = "with blanks = and \"this\"", .choice = 0,
	.list = { .items = { "a", "b,c" }, .len = 2 },
	.words = { .items = { "-dash", "word" }, .len = 2 },
};

/* The words of `c` into `back`, which points into `out`. */
static int round_trip(const struct config *c, struct strbuf *out, struct config *back)
{
	struct strbuf error = STRBUF_INIT(4096);
	char *argv[64];
	int argc = 0, ret = opt_words(rows, c, "arg ", out);

	if (ret)
		return ret;
	for (char *at = strtok(out->buf, "\n"); at; at = strtok(NULL, "\n")) {
		assert_memory_equal(at, "arg ", 4);
		argv[argc++] = opt_words_unescape(at + 4);
	}
	ret = opt_parse(rows, back, argc, argv, &error);
	assert_string_equal(strbuf_str(&error), "");
	strbuf_release(&error);
	return ret;
}

static void same_list(const struct opt_list *a, const struct opt_list *b)
{
	assert_int_equal(a->len, b->len);
	for (uint32_t i = 0; i < a->len; i++)
		assert_string_equal(a->items[i], b->items[i]);
}

static void test_round_trip(void **state)
{
	struct strbuf out = STRBUF_INIT(4096);
	struct config back = { 0 };

	(void)state;
	assert_int_equal(round_trip(&given, &out, &back), OPT_PARSED);
	assert_true(back.flag && !back.other_flag);
	assert_true(back.number == given.number && back.time == given.time);
	assert_int_equal(back.size, given.size);
	assert_true(back.fraction == given.fraction && back.percent == given.percent);
	assert_true(back.rate > 33333.333332 && back.rate < 33333.333334);
	assert_string_equal(back.text, given.text);
	assert_null(back.other_text);
	assert_int_equal(back.choice, 0); /* not its default */
	same_list(&back.list, &given.list);
	same_list(&back.words, &given.words);
	strbuf_release(&out);
}

static void test_nothing_given(void **state)
{
	struct strbuf out = STRBUF_INIT(4096);
	const struct config none = { .time = 3000000000 };

	(void)state;
	assert_int_equal(opt_words(rows, &none, "", &out), 0);
	assert_string_equal(strbuf_str(&out), "--time=3s\n--choice=first\n--\n");
	strbuf_release(&out);
}

/* A line end would make one word into two lines: another command. */
static void test_line_ends(void **state)
{
	const struct config texts = {
		.text = "a\nstop\\n\\", .other_text = "\r",
		.list = { .items = { "x\ny", "\\\n\\" }, .len = 2 },
		.words = { .items = { "-\n" }, .len = 1 },
	};
	struct strbuf out = STRBUF_INIT(4096);
	struct config back = { 0 };

	(void)state;
	assert_int_equal(round_trip(&texts, &out, &back), OPT_PARSED);
	assert_string_equal(back.text, texts.text);
	assert_string_equal(back.other_text, texts.other_text);
	same_list(&back.list, &texts.list);
	same_list(&back.words, &texts.words);
	strbuf_release(&out);
}

static void test_no_room(void **state)
{
	struct strbuf out = STRBUF_INIT(10);

	(void)state;
	assert_int_equal(opt_words(rows, &given, "", &out), -E2BIG);
	strbuf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_nothing_given),
		cmocka_unit_test(test_line_ends), cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
