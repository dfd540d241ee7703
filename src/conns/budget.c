/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/budget.h"

#include <math.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"

#define MARGIN 0.95 /* planned share of the CPU limit; the rest covers errors of cost estimates */
#define NEAR 1.35   /* rates stay as they are if new ones differ by less than this factor */
#define GAIN 0.25   /* weight of a new measurement in the estimate of a cost */
#define STEP 1.5    /* factor: a cost measured this far off its estimate replaces it at once */
#define FEW 1.5     /* factor: a cost of n connections measured over less than n / FEW is a guess */
#define ALONG 1.2   /* least factor of change in measured costs that also scales unmeasured costs */
#define FORGET 0.05 /* decay per interval of the recent maximum error of predicted costs */
/* The next four are shares of the CPU budget, the time that BUDGET_WINDOW intervals may use. */
#define WALK_MOST 0.5 /* a level is not sampled if a pass takes more than this of the budget */
#define TRY_MOST 1.5  /* a pass guessed below this share of the CPU budget is made, to measure it */
#define TRY_AS 0.4    /* largest share of the CPU budget planned for a pass made to measure it */
/* Skipped work below this share of the CPU budget (reads: of what is left of it) is retried. */
#define AGAIN_MOST 0.8
#define PATIENCE 0.002 /* decay per interval of the estimated cost of a pass that costs too much */
#define READ_PATIENCE 0.1 /* decay per interval of the estimated cost of a read that is skipped */
#define DECAY                                                                                      \
	0.2 /* decay per interval of an estimated CPU share that falls; a rise counts at once */
#define FIXED_LEAST 1000.0
#define EACH_LEAST 1.0
#define HALVINGS 100
#define USES ((size_t)2 * BUDGET_LEVELS)

/* Initial estimates of costs, rather too high; `over` -1 marks a guess. */
static const struct budget_cost walk_guess = { .fixed_ns = 50000, .each_ns = 500, .over = -1 };
static const struct budget_cost read_guess = { .fixed_ns = 50000, .each_ns = 1000, .over = -1 };

/* Work planned on one level of connections: sampling passes or reads of records, and their rate. */
struct budget_work {
	double ns; /* cost at a rate of 1 per second, in ns per second */
	double weight, floor, max;
	double rate;
};

void budget_config_default(struct budget_config *config)
{
	*config = (struct budget_config){
		.low = 0.01, .high = 0.03, .interval_ns = 500 * NS_PER_MS,
		.levels = {
			[BUDGET_HOT] = { 1, 0.5, 100, 0.2, 0.2, 10 },
			[BUDGET_WARM] = { 0.1, 0.05, 20, 0.02, 0.05, 10 },
			[BUDGET_REST] = { 0, 0, 0, 0.002, 1.0 / 60, 0.2 },
		},
	};
}

/* Return shares of a core: the CPU use that the budget aims at, and (budget_limit) its maximum. */
static double budget_aim(const struct budget *b)
{
	return fmin((b->config.low + b->config.high) / 2, b->config.high * MARGIN);
}

static double budget_limit(const struct budget *b)
{
	return b->config.high * MARGIN;
}

/* ---- costs ---- */

static double budget_cost_of(const struct budget_cost *cost, double n)
{
	return cost->fixed_ns + cost->each_ns * n;
}

static void budget_learn_cost(struct budget_cost *cost, double ns, double n)
{
	double guess = budget_cost_of(cost, n), off = ns - guess, each = cost->each_ns * n;
	double fixed = cost->fixed_ns, squares = fixed * fixed + each * each;

	if (ns < guess * STEP && ns * STEP > guess)
		off *= GAIN;
	cost->fixed_ns = fmax(fixed + off * fixed * fixed / squares, FIXED_LEAST);
	if (n > 0)
		cost->each_ns = fmax(cost->each_ns + off * each * each / squares / n, EACH_LEAST);
	cost->stepped = ns >= guess * STEP || ns * STEP <= guess ? 2 : cost->stepped;
	cost->over = n;
}

