/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does `fleet report` find applications that wait for others' problems, and only those? Fleets with
 * a known truth: none waits for another, with several laws and lengths of problems and of waiting;
 * one application waits.
 *
 * HOSTLAT_LONG=1: 1,000 seeds of each; the table is in docs/results/fleet-pipelines.md.
 * HOSTLAT_RUNS=N: so many. HOSTLAT_FIRST=N: the first seed. HOSTLAT_SEED=N: only that seed, without
 * a judgment.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "fleet/analyses.h"
#include "fleet/state.h"
#include "pipeline_model.h"
#include "stats/proportion.h"

#define SEEDS 10
#define SEEDS_LONG 1000
#define FIRST_LONG 40001 /* nothing was tuned on these */

struct scenario {
	const char *name;
	struct pipeline_config config;
	bool weak;               /* it need not be reported */
};

/* Counts of runs. */
struct score {
	uint64_t runs, told, others;
	uint64_t ordered, right;     /* an order in time is reported; the right one */
};

static bool is_planted(const struct pipeline_model *m, const struct fleet_pipeline *i)
{
	return m->config.pipeline && i->resource == m->apps[0] &&
	       i->application == m->apps[m->config.same ? 0 : 1];
}

static void judge(const struct pipeline_model *m, const struct fleet_result *result, bool verbose,
		  struct score *score)
{
	bool told = false, others = false;

	vec_for_each(&result->pipelines, i) {
		if (verbose)
			printf("  %s of %s: rho %.3f z %.1f p %.2g lag %u%s share %.2f, else %.2f, "
			       "hosts %u of %u\n",
			       m->fleet->resources.items[i->application].name,
			       m->fleet->resources.items[i->resource].name, i->rho, i->z, i->p,
			       i->lag, i->later ? " (significant)" : "", i->share,
			       i->share_otherwise, i->hosts_with, i->hosts);
		if (!is_planted(m, i)) {
			others = true;
			continue;
		}
		told = true;
		score->ordered += i->later;
		score->right += i->later && i->lag == m->config.lag;
	}
	score->runs++;
	score->told += told;
	score->others += others;
}

static void run(const struct scenario *s, uint64_t seed, bool verbose, struct score *score)
{
	const struct fleet_options options = { .alpha = 0.05, .seed = 1 };
	struct fleet_result result = { 0 };
	struct pipeline_model m;

	vec_init(&result.pipelines, FLEET_RESOURCES_MAX);
	pipeline_model_make(&m, &s->config, rng_derive(seed, 11));
	BUG_ON(fleet_pipelines(m.fleet, &options, &result));
	judge(&m, &result, verbose, score);
	fleet_result_release(&result);
	pipeline_model_release(&m);
}

static void print_share(bool shown, uint64_t n, const struct score *score, bool low)
{
	const struct proportion p = proportion_interval(n, score->runs, 0.95);

	if (shown)
		printf("%.3f (%.3f) | ", p.share, low ? p.lo : p.hi);
	else
		printf("| ");
}

/* Prints a row; returns whether the counts are as good as they must be. */
static bool print(const struct scenario *s, const struct score *score)
{
	const struct proportion told = proportion_interval(score->told, score->runs, 0.95);
	const struct proportion others = proportion_interval(score->others, score->runs, 0.95);
	const bool found = s->config.pipeline && !s->config.before, lag = s->config.lag > 0;
	const bool full = score->runs >= SEEDS_LONG;
	const uint64_t wrong = score->ordered - (lag ? score->right : 0);

	printf("| %s | ", s->name);
	print_share(found, score->told, score, true);
	print_share(true, score->others + (s->config.before ? score->told : 0), score, false);
	print_share(found && lag, score->right, score, true);
	print_share(found, wrong, score, false);
	printf("\n");
	fflush(stdout);
	if (!full)
		return (!found || s->weak || told.share >= 0.8) && others.share <= 0.2;
	return (!found || s->weak || told.lo >= 0.95) && others.hi <= 0.05 &&
	       proportion_interval(wrong, score->runs, 0.95).hi <= 0.05;
}

struct plan {
	uint64_t first, runs;
	bool verbose;
};

static bool run_all(const struct scenario *s, const struct plan *plan)
{
	struct score score = { 0 };

	for (uint64_t seed = plan->first; seed < plan->first + plan->runs; seed++)
		run(s, seed, plan->verbose, &score);
	return print(s, &score);
}

/* ---- scenarios ---- */

static bool run_independent(const struct plan *plan)
{
	bool good = true;

	for (unsigned int i = 0; i < MODEL_INDEPENDENT; i++) {
		const struct model_independent law = model_independent(i);
		struct scenario s = { .name = law.name, .config = pipeline_default() };

		s.config.law = law.law;
		s.config.duty = law.duty;
		s.config.burst = law.burst;
		good &= run_all(&s, plan);
	}
	return good;
}

