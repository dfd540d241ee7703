/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/opt_parse.h"
#include "base/opt_text.h"
#include "base/parse.h"
#include "base/rng.h"

#define WORDS_MAX 128

struct shared {
	bool json, lines;
	uint32_t color;
};

struct config {
	uint64_t interval_ns, count, memory, layers;
	double share, level, rate;
	const char *file, *place;
	bool all;
	struct opt_list tags, rest;
	char guard[8]; /* untouched by the nested rows before it */
	struct shared shared;
};

static const struct opt_choice colors[] = {
	{ "auto", 0, NULL },
	{ "always", 1, NULL },
	{ "never", 2, NULL },
	{ NULL, 0, NULL },
};

static const struct opt_choice layers[] = {
	{ "link", 1, NULL },
	{ "socket", 2, NULL },
	{ "read", 4, NULL },
	{ "all", 7, NULL },
	{ NULL, 0, NULL },
};

static const struct opt shared_rows[] = {
	OPT_FLAG(struct shared, json, .name = "json", .letter = 'j', .excludes = "json-lines",
		 .help = "One document"),
	OPT_FLAG(struct shared, lines, .name = "json-lines", .help = "Many documents"),
	OPT_CHOICE(struct shared, color, .name = "color", .choices = colors, .def = "never",
		   .help = "Colours"),
	OPT_END,
};

static const struct opt rows[] = {
	OPT_DURATION(struct config, interval_ns, .name = "interval", .letter = 'i', .def = "1s",
		     .min = 10 * NS_PER_MS, .max = NS_PER_DAY, .help = "Time of one interval"),
	OPT_U64(struct config, count, .name = "count", .letter = 'n', .aliases = "times,c,N",
		.min = 1, .help = "How often"),
	OPT_SIZE(struct config, memory, .name = "memory", .max = 1 << 30, .help = "At most"),
	OPT_SET(struct config, layers, .name = "layers", .choices = layers, .def = "link,read",
		.help = "Layers to measure"),
	OPT_FRACTION(struct config, share, .name = "share", .help = "Part"),
	OPT_PERCENT(struct config, level, .name = "level", .help = "How sure"),
	OPT_RATE(struct config, rate, .name = "rate", .excludes = "memory,share",
		 .help = "How many"),
	OPT_STRING(struct config, file, .name = "file", .letter = 'f', .file = true,
		   .help = "Where it is kept"),
	OPT_FLAG(struct config, all, .name = "all", .letter = 'a', .help = "Everything"),
	OPT_LIST(struct config, tags, .name = "tag", .letter = 't', .help = "A tag"),
	OPT_STRING(struct config, place, .name = "PLACE", .positional = true, .help = "Where"),
	OPT_LIST(struct config, rest, .name = "MORE", .positional = true, .help = "Else"),
	OPT_ROWS(struct config, shared, struct shared, shared_rows),
	OPT_END,
};

static const struct opt required_rows[] = {
	OPT_STRING(struct config, file, .name = "file", .required = true, .help = "Where"),
	OPT_STRING(struct config, place, .name = "PLACE", .positional = true, .required = true,
		   .help = "Where"),
	OPT_END,
};

/* `line` is split at blanks; "_" stands for an empty word. Returns what opt_parse() returns. */
static int parse_rows(const struct opt *of, const char *line, struct config *config,
		      struct strbuf *error)
{
	static char text[4096];
	char *words[WORDS_MAX], *rest = text;
	int n = 0;

	assert_true(strlen(line) < sizeof(text));
	memcpy(text, line, strlen(line) + 1);
	for (char *word; (word = strsep(&rest, " ")) != NULL;) {
		assert_true(n < WORDS_MAX);
		if (*word)
			words[n++] = strcmp(word, "_") ? word : "";
	}
	*config = (struct config){ .guard = "guarded" };
	strbuf_reset(error);
	return opt_parse(of, config, n, words, error);
}

static struct config parse_ok(const char *line)
{
	struct strbuf error = STRBUF_INIT(4096);
	struct config config;