static void budget_follow_share(double *share, double now)
{
	*share = now > *share ? now : *share + DECAY * (now - *share);
}

/* Returns the predicted cost of the interval's work, in ns. */
static double budget_predict_ns(const struct budget *b, const struct budget_spent *s)
{
	double ns = 0;

	for (int k = 0; k < BUDGET_LEVELS; k++) {
		ns += b->walk[k].fixed_ns * (double)s->walks[k];
		ns += b->walk[k].each_ns * (double)s->visited[k];
		ns += s->reads[k] ? budget_cost_of(&b->read[k], (double)s->reads[k]) : 0;
	}
	return ns;
}

static void budget_scale_cost(struct budget_cost *cost, double by)
{
	/* This cost was measured recently and has jumped itself: it needs no scaling. */
	if (cost->stepped)
		return;
	cost->fixed_ns = fmax(cost->fixed_ns * by, FIXED_LEAST);
	cost->each_ns = fmax(cost->each_ns * by, EACH_LEAST);
	cost->over = -1;
}

static double budget_window_ns(const struct budget *b)
{
	return budget_limit(b) * BUDGET_WINDOW * (double)b->config.interval_ns;
}

/* Returns the ns of a pass over a level. A high guess is cut, so that one pass can test it. */
static double budget_walk_ns(const struct budget *b, int k)
{
	double n = (double)b->members[k], ns = budget_cost_of(&b->walk[k], n);

	if (b->walk[k].over * FEW < n && ns < TRY_MOST * budget_window_ns(b))
		return fmin(ns, TRY_AS * budget_window_ns(b));
	return ns;
}

static bool budget_is_too_dear(const struct budget *b, int k)
{
	return budget_walk_ns(b, k) > WALK_MOST * budget_window_ns(b);
}

/* Lowers cost estimates of skipped passes and reads until these are tried, and measured, again. */
static void budget_lower_estimates(struct budget *b, int k, bool was_read)
{
	double fixed = b->read[k].fixed_ns, room = budget_window_ns(b) -
		(b->base + b->push + b->ends) * BUDGET_WINDOW * (double)b->config.interval_ns;

	if (!was_read && b->members[k] && b->rates.state & BUDGET_BELOW_FLOOR &&
	    !b->rates.read_hz[k] && fixed < AGAIN_MOST * room)
		b->read[k].fixed_ns = fmax(fixed * (1 - READ_PATIENCE), FIXED_LEAST);
	if (budget_is_too_dear(b, k) && budget_walk_ns(b, k) < AGAIN_MOST * budget_window_ns(b)) {
		b->walk[k].fixed_ns *= 1 - PATIENCE;
		b->walk[k].each_ns *= 1 - PATIENCE;
	}
}

/* Learns the cost of one connection's begin and end: following fewer new connections saves it. */
static void budget_learn_ends(struct budget *b, const struct budget_spent *s)
{
	double n = (double)s->begun + (double)s->ended, each = n ? 2 * (double)s->ends_ns / n : 0;

	if (n)
		b->life_ns += (b->life_ns ? GAIN : 1) * (each - b->life_ns);
	budget_follow_share(&b->ends, (double)s->begun * b->life_ns / (double)s->length_ns);
}

static void budget_learn(struct budget *b, const struct budget_spent *s)
{
	double length = (double)s->length_ns, other = (double)s->cpu_ns,
	       before = budget_predict_ns(b, s), by;
	double work = 0;

	for (int k = 0; k < BUDGET_LEVELS; k++) {
		double walks = (double)s->walks[k];

		work += (double)s->walk_ns[k] + (double)s->read_ns[k];
		if (s->walks[k])
			budget_learn_cost(&b->walk[k], (double)s->walk_ns[k] / walks,
					  (double)s->visited[k] / walks);
		if (s->reads[k])
			budget_learn_cost(&b->read[k], (double)s->read_ns[k], (double)s->reads[k]);
	}
	/*
	 * A slower core or memory makes all work more expensive: scale also the costs of work not
	 * done in this interval.
	 */
	by = before > 0 ? budget_predict_ns(b, s) / before : 1;
	by = by > ALONG || by * ALONG < 1 ? by : 1;
	for (int k = 0; k < BUDGET_LEVELS; k++) {
		if (!s->walks[k] && by != 1)
			budget_scale_cost(&b->walk[k], by);
		if (!s->reads[k] && by != 1)
			budget_scale_cost(&b->read[k], by);
		b->walk[k].stepped -= b->walk[k].stepped > 0;
		b->read[k].stepped -= b->read[k].stepped > 0;
		budget_lower_estimates(b, k, s->reads[k]);
	}
	b->unsure -= FORGET * b->unsure;
	if (before > 0)
		b->unsure = fmax(b->unsure, fmin(fabs(work / before - 1), STEP - 1));
	budget_follow_share(&b->base, fmax(other - work, 0) / length);
	budget_follow_share(&b->push, (double)s->push_ns / length);
	budget_learn_ends(b, s);
}

