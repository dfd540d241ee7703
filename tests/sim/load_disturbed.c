/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often `load` gives bounds that are wrong, where latencies are not those of a queue that mixes
 * fast: rare stalls, regimes, long-range dependence; and where the load generator's own host
 * disturbs the measurement. What counts is how often a bound is given and misses the *server's*
 * quantile, over all runs: a run that is n/a doesn't miss, but how many give bounds is told.
 *
 * Bounds of a run alone are judged by that run's truth: what other requests would have seen while
 * the server did the same. So are lower bounds of runs that are n/a, by which --assert refutes.
 *
 * The truth of a cell comes from other runs of the same server, without the client's disturbances.
 * Three controls must fail: bounds that do not allow for delays by the host, the formula for
 * independent samples, and leaving out requests by whether they were under way in a gap.
 *
 * HOSTLAT_LONG=1: 1,000 runs of each cell; the table is docs/results/load-disturbed.md.
 * HOSTLAT_RUNS=N: so many runs; below 50 nothing is judged. Numbers of cells as arguments: only
 * these.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "load/analysis_state.h"
#include "load/gates.h"
#include "load_feed.h"
#include "stats/special.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL
#define MISSES_MOST 0.05
#define ABOVE_MOST 0.025   /* the upper bound is too low */
#define UNDISTURBED_MISSES 0.07
#define UNDISTURBED_GIVEN 0.9
#define EITHER_GIVEN 0.95
#define RUNS_MIN 50
#define AGAIN_RUNS 20 /* runs whose requests make the truth of one run */
#define LEAST_EVERY 4 /* one in so many n/a runs is judged: its truth takes time */
#define TRUTH_RUNS 200
#define QS 3

static const double qs[QS] = { 0.5, 0.99, 0.999 };

/* 100 us services; requests per run = load * duration / service. */
#define QUEUE(l, thousands, ...) { .service = SERVICE_EXPONENTIAL, .mean_ns = 100000, .load = (l), \
	.duration_ns = (uint64_t)((thousands) * 1000.0 * 100000 / (l)), __VA_ARGS__ }
#define STALLS(l, per_s) { .law = (l), .every_ns = (uint64_t)(1e9 / (per_s)),                      \
			   .ns = (uint64_t)(0.02e9 / (per_s)) }
#define GAPS(share) { .law = LAW_EXPONENTIAL, .ns = 2 * NS_PER_MS,                                 \
		      .every_ns = (uint64_t)(2e6 / (share)) }

