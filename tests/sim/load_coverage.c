/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do the intervals of `load` cover as often as they say? Queues whose truth is known are simulated
 * many times, and their requests go through the real analysis, once until the end and once with
 * stopping as soon as the interval is narrow enough.
 *
 * Truth and oracle of a cell come from as many other runs of the same length: the pooled quantile,
 * and the interval p -+ z standard deviations of F(truth) between runs, read off the same
 * histogram, with z for the confidence that the analysis works with. The simulator itself is held
 * to the closed forms of M/M/1 and M/D/1 first. And the formula for independent samples goes
 * through the same check: it must fail.
 *
 * The bound of the coverage (1 %, Clopper and Pearson) is that of each quantile in the long test;
 * 200 runs are too few for it, and there it is that of the cell's three quantiles together.
 *
 * HOSTLAT_LONG=1: all cells, 1,000 runs each; the table is docs/results/load-coverage.md. Numbers
 * of cells as arguments: only these. HOSTLAT_RUNS=N: so many runs; below 100 nothing is judged.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "load/analysis_state.h"
#include "load/gates.h"
#include "load_feed.h"
#include "stats/special.h"

#define SERVICE_NS 100000
#define COVERAGE_LEAST 0.93
#define WIDTH_MOST 1.4
#define NA_MOST 0.2
#define RUNS_MIN 100   /* to be judged */
#define LOOK_WIDTH 2.8 /* width at which the oracle looks last: what --ci-width asks for */
#define QS 3

static const double qs[QS] = { 0.5, 0.9, 0.99 };
static const char *const service_names[] = { "M/M/1", "M/D/1", "bimodal", "AR(1)" };

/* Requests so that some 15 (quick) or 20 (long) effective ones lie beyond p99. */
static const struct cell {
	enum service service;
	double load;
	uint32_t quick, full; /* thousands of requests; quick 0: only in the long test */
} cells[] = {
	{ SERVICE_EXPONENTIAL, 0.2, 0, 50 }, { SERVICE_EXPONENTIAL, 0.5, 50, 60 },
	{ SERVICE_EXPONENTIAL, 0.7, 0, 100 }, { SERVICE_EXPONENTIAL, 0.8, 180, 200 },
	{ SERVICE_EXPONENTIAL, 0.9, 0, 800 },
	{ SERVICE_FIXED, 0.2, 0, 50 }, { SERVICE_FIXED, 0.5, 50, 60 },
	{ SERVICE_FIXED, 0.7, 0, 80 }, { SERVICE_FIXED, 0.8, 100, 120 },
	{ SERVICE_FIXED, 0.9, 300, 500 },
	{ SERVICE_BIMODAL, 0.2, 50, 50 }, { SERVICE_BIMODAL, 0.5, 50, 60 },
	{ SERVICE_BIMODAL, 0.7, 0, 140 }, { SERVICE_BIMODAL, 0.8, 0, 320 },
	{ SERVICE_BIMODAL, 0.9, 0, 1200 },
	{ SERVICE_AR1, 0.2, 60, 60 }, { SERVICE_AR1, 0.5, 100, 120 },
	{ SERVICE_AR1, 0.7, 0, 350 }, { SERVICE_AR1, 0.8, 0, 600 },
	{ SERVICE_AR1, 0.9, 0, 2000 },
};

struct truth {
	uint64_t ns[QS];
	double sd[QS];        /* deviation of F(truth) over runs of full length */
	struct hist pooled;
};

/* Results for one quantile and one way to stop. */
struct tally {
	uint32_t runs, covered, iid_covered, unbounded;
	double *ratios;
};

static bool failed;

static void fail(const char *what)
{
	printf("FAILED: %s\n", what);
	failed = true;
}

/* ---- truth ---- */

static struct model model_of(const struct cell *cell, uint32_t thousands)
{
	return (struct model){
		.service = cell->service, .mean_ns = SERVICE_NS, .load = cell->load,
		.duration_ns = (uint64_t)(thousands * 1000.0 * SERVICE_NS / cell->load) };
}

static void record_all(const struct requests *r, struct hist *into)
{
	for (size_t i = 0; i < r->n; i++)
		BUG_ON(hist_record(into, r->items[i].done - r->items[i].intended));
}

static void find_truth(struct model model, uint32_t runs, struct truth *out)
{
	struct hist *each = calloc(runs, sizeof(*each));
	struct requests requests = { 0 };
	struct hist_quantile found;

	BUG_ON(!each);
	hist_init(&out->pooled, LOAD_SCHEMA);
	for (uint32_t i = 0; i < runs; i++) {
		hist_init(&each[i], LOAD_SCHEMA);
		model.seed = 1000000 + i;
		model_run(&model, &requests);
		record_all(&requests, &each[i]);
		BUG_ON(hist_merge(&out->pooled, &each[i]));
	}
	for (int q = 0; q < QS; q++) {
		double share, squares = 0;

		BUG_ON(hist_quantile(&out->pooled, qs[q], &found));
		out->ns[q] = found.value;
		share = (double)interval_at_most(&out->pooled, found.value) /
			(double)out->pooled.count;
		for (uint32_t i = 0; i < runs; i++) {
			double own = (double)interval_at_most(&each[i], found.value) /
				(double)each[i].count;

			squares += (own - share) * (own - share);
		}
		out->sd[q] = sqrt(squares / runs);
	}
	for (uint32_t i = 0; i < runs; i++)
		hist_release(&each[i]);
	free(each);
	requests_release(&requests);
}

