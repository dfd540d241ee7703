/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The polling budget of `conns` on a virtual clock: a host whose walks cost what a model says, with
 * noise, and one thing about it that changes at a random moment.
 *
 * Judged is own CPU in any BUDGET_WINDOW intervals in a row, but for those that the change was not
 * known in. It may be a fifth over the limit for 5 s, and never above it from then on; below the
 * lower one only with every connection at its maximum; rates stay as they are while nothing
 * changes; nothing is below its floor that needn't be. Six ways to do it wrong go through the
 * same judgement and must fail it.
 *
 * HOSTLAT_LONG=1: 2,000 runs of each; the table is docs/results/conns-budget.md. HOSTLAT_SEED=N:
 * that seed only.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "conns_budget.h"
#include "virtual.h"

#define RUNS 40
#define RUNS_LONG 2000
#define STEP_S 30
#define RUN_S 120
#define SETTLE_S 5
#define QUIET_S 60 /* the end of a run: nothing happens any more */
#define NOISE 0.1
#define INTERVALS_MAX 600

/* Ways to do it wrong; what each must fail. */
enum way {
	OURS, NO_WINDOW, NO_BAND, LAST_INTERVAL, ONE_BY_ONE, EQUAL_SHARES, FOLLOW_ALL, WAYS
};

static const char *const way_names[WAYS] = {
	"ours", "without a window", "without a dead band", "feedback from the last interval",
	"one connection per step (the paper's)", "equal shares", "all that come are followed",
};

struct run {
	struct budget b;
	struct clock_virtual clock;
	struct rng rng;
	struct host host;
	struct budget_config config;
	enum way way;
	double rate; /* the only rate of controllers that have one for all */
	struct budget_spent spent;
	/* One entry for each interval. */
	struct log {
		uint64_t from, to;
		double used, expected; /* shares of a core; as drawn, and on average */
		struct budget_rates rates;
		bool unknown; /* something changed in it */
	} log[INTERVALS_MAX];
	int n;
	uint64_t step_at;
	bool changed;
};

/* ---- the host ---- */

static double noisy(struct run *r, double ns)
{
	double u = rng_uniform(&r->rng) + rng_uniform(&r->rng) + rng_uniform(&r->rng) - 1.5;

	return ns * r->host.cost * (1 + 2 * NOISE * u);
}

static double walk_ns(double n)
{
	return 20000 + 300 * n;
}

static double read_ns(double n)
{
	return n > 0 ? 30000 + 700 * n : 0;
}

/* A fifth of the push cost cannot be reduced by sampling. */
static double push_share(const struct host *h, uint32_t one_in)
{
	return h->push * (0.2 + 0.8 / one_in);
}

/* A connection that comes and goes; one that isn't followed takes a little, too. */
#define LIFE_NS 8000.0
#define UNFOLLOWED_NS 100.0

static double ends_share(const struct host *h, uint32_t one_in)
{
	return h->churn * (LIFE_NS / one_in + UNFOLLOWED_NS) / (double)NS_PER_S;
}

static double expected(const struct run *r)
{
	const struct budget_rates *rates = &r->b.rates;
	const struct host *h = &r->host;
	double share = h->base + push_share(h, rates->thin_one_in), second = (double)NS_PER_S;

	share += ends_share(h, rates->follow_one_in);

	for (int k = 0; k < BUDGET_LEVELS; k++) {
		double n = (double)h->members[k];

		share += rates->hz[k] * h->cost * walk_ns(n) / second;
		share += rates->read_hz[k] * h->cost * n * 700 / second;
		share += rates->reads[k] ? h->cost * 30000 / (double)r->config.interval_ns : 0;
	}
	return share;
}

static void use(struct run *r, double ns)
{
	clock_virtual_advance(&r->clock, (int64_t)ns);
	r->spent.cpu_ns += (uint64_t)ns;
}

static void walk(struct run *r, unsigned levels)
{
	for (unsigned k = 0; k < levels; k++) {
		double ns = noisy(r, walk_ns((double)r->host.members[k]));

		use(r, ns);
		r->spent.walk_ns[k] += (uint64_t)ns;
		r->spent.walks[k]++;
		r->spent.visited[k] += r->host.members[k];
	}
}

