/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does `fleet report` tell which resource is behind constant problems and rare bursts, and nothing
 * else? Synthetic fleets with a planted problem, and fleets without any. Beside it, the paper's
 * method on the same fleets. HOSTLAT_LONG=1: 200 fleets of each; the table is
 * docs/results/fleet-rates.md. HOSTLAT_RUNS=N: so many. HOSTLAT_FIRST=N: the first seed.
 * HOSTLAT_SEED=N: that fleet only, with its findings.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "fleet/analyses.h"
#include "fleet/paper.h"
#include "fleet/state.h"
#include "fleet_world.h"
#include "stats/special.h"

#define FLEETS 4u
#define FLEETS_LONG 200u
#define FOUND_LEAST 0.95
#define FALSE_MOST 0.05
#define SURE 0.95 /* confidence of bounds */
#define CHANCE 0.001 /* that the short form fails by chance */

struct scene {
	const char *name;
	struct world_problem problems[2];
	size_t n;
	bool null;               /* no single resource is guilty: nothing may be reported */
	struct world_options options; /* those that are not 0 replace the usual ones */
};

#define PROBLEM(a_kind, i, a_class, times) \
	{ .kind = a_kind, .which = i, .class = a_class, .factor = times, .deviation = 0.3 }
#define BURST(a_kind, i, part) \
	{ .kind = a_kind, .which = i, .class = FLEET_TIMEOUT, .from = 100, .to = 103, \
	  .reach = part }
#define HEAVY .app_deviation = 0.7, .conn_deviation = 1.2
#define RARE .rate = 0.002

static const struct scene scenes[] = {
	{ .name = "rack", .n = 1, .problems = { PROBLEM(FLEET_RACK, 3, FLEET_TIMEOUT, 5) } },
	{ .name = "rack, heavy tails", .n = 1, .options = { HEAVY },
	  .problems = { PROBLEM(FLEET_RACK, 3, FLEET_TIMEOUT, 8) } },
	{ .name = "rack of 3 hosts", .n = 1, .options = { .racks = 16, .hosts = 3 },
	  .problems = { PROBLEM(FLEET_RACK, 5, FLEET_TIMEOUT, 15) } },
	{ .name = "link", .n = 1, .problems = { PROBLEM(FLEET_LINK, 9, FLEET_TIMEOUT, 15) } },
	{ .name = "switch", .n = 1, .problems = { PROBLEM(FLEET_SWITCH, 1, FLEET_TIMEOUT, 5) } },
	{ .name = "host", .n = 1, .problems = { PROBLEM(FLEET_HOST, 17, FLEET_DELAYED_ACK, 25) } },
	{ .name = "host, racks of 3", .n = 1, .options = { .racks = 16, .hosts = 3 },
	  .problems = { PROBLEM(FLEET_HOST, 17, FLEET_DELAYED_ACK, 25) } },
	{ .name = "application", .n = 1,
	  .problems = { PROBLEM(FLEET_APP, 2, FLEET_DELAYED_ACK, 40) } },
	{ .name = "service", .n = 1,
	  .problems = { PROBLEM(FLEET_SERVICE, 1, FLEET_TIMEOUT, 20) } },
	{ .name = "two racks", .n = 2, .problems = { PROBLEM(FLEET_RACK, 3, FLEET_TIMEOUT, 5),
						     PROBLEM(FLEET_RACK, 6, FLEET_TIMEOUT, 5) } },
	{ .name = "rack and application", .n = 2,
	  .problems = { PROBLEM(FLEET_RACK, 3, FLEET_TIMEOUT, 8),
			PROBLEM(FLEET_APP, 6, FLEET_TIMEOUT, 60) } },
	{ .name = "rack, half missing, clocks 10 s off", .n = 1,
	  .options = { .missing = 0.5, .clock_error_ns = 10000000000 },
	  .problems = { PROBLEM(FLEET_RACK, 3, FLEET_TIMEOUT, 5) } },
	{ .name = "rack, at once", .n = 1, .options = { RARE },
	  .problems = { BURST(FLEET_RACK, 3, 0.3) } },
	{ .name = "link, at once", .n = 1, .options = { RARE },
	  .problems = { BURST(FLEET_LINK, 9, 0.8) } },
	{ .name = "none", .null = true },
	{ .name = "none, heavy tails", .null = true, .options = { HEAVY } },
	{ .name = "none, long bursts", .null = true, .options = { .burst = 20 } },
	{ .name = "none, delayed ACKs in half of the time", .null = true,
	  .options = { .rate = 0.5, .burst = 10 } },
	{ .name = "none, racks of one application", .null = true,
	  .options = { .own_mix = 0.9, .app_deviation = 0.7 } },
	{ .name = "none, half missing, clocks 10 s off", .null = true,
	  .options = { .missing = 0.5, .clock_error_ns = 10000000000 } },
	{ .name = "none, rare events", .null = true, .options = { RARE } },
	{ .name = "none, 4 racks of 2 hosts", .null = true,
	  .options = { .racks = 4, .hosts = 2, HEAVY } },
	{ .name = "none, a burst of all", .null = true, .n = 2, .options = { RARE },
	  .problems = { BURST(FLEET_KERNEL, 0, 0.3), BURST(FLEET_KERNEL, 1, 0.3) } },
	{ .name = "none, day and night", .null = true, .options = { .load = 1, .rate = 0.1 } },
};

