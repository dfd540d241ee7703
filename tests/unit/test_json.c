/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as another program reads it: Python's parser is the judge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "base/strbuf.h"
#include "output/json.h"
#include "output/json_writer.h"
#include "report/report.h"
#include "stats/hist.h"

static const struct provenance nobody = {
	.version = "1", .command = "test", .schema = 7, .host = "h", .started_ns = UINT64_MAX,
};

/* Runs `python` with the document's text as `text` and its value as `d`. */
static void judge(const struct strbuf *json, const char *python)
{
	char command[8192];
	FILE *pipe;

	assert_int_equal(json->error, 0);
	snprintf(command, sizeof(command),
		 "python3 -c 'import json, sys\n"
		 "text = sys.stdin.buffer.read().decode(\"utf-8\")\n"
		 "def constant(s): raise ValueError(s)\n"
		 "d = json.loads(text, parse_constant=constant)\n"
		 "%s'", python);
	pipe = popen(command, "w");
	assert_non_null(pipe);
	assert_int_equal(fwrite(json->buf, 1, json->len, pipe), json->len);
	assert_int_equal(pclose(pipe), 0);
}

static void strings_survive(void **state)
{
	struct strbuf out = STRBUF_INIT(1 << 20);
	struct json_writer w;
	char s[4] = "a?b";

	(void)state;
	json_writer_init(&w, &out, 0);
	json_begin_array(&w, NULL);
	for (int byte = 1; byte < 256; byte++) {
		s[1] = (char)byte;
		json_string(&w, NULL, s);
	}
	json_string(&w, NULL, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa2");
	/* overlong, surrogate, too great, cut off at the end */
	json_string(&w, NULL, "\xc0\x80|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82");
	json_string(&w, NULL, NULL);
	json_end_array(&w);
	judge(&out,
	      "bad = chr(0xfffd)\n"
	      "for n in range(1, 256):\n"
	      "    assert d[n - 1] == \"a\" + (chr(n) if n < 128 else bad) + \"b\", n\n"
	      "assert d[255] == \"\\u00e9 \\u20ac \\U0001f422\"\n"
	      "assert d[256] == bad * 2 + \"|\" + bad * 3 + \"|\" + bad * 4 + \"|\" + bad * 2\n"
	      "assert d[257] is None and len(d) == 258\n");
	strbuf_release(&out);
}

static void numbers_are_exact(void **state)
{
	struct strbuf out = STRBUF_INIT(1 << 20);
	struct json_writer w;

	(void)state;
	json_writer_init(&w, &out, 1);
	json_begin_object(&w, NULL);
	json_u64(&w, "a", UINT64_MAX);
	json_s64(&w, "b", INT64_MIN);
	json_double(&w, "c", 0.1234564);
	json_double(&w, "d", NAN);
	json_double(&w, "e", INFINITY);
	json_bool(&w, "f", true);
	json_begin_object(&w, "\"g\n");
	json_end_object(&w);
	json_end_object(&w);
	judge(&out, "assert d == {\"a\": 2**64 - 1, \"b\": -2**63, \"c\": 0.123456, \"d\": None,"
		    " \"e\": None, \"f\": True, \"\\\"g\\n\": {}}, d\n");
	strbuf_release(&out);
}

static void fill(struct report *r, struct hist *h, struct hist *none)
{
	static const struct column columns[] = {
		{ .name = "stage" }, { .head = "text only" },
		{ .name = "d", .flags = COLUMN_INLINE }, { .name = "step" }, { .name = "youngest" },
	};
	struct table *t = table_new(r, columns, 5);
	struct object *o = object_new(r);

	hist_init(h, 3);
	hist_init(none, 3);
	assert_int_equal(hist_record_n(h, 0, 2), 0);
	assert_int_equal(hist_record_n(h, 1000, 98), 0);
	assert_int_equal(hist_record(h, 1ULL << 50), 0);
	TABLE_ADD(t, value_string("read"), value_string("x"), value_distribution(r, h),
		  value_distribution(r, none), value_absent());
	TABLE_ADD(t, value_string("link"), value_string("x"), value_distribution(r, none),
		  value_null());
	table_add_note(t, (const struct value[]){ value_string("ip") }, 1, "n/a");
	object_add(o, "x_ns", value_ns(5));
	object_add(o, "y_ns", value_sns(-5));
	object_add(o, "z", value_fraction(0.25));
	object_add(o, "n", value_number(-19998.5));
	object_add(o, "inf", value_number(HUGE_VAL));
	object_add(&r->body, "o", value_object(o));
	object_add(&r->body, "stages", value_table(t));
	report_place_findings(r);
	report_place_verdict(r);
	report_finding(r, "a \"finding\"");
}

static void a_report_keeps_its_contract(void **state)
{
	struct strbuf out = STRBUF_INIT(1 << 20);
	struct hist h, none;
	struct report r;

	(void)state;
	report_init(&r, &nobody);
	fill(&r, &h, &none);
	json_report(&r, JSON_DOCUMENT, &out);
	judge(&out,
	      "assert list(d) == [\"hostlat\", \"o\", \"stages\", \"findings\"], list(d)\n"
	      "assert d[\"hostlat\"] == {\"version\": \"1\", \"command\": \"test\", \"schema\": 7,"
	      " \"host\": \"h\", \"started_ns\": 2**64 - 1}\n"
	      "assert d[\"o\"] == {\"x_ns\": 5, \"y_ns\": -5, \"z\": 0.25,"
	      " \"n\": -19998.5, \"inf\": None}\n"
	      "read, link = d[\"stages\"]\n"
	      "assert list(read) == [\"stage\", \"count\", \"sum_ns\", \"min_ns\", \"max_ns\","
	      " \"quantiles\", \"buckets\", \"step\"], list(read)\n"
	      "assert read[\"count\"] == 101 and read[\"min_ns\"] == 0\n"
	      "assert read[\"sum_ns\"] == 98000 + 2**50 and read[\"max_ns\"] == 2**50\n"
	      "assert [q[\"q\"] for q in read[\"quantiles\"]] == [0.5, 0.9, 0.99, 0.999]\n"
	      "for q in read[\"quantiles\"][:3]:"
	      " assert q[\"lo_ns\"] <= q[\"ns\"] <= q[\"hi_ns\"]\n"
	      "assert read[\"quantiles\"][3] == {\"q\": 0.999, \"ns\": None, \"lo_ns\": None,"
	      " \"hi_ns\": None}\n"
	      "assert read[\"buckets\"] == [{\"le_ns\": 0, \"count\": 2}, {\"le_ns\": 1024,"
	      " \"count\": 98}, {\"le_ns\": None, \"count\": 1}], read[\"buckets\"]\n"
	      "empty = {\"count\": 0, \"sum_ns\": 0, \"min_ns\": None, \"max_ns\": None,"
	      " \"quantiles\": [{\"q\": q, \"ns\": None, \"lo_ns\": None, \"hi_ns\": None}"
	      " for q in (0.5, 0.9, 0.99, 0.999)], \"buckets\": []}\n"
	      "assert read[\"step\"] == empty\n"
	      "assert link == {\"stage\": \"link\", **empty, \"step\": None}, link\n"
	      "assert d[\"findings\"] == [\"a \\\"finding\\\"\"]\n");
	report_release(&r);
	hist_release(&h);
	strbuf_release(&out);
}

static void reasons_come_with_the_verdict(void **state)
{
	struct strbuf out = STRBUF_INIT(1 << 20);
	struct hist h, none;
	struct report r;

	(void)state;
	report_init(&r, &nobody);
	fill(&r, &h, &none);
	report_reason(&r, "losses", NULL, "m");
	json_report(&r, JSON_LINE, &out);
	assert_ptr_equal(strchr(out.buf, '\n'), out.buf + out.len - 1);
	judge(&out, "assert d[\"verdict\"] == \"partial\"\n"
		    "assert d[\"reasons\"] == [{\"code\": \"losses\", \"message\": \"m\","
		    " \"evidence\": None}]\n");
	report_release(&r);
	hist_release(&h);
	strbuf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_survive),
		cmocka_unit_test(numbers_are_exact),
		cmocka_unit_test(a_report_keeps_its_contract),
		cmocka_unit_test(reasons_come_with_the_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