/* ---- rates ---- */

static void budget_list_works(const struct budget *b, struct budget_work uses[USES])
{
	double second = (double)NS_PER_S, most = second / (double)b->config.interval_ns, empty = 0;

	for (int k = 0; k < BUDGET_LEVELS; k++) {
		const struct budget_level_config *c = &b->config.levels[k];
		double n = (double)b->members[k];
		bool nobody = !n && k + 1 < BUDGET_LEVELS && c[1].max_hz > 0;

		uses[k] = (struct budget_work){ .ns = budget_walk_ns(b, k), .weight = c->weight,
					.floor = c->floor_hz, .max = c->max_hz };
		/*
		 * A level without connections is sampled in each pass over the next level, so that
		 * its first connection is sampled at once.
		 */
		if (nobody) {
			empty += uses[k].ns;
			uses[k].ns = uses[k].weight = uses[k].floor = uses[k].max = 0;
		} else {
			uses[k].ns += empty;
			empty = 0;
			/* More passes over a level without connections would find nothing. */
			if (!n)
				uses[k].max = uses[k].floor;
			if (budget_is_too_dear(b, k))
				uses[k].ns = uses[k].weight = uses[k].floor = uses[k].max = 0;
		}
		uses[BUDGET_LEVELS + k] = (struct budget_work){
			.ns = b->read[k].each_ns * n, .weight = n ? c->read_weight : 0,
			.floor = n ? fmin(c->read_floor_hz, most) : 0,
			.max = n ? fmin(c->read_max_hz, most) : 0 };
	}
}

/* Returns the cost that sampling rates and read rates do not change, as a share of a core. */
static double budget_fixed_share(const struct budget *b)
{
	double share = b->base + b->push + b->ends;

	for (int k = 0; k < BUDGET_LEVELS; k++)
		share += b->members[k] ? b->read[k].fixed_ns / (double)b->config.interval_ns : 0;
	return share;
}

static double budget_set_level(struct budget_work uses[USES], double level)
{
	double ns = 0;

	for (size_t i = 0; i < USES; i++) {
		struct budget_work *u = &uses[i];

		u->rate = fmin(fmax(level * u->weight, u->floor), u->max);
		ns += u->rate * u->ns;
	}
	return ns;
}

/* Sets each rate to its minimum, then raises rates by weight up to `room` ns per second. */
static void budget_spread(struct budget_work uses[USES], double room)
{
	double low = 0, high = 1e6;

	if (budget_set_level(uses, high) <= room)
		return;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (budget_set_level(uses, middle) > room)
			high = middle;
		else
			low = middle;
	}
	budget_set_level(uses, low);
}

static void budget_find_rates(const struct budget *b, struct budget_work uses[USES],
			      unsigned *state)
{
	double second = (double)NS_PER_S, fixed = budget_fixed_share(b);
	double aim = (budget_aim(b) - fixed) * second;
	double most = fmax(budget_limit(b) - fixed, 0) * second, floors;

	budget_list_works(b, uses);
	floors = budget_set_level(uses, 0);
	*state = 0;
	if (floors > most) {
		*state |= BUDGET_BELOW_FLOOR;
		for (size_t i = 0; i < USES; i++)
			uses[i].rate *= most / floors;
	} else {
		budget_spread(uses, fmax(aim, floors));
	}
}

