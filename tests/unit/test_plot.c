/* SPDX-License-Identifier: Apache-2.0 */
/* Plots in characters: scales, signs, and rows that cannot be drawn. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/utf8.h"
#include "output/text.h"
#include "report/report.h"

static const struct provenance nobody = { .version = "1", .command = "test", .schema = 1 };
static const struct text_style narrow = { .width = 28, .utf8 = true };
static const struct text_style ascii = { .width = 28 };

static const struct column columns[] = {
	{ .name = "x" }, { .name = "y" }, { .name = "lo" }, { .name = "hi" },
	{ .name = "verdict" }, { .name = "mark" },
};

static const struct plot points = {
	.title = "t", .rows = "rows", .x = "x", .points = { "y", "y" }, .lo = "lo", .hi = "hi",
	.interval = "interval", .verdict = { "verdict", "n/a" }, .good = "ok",
};

static const struct plot bars = {
	.title = "t", .rows = "rows", .x = "x", .steps = true, .bars = { "y", "y" },
	.marks = { { "mark", 'm', "marked" } },
};

struct drawing {
	struct report r;
	struct table *t;
	struct strbuf out;
};

static void begin(struct drawing *d)
{
	report_init(&d->r, &nobody);
	d->t = table_new(&d->r, columns, sizeof(columns) / sizeof(columns[0]));
	strbuf_init(&d->out, 1 << 16);
	object_add(&d->r.body, "rows", value_table(d->t));
}

static void end(struct drawing *d)
{
	strbuf_release(&d->out);
	report_release(&d->r);
}

static const char *draw(struct drawing *d, const struct plot *plot, const struct text_style *style)
{
	object_add(&d->r.body, NULL, value_plot(&d->r, plot));
	text_report(&d->r, style, &d->out);
	assert_int_equal(report_error(&d->r), 0);
	assert_int_equal(d->out.error, 0);
	return strbuf_str(&d->out);
}

static void empty_and_missing_rows(void **state)
{
	struct plot elsewhere = points;
	struct drawing d;

	(void)state;
	begin(&d);
	assert_string_equal(draw(&d, &points, &narrow),
			    "t: o y, x n/a, no valid interval\n"
			    "            n/a: no row has a value\n");
	end(&d);
	begin(&d);
	elsewhere.rows = "other";
	assert_string_equal(draw(&d, &elsewhere, &narrow),
			    "t: o y, x n/a, no valid interval\n"
			    "            n/a: no row has a value\n");
	end(&d);
	/* Numbers that are null, not finite or not above 0 on a logarithmic axis. */
	begin(&d);
	elsewhere = points;
	elsewhere.log_y = true;
	TABLE_ADD(d.t, value_number(1), value_null());
	TABLE_ADD(d.t, value_number(2), value_fraction(NAN));
	TABLE_ADD(d.t, value_number(3), value_fraction(-INFINITY));
	TABLE_ADD(d.t, value_number(4), value_ns(0));
	TABLE_ADD(d.t, value_null(), value_ns(7));
	TABLE_ADD(d.t, value_string("5"), value_ns(7));
	assert_string_equal(draw(&d, &elsewhere, &narrow),
			    "t: o y, x n/a, no valid interval\n"
			    "            n/a: no row has a value\n");
	end(&d);
}

static void one_point_is_in_the_middle(void **state)
{
	struct drawing d;

	(void)state;
	begin(&d);
	TABLE_ADD(d.t, value_number(10), value_ns(2000), value_null(), value_null(),
		  value_string("ok"));
	assert_string_equal(draw(&d, &points, &narrow),
			    "t: o y, x n/a, no valid interval\n"
			    "    3.0 µs |\n"
			    "           |\n"
			    "    2.4 µs |\n"
			    "           |        o\n"
			    "    1.9 µs |\n"
			    "           |\n"
			    "    1.3 µs |\n"
			    "           |\n"
			    "           +----------------\n"
			    "            5      10     15\n");
	end(&d);
}

/* A violation has its own sign, an interval reaches from lo to hi, and n/a is at the bottom. */
static void points_with_intervals(void **state)
{
	struct drawing d;

	(void)state;
	begin(&d);
	TABLE_ADD(d.t, value_number(0), value_ns(100), value_ns(100), value_ns(300),
		  value_string("ok"));
	TABLE_ADD(d.t, value_number(5), value_ns(500), value_null(), value_ns(800),
		  value_string("n/a"));
	TABLE_ADD(d.t, value_number(10), value_ns(700), value_ns(600), value_null(),
		  value_string("ok"));
	TABLE_ADD(d.t, value_number(15), value_null(), value_null(), value_null(),
		  value_string("n/a"));
	assert_string_equal(draw(&d, &points, &narrow),
			    "t: o y, x n/a, | interval\n"
			    "    800 ns |     |\n"
			    "           |     |    o\n"
			    "    600 ns |     |\n"
			    "           |     x\n"
			    "    400 ns |\n"
			    "           ||\n"
			    "    200 ns ||\n"
			    "           |o              x\n"
			    "           +----------------\n"
			    "            0      7.5    15\n");
	end(&d);
}

