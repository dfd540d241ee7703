/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --find-max on a queue whose answer is known: in M/M/1 the time in the system is exponential with
 * mean 1 / (mu - lambda), so p99 = limit at lambda = mu - ln(100) / limit. Probes are simulated
 * runs with the interval that dependent samples need. Every answer must be within 3 % of the truth,
 * its interval must hold the truth, and a bisection that believes each of as many points must do
 * worse. 100 runs with HOSTLAT_LONG=1; HOSTLAT_SEED=N repeats one.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/rng.h"
#include "load/findmax.h"
#include "stats/bucket_edges.h"
#include "stats/hist.h"
#include "stats/special.h"

#define RUNS 20
#define RUNS_LONG 100
#define BATCHES 40
#define NAIVE_NS (5 * NS_PER_S)
#define SERVICE_NS 500000.0
#define QUANTILE 0.99
#define MU (NS_PER_S / SERVICE_NS)
/* Shares of the arrival rate in mu at which the condition is just met. */
static const double utilisations[] = { 0.5, 0.6, 0.7, 0.8 };

struct estimate {
	double ns, lo_ns, hi_ns;
	bool stable;
};

static double limit_ns(double utilisation)
{
	return log(100) / (MU * (1 - utilisation)) * NS_PER_S;
}

/* One batch of sojourn times by Lindley's recursion; returns the last. */
static double simulate(struct rng *rng, struct hist *hist, double rate, double sojourn, uint64_t n)
{
	double gap = NS_PER_S / rate;

	for (uint64_t i = 0; i < n; i++) {
		sojourn = fmax(sojourn - rng_exponential(rng, gap), 0) +
			  rng_exponential(rng, SERVICE_NS);
		if (hist_record(hist, (uint64_t)sojourn))
			abort();
	}
	return sojourn;
}

/* The share of values in buckets above the one of `ns`. */
static double share_above(const struct hist *hist, double ns)
{
	int32_t index = INT32_MIN;
	uint64_t n, above = 0;

	while (hist_next(hist, &index, &n))
		above += (double)bucket_edges_floor(hist->schema, index - 1) >= ns ? n : 0;
	return (double)above / (double)hist->count;
}

static double quantile(const struct hist *hist, double q)
{
	struct hist_quantile value;

	if (hist_quantile(hist, fmin(fmax(q, 0), 1), &value))
		abort();
	return (double)value.value;
}

/* Student's interval of the share below the quantile, from batches, looked up as quantiles. */
static void bound(const struct hist batches[BATCHES], const struct hist *all, double confidence,
		  struct estimate *out)
{
	double mean = 0, squares = 0, half;

	out->ns = quantile(all, QUANTILE);
	for (int i = 0; i < BATCHES; i++) {
		double share = share_above(&batches[i], out->ns);

		mean += share / BATCHES;
		squares += share * share;
	}
	half = student_quantile(confidence, BATCHES - 1) *
	       sqrt((squares / BATCHES - mean * mean) / (BATCHES - 1));
	out->lo_ns = quantile(all, QUANTILE - half);
	out->hi_ns = quantile(all, QUANTILE + half);
}

/* A run that begins in the steady state; none exists from `mu` on. */
static struct estimate run(struct rng *rng, const struct findmax_probe *probe)
{
	uint64_t n = (uint64_t)(probe->rate * (double)probe->duration_ns / NS_PER_S / BATCHES) + 1;
	struct estimate result = { .stable = probe->rate < MU };
	struct hist batches[BATCHES], all;
	double sojourn;

	if (!result.stable)
		return result;
	hist_init(&all, 8);
	sojourn = rng_exponential(rng, NS_PER_S / (MU - probe->rate));
	for (int i = 0; i < BATCHES; i++) {
		hist_init(&batches[i], 8);
		sojourn = simulate(rng, &batches[i], probe->rate, sojourn, n);
		if (hist_merge(&all, &batches[i]))
			abort();
	}
	bound(batches, &all, probe->confidence, &result);
	for (int i = 0; i < BATCHES; i++)
		hist_release(&batches[i]);
	hist_release(&all);
	return result;
}

static enum load_truth judge(const struct estimate *e, double limit)
{
	if (!e->stable)
		return LOAD_FAILS;
	return e->hi_ns < limit ? LOAD_HOLDS : e->lo_ns >= limit ? LOAD_FAILS : LOAD_OPEN;
}