	if (parse_rows(rows, line, &config, &error) != OPT_PARSED)
		fail_msg("'%s' was refused: %s", line, strbuf_str(&error));
	assert_string_equal(config.guard, "guarded");
	strbuf_release(&error);
	return config;
}

static void refuse(const struct opt *of, const char *line, const char *expected)
{
	struct strbuf error = STRBUF_INIT(4096);
	struct config config;

	if (parse_rows(of, line, &config, &error) != -EINVAL)
		fail_msg("'%s' was taken", line);
	assert_string_equal(strbuf_str(&error), expected);
	strbuf_release(&error);
}

static void test_defaults(void **state)
{
	struct config config = parse_ok("");

	(void)state;
	assert_int_equal(config.interval_ns, NS_PER_S);
	assert_int_equal(config.layers, 5);
	assert_int_equal(config.shared.color, 2);
	assert_int_equal(config.count, 0);
	assert_null(config.file);
	assert_null(config.place);
	assert_false(config.all);
}

static void test_spellings(void **state)
{
	static const char *const lines[] = {
		"--interval=2s --count 3 --all --json",	  "-i2s -n 3 -aj", "-i 2s -ajn3",
		"--times 3 --interval 2s -a -j",	  "-c3 -i2s -aj",	  "-i2s -ajN3",
		"--count=3 --interval 2s -a -j",	  "-n9 -n3 -i1s --interval 2s -a -a --json",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct config config = parse_ok(lines[i]);

		assert_int_equal(config.interval_ns, 2 * NS_PER_S);
		assert_int_equal(config.count, 3);
		assert_true(config.all);
		assert_true(config.shared.json);
		assert_false(config.shared.lines);
	}
}

static void test_every_type(void **state)
{
	struct config config = parse_ok("--memory 1M --layers all --share 1/4 --file=a=b,c --tag x "
					"-t y --tag=z --color auto here there - -- -a --json");

	(void)state;
	assert_int_equal(config.memory, 1 << 20);
	assert_int_equal(config.layers, 7);
	assert_true(config.share == 0.25);
	assert_true(parse_ok("--level 99.9").level == 0.999);
	assert_true(parse_ok("--rate 20k").rate == 20000);
	assert_string_equal(config.file, "a=b,c");
	assert_int_equal(config.tags.len, 3);
	assert_string_equal(config.tags.items[2], "z");
	assert_int_equal(config.shared.color, 0);
	assert_string_equal(config.place, "here");
	assert_int_equal(config.rest.len, 4);
	assert_string_equal(config.rest.items[0], "there");
	assert_string_equal(config.rest.items[1], "-");
	assert_string_equal(config.rest.items[2], "-a");
	assert_false(config.all);
	assert_int_equal(parse_ok("--layers socket,link").layers, 3);
}