static void read_all(struct run *r)
{
	for (int k = 0; k < BUDGET_LEVELS; k++) {
		uint64_t n = r->b.rates.reads[k];
		double ns;

		if (n > r->host.members[k])
			n = r->host.members[k];
		ns = noisy(r, read_ns((double)n));
		use(r, ns);
		r->spent.read_ns[k] += (uint64_t)ns;
		r->spent.reads[k] += n;
	}
}

static uint64_t now(struct run *r)
{
	return (uint64_t)clock_mono_ns(&r->clock.clock);
}

static void change(struct run *r, const struct scenario *s)
{
	if (r->changed || now(r) < r->step_at)
		return;
	r->host = s->after;
	r->changed = true;
	r->log[r->n].unknown = true;
}

static void wander(struct run *r, const struct scenario *s)
{
	const struct host *h = r->changed ? &s->after : &s->before;

	for (int k = 0; k < BUDGET_LEVELS; k++) {
		double by = 1 + h->wander * (2 * rng_uniform(&r->rng) - 1);

		r->host.members[k] = (uint64_t)((double)h->members[k] * by);
	}
}

/* ---- one interval ---- */

/* Controllers that know only what the last interval has cost. */
static void naive_rates(struct run *r, double used)
{
	struct budget_rates *rates = &r->b.rates;
	double aim = (r->config.low + r->config.high) / 2, members = 0;

	for (int k = 0; k < BUDGET_LEVELS; k++)
		members += (double)r->host.members[k];
	if (r->way == LAST_INTERVAL)
		r->rate = fmin(fmax(r->rate * aim / fmax(used, 1e-6), 0.05), 100);
	else if (used < r->config.low)
		r->rate += r->rate / members;
	else if (used > r->config.high)
		r->rate -= r->rate / members / 2;
	for (int k = 0; k < BUDGET_REST; k++)
		rates->hz[k] = r->rate;
}

static void naive_passes(struct run *r, uint64_t end)
{
	double mean = (double)NS_PER_S / r->rate;

	for (;;) {
		uint64_t at = now(r) + (uint64_t)rng_exponential(&r->rng, mean);

		if (at >= end)
			return;
		clock_sleep_until(&r->clock.clock, (int64_t)at);
		walk(r, 2);
	}
}

static void close_interval(struct run *r, double used)
{
	if (r->way == NO_WINDOW) {
		for (int i = 0; i < BUDGET_WINDOW - 1; i++)
			r->b.window[i].used_ns = 0;
	}
	if (r->way == NO_BAND)
		r->b.rates.hz[BUDGET_HOT] = 1e-9;
	budget_close(&r->b, &r->spent, &r->rng, now(r));
	if (r->way == LAST_INTERVAL || r->way == ONE_BY_ONE)
		naive_rates(r, used);
	if (r->way == FOLLOW_ALL)
		r->b.rates.follow_one_in = 1;
}

/* Adds the connections that began and ended in the interval. */
static void come_and_go(struct run *r, double length, uint32_t one_in)
{
	double n = r->host.churn * length / (double)NS_PER_S / one_in;

	if (!n)
		return;
	r->spent.begun = r->spent.ended = (uint64_t)n;
	r->spent.ends_ns = (uint64_t)noisy(r, n * LIFE_NS);
	r->spent.push_ns += (uint64_t)(n * one_in * UNFOLLOWED_NS);
}