/* How much was asked of the server. */
struct effort {
	uint32_t probes;
	uint64_t ns;
};

static double search(struct rng *rng, double limit, struct findmax *fm, struct effort *effort)
{
	const struct findmax_config config = {
		.q = QUANTILE, .limit_ns = (uint64_t)limit, .confidence = 0.95,
		.precision = 0.04, .start = 100, .min = 1, .max = 1e6,
		.probe_ns = NS_PER_S, .budget_ns = 40000 * NS_PER_S,
	};
	struct findmax_probe probe;

	findmax_init(fm, &config);
	while (findmax_next(fm, &probe)) {
		struct estimate e = run(rng, &probe);

		const struct load_quantile q = {
			.ns = (uint64_t)e.ns, .lo_ns = (uint64_t)e.lo_ns,
			.hi_ns = (uint64_t)e.hi_ns, .known = e.stable, .bounded = e.stable,
		};

		findmax_feed(fm, judge(&e, limit), &q, probe.duration_ns);
	}
	*effort = (struct effort){ fm->probes, fm->used_ns };
	return fm->lo;
}

/* Bisection that believes every point, of 5 s each, as mutilate's --search; as many probes. */
static double naive(struct rng *rng, double limit, const struct effort *effort)
{
	double lo = 0, hi = 0, rate = 100;

	for (uint32_t i = 0; i < effort->probes; i++) {
		const struct findmax_probe probe = {
			.rate = rate, .duration_ns = NAIVE_NS, .confidence = 0.95,
		};
		struct estimate e = run(rng, &probe);

		if (e.stable && e.ns < limit)
			lo = rate;
		else
			hi = rate;
		rate = hi ? (lo + hi) / 2 : rate * 2;
	}
	return lo;
}

struct score {
	uint32_t off, too_high, far_too_high;
	double worst;
};

static void add(struct score *score, double error)
{
	score->off += fabs(error) > 0.03;
	score->too_high += error > 0;
	score->far_too_high += error > 0.05;
	score->worst = fmax(score->worst, fabs(error));
}

static void print(const char *name, const struct score *score, uint64_t runs)
{
	printf("%s: of %" PRIu64 " answers %u are off by more than 3 %%, %u above the truth, %u by "
	       "more than 5 %%; the worst is off by %.1f %%\n", name, runs, score->off,
	       score->too_high, score->far_too_high, 100 * score->worst);
}

/* Returns how many intervals did not hold the truth, or were wider than asked for. */
static uint32_t one_seed(uint64_t seed, double utilisation, struct score *ours,
			 struct score *naives, double *seconds)
{
	double limit = limit_ns(utilisation), truth = MU * utilisation, answer;
	struct effort effort;
	struct findmax fm;
	struct rng rng;

	rng_init(&rng, seed);
	answer = search(&rng, limit, &fm, &effort);
	add(ours, answer / truth - 1);
	add(naives, naive(&rng, limit, &effort) / truth - 1);
	*seconds += (double)effort.ns / NS_PER_S;
	if (fm.end == FINDMAX_FOUND && fm.lo <= truth && truth <= fm.hi)
		return 0;
	printf("seed %" PRIu64 ": %s, [%.0f, %.0f], the truth is %.0f\n", seed,
	       findmax_end_name(fm.end), fm.lo, fm.hi, truth);
	return 1;
}

int main(void)
{
	const char *given = getenv("HOSTLAT_SEED");
	struct score ours = {}, naives = {};
	uint64_t first = 1, runs;
	uint32_t missed = 0;
	double seconds = 0;

	if (given && parse_u64(given, &first))
		return 1;
	runs = given ? 1 : getenv("HOSTLAT_LONG") ? RUNS_LONG : RUNS;
	for (uint64_t seed = first; seed < first + runs; seed++)
		missed += one_seed(seed, utilisations[seed % ARRAY_LEN(utilisations)], &ours,
				   &naives, &seconds);
	print("find-max", &ours, runs);
	print("bisection of points", &naives, runs);
	printf("%.0f s of probes on average\n", seconds / (double)runs);
	if (given)
		return missed != 0;
	/* The answer's confidence is 95 %: more than a tenth would be chance in one of 100. */
	return missed > runs / 10 || ours.off || ours.far_too_high ||
	       naives.off <= ours.off || naives.too_high <= ours.too_high;
}