static double budget_current_rate(const struct budget *b, size_t use)
{
	return use < BUDGET_LEVELS ? b->rates.hz[use] : b->rates.read_hz[use - BUDGET_LEVELS];
}

/* Returns whether current rates can stay: they are near the new rates and fit the budget. */
static bool budget_may_stay(const struct budget *b, const struct budget_work uses[USES])
{
	double share = 0;

	for (size_t i = 0; i < USES; i++) {
		double now = budget_current_rate(b, i), then = uses[i].rate;

		if (!uses[i].max)
			continue;
		if (now > then * NEAR || now * NEAR < then || now > uses[i].max ||
		    now < uses[i].floor)
			return false;
		share += now * uses[i].ns / (double)NS_PER_S;
	}
	share += budget_fixed_share(b);
	return share >= b->config.low && share <= budget_limit(b);
}

static void budget_set_rates(struct budget *b)
{
	struct budget_rates *r = &b->rates;
	struct budget_work uses[USES];
	bool stay, at_max = true;

	budget_find_rates(b, uses, &r->state);
	stay = !(r->state & BUDGET_BELOW_FLOOR) && budget_may_stay(b, uses);
	for (int k = BUDGET_LEVELS; k--;) {
		const struct budget_work *walk = &uses[k], *read = &uses[BUDGET_LEVELS + k];

		if (!walk->max)
			r->hz[k] = k + 1 < BUDGET_LEVELS ? r->hz[k + 1] : 0;
		else if (!stay)
			r->hz[k] = walk->rate;
		if (!stay || !read->max)
			r->read_hz[k] = read->rate;
		if (b->config.levels[k].max_hz > 0 && budget_is_too_dear(b, k))
			r->state |= BUDGET_UNSAMPLED;
		at_max &= r->hz[k] >= walk->max && r->read_hz[k] >= read->max;
	}
	if (at_max && !(r->state & BUDGET_UNSAMPLED))
		r->state |= BUDGET_AT_MAX;
}

/* ---- pushes ---- */

/*
 * Adapts `*n`; BPF programs in other tasks follow one in `*n` connections. Doubles `*n` until their
 * cost fits, halves it only if that surely fits. `*share` is this cost as a share of a core,
 * `least` the share that it may always take. Returns false if `*n` is `max` and the cost too high.
 */
static bool budget_sample_pushes(struct budget *b, double *share, double least, uint32_t *n,
				 uint32_t max)
{
	struct budget_work uses[USES];
	uint64_t next = *n;
	double other;

	budget_list_works(b, uses);
	/* Reserve the minimum rates: a connection whose record is never read is not reported. */
	other = budget_fixed_share(b) - *share + budget_set_level(uses, 0) / (double)NS_PER_S;
	least = fmax(budget_limit(b) - other, least);
	if (*share > least) {
		if (*n >= max)
			return false;
		do
			next *= 2;
		while (next < max && *share * *n > least * (double)next);
	} else if (*n > 1 && *share * 2 + other <= budget_aim(b)) {
		next /= 2;
	}
	*share *= (double)*n / (double)next;
	*n = (uint32_t)next;
	return true;
}

/*
 * If minimum rates leave nothing, BPF programs in other tasks get half of the budget. Begins and
 * ends of connections get half of that half: connections that stay yield more data.
 */
static bool budget_set_sampling(struct budget *b)
{
	bool few = budget_sample_pushes(b, &b->ends, b->config.high / 4, &b->rates.follow_one_in,
					BUDGET_FOLLOW_MAX);

	return budget_sample_pushes(b, &b->push,
				    b->config.high / 2 - fmin(b->ends, b->config.high / 4),
				    &b->rates.thin_one_in, BUDGET_THIN_MAX) &&
	       few;
}

/* ---- passes of an interval ---- */