/* For a run of that share of the full length, and an interval of that confidence. */
static double oracle_width(const struct truth *t, int q, double length, double confidence)
{
	const double z = normal_quantile((1 + confidence) / 2), half = z * t->sd[q] / sqrt(length);
	struct hist_quantile lo, hi;

	BUG_ON(hist_quantile(&t->pooled, fmax(0, qs[q] - half), &lo));
	BUG_ON(hist_quantile(&t->pooled, fmin(1, qs[q] + half), &hi));
	return (double)(hi.hi - lo.lo);
}

/* Against p99 of 4 million requests. */
static void check_closed_form(enum service service, double load, double truth)
{
	struct model model = { .service = service, .mean_ns = SERVICE_NS, .load = load, .seed = 7 };
	struct requests requests = { 0 };
	struct hist_quantile found;
	struct hist hist;

	model.duration_ns = (uint64_t)(4e6 * SERVICE_NS / load);
	hist_init(&hist, LOAD_SCHEMA);
	model_run(&model, &requests);
	record_all(&requests, &hist);
	BUG_ON(hist_quantile(&hist, 0.99, &found));
	printf("%s at %.1f: p99 %.3f service times, closed form %.3f\n", service_names[service],
	       load, (double)found.value / SERVICE_NS, truth);
	/* At 0.9, 4 million requests are worth some 13,000: 2 standard errors are 3 %. */
	if (fabs((double)found.value / SERVICE_NS / truth - 1) > (load > 0.85 ? 0.05 : 0.02))
		fail("the simulator is off its closed form");
	hist_release(&hist);
	requests_release(&requests);
}

static void check_closed_forms(void)
{
	static const double loads[] = { 0.2, 0.5, 0.7, 0.8, 0.9 };
	static const double md1[] = { 2.434, 4.336, 7.485, 11.356, 22.897 };

	for (size_t i = 0; i < ARRAY_LEN(loads); i++) {
		check_closed_form(SERVICE_EXPONENTIAL, loads[i], -log(0.01) / (1 - loads[i]));
		check_closed_form(SERVICE_FIXED, loads[i], md1[i]);
	}
}

/* ---- runs ---- */

/* Returns how many of the quantiles were covered, or -1 for n/a. */
static int judge(struct load_analysis *a, const struct model *model, const struct truth *t,
		 struct tally *tallies, uint32_t *reasons)
{
	struct load_quantile found;
	int covered = 0;
	double length;

	BUG_ON(load_analysis_finish(a));
	for (int i = 0; i < GATES; i++)
		reasons[i] += !a->result.gates[i].pass;
	if (!load_analysis_sound(a) || a->result.run_only)
		return -1;
	length = ldexp(a->result.to, (int)a->series.shift) / (double)model->duration_ns;
	for (int q = 0; q < QS; q++) {
		struct tally *tally = &tallies[q];
		bool covers;

		load_analysis_quantile(a, LOAD_INTENDED, qs[q], &found);
		if (!found.bounded || found.run_only) {
			tally->unbounded++;
			covered++;
			continue;
		}
		covers = found.lo_ns <= t->ns[q] && t->ns[q] <= found.hi_ns;
		tally->ratios[tally->runs++] = (double)(found.hi_ns - found.lo_ns) /
			oracle_width(t, q, fmin(length, 1), a->look_confidence);
		tally->covered += covers;
		covered += covers;
		tally->iid_covered += feed_iid_covers(a, qs[q], t->ns[q]);
	}
	return covered;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *x, uint32_t n)
{
	qsort(x, n, sizeof(*x), by_value);
	return n ? x[n / 2] : NAN;
}

/* Clopper and Pearson: P(at least `k` of `n`) is 1 % for the true share it gives. */
static double lower_bound(double k, double n)
{
	double lo = 0, hi = 1;

	if (k <= 0)
		return 0;
	for (int i = 0; i < 60; i++) {
		double p = (lo + hi) / 2;

		if (beta_sf(p, k, n - k + 1) > 0.99)
			lo = p;
		else
			hi = p;
	}
	return lo;
}

/* ---- cells ---- */

struct outcome {
	struct tally tallies[QS];
	uint32_t runs, sound, by_count[QS + 1], reasons[GATES];
};

static void outcome_init(struct outcome *o, uint32_t runs)
{
	*o = (struct outcome){ .runs = runs };
	for (int q = 0; q < QS; q++) {
		o->tallies[q].ratios = calloc(runs, sizeof(double));
		BUG_ON(!o->tallies[q].ratios);
	}
}

static void outcome_release(struct outcome *o)
{
	for (int q = 0; q < QS; q++)
		free(o->tallies[q].ratios);
}

