/* SPDX-License-Identifier: Apache-2.0 */
/* The result model, and what people read of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "output/terminal.h"
#include "output/text.h"
#include "report/human.h"
#include "report/report.h"
#include "stats/hist.h"

static const struct provenance nobody = { .version = "1", .command = "test", .schema = 1 };
static const struct text_style wide = { .width = 100, .utf8 = true };

static void expect_text(const struct report *r, const struct text_style *style, const char *expect)
{
	struct strbuf out = STRBUF_INIT(1 << 20);

	text_report(r, style, &out);
	assert_int_equal(out.error, 0);
	assert_string_equal(strbuf_str(&out), expect);
	strbuf_release(&out);
}

static void numbers_for_people(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {
		{ 0, "0 ns" }, { 999, "999 ns" }, { 1000, "1.0 µs" }, { 4449, "4.4 µs" },
		{ 9949, "9.9 µs" }, { 9950, "10 µs" }, { 999499, "999 µs" }, { 999500, "1.0 ms" },
		{ 3100000, "3.1 ms" }, { 999500000, "1.0 s" }, { 12000000000, "12 s" },
		{ 1234000000000, "1 234 s" }, { UINT64_MAX, "18 446 744 074 s" },
	};
	char buf[HUMAN_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		assert_string_equal(human_ns(buf, times[i].ns), times[i].text);
	assert_string_equal(human_sns(buf, -1500), "-1.5 µs");
	assert_string_equal(human_sns(buf, INT64_MIN), "-9 223 372 037 s");
	assert_string_equal(human_count(buf, 0), "0");
	assert_string_equal(human_count(buf, 999), "999");
	assert_string_equal(human_counted(buf, 0, "target"), "0 targets");
	assert_string_equal(human_counted(buf, 1, "target"), "1 target");
	assert_string_equal(human_counted(buf, 18204, "target"), "18 204 targets");
	assert_string_equal(human_were(buf, 1, "event"), "1 event was");
	assert_string_equal(human_were(buf, 2, "event"), "2 events were");
	assert_string_equal(human_count(buf, 18204), "18 204");
	assert_string_equal(human_count(buf, UINT64_MAX), "18 446 744 073 709 551 615");
	assert_string_equal(human_fraction(buf, 0), "0 %");
	assert_string_equal(human_fraction(buf, 0.0001), "<0.1 %");
	assert_string_equal(human_fraction(buf, 0.003), "0.3 %");
	assert_string_equal(human_fraction(buf, 0.0946), "9 %");
	assert_string_equal(human_fraction(buf, 1), "100 %");
	assert_string_equal(human_rate(buf, 0.25), "0.25");
	assert_string_equal(human_rate(buf, 1), "1");
	assert_string_equal(human_rate(buf, 2.49), "2.5");
	assert_string_equal(human_rate(buf, 9.96), "10");
	assert_string_equal(human_rate(buf, 20499.6), "20 500");
}

static void an_empty_report_is_valid(void **state)
{
	struct report r, zeroed = { 0 };

	(void)state;
	report_init(&r, &nobody);
	expect_text(&r, &wide, "");
	assert_false(r.partial);
	assert_int_equal(report_error(&r), 0);
	report_release(&r);
	report_release(&r);
	report_release(&zeroed);
	report_release(NULL);
}

static void a_reason_makes_it_partial(void **state)
{
	struct report r;

	(void)state;
	report_init(&r, &nobody);
	report_place_findings(&r);
	report_place_verdict(&r);
	report_reason(&r, "losses", "full: 3", "%d packets lost", 3);
	report_finding(&r, "said %s", "later");
	assert_true(r.partial);
	assert_string_equal(r.verdict, "partial");
	expect_text(&r, &wide, "said later\npartial: 3 packets lost (full: 3)\n");
	report_release(&r);
}

static void strings_are_copied(void **state)
{
	struct report r;
	char text[] = "before";
	struct table *t;

	(void)state;
	report_init(&r, &nobody);
	t = table_new(&r, &(struct column){ .head = "word" }, 1);
	TABLE_ADD(t, value_string(text));
	object_add(&r.body, "t", value_table(t));
	memcpy(text, "after!", sizeof(text));
	expect_text(&r, &wide, "word\nbefore\n");
	report_release(&r);
}

/* The sum of all limits is what keeps a report finite; what was built before stays readable. */
static void too_much_is_an_error(void **state)
{
	struct report r;
	char *big = malloc(1 << 24);

	(void)state;
	assert_non_null(big);
	memset(big, 'x', (1 << 24) - 1);
	big[(1 << 24) - 1] = '\0';
	report_init(&r, &nobody);
	for (int i = 0; i < 17; i++)
		report_finding(&r, "%s", big);
	assert_int_equal(report_error(&r), -E2BIG);
	assert_null(table_new(&r, &(struct column){ .name = "a" }, 1));
	TABLE_ADD(NULL, value_u64(1));
	object_add(NULL, "a", value_u64(1));
	list_add(NULL, "a");
	report_release(&r);
	free(big);
}