static const struct cell {
	const char *name;
	struct model model;
	double given_least; /* share of the runs that must give bounds of p50 and p99 */
	double misses_most;          /* 0: MISSES_MOST */
	bool either;                 /* p99 gets one or the other bounds in EITHER_GIVEN */
} cells[] = {
	{ "M/M/1 at 0.5, 8 000", QUEUE(0.5, 8), .given_least = 0.8 },
	{ "M/M/1 at 0.5, 20 000", QUEUE(0.5, 20), .given_least = 0.9 },
	{ "M/M/1 at 0.7, 20 000", QUEUE(0.7, 20), .given_least = 0.65 },
	{ "M/M/1 at 0.7, 40 000", QUEUE(0.7, 40), .given_least = 0.9 },
	{ "M/M/1 at 0.8, 60 000", QUEUE(0.8, 60), .given_least = 0.75 },
	{ "stalls, exponential, 0.5/s", QUEUE(0.1, 30, .stall = STALLS(LAW_EXPONENTIAL, 0.5)),
	  .either = false },
	{ "stalls, exponential, 2/s", QUEUE(0.1, 20, .stall = STALLS(LAW_EXPONENTIAL, 2)),
	  .either = false },
	{ "stalls, Pareto, 0.5/s", QUEUE(0.1, 30, .stall = STALLS(LAW_PARETO, 0.5)),
	  .either = false },
	{ "stalls, Pareto, 2/s", QUEUE(0.1, 20, .stall = STALLS(LAW_PARETO, 2)),
	  .either = false },
	/* Bad for 2 s of each 20 or 40 s: few of them come in a run of 60 s. */
	{ "regimes, 2 of 20 s", QUEUE(0.1, 60, .slow_factor = 3,
		.slow = { .law = LAW_EXPONENTIAL, .every_ns = 20 * NS_PER_S, .ns = 2 * NS_PER_S }),
	  .misses_most = 0.2 },
	{ "regimes, 2 of 40 s", QUEUE(0.1, 60, .slow_factor = 3,
		.slow = { .law = LAW_EXPONENTIAL, .every_ns = 40 * NS_PER_S, .ns = 2 * NS_PER_S }),
	  .misses_most = 1 },
	/* The law of such a server is that of its runs. */
	{ "drift by 20 %", QUEUE(0.3, 60, .drift = 0.2), .either = true },
	{ "shift by 20 %", QUEUE(0.3, 60, .shift = 0.2, .shift_at = 0.5), .either = true },
	{ "slow for 6 of 20 s", QUEUE(0.3, 180, .slow_factor = 1.2,
		.slow = { .law = LAW_PERIODIC, .every_ns = 20 * NS_PER_S, .ns = 6 * NS_PER_S }),
	  .either = true },
	{ "long-range dependence", { .service = SERVICE_LONG, .mean_ns = 100000, .load = 0.5,
		.duration_ns = 12 * NS_PER_S }, .misses_most = 0.1 },
	{ "client gaps 0.1 %", QUEUE(0.5, 40, .client_stall = GAPS(0.001)), .given_least = 0.85 },
	{ "client gaps 0.2 %", QUEUE(0.5, 40, .client_stall = GAPS(0.002)), .given_least = 0.85 },
	{ "client gaps 0.4 %", QUEUE(0.5, 40, .client_stall = GAPS(0.004)), .given_least = 0.85 },
	{ "client gaps 1 %", QUEUE(0.5, 40, .client_stall = GAPS(0.01)), .given_least = 0.85 },
	{ "client gaps 3 %", QUEUE(0.5, 40, .client_stall = GAPS(0.03)), .given_least = 0.85 },
	{ "client gaps 10 %", QUEUE(0.5, 40, .client_stall = GAPS(0.1)), .given_least = 0.85 },
	{ "client gaps 1 %, at 0.8", QUEUE(0.8, 200, .client_stall = GAPS(0.01)),
	  .given_least = 0.8 },
	{ "client gaps 3 %, at 0.8", QUEUE(0.8, 200, .client_stall = GAPS(0.03)),
	  .given_least = 0.8 },
	{ "client gaps 1 %, at 0.9", QUEUE(0.9, 500, .client_stall = GAPS(0.01)),
	  .given_least = 0.25 },
	{ "slips 0.5 %", { .service = SERVICE_EXPONENTIAL, .mean_ns = 8000, .load = 0.1,
		.duration_ns = 4 * NS_PER_S, .slips = 0.005 }, .given_least = 0.9 },
	{ "slips 1 %", { .service = SERVICE_EXPONENTIAL, .mean_ns = 8000, .load = 0.1,
		.duration_ns = 4 * NS_PER_S, .slips = 0.01 }, .given_least = 0.9 },
	{ "slips 2 %", { .service = SERVICE_EXPONENTIAL, .mean_ns = 8000, .load = 0.1,
		.duration_ns = 4 * NS_PER_S, .slips = 0.02 }, .given_least = 0.9 },
	{ "slips 5 %", { .service = SERVICE_EXPONENTIAL, .mean_ns = 8000, .load = 0.1,
		.duration_ns = 4 * NS_PER_S, .slips = 0.05 }, .given_least = 0.9 },
};

/* Numbers of a cell's runs, for one quantile. */
struct tally {
	uint32_t given, below, above; /* bounds given; the truth is below, above them */
	uint32_t own_misses;          /* truth outside of the interval that allows for no delays */
	uint32_t iid_misses;          /* truth outside of the interval for independent samples */
	double width;                 /* sum of widths as shares of the truth */
	uint32_t run_given, run_misses; /* bounds of the run alone; the run's truth is outside */
	uint32_t least_given, least_misses; /* lower bounds of n/a runs; those too high */
};