static uint32_t budget_draw_poisson(struct rng *rng, double hz, double length_ns)
{
	double at = 0, mean = hz > 0 ? (double)NS_PER_S / hz : 0;
	uint32_t n = 0;

	if (hz <= 0)
		return 0;
	while ((at += rng_exponential(rng, mean)) < length_ns)
		n++;
	return n;
}

static uint32_t budget_thin_passes(struct rng *rng, uint32_t n, double share)
{
	uint32_t n_left = 0;

	for (uint32_t i = 0; i < n; i++)
		n_left += rng_uniform(rng) < share;
	return n_left;
}

/* Returns how many levels, counted from the first, can have one pass each within `room` ns. */
static int budget_affordable_levels(const struct budget *b, double room)
{
	int k = 0;

	for (; k < BUDGET_LEVELS && b->rates.hz[k] > 0; k++) {
		room -= budget_walk_ns(b, k);
		if (room < 0)
			break;
	}
	return k;
}

/* Drops sampling passes beyond `room` ns, from the last level on, but never a level's only pass. */
static void budget_drop_walks(const struct budget *b, uint32_t passes[BUDGET_LEVELS], double room)
{
	for (int k = 0; k < BUDGET_LEVELS; k++)
		room -= passes[k] * budget_walk_ns(b, k);
	for (int k = BUDGET_LEVELS; k-- && room < 0;) {
		double each = budget_walk_ns(b, k);
		double spare = passes[k] ? passes[k] - 1 : 0;
		double dropped = fmin(ceil(-room / each), spare);

		passes[k] -= (uint32_t)dropped;
		room += dropped * each;
	}
	/* A pass over a level includes the levels before it, so these have at least as many. */
	for (int k = BUDGET_LEVELS - 1; k-- > 0;) {
		if (passes[k] < passes[k + 1])
			passes[k + 1] = passes[k];
	}
}

/* Sets how many records are read now, the rest later. Returns the unused part of `room`, in ns. */
static double budget_set_reads(struct budget *b, double room)
{
	double length = (double)b->config.interval_ns / (double)NS_PER_S;

	for (int k = 0; k < BUDGET_LEVELS; k++) {
		const struct budget_cost *cost = &b->read[k];
		double n = (double)b->members[k];
		double due = fmin(b->read_due[k] + b->rates.read_hz[k] * n * length, n);
		double now = fmin(due, floor(fmax(room - cost->fixed_ns, 0) / cost->each_ns));

		now = floor(now);
		b->read_due[k] = due - now;
		b->rates.reads[k] = (uint64_t)now;
		room -= now > 0 ? budget_cost_of(cost, now) : 0;
	}
	return room;
}

static void budget_set_passes(struct budget *b, struct rng *rng, double room)
{
	struct budget_rates *r = &b->rates;
	double length = (double)b->config.interval_ns;
	int levels = budget_affordable_levels(b, room);

	for (int k = 0; k < BUDGET_LEVELS; k++) {
		if (k >= levels) {
			r->state |= r->hz[k] > 0 ? BUDGET_UNSAMPLED : 0;
			r->passes[k] = 0;
		} else {
			r->passes[k] = k ? budget_thin_passes(rng, r->passes[k - 1],
							      r->hz[k] / r->hz[k - 1])
					 : budget_draw_poisson(rng, r->hz[k], length);
		}
	}
	budget_drop_walks(b, r->passes, room);
	for (int k = 0; k < BUDGET_LEVELS; k++) {
		double chance = -expm1(-r->hz[k] * length / (double)NS_PER_S);

		r->sampled[k] = k < levels;
		r->sample_ns[k] = r->passes[k] ? length / r->passes[k] / chance : 0;
	}
}

/* Returns the CPU time in ns that the limit `high` leaves for this interval. */
static double budget_left_ns(const struct budget *b)
{
	double length = (double)b->config.interval_ns, used = 0, all = length;

	for (int i = 0; i < BUDGET_WINDOW - 1; i++) {
		used += b->window[i].used_ns;
		all += b->window[i].length_ns;
	}
	return fmax(budget_limit(b) * all - used, 0);
}

