/* SPDX-License-Identifier: Apache-2.0 */
/* The CCDF and its band: how often it holds a curve that is known, and what is written. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../sim/load_model.h"
#include "brief.h"
#include "load/ccdf.h"

#define SERVICE_NS 100000
#define REQUESTS 30000
#define LOAD 0.7
#define CONFIDENCE 0.95

struct run {
	struct series series;
	struct hist pooled;
	struct interval_range range;
};

static void run_init(struct run *run, uint64_t duration_ns)
{
	assert_int_equal(series_init(&run->series, duration_ns), 0);
	hist_init(&run->pooled, LOAD_SCHEMA);
}

static void run_release(struct run *run)
{
	series_release(&run->series);
	hist_release(&run->pooled);
}

static void add(struct run *run, uint64_t intended, uint64_t ns)
{
	const struct event_sample s = {
		.intended = intended, .sent = intended, .done = intended + ns };

	assert_int_equal(series_add(&run->series, &s), 0);
}

static void pool(struct run *run)
{
	assert_int_equal(series_pool(&run->series, 0, run->series.n, LOAD_INTENDED,
				     &run->pooled), 0);
	run->range = (struct interval_range){
		.series = &run->series, .to = run->series.n, .which = LOAD_INTENDED,
		.pooled = &run->pooled };
}

static void put_csv(const struct run *run, const struct ccdf_band *band, struct strbuf *csv)
{
	strbuf_puts(csv, CCDF_CSV_HEAD);
	ccdf_each(&run->range, band, ccdf_put_csv, csv);
}

/* ---- coverage ---- */

/* M/M/1: the time in the system is exponential. */
static double truth(uint64_t ns)
{
	return exp(-(double)ns * (1 - LOAD) / SERVICE_NS);
}

/* Returns whether the text read back is the text that was written. */
static bool holds(const struct strbuf *csv)
{
	const char *line = strchr(strbuf_str(csv), '\n') + 1;
	double share, lo, hi;
	uint64_t ns;
	int n;

	for (; *line; line += n) {
		assert_int_equal(sscanf(line, "%lu,%lf,%lf,%lf\n%n", &ns, &share, &lo, &hi, &n), 4);
		assert_true(lo <= share && share <= hi);
		if (truth(ns) < lo || truth(ns) > hi)
			return false;
	}
	return true;
}

static bool covers(const struct run *run, const struct ccdf_band *band)
{
	struct strbuf csv = STRBUF_INIT(1 << 20);
	bool held;

	put_csv(run, band, &csv);
	assert_int_equal(csv.error, 0);
	held = holds(&csv);
	strbuf_release(&csv);
	return held;
}

static void the_band_covers_the_whole_curve(void **state)
{
	const struct ccdf_band naive = {
		.valid = true, .half = sqrt(log(2 / (1 - CONFIDENCE)) / 2 / REQUESTS) };
	struct model model = {
		.service = SERVICE_EXPONENTIAL, .mean_ns = SERVICE_NS, .load = LOAD,
		.duration_ns = (uint64_t)(REQUESTS * (SERVICE_NS / LOAD)) };
	struct requests requests = { 0 };
	const uint32_t runs = brief() ? 20 : 200;
	uint32_t held = 0, naive_held = 0, none = 0;
	struct ccdf_band band;
	double width = 0, bands;
	struct run run;

	(void)state;
	for (model.seed = 1; model.seed <= runs; model.seed++) {
		model_run(&model, &requests);
		run_init(&run, model.duration_ns);
		for (size_t i = 0; i < requests.n; i++)
			add(&run, requests.items[i].intended,
			    requests.items[i].done - requests.items[i].intended);
		pool(&run);
		assert_int_equal(ccdf_band(&run.range, CONFIDENCE, &band), 0);
		if (!band.valid) {
			none++;
			run_release(&run);
			continue;
		}
		width += band.half / naive.half;
		held += covers(&run, &band);
		naive_held += covers(&run, &naive);
		run_release(&run);
	}
	requests_release(&requests);
	bands = runs - none;
	width /= bands;
	print_message("%u of %.0f bands hold the curve, %.1f times as wide as those for "
		      "independent samples, of which %u do; %u runs have none\n", held, bands,
		      width, naive_held, none);
	/* 95 % less 3 standard errors. */
	assert_true(held >= bands * 0.90);
	assert_true(naive_held < bands * 0.5);
	/* By chance, the share is greater in few runs. */
	assert_true(none < runs * (brief() ? 0.3 : 0.1));
	/* D is some 30 here: not wider than that explains. */
	assert_true(width < 10);
}