static struct table *two_rows(struct report *r, struct hist *fast, struct hist *slow)
{
	static const struct column columns[] = {
		{ .name = "stage", .head = "stage" },
		{ .name = "by", .head = "reached by", .flags = COLUMN_FLEX },
		{ .name = "d", .head = "", .flags = COLUMN_INLINE,
		  .show = SHOW_COUNT | SHOW_P50 | SHOW_MAX | SHOW_SPARK },
		{ .name = "step", .head = "step", .show = SHOW_P99 },
		{ .name = "hidden" },
	};
	struct table *t = table_new(r, columns, 5);

	hist_init(fast, 3);
	hist_init(slow, 3);
	assert_int_equal(hist_record_n(fast, 1000, 18204), 0);
	assert_int_equal(hist_record_n(slow, 1000, 90), 0);
	assert_int_equal(hist_record_n(slow, 3000000, 10), 0);
	TABLE_ADD(t, value_string("link"), value_string("tp netif_receive_skb"),
		  value_distribution(r, fast), value_null(), value_u64(7));
	TABLE_ADD(t, value_string("read"), value_string("tp tcp_rcv_space_adjust"),
		  value_distribution(r, slow), value_distribution(r, slow), value_u64(7));
	object_add(&r->body, "stages", value_table(t));
	return t;
}

static void a_table_aligns(void **state)
{
	static const struct text_style less = { .width = 80, .utf8 = true };
	struct report r;
	struct hist fast, slow, none;
	struct table *t;

	(void)state;
	report_init(&r, &nobody);
	t = two_rows(&r, &fast, &slow);
	hist_init(&none, 3);
	TABLE_ADD(t, value_string("sent"), value_null(), value_distribution(&r, &none));
	table_add_note(t, (const struct value[]){ value_string("ip") }, 1, "n/a: %s", "no hook");
	expect_text(&r, &less,
		"stage  reached by                count     p50     max  step p99  1µs       10ms\n"
		"link   tp netif_receive_skb     18 204  1.0 µs  1.0 µs       n/a  █\n"
		"read   tp tcp_rcv_space_adjust     100  1.0 µs  3.0 ms   ~3.0 ms  █           ▁\n"
		"sent   n/a                           0     n/a     n/a\n"
		"ip                              n/a: no hook\n");
	report_release(&r);
	hist_release(&fast);
	hist_release(&slow);
}

static void a_table_fits(void **state)
{
	static const struct text_style narrow = { .width = 64 }, least = { .width = 40 };
	struct report r;
	struct hist fast, slow;

	(void)state;
	report_init(&r, &nobody);
	two_rows(&r, &fast, &slow);
	expect_text(&r, &narrow,
		"stage  reached ~   count     p50     max  step p99  1us     10ms\n"
		"link   tp netif~  18 204  1.0 us  1.0 us       n/a  @\n"
		"read   tp tcp_r~     100  1.0 us  3.0 ms   ~3.0 ms  @         .\n");
	expect_text(&r, &least,
		"stage  reached~   count     p50     max  step p99\n"
		"link   tp neti~  18 204  1.0 us  1.0 us       n/a\n"
		"read   tp tcp_~     100  1.0 us  3.0 ms   ~3.0 ms\n");
	report_release(&r);
	hist_release(&fast);
	hist_release(&slow);
}

/* A task may be named "\033]0;owned\007": it must not reach the terminal as it is. */
static void names_cannot_steer_the_terminal(void **state)
{
	static const struct text_style ascii = { .width = 100 };
	struct report r;
	struct table *t;

	(void)state;
	report_init(&r, &nobody);
	report_title(&r, "a\033b");
	report_place_findings(&r);
	report_finding(&r, "x\r\ny\xc2\x9bz\xff");
	t = table_new(&r, &(struct column){ .head = "comm" }, 1);
	TABLE_ADD(t, value_string("\033[2J\a"));
	object_add(&r.body, "t", value_table(t));
	expect_text(&r, &ascii, "a?b\nx??y?z?\ncomm\n?[2J?\n");
	report_release(&r);
}