/*
 * The bound of all three quantiles together: those of one run are not independent, so they count as
 * fewer by the variance that the number of covered ones has between runs.
 */
static double pooled_bound(const struct outcome *o)
{
	double mean = 0, variance = 0, worth = 1;

	for (int k = 0; k <= QS; k++)
		mean += (double)k * o->by_count[k] / o->sound;
	for (int k = 0; k <= QS; k++)
		variance += (k - mean) * (k - mean) * o->by_count[k] / o->sound;
	if (variance > 0)
		worth = fmax(1, variance / (mean * (1 - mean / QS)));
	return lower_bound(mean * o->sound / worth, QS * o->sound / worth);
}

static void print_reasons(const struct outcome *o)
{
	for (int i = 0; i < GATES; i++) {
		if (o->reasons[i])
			printf("  %s %u", gate_name(i), o->reasons[i]);
	}
}

static void report(const struct cell *cell, uint32_t thousands, const struct truth *t,
		   struct outcome *o, const char *stopping, bool strict)
{
	const double na = 1 - (double)o->sound / o->runs, bound = pooled_bound(o);

	for (int q = 0; q < QS; q++) {
		struct tally *y = &o->tallies[q];
		const double own = lower_bound(y->covered, y->runs);
		const double ratio = median(y->ratios, y->runs);

		printf("| %s | %.1f | %u 000 | %s | p%g | %.3f | ", service_names[cell->service],
		       cell->load, thousands, stopping, 100 * qs[q],
		       (double)t->ns[q] / SERVICE_NS);
		printf("%.3f | %.3f | %.2f | %.3f | %.1f %% |", (double)y->covered / y->runs,
		       strict ? own : bound, ratio, (double)y->iid_covered / y->runs, 100 * na);
		if (q == 0)
			print_reasons(o);
		printf("\n");
		if (strict && own < COVERAGE_LEAST)
			fail("the lower bound of the coverage is below 93 %");
		if (!(ratio <= WIDTH_MOST))
			fail("wider than 1.4 times the oracle");
		/* At 0.8 and more the samples depend so much that the iid formula must be off. */
		if (cell->load > 0.75 && lower_bound(y->iid_covered, y->runs) >= COVERAGE_LEAST)
			fail("the formula for independent samples passes: this test sees nothing");
	}
	if (!strict && bound < COVERAGE_LEAST)
		fail("the lower bound of the coverage is below 93 %");
	if (na > NA_MOST)
		fail("more than 20 % n/a");
	fflush(stdout);
}

static void count(struct outcome *o, int covered)
{
	if (covered < 0)
		return;
	o->sound++;
	o->by_count[covered]++;
}

static void run_cell(const struct cell *cell, uint32_t thousands, uint32_t runs, bool strict)
{
	struct model model = model_of(cell, thousands);
	struct outcome fixed, stopping;
	struct requests requests = { 0 };
	struct truth truth;

	find_truth(model, runs, &truth);
	outcome_init(&fixed, runs);
	outcome_init(&stopping, runs);
	for (uint32_t i = 0; i < runs; i++) {
		const uint64_t width =
			(uint64_t)(LOOK_WIDTH * oracle_width(&truth, QS - 1, 1, 0.95));
		struct load_analysis *both[] = {
			feed_analysis(&model, 1, 0.99, 0), feed_analysis(&model, 1, 0.99, width) };
		struct feed_agent agent = { .requests = &requests, .faults.unstamped = 1 };

		model.seed = i + 1;
		model_run(&model, &requests);
		feed(&agent, 1, model.duration_ns, both, 2);
		count(&fixed, judge(both[0], &model, &truth, fixed.tallies, fixed.reasons));
		count(&stopping, judge(both[1], &model, &truth, stopping.tallies,
				       stopping.reasons));
		load_analysis_free(both[0]);
		load_analysis_free(both[1]);
	}
	report(cell, thousands, &truth, &fixed, "end", strict);
	report(cell, thousands, &truth, &stopping, "width", strict);
	failed &= runs >= RUNS_MIN;
	outcome_release(&fixed);
	outcome_release(&stopping);
	hist_release(&truth.pooled);
	requests_release(&requests);
}

static bool asked_for(int argc, char **argv, size_t cell)
{
	for (int i = 1; i < argc; i++) {
		if ((size_t)atoi(argv[i]) == cell)
			return true;
	}
	return argc < 2;
}

int main(int argc, char **argv)
{
	const char *full_length = getenv("HOSTLAT_LONG"), *some = getenv("HOSTLAT_RUNS");
	const bool full = full_length && *full_length;
	const uint32_t runs = some ? (uint32_t)atoi(some) : full ? 1000 : 200;

	if (argc < 2 && runs >= RUNS_MIN)
		check_closed_forms();
	printf("| service | load | requests | until | quantile | truth | coverage | at least | "
	       "width | iid formula | n/a |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
		const uint32_t thousands = full ? cells[i].full : cells[i].quick;

		if (thousands && asked_for(argc, argv, i))
			run_cell(&cells[i], thousands, runs, full);
	}
	return failed;
}