static void budget_begin(struct budget *b, struct rng *rng, uint64_t now)
{
	const struct budget_rates *r = &b->rates;
	double planned = (b->base + b->push + b->ends) * (double)b->config.interval_ns;

	budget_set_passes(b, rng,
			  budget_set_reads(b, (budget_left_ns(b) - planned) / (1 + b->unsure)));
	for (int k = 0; k < BUDGET_LEVELS; k++) {
		planned += r->passes[k] * budget_walk_ns(b, k);
		planned += r->reads[k] ? budget_cost_of(&b->read[k], (double)r->reads[k]) : 0;
	}
	b->planned_ns = planned;
	memcpy(b->left, r->passes, sizeof(b->left));
	b->at = now;
	b->end = now + b->config.interval_ns;
}

void budget_init(struct budget *b, const struct budget_config *config, struct rng *rng,
		 uint64_t now)
{
	BUG_ON(!(config->low >= 0 && config->low < config->high) || !config->interval_ns);
	for (int k = 1; k < BUDGET_LEVELS; k++) {
		const struct budget_level_config *c = &config->levels[k];

		BUG_ON(c->weight > c[-1].weight || c->floor_hz > c[-1].floor_hz ||
		       c->max_hz > c[-1].max_hz || c->floor_hz > c->max_hz);
	}
	*b = (struct budget){
		.config = *config, .rates.thin_one_in = 1, .rates.follow_one_in = 1,
	};
	for (int k = 0; k < BUDGET_LEVELS; k++) {
		b->walk[k] = walk_guess;
		b->read[k] = read_guess;
	}
	/* Assume that intervals before the start used the CPU share that the budget aims at. */
	for (int i = 0; i < BUDGET_WINDOW - 1; i++) {
		b->window[i].length_ns = (double)config->interval_ns;
		b->window[i].used_ns = budget_aim(b) * b->window[i].length_ns;
	}
	budget_set_rates(b);
	budget_begin(b, rng, now);
}

static void budget_remember(struct budget *b, const struct budget_spent *s)
{
	double used = (double)s->cpu_ns + (double)s->push_ns + (double)s->ends_ns;
	double length = (double)s->length_ns, all = length, sum = used;

	for (int i = 0; i < BUDGET_WINDOW - 1; i++) {
		sum += b->window[i].used_ns;
		all += b->window[i].length_ns;
	}
	b->used = sum / all;
	memmove(b->window + 1, b->window, sizeof(b->window) - sizeof(b->window[0]));
	/* If costs jumped, forget the excess: to pay it back, sampling would have to stop. */
	if (used > STEP * b->planned_ns)
		used = fmin(used, fmax(b->planned_ns, budget_aim(b) * length));
	b->window[0] = (struct budget_use){ used, length };
}

void budget_close(struct budget *b, const struct budget_spent *spent, struct rng *rng,
		  uint64_t now)
{
	bool cheap;

	if (spent->length_ns) {
		budget_learn(b, spent);
		budget_remember(b, spent);
	}
	memcpy(b->members, spent->members, sizeof(b->members));
	cheap = budget_set_sampling(b);
	budget_set_rates(b);
	b->rates.state |= cheap ? 0 : BUDGET_PUSHES_TOO_DEAR;
	budget_begin(b, rng, now);
}

bool budget_next(struct budget *b, struct rng *rng, uint64_t used_ns, uint64_t *at,
		 unsigned *levels)
{
	uint32_t all = b->left[0];
	double rest = (double)(b->end - b->at), length = (double)b->config.interval_ns;

	if (!all || (double)used_ns > STEP * b->planned_ns + b->config.high * length)
		return false;
	/* the earliest of `all` independent uniform times in the rest of the interval */
	b->at += (uint64_t)(rest * -expm1(log1p(-rng_uniform(rng)) / all));
	*at = b->at;
	*levels = 1;
	b->left[0]--;
	/* Each remaining pass over a level is equally likely to include the next level. */
	for (int k = 1; k < BUDGET_LEVELS && b->left[k]; k++) {
		if (rng_below(rng, all) >= b->left[k])
			break;
		all = b->left[k]--;
		(*levels)++;
	}
	return true;
}