static void one_interval(struct run *r, const struct scenario *s)
{
	struct log *log = &r->log[r->n];
	uint64_t from = now(r), end = from + r->config.interval_ns, at;
	double length;
	unsigned levels;

	r->spent = (struct budget_spent){ 0 };
	log->rates = r->b.rates;
	log->unknown = false;
	read_all(r);
	if (r->way == LAST_INTERVAL || r->way == ONE_BY_ONE)
		naive_passes(r, end);
	else
		while (budget_next(&r->b, &r->rng, r->spent.cpu_ns, &at, &levels)) {
			clock_sleep_until(&r->clock.clock, (int64_t)at);
			change(r, s);
			walk(r, levels);
		}
	clock_sleep_until(&r->clock.clock, (int64_t)end);
	change(r, s);
	log->from = from;
	log->to = now(r);
	length = (double)(log->to - from);
	r->spent.length_ns = log->to - from;
	r->spent.push_ns =
		(uint64_t)(length * push_share(&r->host, log->rates.thin_one_in));
	r->spent.cpu_ns += (uint64_t)(length * r->host.base);
	come_and_go(r, length, log->rates.follow_one_in);
	log->used = ((double)r->spent.cpu_ns + (double)r->spent.push_ns +
		     (double)r->spent.ends_ns) / length;
	log->expected = expected(r);
	wander(r, s);
	memcpy(r->spent.members, r->host.members, sizeof(r->spent.members));
	close_interval(r, log->used);
	r->n++;
}

static void simulate(struct run *r, const struct scenario *s, enum way way, uint64_t seed)
{
	*r = (struct run){ .way = way, .host = s->before, .rate = 2 };
	budget_config_default(&r->config);
	if (way == EQUAL_SHARES)
		r->config.levels[BUDGET_HOT] = r->config.levels[BUDGET_WARM];
	rng_init(&r->rng, seed);
	clock_virtual_init(&r->clock, NS_PER_S, 0);
	r->step_at = now(r) + STEP_S * NS_PER_S + rng_below(&r->rng, NS_PER_S / 2);
	memcpy(r->spent.members, r->host.members, sizeof(r->spent.members));
	budget_init(&r->b, &r->config, &r->rng, now(r));
	while (r->n < INTERVALS_MAX && now(r) < (RUN_S + 1) * NS_PER_S)
		one_interval(r, s);
}

/* ---- judgement ---- */

enum criterion {
	OVERSHOOT, ABOVE, SETTLING, BELOW, MOVES, STARVING, UNREAD, HOT_LAST, STATE, CRITERIA,
};

static const char *const criterion_names[CRITERIA] = {
	"overshoot", "above u", "settling", "below l", "moves", "starving", "unread", "hot last",
	"state",
};

/* The worst of all runs. */
struct score {
	double overshoot, above; /* in shares of `high` */
	double settle_s, hot_s;
	double least, most; /* mean use in the quiet part */
	uint32_t moves;
	uint32_t failed[CRITERIA];
};

static double window(const struct run *r, int first)
{
	double used = 0, all = 0;

	for (int i = first; i < first + BUDGET_WINDOW; i++) {
		double length = (double)(r->log[i].to - r->log[i].from);

		used += r->log[i].used * length;
		all += length;
	}
	return used / all / r->config.high;
}

static bool same(const struct budget_rates *a, const struct budget_rates *b)
{
	return !memcmp(a->hz, b->hz, sizeof(a->hz)) &&
	       !memcmp(a->read_hz, b->read_hz, sizeof(a->read_hz)) &&
	       a->thin_one_in == b->thin_one_in && a->follow_one_in == b->follow_one_in;
}

/* Is what it will use on average what it should be? Costs are known to 5 %. */
static bool settled(const struct run *r, const struct log *log)
{
	if (log->rates.state & BUDGET_BELOW_FLOOR)
		return true; /* judged by what was used */
	if (log->expected > r->config.high * 1.05)
		return false;
	return log->expected >= r->config.low / 1.05 ||
	       log->rates.state & (BUDGET_AT_MAX | BUDGET_UNSAMPLED);
}

static double since(const struct run *r, int i)
{
	uint64_t zero = r->log[i].from < r->step_at ? r->log[0].from : r->step_at;

	return ((double)r->log[i].from - (double)zero) / (double)NS_PER_S;
}

static int quiet_from(const struct run *r)
{
	int i = r->n;

	while (i && r->log[r->n - 1].to - r->log[i - 1].from < QUIET_S * NS_PER_S)
		i--;
	return i;
}