/* Each decade is as high as the other; a lo of 0 reaches the lower edge. */
static void logarithmic_axes(void **state)
{
	struct plot log = points;
	struct drawing d;

	(void)state;
	log.log_x = log.log_y = true;
	log.verdict.column = NULL;
	begin(&d);
	TABLE_ADD(d.t, value_ns(1000), value_fraction(1), value_number(1), value_number(1));
	TABLE_ADD(d.t, value_ns(10000), value_fraction(0.1), value_number(0), value_number(0.1));
	TABLE_ADD(d.t, value_ns(100000), value_fraction(0.01), value_number(0), value_number(1));
	assert_string_equal(draw(&d, &log, &narrow),
			    "t: o y, | interval\n"
			    "     100 % |o              |\n"
			    "           |               |\n"
			    "      27 % |               |\n"
			    "           |        o      |\n"
			    "     7.2 % |        |      |\n"
			    "           |        |      |\n"
			    "     1.9 % |        |      |\n"
			    "           |        |      o\n"
			    "           +----------------\n"
			    "            1.0 µs    100 µs\n");
	end(&d);
}

/* A step lasts until the next one; where a row has no value there is nothing. */
static const char *const steps_expected =
	"t: ▆ y; below: m marked\n"
	"         7 |            ▄▄▄▄\n"
	"           |            ████\n"
	"         5 |            ████\n"
	"           |            ████\n"
	"         3 |    ▄▄▄▄    ████\n"
	"           |    ████    ████\n"
	"         1 |    ████    ████\n"
	"           |▄▄▄▄████    ████\n"
	"           +----------------\n"
	"                mmmm\n"
	"            0       2      4\n";

static void draw_steps(struct drawing *d)
{
	const struct value none = value_null();
	const bool marked[] = { false, true, false, false };
	const int values[] = { 0, 3, -1, 7 };

	begin(d);
	for (int i = 0; i < 4; i++)
		TABLE_ADD(d->t, value_u64((uint64_t)i),
			  values[i] < 0 ? none : value_u64((uint64_t)values[i]),
			  value_u64((uint64_t)i + 1), none, none, value_bool(marked[i]));
}

static void bars_in_steps(void **state)
{
	struct plot plot = bars;
	struct drawing d;

	(void)state;
	plot.x_end = "lo";
	draw_steps(&d);
	assert_string_equal(draw(&d, &plot, &narrow), steps_expected);
	end(&d);
}

/* Without UTF-8 each sign is one other character, in the same place. */
static void bars_in_ascii(void **state)
{
	struct plot plot = bars;
	struct drawing d;
	const char *text;
	size_t len, n = 0;

	(void)state;
	plot.x_end = "lo";
	draw_steps(&d);
	text = draw(&d, &plot, &ascii);
	for (const char *s = steps_expected; *s; s += len, n++) {
		const uint32_t code = utf8_next(s, &len);

		assert_true((unsigned char)text[n] < 0x80);
		assert_int_equal(text[n], code == 0x2588 ? '@' : code == 0x2584 ? '=' :
					  code == 0x2586 ? '*' : (int)code);
	}
	assert_int_equal(text[n], '\0');
	end(&d);
}

/* More rows than columns: each column shows its last row, and a violation is never hidden. */
static void more_rows_than_columns(void **state)
{
	struct drawing d;
	int bad = 0;

	(void)state;
	begin(&d);
	for (int i = 0; i < 10000; i++)
		TABLE_ADD(d.t, value_number(i), value_ns(1000 + (i > 5000)), value_null(),
			  value_null(), value_string(i == 4321 ? "n/a" : "ok"));
	for (const char *s = strchr(draw(&d, &points, &narrow), '\n'); *s; s++)
		bad += *s == 'x';
	assert_int_equal(bad, 1);
	end(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_and_missing_rows),
		cmocka_unit_test(one_point_is_in_the_middle),
		cmocka_unit_test(points_with_intervals),
		cmocka_unit_test(logarithmic_axes),
		cmocka_unit_test(bars_in_steps),
		cmocka_unit_test(bars_in_ascii),
		cmocka_unit_test(more_rows_than_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