static void test_refusals(void **state)
{
#define INTERVAL "--interval takes a number and a unit (ns, us, ms, s, m, h, d), 10ms to 1d, "
	static const char *const cases[][2] = {
		{ "--interval 5x", INTERVAL "not '5x'" },
		{ "--interval=9ms", INTERVAL "not '9ms'" },
		{ "-i25h", INTERVAL "not '25h'" },
		{ "--interval", INTERVAL "but no value follows" },
		{ "-i5", INTERVAL "not '5'; did you mean '5s'?" },
		{ "--times 0", "--count takes a whole number, 1 or more, not '0'" },
		{ "--c 1", "there is no option '--c'" },
		{ "--file a -f b", "--file is given twice, as 'a' and as 'b'" },
		{ "--interval= 5s", INTERVAL "not ''" },
		{ "--count 0", "--count takes a whole number, 1 or more, not '0'" },
		{ "--memory 2G", "--memory takes a number of bytes, or one with K, M, G or T "
				 "(powers of 1024), up to 1G, not '2G'" },
		{ "--share 2", "--share takes a fraction of one (1%, 1/64, 0.01), not '2'" },
		{ "--level 100",
		  "--level takes a percentage between 0 and 100 (95, 99.9), not '100'" },
		{ "--rate 0", "--rate takes a number per second, or one with k or M "
			      "(20000, 20k, 1.5M), not '0'" },
		{ "--rate 1 --share 1", "--rate cannot be combined with --share" },
		{ "--memory 1 --rate 1", "--rate cannot be combined with --memory" },
		{ "--file _", "--file takes a file name, not ''" },
		{ "--tag _", "--tag takes a non-empty text, not ''" },
		{ "--color alway", "--color takes one of auto, always, never, not 'alway'; "
				   "did you mean 'always'?" },
		{ "--layers link,scoket",
		  "--layers takes a comma-separated list of link, socket, read, all, "
		  "not 'link,scoket'; did you mean 'socket'?" },
		{ "--layers link,", "--layers takes a comma-separated list of link, socket, read, "
				    "all, not 'link,'" },
		{ "--all=1", "--all takes no value, not '1'" },
		{ "--intervall 1s",
		  "there is no option '--intervall'; did you mean '--interval'?" },
		{ "--inter=1s", "there is no option '--inter'; did you mean '--interval'?" },
		{ "--shanties", "there is no option '--shanties'" },
		{ "--zzz", "there is no option '--zzz'" },
		{ "--PLACE x", "there is no option '--PLACE'" },
		{ "-ax", "there is no option '-x'" },
		{ "--json --json-lines", "--json cannot be combined with --json-lines" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		refuse(rows, cases[i][0], cases[i][1]);
}

static void test_required(void **state)
{
	(void)state;
	refuse(required_rows, "here", "--file is missing; it takes a non-empty text");
	refuse(required_rows, "--file x",
	       "PLACE is missing; it takes a non-empty text");
	refuse(required_rows, "--file x here there", "unexpected argument 'there'");
}

/* An option that takes several words takes them up to the next option, or to "--". */
static void test_words(void **state)
{
	static const struct opt words_rows[] = {
		OPT_LIST(struct config, tags, .name = "tag", .letter = 't', .words = true,
			 .help = "Tags"),
		OPT_FLAG(struct config, all, .name = "all", .help = "Everything"),
		OPT_LIST(struct config, rest, .name = "MORE", .positional = true, .help = "Else"),
		OPT_END,
	};
	struct strbuf text = STRBUF_INIT(4096);
	struct config c;

	(void)state;
	assert_int_equal(parse_rows(words_rows, "x --tag a b - --all y -tc d --tag=e f -- g", &c,
				    &text), OPT_PARSED);
	assert_int_equal(c.tags.len, 7);
	assert_string_equal(c.tags.items[2], "-");
	assert_string_equal(c.tags.items[6], "f");
	assert_int_equal(c.rest.len, 3);
	assert_string_equal(c.rest.items[1], "y");
	assert_string_equal(c.rest.items[2], "g");
	refuse(words_rows, "--tag", "--tag takes a non-empty text, but no value follows");
	strbuf_reset(&text);
	opt_text_help(words_rows, true, &text);
	assert_non_null(strstr(strbuf_str(&text), "-t, --tag TEXT..."));
	strbuf_release(&text);
}

static void test_list_limit(void **state)
{
	struct strbuf line = STRBUF_INIT(4096);

	(void)state;
	for (int i = 0; i < OPT_LIST_MAX; i++)
		strbuf_puts(&line, " -tx");
	assert_int_equal(parse_ok(strbuf_str(&line)).tags.len, OPT_LIST_MAX);
	strbuf_puts(&line, " -tx");
	refuse(rows, strbuf_str(&line), "--tag: at most 64 values can be given");
	strbuf_release(&line);
}

static void test_help_asked(void **state)
{
	static const char *const lines[] = { "--help", "-h", "-ah", "--all --help --nonsense" };
	struct strbuf error = STRBUF_INIT(4096);
	struct config config;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_int_equal(parse_rows(rows, lines[i], &config, &error), OPT_HELP);
	assert_int_equal(parse_rows(rows, "-- --help", &config, &error), OPT_PARSED);
	strbuf_release(&error);
}

static void assert_contains(const struct strbuf *text, const char *part)
{
	if (!strstr(strbuf_str(text), part))
		fail_msg("no '%s' in:\n%s", part, strbuf_str(text));
}

/* By group, in whatever order the table is; arguments first; rare and hidden ones are left out. */
static const struct opt grouped_rows[] = {
	OPT_STRING(struct config, file, .name = "file", .group = OPT_OUTPUT, .rare = true,
		   .file = true, .help = "Where"),
	OPT_FLAG(struct config, all, .name = "all", .group = OPT_TARGET, .help = "Everything"),
	OPT_U64(struct config, count, .name = "count", .hidden = true, .help = "How often"),
	OPT_STRING(struct config, place, .name = "PLACE", .group = OPT_TARGET, .positional = true,
		   .help = "What"),
	OPT_END,
};

static const char grouped_help[] =
	"Target:\n"
	"  PLACE                     What\n"
	"      --all                 Everything\n\n"
	"Help:\n"
	"  -h, --help                Show this help and exit\n"
	"      --help-all            Show all options and exit\n";

static void test_texts(void **state)
{
	struct strbuf text = STRBUF_INIT(1 << 16);

	(void)state;
	opt_text_usage(rows, &text);
	assert_string_equal(strbuf_str(&text), "[OPTION]... [PLACE] [MORE]...");
	strbuf_reset(&text);
	opt_text_help(grouped_rows, false, &text);
	assert_string_equal(strbuf_str(&text), grouped_help);
	strbuf_reset(&text);
	opt_text_help(grouped_rows, true, &text);
	assert_contains(&text, "Output:\n      --file FILE           Where\n\nHelp:\n");
	strbuf_reset(&text);
	opt_text_help(rows, true, &text);
	assert_contains(&text, "  -i, --interval TIME       Time of one interval (10ms to 1d; "
			       "default 1s)\n");
	assert_contains(&text, "  -f, --file FILE           Where it is kept\n");
	assert_contains(&text, "      --layers LIST         Layers to measure (any of link, "
			       "socket, read, all;\n                            "
			       "default link,read)\n");
	assert_contains(&text, "  -h, --help ");
	strbuf_reset(&text);
	opt_text_man_synopsis("ping", rows, &text);
	assert_contains(&text, "[\\fB\\-\\-json\\-lines\\fR]\n");
	strbuf_reset(&text);
	opt_text_man_options(rows, &text);
	assert_contains(&text, ".TP\n\\fB\\-n\\fR, \\fB\\-\\-count\\fR \\fIN\\fR\n"
			       "How often (1 or more).\n");
	strbuf_reset(&text);
	opt_text_man_escape(".-\\", &text);
	assert_string_equal(strbuf_str(&text), "\\&.\\-\\e");
	strbuf_release(&text);
}

/* ---- actions ---- */

enum { ACTION_GET, ACTION_PUT, ACTION_DROP };

struct action_config {
	uint32_t action;
	const char *place, *file;
	uint64_t count;
	bool all;
};

static const struct opt_choice actions[] = {
	{ "get", ACTION_GET, "fetch" }, { "put", ACTION_PUT, "store" },
	{ "drop", ACTION_DROP, "forget" }, { NULL, 0, NULL },
};
static const char *const action_takes[] = { "PLACE,count,all", "PLACE,all,file", "all" };

static const struct opt action_rows[] = {
	OPT_CHOICE(struct action_config, action, .name = "ACTION", .positional = true,
		   .required = true, .choices = actions, .takes = action_takes, .help = "Step"),
	OPT_STRING(struct action_config, place, .name = "PLACE", .positional = true,
		   .help = "Which"),
	OPT_U64(struct action_config, count, .name = "count", .letter = 'n', .def = "3",
		.help = "How many"),
	OPT_FLAG(struct action_config, all, .name = "all", .letter = 'a', .help = "Everything"),
	OPT_STRING(struct action_config, file, .name = "file", .rare = true, .help = "Where"),
	OPT_END,
};

static const char action_help[] =
	"Actions, and what each takes:\n"
	"  get       fetch\n"
	"            PLACE --count --all\n"
	"  put       store\n"
	"            PLACE --all\n"
	"  drop      forget\n"
	"            --all\n\n"
	"Arguments:\n"
	"  ACTION                    Step (one of get, put, drop)\n"
	"  PLACE                     Which\n\n"
	"Options of get:\n"
	"  -n, --count N             How many (default 3)\n\n"
	"Options of all actions:\n"
	"  -a, --all                 Everything\n\n"
	"Help:\n";

static void refuse_action(const char *line, const char *message)
{
	struct strbuf error = STRBUF_INIT(4096);
	struct action_config config = { 0 };
	char words[64], *argv[8], *at = words;
	int argc = 0;

	snprintf(words, sizeof(words), "%s", line);
	while (argc < 8 && (argv[argc] = strsep(&at, " ")))
		argc++;
	assert_int_equal(opt_parse(action_rows, &config, argc, argv, &error),
			 message ? -EINVAL : OPT_PARSED);
	if (message)
		assert_string_equal(strbuf_str(&error), message);
	strbuf_release(&error);
}

static void test_actions(void **state)
{
	struct strbuf text = STRBUF_INIT(4096);

	(void)state;
	refuse_action("get x -n 3 -a", NULL);
	refuse_action("drop -a", NULL);
	refuse_action("put -n 3", "--count has no effect on put: leave it out (it is for get)");
	refuse_action("drop --file x", "--file has no effect on drop: leave it out "
				       "(it is for put)");
	opt_text_help(action_rows, false, &text);
	assert_memory_equal(strbuf_str(&text), action_help, strlen(action_help));
	strbuf_reset(&text);
	opt_text_help(action_rows, true, &text);
	assert_contains(&text, "PLACE --all --file\n");
	assert_contains(&text, "Options of put:\n      --file TEXT           Where\n");
	strbuf_reset(&text);
	opt_text_man_synopsis("ping", action_rows, &text);
	assert_contains(&text, ".br\n.B hostlat ping drop\n[\\fB\\-\\-all\\fR]\n");
	strbuf_reset(&text);
	opt_text_man_options(action_rows, &text);
	assert_contains(&text, ".SS Options of all actions\n.TP\n\\fB\\-a");
	strbuf_release(&text);
}

/* Any words give a result, and a message exactly when they are refused. */
static void test_any_words(void **state)
{
	static const char *const words[] = {
		"--", "-", "--json", "-j", "--json-lines", "--interval", "-i", "1s", "5x", "=",
		"--=", "--layers", "link,,read", ",", "--count=", "-n", "18446744073709551615",
		"-ajn", "_", "--file", "--tag=t", "PLACE", "---", "--share=1/0", "--color",
		"always",
	};
	const uint64_t seed = 1789;
	struct strbuf line = STRBUF_INIT(4096), error = STRBUF_INIT(4096);
	struct config config;
	struct rng rng;

	(void)state;
	print_message("seed %" PRIu64 "\n", seed);
	rng_init(&rng, seed);
	for (int i = 0; i < 20000; i++) {
		int result;

		strbuf_reset(&line);
		for (uint64_t n = rng_below(&rng, 12); n; n--)
			strbuf_printf(&line, " %s", words[rng_below(&rng, ARRAY_LEN(words))]);
		result = parse_rows(rows, strbuf_str(&line), &config, &error);
		assert_int_equal(error.error, 0);
		if ((result == -EINVAL) != (error.len > 0))
			fail_msg("'%s' gave %d and '%s'", strbuf_str(&line), result,
				 strbuf_str(&error));
		assert_string_equal(config.guard, "guarded");
		if (result == OPT_PARSED)
			assert_true(config.interval_ns == NS_PER_S);
	}
	strbuf_release(&line);
	strbuf_release(&error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),   cmocka_unit_test(test_spellings),
		cmocka_unit_test(test_every_type), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_required),   cmocka_unit_test(test_list_limit),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_help_asked), cmocka_unit_test(test_texts),
		cmocka_unit_test(test_actions),
		cmocka_unit_test(test_any_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
