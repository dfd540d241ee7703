/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do samples taken at the budget's rates tell the share of time, while the rates follow what
 * happens? One connection goes between good and bad, and is hot from the moment it is bad until
 * half a second after; 20,000 others make sampling dear, so that a hot one is looked at ten times
 * as often. Truth is what it did in this run. Ways to do it wrong go through the same judgement
 * and must fail it.
 *
 * HOSTLAT_LONG=1: 10,000 runs of each; the table is docs/results/conns-budget.md. HOSTLAT_SEED=N:
 * from that seed on, without a judgement.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "conns/budget.h"
#include "conns/conn_share.h"
#include "conns/conn_accumulate.h"
#include "event/conn_times.h"

#define RUNS 150
#define RUNS_LONG 10000
#define RUN_S 300
#define OTHERS 20000
#define SPANS_MAX 4096
#define HOT_NS (NS_PER_S / 2)
#define FIXED_NS (NS_PER_S / 2) /* between polls that are not Poisson */
#define MEMBERS 500
#define THIN 8

enum path { FITS, RARE, PERIODIC, PATHS };

static const char *const path_names[PATHS] = {
	"bad for 1.5 s, good for 4 s", "bad for 0.2 s, good for 20 s", "bad for 0.3 s of each 1 s",
};

enum way { OURS, COMPARED, ALIKE, FORGOTTEN, SUMMED, LOOKS_TWICE, FIXED, WAYS };

static const char *const way_names[WAYS] = {
	"ours", "ours, added up as by compare",
	"all samples alike", "intervals without samples forgotten",
	"sums of the intervals' times",
	"more often after a bad sample", "every 500 ms",
};

/* Where it must fail. */
static const bool fails[WAYS][PATHS] = {
	[ALIKE] = { true, true, false },
	[FORGOTTEN] = { true, true, false },
	[SUMMED] = { true, true, false },
	[LOOKS_TWICE] = { true, false, false },
	[FIXED] = { false, false, true },
};

struct run {
	struct rng rng;
	struct budget b;
	uint64_t bad[SPANS_MAX][2]; /* from, to; in order */
	int n;
	struct event_conn now, sum; /* the interval's, all: bad is at the send buffer */
};

/* ---- the truth ---- */

static void make_path(struct run *r, enum path path)
{
	static const double means[PATHS][2] = { [FITS] = { 4, 1.5 }, [RARE] = { 20, 0.2 } };
	double at = path == PERIODIC ? -rng_uniform(&r->rng) : 0;

	r->n = 0;
	while (at < RUN_S) {
		double length = 0.3, from = at;

		if (path != PERIODIC) {
			from += rng_exponential(&r->rng, means[path][0]);
			length = rng_exponential(&r->rng, means[path][1]);
		}
		BUG_ON(r->n == SPANS_MAX);
		r->bad[r->n][0] = (uint64_t)(fmax(from, 0) * NS_PER_S);
		r->bad[r->n][1] = (uint64_t)(fmax(from + length, 0) * NS_PER_S);
		r->n++;
		at = path == PERIODIC ? from + 1 : from + length;
	}
}