static bool failed;

static void fail(const char *cell, const char *what)
{
	printf("FAILED: %s: %s\n", cell, what);
	failed = true;
}

static void truth_of_runs(struct model model, uint64_t seed, uint32_t runs, uint64_t ns[QS])
{
	struct requests requests = { 0 };
	struct hist_quantile found;
	struct hist hist;

	model.client_stall.ns = 0;
	model.slips = 0;
	hist_init(&hist, LOAD_SCHEMA);
	for (uint32_t i = 0; i < runs; i++) {
		model.seed = seed + i;
		model_run(&model, &requests);
		for (size_t k = 0; k < requests.n; k++)
			BUG_ON(hist_record(&hist, requests.items[k].done -
						  requests.items[k].intended));
	}
	for (int q = 0; q < QS; q++) {
		BUG_ON(hist_quantile(&hist, qs[q], &found));
		ns[q] = found.value;
	}
	hist_release(&hist);
	requests_release(&requests);
}

/* Other requests meet the same stretches of the server, and the same slow levels. */
static void find_truth_of_run(const struct model *run, uint64_t ns[QS])
{
	struct model model = *run;

	model.stretches_seed = run->seed;
	truth_of_runs(model, 2000000 + run->seed * AGAIN_RUNS, AGAIN_RUNS, ns);
}

static bool gives_run_only(const struct load_analysis *a)
{
	struct load_quantile found;
	bool any = false;

	for (int q = 0; q < QS; q++) {
		load_analysis_quantile(a, LOAD_INTENDED, qs[q], &found);
		any |= found.upper && found.run_only;
	}
	return any;
}

static void judge_run_only(const struct load_quantile *found, uint64_t truth, struct tally *tally)
{
	tally->run_given++;
	tally->run_misses += truth > found->hi_ns || (found->bounded && truth < found->lo_ns);
}

static void judge(const struct load_analysis *a, double q, uint64_t truth, uint64_t run_truth,
		  struct tally *tally)
{
	const struct interval *interval = NULL;
	struct load_quantile found;

	load_analysis_quantile(a, LOAD_INTENDED, q, &found);
	tally->iid_misses += !feed_iid_covers(a, q, truth);
	if (found.upper && found.run_only)
		judge_run_only(&found, run_truth, tally);
	if (!found.upper || found.run_only)
		return;
	for (int i = 0; i < LOAD_QUANTILES; i++) {
		if (a->result.q[i] == q)
			interval = &a->result.quantiles[LOAD_INTENDED][i];
	}
	tally->given++;
	tally->above += truth > found.hi_ns;
	tally->below += found.bounded && truth < found.lo_ns;
	tally->own_misses += truth > interval->hi_ns || truth < interval->own_lo_ns;
	tally->width += (double)(found.hi_ns - found.lo_ns) / (double)truth;
}

/* Judges the lower bound of a run that is n/a, if any, against limits just above its truth. */
static void judge_least(const struct load_analysis *a, const struct model *model,
			struct tally tallies[QS])
{
	struct strbuf why = STRBUF_INIT(4096);
	struct load_scope scope;
	uint64_t truth[QS], least_ns;

	BUG_ON(load_analysis_sound_at(a, 0.99, &scope, &why) < 0);
	strbuf_release(&why);
	if (!scope.below)
		return;
	find_truth_of_run(model, truth);
	for (int q = 0; q < QS; q++) {
		BUG_ON(load_analysis_least(a, qs[q], truth[q], &least_ns));
		tallies[q].least_given += least_ns != 0;
		tallies[q].least_misses += (double)least_ns / scope.drift.fell > (double)truth[q];
	}
}

/*
 * Judges the percentile without the time around gaps. The control leaves out requests because they
 * were under way in a gap: as many of the slow ones are, what is left is too fast, or is too slow
 * because of the bunches after gaps. It gets the same interval, around its own percentile.
 */