static void sentences_wrap_on_terminals(void **state)
{
	static const struct text_style narrow = { .width = 11, .wrap = true, .utf8 = true };
	struct report r;

	(void)state;
	report_init(&r, &nobody);
	report_title(&r, "title");
	report_summary(&r, "2 s");
	report_summary(&r, "1 lost");
	report_place_findings(&r);
	report_finding(&r, "one two three µµµµ averyverylongword");
	expect_text(&r, &narrow, "title   2 s\n1 lost\none two\nthree µµµµ\naveryverylo\nngword\n");
	report_release(&r);
}

static void reasons_lead_to_their_remedy(void **state)
{
	static const struct text_style plain = { .width = 80, .utf8 = true };
	static const struct text_style terminal = { .width = 80, .utf8 = true, .advice = true };
	struct report r;

	(void)state;
	report_init(&r, &nobody);
	report_place_verdict(&r);
	expect_text(&r, &terminal, "");
	report_reason(&r, "host-noisy", NULL, "noise");
	expect_text(&r, &plain, "partial: noise\n");
	expect_text(&r, &terminal, "partial: noise\nwhat to do: hostlat help host-noisy\n");
	report_reason(&r, "losses", NULL, "lost");
	report_reason(&r, "host-noisy", NULL, "more noise");
	report_reason(&r, "limit", NULL, "full");
	expect_text(&r, &terminal, "partial: noise\npartial: lost\npartial: more noise\n"
				   "partial: full\n"
				   "what to do: hostlat help host-noisy (also losses, limit)\n");
	report_release(&r);
}

static void the_headline_is_first(void **state)
{
	static const struct text_style plain = { .width = 80, .utf8 = true };
	static const struct text_style terminal = { .width = 80, .color = true, .utf8 = true };
	struct report r;

	(void)state;
	report_init(&r, &nobody);
	report_place_findings(&r);
	report_finding(&r, "p99 rose.");
	report_finding(&r, "p99 ros");
	report_headline(&r, "p99 rose; new in B: gzip.");
	report_summary(&r, "2 s");
	expect_text(&r, &plain, "p99 rose; new in B: gzip.   2 s\np99 ros\n");
	report_title(&r, "A and B");
	expect_text(&r, &plain, "p99 rose; new in B: gzip.\nA and B   2 s\np99 ros\n");
	expect_text(&r, &terminal, "\033[1mp99 rose; new in B: gzip.\033[0m\nA and B   2 s\n"
				   "p99 ros\n");
	report_headline_said(&r, "p99 rose; new in B: gzip.");
	expect_text(&r, &plain, "A and B   2 s\np99 rose.\np99 ros\n");
	report_release(&r);
}

static void a_live_table_replaces_itself(void **state)
{
	struct strbuf out = STRBUF_INIT(4096);
	struct live_table live;

	(void)state;
	live_init(&live, -1, true);
	live_draw(&live, "a\nb\n", NULL, &out);
	assert_string_equal(strbuf_str(&out), "\033[?7l\ra\033[K\nb\033[K\n\033[J\033[?7h");
	strbuf_reset(&out);
	live_draw(&live, "c\n", NULL, &out);
	assert_string_equal(strbuf_str(&out), "\033[?7l\r\033[2Ac\033[K\n\033[J\033[?7h");
	assert_int_equal(live.drawn, 1);
	strbuf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_for_people),
		cmocka_unit_test(an_empty_report_is_valid),
		cmocka_unit_test(a_reason_makes_it_partial),
		cmocka_unit_test(strings_are_copied),
		cmocka_unit_test(too_much_is_an_error),
		cmocka_unit_test(a_table_aligns),
		cmocka_unit_test(a_table_fits),
		cmocka_unit_test(names_cannot_steer_the_terminal),
		cmocka_unit_test(sentences_wrap_on_terminals),
		cmocka_unit_test(reasons_lead_to_their_remedy),
		cmocka_unit_test(the_headline_is_first),
		cmocka_unit_test(a_live_table_replaces_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