/* Fleets in which something was reported. */
struct tally {
	uint32_t fleets, right, wrong, around; /* around: the rack of a bad host */
	uint32_t paper_right, paper_wrong;
};

static bool failed;

static struct world_options scene_options(const struct scene *scene, uint64_t seed)
{
	const struct world_options *o = &scene->options;
	struct world_options out = world_usual(seed);

#define TAKE(member) (out.member = o->member > 0 ? o->member : out.member)
	TAKE(racks);
	TAKE(hosts);
	TAKE(rate);
	TAKE(app_deviation);
	TAKE(conn_deviation);
	TAKE(burst);
	TAKE(load);
	TAKE(own_mix);
	TAKE(missing);
	TAKE(clock_error_ns);
#undef TAKE
	return out;
}

/* ---- one fleet ---- */

static uint32_t planted_at(const struct scene *scene, const struct world *w, size_t i)
{
	return world_resource(w, scene->problems[i].kind, scene->problems[i].which);
}

static bool is_planted(const struct scene *scene, const struct world *w, uint32_t resource)
{
	for (size_t i = 0; i < scene->n && !scene->null; i++)
		if (planted_at(scene, w, i) == resource)
			return true;
	return false;
}

static void print_finding(const struct world *w, const struct fleet_finding *finding)
{
	printf("  %s %s: %s, share %.4f, others %.4f, p %.2g, excess %.1f s\n",
	       fleet_class_name(finding->class), w->f->resources.items[finding->resource].name,
	       finding->evidence == FLEET_MORE ? "more" : "at once", finding->share,
	       finding->share_others, finding->p, (double)finding->excess_ns / 1e9);
}

static void judge_ours(const struct scene *scene, const struct world *w, bool print,
		       struct tally *tally)
{
	const struct fleet_options options = { .alpha = 0.05, .seed = w->options.seed };
	struct fleet_result result = { 0 };
	bool right[2] = { false }, wrong = false, around = false;

	vec_init(&result.findings, 1000);
	vec_init(&result.members, FLEET_CONNECTIONS_MAX);
	BUG_ON(fleet_more(w->f, &options, &result));
	BUG_ON(fleet_at_once(w->f, &options, &result));
	vec_for_each(&result.findings, finding) {
		if (print)
			print_finding(w, finding);
		wrong |= !is_planted(scene, w, finding->resource);
		around |= w->f->resources.items[finding->resource].kind == FLEET_RACK;
		for (size_t i = 0; i < scene->n; i++)
			right[i] |= finding->resource == planted_at(scene, w, i);
	}
	tally->right += !scene->null && right[0] && (scene->n < 2 || right[1]);
	tally->wrong += wrong;
	tally->around += around && scene->problems[0].kind == FLEET_HOST && scene->n == 1;
	vec_release(&result.findings);
	vec_release(&result.members);
}