static void judge_undisturbed(const struct load_analysis *a, const struct requests *requests,
			      uint64_t truth, struct tally *tally)
{
	const struct spans *stalls = &requests->client_stalls;
	struct hist_quantile naive;
	struct load_quantile found;
	struct hist hist;
	size_t gap = 0;
	double ratio;

	load_analysis_quantile(a, LOAD_UNDISTURBED, 0.99, &found);
	if (!found.bounded)
		return;
	hist_init(&hist, LOAD_SCHEMA);
	for (size_t i = 0; i < requests->n; i++) {
		const struct request_times *r = &requests->items[i];

		while (gap < stalls->n && stalls->items[gap].end < r->intended)
			gap++;
		if (gap == stalls->n || stalls->items[gap].begin > r->done)
			BUG_ON(hist_record(&hist, r->done - r->intended));
	}
	BUG_ON(hist_quantile(&hist, 0.99, &naive));
	hist_release(&hist);
	tally->given++;
	tally->above += truth > found.hi_ns;
	tally->below += truth < found.lo_ns;
	ratio = (double)truth / (double)naive.value * (double)found.ns;
	tally->own_misses += ratio > (double)found.hi_ns || ratio < (double)found.lo_ns;
	tally->width += (double)(found.hi_ns - found.lo_ns) / (double)truth;
}

/* Whether so many of the runs are more than the share allows by chance (1 %). */
static bool too_many(uint32_t n, uint32_t runs, double most)
{
	return n && most < 1 && beta_sf(most, n, (double)(runs - n) + 1) > 0.99;
}

static void print_reasons(const uint32_t reasons[GATES])
{
	for (int i = 0; i < GATES; i++) {
		if (reasons[i])
			printf("%s %u ", gate_name(i), reasons[i]);
	}
}

/* Prints and judges what is left without the time around gaps. */
static void report_undisturbed(const struct cell *cell, uint32_t runs, const struct tally *t)
{
	printf("| %s, undisturbed | p99 | | %.1f %% | %.1f %% | %.1f %% | | ", cell->name,
	       100.0 * t->given / runs, 100.0 * (t->above + t->below) / runs,
	       100.0 * t->above / runs);
	printf("| | | %.2f | %.1f %% | | |\n", t->given ? t->width / t->given : NAN,
	       100.0 * t->own_misses / runs);
	if (runs < RUNS_MIN)
		return;
	if (too_many(t->above + t->below, runs, UNDISTURBED_MISSES))
		fail(cell->name, "the undisturbed percentile misses too often");
	if (too_many(runs - t->given, runs, 1 - UNDISTURBED_GIVEN))
		fail(cell->name, "too few runs give the undisturbed percentile");
}

static void report(const struct cell *cell, uint32_t runs, uint32_t sound,
		   const struct tally tallies[QS], const uint32_t reasons[GATES])
{
	const double most = cell->misses_most > 0 ? cell->misses_most : MISSES_MOST;
	const double above = cell->misses_most > 0 ? cell->misses_most : ABOVE_MOST;

	for (int q = 0; q < QS; q++) {
		const struct tally *t = &tallies[q];

		printf("| %s | p%g | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | ",
		       cell->name, 100 * qs[q], 100.0 * sound / runs, 100.0 * t->given / runs,
		       100.0 * (t->above + t->below) / runs, 100.0 * t->above / runs,
		       100.0 * t->run_given / runs,
		       100.0 * t->run_misses / runs);
		printf("%.1f %% | %.1f %% | ", 100.0 * LEAST_EVERY * t->least_given / runs,
		       100.0 * LEAST_EVERY * t->least_misses / runs);
		printf("%.2f | %.1f %% | %.1f %% | ", t->given ? t->width / t->given : NAN,
		       100.0 * t->own_misses / runs, 100.0 * t->iid_misses / runs);
		if (!q)
			print_reasons(reasons);
		printf("|\n");
		if (runs < RUNS_MIN)
			continue;
		if (too_many(t->above + t->below, runs, most))
			fail(cell->name, "bounds are given and miss too often");
		if (too_many(t->above, runs, above))
			fail(cell->name, "the upper bound is too low too often");
		if (too_many(t->run_misses, runs, MISSES_MOST))
			fail(cell->name, "bounds of a run are given and miss it too often");
		if (too_many(t->least_misses, runs / LEAST_EVERY, ABOVE_MOST))
			fail(cell->name, "a lower bound is above the run's truth too often");
		if (q == 1 && cell->either &&
		    too_many(runs - t->given - t->run_given, runs, 1 - EITHER_GIVEN))
			fail(cell->name, "too few runs give p99 any bounds");
		if (q < 2 && too_many(runs - t->given, runs,
				      1 - cell->given_least))
			fail(cell->name, "too few runs give bounds");
	}
	fflush(stdout);
}