/* Was it bad at a time from..to? */
static bool was_bad(const struct run *r, uint64_t from, uint64_t to)
{
	int low = 0, high = r->n;

	while (low < high) {
		int middle = (low + high) / 2;

		if (r->bad[middle][1] <= from)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->n && r->bad[low][0] <= to;
}

static double truth(const struct run *r)
{
	uint64_t end = RUN_S * NS_PER_S, all = 0;

	for (int i = 0; i < r->n && r->bad[i][0] < end; i++)
		all += (r->bad[i][1] < end ? r->bad[i][1] : end) - r->bad[i][0];
	return (double)all / (double)end;
}

/* ---- samples ---- */

static enum budget_level level(const struct run *r, uint64_t at)
{
	return was_bad(r, at > HOT_NS ? at - HOT_NS : 0, at) ? BUDGET_HOT : BUDGET_WARM;
}

static void count(struct run *r, bool bad, uint64_t n, double weight)
{
	const enum conn_sample_state what = bad ? CONN_AT_SEND_BUFFER : CONN_AT_FLIGHT;

	r->now.samples += n;
	r->now.sampled[what] += n;
	r->now.sampled_ns[what] += n * (uint64_t)llround(weight);
}

static void sample(struct run *r, uint64_t at, double weight)
{
	count(r, was_bad(r, at, at), 1, weight);
}

/* As hostlat does it; or as its intervals, each by itself, say. */
static void end_interval(struct run *r, enum way way)
{
	r->now.squares = conn_squares(&r->now);
	conn_times(&r->now);
	if (!r->sum.to)
		r->sum = r->now;
	else if (way == SUMMED)
		conn_accumulate(&r->sum, &r->now);
	else
		conn_accumulate_next(&r->sum, &r->now);
}

/* From a bad sample on, hot and ten times as often until the interval ends: then a plain share. */
static void look_twice(struct run *r, uint64_t from)
{
	double length = (double)r->b.config.interval_ns, hz = r->b.rates.hz[BUDGET_WARM];
	double at = rng_exponential(&r->rng, NS_PER_S / hz);
	uint64_t n[2] = { 0 };

	while (at < length) {
		bool bad = was_bad(r, from + (uint64_t)at, from + (uint64_t)at);

		n[bad]++;
		at += rng_exponential(&r->rng, NS_PER_S / hz / (n[1] ? 10 : 1));
	}
	for (int bad = 0; bad < 2 && n[0] + n[1]; bad++)
		count(r, bad, n[bad], length / (double)(n[0] + n[1]));
}

static void one_interval(struct run *r, enum way way, uint64_t from)
{
	const struct budget_rates *rates = &r->b.rates;
	struct budget_spent spent = { .length_ns = r->b.config.interval_ns };
	double length = (double)spent.length_ns;
	uint64_t at, end = from + spent.length_ns;
	unsigned levels;
	enum budget_level now = level(r, end);

	r->now = (struct event_conn){ .from = from, .to = end, .busy_ns = end - from,
				      .known = CONN_KNOWS_TIMES };
	if (way == FIXED)
		sample(r, end, length);
	else if (way == LOOKS_TWICE)
		look_twice(r, from);
	while (budget_next(&r->b, &r->rng, 0, &at, &levels)) {
		enum budget_level mine = level(r, at);
		double weights[WAYS] = { [OURS] = rates->sample_ns[mine], [ALIKE] = 1000,
					 [SUMMED] = rates->sample_ns[mine],
					 [COMPARED] = rates->sample_ns[mine],
					 [FORGOTTEN] = length / rates->passes[mine] };

		if (mine < levels && weights[way] > 0)
			sample(r, at, weights[way]);
		for (unsigned k = 0; k < levels; k++) {
			spent.walks[k]++;
			spent.visited[k] += r->b.members[k];
			spent.walk_ns[k] += 20000 + 300 * r->b.members[k];
			spent.cpu_ns += 20000 + 300 * r->b.members[k];
		}
	}
	for (int k = 0; k < BUDGET_LEVELS; k++) {
		spent.reads[k] = rates->reads[k];
		spent.read_ns[k] = rates->reads[k] ? 30000 + 700 * rates->reads[k] : 0;
		spent.cpu_ns += spent.read_ns[k];
	}
	end_interval(r, way);
	/* There are always some hot ones. */
	spent.members[BUDGET_HOT] = 5 + (now == BUDGET_HOT);
	spent.members[BUDGET_WARM] = OTHERS + (now == BUDGET_WARM);
	budget_close(&r->b, &spent, &r->rng, end);
}

static struct proportion simulate(struct run *r, enum path path, enum way way, uint64_t seed)
{
	struct budget_config config;

	budget_config_default(&config);
	rng_init(&r->rng, rng_derive(seed, (uint64_t)path * WAYS + way));
	r->sum = (struct event_conn){ 0 };
	make_path(r, path);
	budget_init(&r->b, &config, &r->rng, 0);
	for (uint64_t at = 0; at < RUN_S * NS_PER_S; at += config.interval_ns)
		one_interval(r, way, at);
	return conn_share_sampled(&r->sum, r->sum.sampled_ns[CONN_AT_SEND_BUFFER],
				  r->sum.sampled[CONN_AT_SEND_BUFFER], 0.95);
}

/* ---- judgement ---- */

struct score {
	uint64_t n, covered;
	double truth, sum, squares, samples, width;
};

static void add(struct score *s, double truth, double estimate, double low, double high)
{
	s->n++;
	s->truth += truth;
	s->sum += estimate - truth;
	s->squares += (estimate - truth) * (estimate - truth);
	s->covered += low <= truth && truth <= high;
	s->width += high - low;
}

/* Is it right: no bias that shows, and the truth in as many intervals as were asked for? */
static bool print(const char *path, const char *way, const struct score *s)
{
	double n = (double)s->n, bias = s->sum / n, covered = (double)s->covered / n;
	double error = sqrt(fmax(s->squares / n - bias * bias, 0) / n), of = bias / (s->truth / n);

	printf("| %s | %s | %.4g | %+.1f %% | %+.1f | %.3f | %.3g | %.0f |\n", path, way,
	       s->truth / n, 100 * of, error > 0 ? bias / error : 0, covered, s->width / n,
	       s->samples / n);
	return (fabs(bias) <= 4 * error || fabs(of) < 0.01) && fabs(of) < 0.03 &&
	       covered >= 0.93 - 3 * sqrt(0.95 * 0.05 / n);
}

static struct score try_one(struct run *r, enum path path, enum way way, uint64_t first,
			    uint64_t runs)
{
	struct score score = { 0 };

	for (uint64_t seed = first; seed < first + runs; seed++) {
		struct proportion bound = simulate(r, path, way, seed);
		double known = (double)(r->sum.to - r->sum.from - r->sum.unknown_ns);
		uint64_t ns = way == COMPARED ? r->sum.sampled_ns[CONN_AT_SEND_BUFFER] :
						r->sum.send_buffer_ns;

		add(&score, truth(r), known > 0 ? (double)ns / known : 0,
		    bound.lo, bound.hi);
		score.samples += r->sum.samples;
	}
	return score;
}

/* A count over all connections, of which one in THIN is followed. */
static struct score thinned(uint64_t first, uint64_t runs)
{
	struct score score = { 0 };

	for (uint64_t seed = first; seed < first + runs; seed++) {
		double all = 0, sum = 0, squares = 0, total, sd;
		struct rng rng;

		rng_init(&rng, seed);
		for (int i = 0; i < MEMBERS; i++) {
			double x = floor(rng_exponential(&rng, 20));
			bool followed = !rng_below(&rng, THIN);

			all += x;
			sum += followed ? x : 0;
			squares += followed ? x * x : 0;
		}
		total = THIN * sum;
		sd = sqrt(THIN * (THIN - 1) * squares);
		add(&score, all, total, total - 1.96 * sd, total + 1.96 * sd);
	}
	return score;
}

int main(void)
{
	const char *given = getenv("HOSTLAT_SEED");
	struct run *r = calloc(1, sizeof(*r));
	uint64_t first = 1, runs = getenv("HOSTLAT_LONG") ? RUNS_LONG : RUNS;
	bool good = true;
	struct score score;

	if (!r || (given && parse_u64(given, &first)))
		return 1;
	runs = given ? 1 : runs;
	printf("%" PRIu64 " runs each, from seed %" PRIu64 "\n\n", runs, first);
	printf("| connection | samples | truth | bias | in standard errors | coverage | "
	       "width | n |\n"
	       "|---|---|--:|--:|--:|--:|--:|--:|\n");
	for (enum path path = 0; path < PATHS; path++) {
		for (enum way way = 0; way < WAYS; way++) {
			bool right;

			if (way > COMPARED && !fails[way][path])
				continue;
			score = try_one(r, path, way, first, runs);
			right = print(path_names[path], way_names[way], &score);
			good &= right == (way <= COMPARED);
		}
	}
	score = thinned(first, runs);
	good &= print("count of 500 connections", "one in 8 followed", &score);
	free(r);
	return !good && !given;
}