/* ---- the CSV ---- */

static void expect_csv(const struct run *run, const struct ccdf_band *band, const char *expected)
{
	struct strbuf csv = STRBUF_INIT(4096);

	put_csv(run, band, &csv);
	assert_string_equal(strbuf_str(&csv), expected);
	strbuf_release(&csv);
}

static double quarter(const void *context, uint64_t ns)
{
	(void)context;
	(void)ns;
	return 0.25;
}

static void lines_are_of_occupied_buckets(void **state)
{
	const struct ccdf_band none = { 0 };
	struct ccdf_band some = { .valid = true, .half = 0.3 };
	struct run run;

	(void)state;
	run_init(&run, 0);
	pool(&run);
	expect_csv(&run, &none, "ns,share_above,lo,hi\n");
	add(&run, 0, 0);
	add(&run, 0, 64);
	add(&run, 0, 64);
	add(&run, 0, BUCKET_LIMIT + 1); /* above all edges */
	pool(&run);
	expect_csv(&run, &none, "ns,share_above,lo,hi\n0,0.75,,\n64,0.25,,\n");
	expect_csv(&run, &some, "ns,share_above,lo,hi\n0,0.75,0.45,1\n64,0.25,0,0.55\n");
	/* 3 of 5 requests surely took longer than 0, and perhaps 4; 1 or 2 took longer than 64. */
	run.range.failed = 1;
	expect_csv(&run, &some, "ns,share_above,lo,hi\n0,0.75,0.3,1\n64,0.25,0,0.7\n");
	/* A quarter may have been delayed by the host: the lower edge allows for it. */
	run.range.failed = 0;
	some.touched = quarter;
	expect_csv(&run, &some, "ns,share_above,lo,hi\n0,0.75,0.2,1\n64,0.25,0,0.55\n");
	run_release(&run);
}

static void no_band_where_none_is_known(void **state)
{
	struct ccdf_band band = { .valid = true };
	struct run run;

	(void)state;
	run_init(&run, 0);
	pool(&run);
	assert_int_equal(ccdf_band(&run.range, CONFIDENCE, &band), 0);
	assert_false(band.valid); /* no samples */
	for (uint64_t w = 0; w < INTERVAL_WINDOWS_MIN - 1; w++)
		for (uint64_t i = 0; i < 100; i++)
			add(&run, w << SERIES_SHIFT, 1000 + i);
	pool(&run);
	assert_int_equal(ccdf_band(&run.range, CONFIDENCE, &band), 0);
	assert_false(band.valid); /* too few windows */
	run_release(&run);

	run_init(&run, 0);
	for (uint64_t w = 0; w < 18; w++)
		add(&run, w << SERIES_SHIFT, 1000 + w % 2);
	pool(&run);
	assert_int_equal(ccdf_band(&run.range, CONFIDENCE, &band), 0);
	assert_false(band.valid); /* too few beyond any depth */
	for (uint64_t w = 0; w < 18; w++)
		for (uint64_t i = 0; i < 10; i++)
			add(&run, w << SERIES_SHIFT, 1000 + i % 2);
	hist_reset(&run.pooled);
	pool(&run);
	assert_int_equal(ccdf_band(&run.range, CONFIDENCE, &band), 0);
	assert_true(band.valid); /* now there are enough */
	run_release(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_band_covers_the_whole_curve),
		cmocka_unit_test(lines_are_of_occupied_buckets),
		cmocka_unit_test(no_band_where_none_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