/* Numbers of runs, over all cells with a disturbed client, that a control misses. */
struct controls {
	uint32_t runs, own, naive, iid;
};

/* Whether a control would pass: then this test sees nothing. */
static void check_controls(const struct controls *c)
{
	if (c->runs < RUNS_MIN)
		return;
	if (!too_many(c->own, c->runs, MISSES_MOST))
		fail("control", "intervals that do not allow for the host's delays pass");
	if (!too_many(c->naive, c->runs, UNDISTURBED_MISSES))
		fail("control", "leaving out what was under way in a gap passes");
	if (!too_many(c->iid, c->runs, MISSES_MOST))
		fail("control", "intervals for independent samples pass");
}

static void run_cell(const struct cell *cell, uint32_t runs, struct controls *controls)
{
	struct tally tallies[QS] = { 0 }, undisturbed = { 0 };
	struct requests requests = { 0 };
	uint64_t truth[QS], run_truth[QS] = { 0 };
	uint32_t sound = 0, reasons[GATES] = { 0 };

	truth_of_runs(cell->model, 1000000, runs < TRUTH_RUNS ? runs : TRUTH_RUNS, truth);
	for (uint32_t i = 0; i < runs; i++) {
		struct model model = cell->model;
		struct load_analysis *a = feed_analysis(&model, 1, 0.99, 0);
		struct feed_agent agent = {
			.requests = &requests, .faults = { .gaps = true, .unstamped = 1 } };

		model.seed = i + 1;
		model_run(&model, &requests);
		a->config.excise = true;
		feed(&agent, 1, model.duration_ns, &a, 1);
		BUG_ON(load_analysis_finish(a));
		judge_undisturbed(a, &requests, truth[1], &undisturbed);
		for (int k = 0; k < GATES; k++)
			reasons[k] += gate_objects(&a->result.gates[k]);
		if (load_analysis_sound(a)) {
			sound++;
			if (gives_run_only(a))
				find_truth_of_run(&model, run_truth);
			for (int q = 0; q < QS; q++)
				judge(a, qs[q], truth[q], run_truth[q], &tallies[q]);
		} else if (i % LEAST_EVERY == 0) {
			judge_least(a, &model, tallies);
		}
		load_analysis_free(a);
	}
	report(cell, runs, sound, tallies, reasons);
	if (cell->model.client_stall.ns) {
		report_undisturbed(cell, runs, &undisturbed);
		controls->runs += runs;
		controls->own += tallies[1].own_misses;
		controls->naive += undisturbed.own_misses;
		controls->iid += tallies[1].iid_misses;
	}
	requests_release(&requests);
}

int main(int argc, char **argv)
{
	const char *full_length = getenv("HOSTLAT_LONG"), *some = getenv("HOSTLAT_RUNS");
	const bool full = full_length && *full_length;
	const uint32_t runs = some ? (uint32_t)atoi(some) : full ? 1000 : 50;
	struct controls controls = { 0 };

	printf("| server and client | quantile | sound | bounds given | miss | upper too low | "
	       "of the run | miss it | lower alone | miss it | width | without allowance | "
	       "iid formula | reasons |\n"
	       "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
		bool asked = argc < 2;

		for (int k = 1; k < argc; k++)
			asked |= (size_t)atoi(argv[k]) == i;
		if (asked)
			run_cell(&cells[i], runs, &controls);
	}
	if (argc < 2)
		check_controls(&controls);
	return failed;
}
