/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad hosts among very many: `fleet report` must find most of 20, with few others, and nothing
 * where none is bad. Beside it, the number of hosts that are significant one by one at 5 %.
 *
 * 10,000 hosts, one seed of each. HOSTLAT_LONG=1: 100,000 hosts, five seeds; the table is in
 * docs/results/fleet-traps.md. HOSTLAT_RUNS=N: so many seeds. HOSTLAT_FIRST=N: the first one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/parse.h"
#include "fleet/analyses.h"
#include "fleet/state.h"
#include "fleet_plain.h"

#define HOSTS 10u            /* in each rack */
#define RACKS 1000u
#define RACKS_LONG 10000u
#define SEEDS 1u
#define SEEDS_LONG 5u
#define FIRST_SEED 60001u /* nothing was tuned on these */
#define BAD 20u
#define ALPHA 0.05
#define FOUND_LEAST 0.9

struct score {
	uint64_t runs, bad, found, wrong, tested;
	uint64_t plain;              /* hosts that are significant one by one */
};

static bool is_bad(const struct model *m, uint32_t resource)
{
	return model_cause_of(m, resource) != FLEET_NONE;
}

static void judge(const struct model *m, const struct fleet_result *result, struct score *score)
{
	vec_for_each(&result->findings, finding) {
		score->found += is_bad(m, finding->resource);
		score->wrong += !is_bad(m, finding->resource);
	}
	score->runs++;
	score->bad += m->config.causes;
	score->tested += result->tested;
	score->plain += plain_significant(m, FLEET_HOST, ALPHA);
}

static void run(const struct model_config *config, uint64_t seed, struct score *score)
{
	const struct fleet_options options = { .alpha = ALPHA, .seed = 1 };
	struct fleet_result result = { 0 };
	struct model m;

	vec_init(&result.findings, FLEET_RESOURCES_MAX);
	vec_init(&result.members, FLEET_CONNECTIONS_MAX);
	vec_init(&result.same, FLEET_RESOURCES_MAX);
	model_make(&m, config, rng_derive(seed, 7));
	BUG_ON(fleet_together(m.fleet, &options, &result));
	judge(&m, &result, score);
	fleet_result_release(&result);
	model_release(&m);
}

/* Prints a row; returns whether it is as good as it must be. */
static bool run_all(uint32_t racks, uint32_t bad, uint64_t first, uint64_t runs)
{
	struct model_config config = model_default();
	struct score s = { 0 };

	config.racks = racks;
	config.hosts = HOSTS;
	config.connections = 4;
	config.apps = 1;
	config.intervals = 400;
	config.guilty = FLEET_HOST;
	config.causes = bad;
	config.loading = 1;
	for (uint64_t seed = first; seed < first + runs; seed++)
		run(&config, seed, &s);
	printf("| %u | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " |\n",
	       racks * HOSTS, s.tested / s.runs, s.bad, s.found, s.wrong, s.plain);
	fflush(stdout);
	return (double)s.found >= FOUND_LEAST * (double)s.bad &&
	       (double)s.wrong <= ALPHA * (double)(s.found + s.wrong + !bad * runs);
}

int main(void)
{
	const char *begin = getenv("HOSTLAT_FIRST"), *some = getenv("HOSTLAT_RUNS");
	const bool full = getenv("HOSTLAT_LONG");
	uint64_t first = FIRST_SEED, runs = full ? SEEDS_LONG : SEEDS;
	bool good;

	if ((begin && parse_u64(begin, &first)) || (some && parse_u64(some, &runs)))
		return 1;
	printf("%" PRIu64 " runs each, from seed %" PRIu64 "\n\n", runs, first);
	printf("| hosts | resources tested | bad | bad reported | others reported | "
	       "significant one by one |\n|--:|--:|--:|--:|--:|--:|\n");
	good = run_all(full ? RACKS_LONG : RACKS, 0, first, runs);
	good &= run_all(full ? RACKS_LONG : RACKS, BAD, first, runs);
	return !good;
}