static bool run_common(const struct plan *plan)
{
	static const struct scenario all[] = {
		{ .name = "an application's times are the same on a host",
		  .config = { .common = PIPELINE_COMMON_HOST } },
		{ .name = "the same on all hosts", .config = { .common = PIPELINE_COMMON_ALL } },
		{ .name = "the same on all hosts, bursts of 10",
		  .config = { .common = PIPELINE_COMMON_ALL, .burst = 10 } },
		{ .name = "a host's load comes and goes",
		  .config = { .common = PIPELINE_COMMON_CYCLE } },
		{ .name = "day and night", .config = { .load = 0.9, .duty = 0.3 } },
		{ .name = "day and night, bursts of 1",
		  .config = { .load = 0.9, .duty = 0.3, .burst = 1 } },
		{ .name = "a third of the passes missing",
		  .config = { .passless = 0.3, .law = MODEL_NOISY, .duty = 0.5, .burst = 1 } },
		{ .name = "both ends of a connection", .config = { .twins = true } },
		{ .name = "one host", .config = { .hosts = 1, .connections = 6 } },
		{ .name = "one host, 1 % of the time",
		  .config = { .hosts = 1, .connections = 6, .duty = 0.01 } },
		{ .name = "100 intervals", .config = { .intervals = 100 } },
		{ .name = "1,800 intervals", .config = { .intervals = 1800 } },
		{ .name = "20 applications",
		  .config = { .apps = 20, .hosts = 4, .connections = 2 } },
	};
	bool good = true;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		const struct pipeline_config usual = pipeline_default();
		struct scenario s = all[i];
		struct pipeline_config *c = &s.config;

		c->class = usual.class;
		c->hosts = c->hosts ?: usual.hosts;
		c->apps = c->apps ?: usual.apps;
		c->connections = c->connections ?: usual.connections;
		c->intervals = c->intervals ?: usual.intervals;
		c->duty = c->duty > 0 ? c->duty : usual.duty;
		c->burst = c->burst > 0 ? c->burst : usual.burst;
		good &= run_all(&s, plan);
	}
	return good;
}

static bool run_pipelines(const struct plan *plan)
{
	static const char *const names[] = {
		"a pipeline", "2 s later", "4 s later", "the wait is 2 s earlier",
		"the cause at the same times on all hosts",
		"recorded at the other end", "within an application",
		"one host, 2 connections each, an hour",
		"timeouts", "day and night",
		"a third of the passes missing",
		"one host, 2 connections each",
		"they wait 20 % of an interval",
		"they wait 10 % of an interval",
	};
	struct scenario s[ARRAY_LEN(names)];
	bool good = true;

	for (size_t i = 0; i < ARRAY_LEN(s); i++)
		s[i] = (struct scenario){ names[i], pipeline_default(), i >= 11 };
	s[1].config.lag = s[3].config.lag = 1;
	s[2].config.lag = 2;
	s[3].config.before = true;
	s[4].config.everywhere = true;
	s[5].config.remote = true;
	s[6].config.same = true;
	s[6].config.connections = 6;
	s[7].config.hosts = s[11].config.hosts = 1;
	s[7].config.connections = s[11].config.connections = 2;
	s[7].config.loading = s[11].config.loading = 1;
	s[7].config.intervals = 1800;
	s[8].config.class = FLEET_TIMEOUT;
	s[8].config.law = MODEL_EVENTS;
	s[8].config.duty = 0.03;
	s[8].config.burst = 1;
	s[9].config.load = 0.9;
	s[10].config.passless = 0.3;
	s[12].config.strength = 0.2;
	s[13].config.strength = 0.1;
	for (size_t i = 0; i < ARRAY_LEN(s); i++) {
		s[i].config.pipeline = true;
		good &= run_all(&s[i], plan);
	}
	return good;
}

int main(void)
{
	const char *given = getenv("HOSTLAT_SEED"), *begin = getenv("HOSTLAT_FIRST");
	const char *some = getenv("HOSTLAT_RUNS");
	const bool full = getenv("HOSTLAT_LONG");
	struct plan plan = { full ? FIRST_LONG : 1, full ? SEEDS_LONG : SEEDS, given };
	bool good;

	if ((begin && parse_u64(begin, &plan.first)) || (some && parse_u64(some, &plan.runs)) ||
	    (given && parse_u64(given, &plan.first)))
		return 1;
	plan.runs = given ? 1 : plan.runs;
	printf("%" PRIu64 " runs each, from seed %" PRIu64 "\n\n", plan.runs, plan.first);
	printf("| fleet | the pipeline is reported (95 %% bound) | another one is | its order is "
	       "right | a wrong order |\n|---|--:|--:|--:|--:|\n");
	good = run_pipelines(&plan);
	good &= run_common(&plan);
	good &= run_independent(&plan);
	return !good && !given;
}