static void judge_paper(const struct scene *scene, const struct world *w, struct tally *tally)
{
	struct fleet_paper told;
	bool wrong = false;
	size_t right = 0;

	BUG_ON(fleet_paper(w->f, FLEET_PAPER_ALPHA, &told));
	vec_for_each(&told, resource) {
		right += is_planted(scene, w, resource->resource);
		wrong |= !is_planted(scene, w, resource->resource);
	}
	tally->paper_right += !scene->null && right == scene->n;
	tally->paper_wrong += wrong;
	vec_release(&told);
}

static void judge_fleet(const struct scene *scene, uint64_t seed, bool print, struct tally *tally)
{
	const struct world_options options = scene_options(scene, seed);
	static struct world w;

	world_make(&w, &options, scene->problems, scene->n);
	judge_ours(scene, &w, print, tally);
	judge_paper(scene, &w, tally);
	world_release(&w);
	tally->fleets++;
}

/* ---- the table ---- */

/* Returns the upper bound of a share of which `hits` of n were seen (Clopper and Pearson 1934). */
static double upper_bound(uint32_t hits, uint32_t n)
{
	double low = 0, high = 1;

	for (int i = 0; i < 50 && hits < n; i++) {
		const double middle = (low + high) / 2;

		if (beta_sf(middle, hits + 1, n - hits) > 1 - SURE)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Returns the chance of so many hits or more in n tries, each with this chance. */
static double chance_of(uint32_t hits, uint32_t n, double chance)
{
	return hits ? 1 - beta_sf(chance, hits, (double)n - hits + 1) : 1;
}

/* The whole must be sure to keep the limit; the short form must not be sure to break it. */
static void check_most(const char *what, uint32_t hits, uint32_t n, double most)
{
	if (n >= FLEETS_LONG ? upper_bound(hits, n) <= most : chance_of(hits, n, most) >= CHANCE)
		return;
	printf("FAILED: %s in %u of %u fleets\n", what, hits, n);
	failed = true;
}

static void check_scene(const struct scene *scene, const struct tally *t)
{
	check_most("something wrong is reported", t->wrong, t->fleets, FALSE_MOST);
	if (!scene->null)
		check_most("the problem is not reported", t->fleets - t->right, t->fleets,
			   1 - FOUND_LEAST);
	if (t->around) {
		printf("FAILED: a bad host is reported as its rack in %u fleets\n", t->around);
		failed = true;
	}
}

static void print_part(uint32_t hits, uint32_t n, bool applies)
{
	if (applies)
		printf(" %.1f %% |", 100.0 * hits / n);
	else
		printf(" |");
}

static void print_row(const struct scene *scene, const struct tally *t)
{
	printf("| %s |", scene->name);
	print_part(t->right, t->fleets, !scene->null);
	print_part(t->wrong, t->fleets, true);
	print_part(t->paper_right, t->fleets, !scene->null);
	print_part(t->paper_wrong, t->fleets, true);
	printf("\n");
	fflush(stdout);
}

int main(void)
{
	const char *full_length = getenv("HOSTLAT_LONG"), *one = getenv("HOSTLAT_SEED");
	const char *some = getenv("HOSTLAT_RUNS"), *first = getenv("HOSTLAT_FIRST");
	const uint64_t from = first ? strtoull(first, NULL, 10) : 1;
	const uint32_t fleets = some ? (uint32_t)atoi(some) :
		full_length && *full_length ? FLEETS_LONG : FLEETS;

	printf("| planted | reported | anything else | paper: reported | paper: anything else |\n"
	       "|---|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
		struct tally tally = { 0 };

		for (uint64_t seed = from; seed < from + fleets && !one; seed++)
			judge_fleet(&scenes[i], seed, false, &tally);
		if (one)
			judge_fleet(&scenes[i], strtoull(one, NULL, 10), true, &tally);
		print_row(&scenes[i], &tally);
		check_scene(&scenes[i], &tally);
	}
	printf("%s\n", failed ? "FAILED" : "passed");
	return failed;
}
