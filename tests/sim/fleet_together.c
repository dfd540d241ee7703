/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does `fleet report` find resources whose connections have a problem at the same times, and only
 * those? Fleets with a known truth: no cause, with several laws and lengths of the problem; 7 of 35
 * connections of a host together; a rack, link, host or application that makes its connections
 * bad.
 *
 * HOSTLAT_LONG=1: 1,000 seeds of each; the table is in docs/results/fleet.md. HOSTLAT_RUNS=N: so
 * many. HOSTLAT_FIRST=N: the first seed. HOSTLAT_SEED=N: only that seed, without a judgment.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "fleet/state.h"
#include "fleet_model.h"
#include "stats/proportion.h"

#define SEEDS 10
#define SEEDS_LONG 1000
#define FIRST_LONG 20001 /* nothing was tuned on these */

struct scenario {
	const char *name;
	struct model_config config;
	bool named;              /* the members must be those with the cause */
};

/* Counts of runs. */
struct score {
	uint64_t runs, told, named, others, coarser;
};

/* Returns whether the finding names the members, and at most one connection more. */
static bool names_members(const struct model *m, const struct fleet_result *result,
			  const struct fleet_finding *finding)
{
	uint32_t right = 0, all = 0;

	for (uint32_t c = 0; c < m->n; c++)
		all += m->cause[c] != FLEET_NONE;
	for (uint32_t i = 0; i < finding->n; i++)
		right += m->cause[result->members.items[finding->first + i].conn] != FLEET_NONE;
	return right == all && finding->n <= all + 1;
}

static void judge(const struct model *m, const struct fleet_result *result, bool verbose,
		  struct score *score)
{
	bool told = false, named = false, others = false;

	vec_for_each(&result->findings, finding) {
		const struct fleet_resource *r = &m->fleet->resources.items[finding->resource];

		if (verbose)
			printf("  %s %s rho %.3f z %.1f p %.2g n %u of %u\n",
			       fleet_kind_name(r->kind), r->name, finding->rho, finding->z,
			       finding->p, finding->n, finding->defined);
		told |= finding->resource == m->guilty[0];
		others |= finding->resource != m->guilty[0];
		named |= finding->resource == m->guilty[0] && names_members(m, result, finding);
		score->coarser += m->config.causes && m->config.guilty == FLEET_HOST &&
				  r->kind == FLEET_RACK;
	}
	score->runs++;
	score->told += told;
	score->named += named;
	score->others += others;
}

static void run(const struct scenario *s, uint64_t seed, bool verbose, struct score *score)
{
	const struct fleet_options options = { .alpha = 0.05, .seed = 1 };
	struct fleet_result result;
	struct model m;

	model_make(&m, &s->config, rng_derive(seed, 7));
	BUG_ON(fleet_analyze(m.fleet, &options, &result));
	judge(&m, &result, verbose, score);
	fleet_result_release(&result);
	model_release(&m);
}

/* Prints a row; returns whether the counts are as good as they must be. */
static bool print(const struct scenario *s, const struct score *score)
{
	const struct proportion told = proportion_interval(score->told, score->runs, 0.95);
	const struct proportion named = proportion_interval(score->named, score->runs, 0.95);
	const struct proportion others = proportion_interval(score->others, score->runs, 0.95);
	const bool full = score->runs >= SEEDS_LONG, cause = s->config.causes > 0;

	printf("| %s | ", s->name);
	if (cause)
		printf("%.3f (%.3f) | ", told.share, told.lo);
	else
		printf("| ");
	if (s->named)
		printf("%.3f (%.3f) | ", named.share, named.lo);
	else
		printf("| ");
	printf("%.3f (%.3f) |\n", others.share, others.hi);
	fflush(stdout);
	if (!full)
		return (!cause || told.share >= 0.8) && others.share <= 0.2 && !score->coarser &&
		       (!s->named || named.share >= 0.8);
	return (!cause || told.lo >= 0.95) && others.hi <= 0.05 && !score->coarser &&
	       (!s->named || named.lo >= 0.95);
}

static bool run_all(const struct scenario *s, uint64_t first, uint64_t runs, bool verbose)
{
	struct score score = { 0 };

	for (uint64_t seed = first; seed < first + runs; seed++)
		run(s, seed, verbose, &score);
	return print(s, &score);
}

static bool run_independent(uint64_t first, uint64_t runs, bool verbose)
{
	bool good = true;

	for (unsigned int i = 0; i < MODEL_INDEPENDENT; i++) {
		const struct model_independent law = model_independent(i);
		struct scenario s = { .name = law.name, .config = model_default() };

		s.config.law = law.law;
		s.config.duty = law.duty;
		s.config.burst = law.burst;
		good &= run_all(&s, first, runs, verbose);
	}
	return good;
}

static bool run_causes(uint64_t first, uint64_t runs, bool verbose)
{
	static const enum fleet_kind kinds[] = { FLEET_RACK, FLEET_LINK, FLEET_HOST, FLEET_APP };
	struct scenario s = { .name = "7 of 35 connections", .config = model_default(),
			      .named = true };
	bool good;

	s.config.racks = s.config.hosts = s.config.apps = 1;
	s.config.connections = 35;
	s.config.guilty = FLEET_HOST;
	s.config.causes = 1;
	s.config.members = 7;
	good = run_all(&s, first, runs, verbose);
	for (unsigned int i = 0; i < ARRAY_LEN(kinds); i++) {
		char name[80];

		s = (struct scenario){ .name = name, .config = model_default() };
		s.config.guilty = kinds[i];
		s.config.causes = 1;
		s.config.loading = kinds[i] == FLEET_HOST ? 1 : 0.6;
		snprintf(name, sizeof(name), "a bad %s", fleet_kind_name(kinds[i]));
		good &= run_all(&s, first, runs, verbose);
	}
	return good;
}

int main(void)
{
	const char *given = getenv("HOSTLAT_SEED"), *begin = getenv("HOSTLAT_FIRST");
	const char *some = getenv("HOSTLAT_RUNS");
	const bool full = getenv("HOSTLAT_LONG");
	uint64_t first = full ? FIRST_LONG : 1, runs = full ? SEEDS_LONG : SEEDS;
	bool good;

	if ((begin && parse_u64(begin, &first)) || (some && parse_u64(some, &runs)) ||
	    (given && parse_u64(given, &first)))
		return 1;
	runs = given ? 1 : runs;
	printf("%" PRIu64 " runs each, from seed %" PRIu64 "\n\n", runs, first);
	printf("| fleet | the cause is reported (95 %% bound) | its connections are named | "
	       "another resource is reported |\n|---|--:|--:|--:|\n");
	good = run_causes(first, runs, given);
	good &= run_independent(first, runs, given);
	return !good && !given;
}