static void judge_windows(const struct run *r, struct score *score, bool failed[CRITERIA])
{
	double over = 0, above = 0;

	for (int i = 0; i + BUDGET_WINDOW <= r->n; i++) {
		double share = window(r, i);
		bool unknown = i < 2; /* nobody knows anything of the first */

		for (int j = i; j < i + BUDGET_WINDOW && i; j++)
			unknown |= r->log[j].unknown || r->log[j - 1].unknown;
		if (unknown)
			continue;
		if (since(r, i) < SETTLE_S)
			over = fmax(over, share);
		else
			above = fmax(above, share);
	}
	score->overshoot = fmax(score->overshoot, over);
	score->above = fmax(score->above, above);
	failed[OVERSHOOT] = over > 1.2;
	failed[ABOVE] = above > 1;
}

static void judge_settling(const struct run *r, struct score *score, bool failed[CRITERIA])
{
	double last = 0;

	for (int i = 0; i < r->n; i++) {
		if (r->log[i].from > r->step_at && !settled(r, &r->log[i]))
			last = ((double)r->log[i].to - (double)r->step_at) / (double)NS_PER_S;
	}
	score->settle_s = fmax(score->settle_s, last);
	failed[SETTLING] = last > SETTLE_S;
}

static void judge_quiet(const struct run *r, const struct scenario *s, struct score *score,
			bool failed[CRITERIA])
{
	int first = quiet_from(r);
	double used = 0, all = 0, reads[BUDGET_LEVELS] = { 0 };
	uint32_t moves = 0;

	for (int i = first; i < r->n; i++) {
		const struct log *log = &r->log[i];
		double length = (double)(log->to - log->from);

		used += log->used * length;
		all += length;
		moves += !same(&log->rates, &r->log[i - 1].rates);
		for (int k = 0; k < BUDGET_LEVELS; k++) {
			const struct budget_level_config *c = &r->config.levels[k];

			reads[k] += (double)log->rates.reads[k];
			failed[STARVING] |= s->after.members[k] &&
				(log->rates.hz[k] < c->floor_hz ||
				 log->rates.read_hz[k] < c->read_floor_hz);
		}
	}
	for (int k = 0; k < BUDGET_LEVELS; k++) {
		double n = (double)s->after.members[k] * (1 - s->after.wander);
		double due = n * r->config.levels[k].read_floor_hz * all / (double)NS_PER_S;

		failed[UNREAD] |= reads[k] < due * 0.98 - 1;
	}
	failed[MOVES] = moves > (s->after.churn > 0 ? 3 : 2) && !s->after.wander &&
			s->expect != BELOW_FLOOR;
	failed[BELOW] = s->expect == IN_BAND && used / all < r->config.low;
	score->moves = moves > score->moves ? moves : score->moves;
	score->least = fmin(score->least, used / all);
	score->most = fmax(score->most, used / all);
	if (s->expect == BELOW_FLOOR)
		failed[STARVING] = failed[UNREAD] = false;
}

/* A problem connection is looked at far more often than the others, and soon. */
static void judge_hot(const struct run *r, const struct scenario *s, struct score *score,
		      bool failed[CRITERIA])
{
	double first = INFINITY;

	if (!s->after.members[BUDGET_HOT] || s->expect != IN_BAND)
		return;
	for (int i = r->n; i--;) {
		const struct log *log = &r->log[i];
		double most = r->config.levels[BUDGET_HOT].max_hz;
		double hot = log->rates.hz[BUDGET_HOT];

		if (hot < fmin(most, 7 * log->rates.hz[BUDGET_WARM]) || log->to < r->step_at)
			break;
		if (log->rates.passes[BUDGET_HOT])
			first = log->from > r->step_at ? since(r, i) : 0;
	}
	score->hot_s = fmax(score->hot_s, first);
	failed[HOT_LAST] = first > 2;
}

static void judge_state(const struct run *r, const struct scenario *s, bool failed[CRITERIA])
{
	static const unsigned wanted[] = {
		[IN_BAND] = 0, [AT_MAX] = BUDGET_AT_MAX, [BELOW_FLOOR] = BUDGET_BELOW_FLOOR,
	};
	const struct budget_rates *end = &r->log[r->n - 1].rates;
	const unsigned may = BUDGET_UNSAMPLED | (s->after.churn > 0 ? BUDGET_AT_MAX : 0);

	failed[STATE] = (end->state & wanted[s->expect]) != wanted[s->expect] ||
			(s->expect == IN_BAND && end->state & ~may) ||
			end->thin_one_in != s->thin ||
			end->follow_one_in < s->follow || end->follow_one_in > 2 * s->follow;
}

static void judge(const struct run *r, const struct scenario *s, struct score *score)
{
	bool failed[CRITERIA] = { false };

	judge_windows(r, score, failed);
	judge_settling(r, score, failed);
	judge_quiet(r, s, score, failed);
	judge_hot(r, s, score, failed);
	judge_state(r, s, failed);
	for (int c = 0; c < CRITERIA; c++)
		score->failed[c] += failed[c];
}

/* ---- all of it ---- */

static uint32_t print(const char *name, const struct score *score)
{
	uint32_t all = 0;

	printf("| %s | %.1f | %.1f | %.2f | %.2f | %.2f..%.2f | %u |", name, score->settle_s,
	       score->hot_s, score->overshoot, score->above, 100 * score->least,
	       100 * score->most, score->moves);
	for (int c = 0; c < CRITERIA; c++) {
		if (score->failed[c])
			printf("%s %s %u", all ? "," : "", criterion_names[c], score->failed[c]);
		all += score->failed[c];
	}
	printf(" |\n");
	return all;
}

static struct score try_one(struct run *r, const struct scenario *s, enum way way, uint64_t first,
			    uint64_t runs)
{
	struct score score = { .least = INFINITY };

	for (uint64_t seed = first; seed < first + runs; seed++) {
		simulate(r, s, way, seed);
		judge(r, s, &score);
	}
	return score;
}

static uint32_t count(const struct score *score)
{
	uint32_t all = 0;

	for (int c = 0; c < CRITERIA; c++)
		all += score->failed[c];
	return all;
}

/* Each wrong controller must fail the criterion that it is wrong about. */
static bool caught(struct run *r, enum way way, uint64_t first, uint64_t runs)
{
	static const enum criterion fails[WAYS] = {
		[NO_WINDOW] = ABOVE, [NO_BAND] = MOVES, [LAST_INTERVAL] = ABOVE,
		[ONE_BY_ONE] = SETTLING, [EQUAL_SHARES] = HOT_LAST, [FOLLOW_ALL] = ABOVE,
	};
	uint32_t there = 0;

	printf("%s:", way_names[way]);
	for (size_t i = 0; i < ARRAY_LEN(scenarios); i++) {
		struct score score = try_one(r, &scenarios[i], way, first, runs);

		there += score.failed[fails[way]];
		if (count(&score))
			printf(" %s (%u);", scenarios[i].name, score.failed[fails[way]]);
	}
	printf(" in all %u times '%s'\n", there, criterion_names[fails[way]]);
	return there;
}

int main(void)
{
	const char *given = getenv("HOSTLAT_SEED");
	struct run *r = calloc(1, sizeof(*r));
	uint64_t first = 1, runs = getenv("HOSTLAT_LONG") ? RUNS_LONG : RUNS;
	bool good = true;

	if (!r || (given && parse_u64(given, &first)))
		return 1;
	runs = given ? 1 : runs;
	printf("%" PRIu64 " runs each, from seed %" PRIu64 "\n\n", runs, first);
	printf("| change | settled, s | hot, s | overshoot / u | later / u | use, %% | moves | "
	       "failed |\n"
	       "|---|--:|--:|--:|--:|--:|--:|---|\n");
	for (size_t i = 0; i < ARRAY_LEN(scenarios); i++) {
		struct score score = try_one(r, &scenarios[i], OURS, first, runs);

		good &= !print(scenarios[i].name, &score);
	}
	printf("\n");
	for (enum way way = OURS + 1; way < WAYS; way++)
		good &= caught(r, way, first, runs < RUNS ? runs : RUNS) || given;
	free(r);
	return !good;
}
