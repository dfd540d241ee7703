/* SPDX-License-Identifier: Apache-2.0 */
#include "load/findmax.h"

#include <math.h>

#include "base/bug.h"
#include "base/parse.h"

/* Expected number of requests slower than the quantile, in the shortest run of the search. */
#define PROBE_TAIL 100

/*
 * AIM_OFF is the distance of a probe's rate from the estimated answer, AIM_HALF half the width of
 * its interval, both as shares of the requested precision. The difference, 0.15, is 1.5 standard
 * errors at a probe's confidence, so that most probes decide.
 */
#define AIM_OFF 0.45
#define AIM_HALF 0.3

/*
 * Tolerance for AIM_OFF, as a share of the precision: a probe this much farther below the estimated
 * answer is not replaced by a closer probe.
 */
#define AIM_SLACK 0.1

/* Largest ratio of a probe's length to the last probe's, as early estimates are unreliable. */
#define LONGER_MAX 16

/* Least slope d ln(quantile) / d ln(rate); it replaces smaller measured slopes. */
#define SLOPE_MIN 0.25

void findmax_init(struct findmax *fm, const struct findmax_config *config)
{
	*fm = (struct findmax){ .config = *config };
}

const char *findmax_end_name(enum findmax_end end)
{
	static const char *const names[] = {
		[FINDMAX_GOES_ON] = "goes-on",     [FINDMAX_FOUND] = "found",
		[FINDMAX_TIME] = "time",	   [FINDMAX_PROBES_USED] = "probes",
		[FINDMAX_ABOVE_MAX] = "above-max", [FINDMAX_BELOW_MIN] = "below-min",
	};

	return names[end];
}

/* ---- choosing the next rate ---- */

/*
 * Returns the next rate while no rate is known at which the condition holds, or none at which it
 * fails: twice the highest or half the lowest rate probed.
 */
static double findmax_widen(const struct findmax *fm)
{
	double highest = fm->lo, lowest = fm->hi;

	for (uint32_t i = 0; i < fm->n_open; i++) {
		highest = fmax(highest, fm->open[i].rate);
		lowest = lowest ? fmin(lowest, fm->open[i].rate) : fm->open[i].rate;
	}
	if (!highest && !lowest)
		return fm->config.start;
	return fm->hi ? lowest / 2 : highest * 2;
}

/*
 * Returns the slope d ln(quantile) / d ln(rate) between the highest rate at which the condition
 * holds and the lowest at which it fails.
 */
static double findmax_slope(const struct findmax *fm)
{
	const struct findmax_point *a = &fm->at_lo, *b = &fm->at_hi;

	/*
	 * A saturated server has no latency at `hi`, the lowest rate at which the condition fails:
	 * use the highest probe that did not decide.
	 */
	if (!b->rate)
		for (uint32_t i = 0; i < fm->n_open; i++)
			if (!b->rate || fm->open[i].rate > b->rate)
				b = &fm->open[i];
	if (!a->rate || b->rate <= a->rate)
		return 1;
	return fmax((b->excess - a->excess) / log(b->rate / a->rate), SLOPE_MIN);
}

/*
 * Estimates ln of the rate at which the quantile equals the limit, from the open probes, which did
 * not decide.
 */
static double findmax_estimate(const struct findmax *fm, double slope)
{
	double sum = 0, weight = 0;

	for (uint32_t i = 0; i < fm->n_open; i++) {
		const struct findmax_point *p = &fm->open[i];

		sum += p->seconds * (log(p->rate) - p->excess / slope);
		weight += p->seconds;
	}
	return fmin(fmax(sum / weight, log(fm->lo)), log(fm->hi));
}

/*
 * Returns the rate of a probe that should decide, and sets its length. The rate is below the
 * estimated answer until `lo`, the highest rate at which the condition holds, is close below it;
 * then above.
 */
static double findmax_aim(const struct findmax *fm, double *seconds)
{
	const struct findmax_point *last = &fm->open[fm->n_open - 1];
	double precision = log1p(fm->config.precision), s = findmax_slope(fm),
	       at = findmax_estimate(fm, s);
	double shorter = last->half / (AIM_HALF * precision * s);
	double lo = log(fm->lo);

	*seconds = last->seconds * fmin(fmax(shorter * shorter, 1), LONGER_MAX);
	if (at - lo > (AIM_OFF + AIM_SLACK) * precision)
		return exp(at - AIM_OFF * precision);
	/* The condition holds at `lo`, close below the estimate: the next rate is above. */
	return exp(fmin(fmin(at + AIM_OFF * precision, lo + (1 - AIM_SLACK / 2) * precision),
			(lo + log(fm->hi)) / 2));
}

/* ---- state machine ---- */

static bool is_narrow(const struct findmax *fm)
{
	return fm->lo && fm->hi && fm->hi / fm->lo - 1 <= fm->config.precision;
}

/* Whether probes and time are left for one more probe. */
static bool can_go_on(const struct findmax *fm)
{
	return fm->probes < FINDMAX_PROBES &&
	       fm->used_ns + fm->extra_ns + fm->config.probe_ns <= fm->config.budget_ns;
}

static enum findmax_end judge_end(const struct findmax *fm)
{
	const struct findmax_config *c = &fm->config;

	if (is_narrow(fm))
		return fm->confirming == 2 || !can_go_on(fm) ? FINDMAX_FOUND : FINDMAX_GOES_ON;
	if (fm->lo >= c->max)
		return FINDMAX_ABOVE_MAX;
	if (fm->hi && fm->hi <= c->min)
		return FINDMAX_BELOW_MIN;
	if (fm->probes == FINDMAX_PROBES)
		return FINDMAX_PROBES_USED;
	if (fm->used_ns + fm->extra_ns + c->probe_ns > c->budget_ns)
		return FINDMAX_TIME;
	return FINDMAX_GOES_ON;
}

static uint64_t findmax_duration(const struct findmax *fm, double rate, double seconds)
{
	const struct findmax_config *c = &fm->config;
	double least = PROBE_TAIL / (1 - c->q) / rate;
	double ns = fmax(fmax(seconds, least) * NS_PER_S, (double)c->probe_ns);
	uint64_t left = c->budget_ns - fm->used_ns - fm->extra_ns;

	return ns < (double)left ? (uint64_t)ns : left;
}

bool findmax_next(struct findmax *fm, struct findmax_probe *probe)
{
	const struct findmax_config *c = &fm->config;
	double rate, seconds = 0;

	fm->end = judge_end(fm);
	if (fm->end)
		return false;
	if (fm->doubted) {
		rate = fm->doubted;
		seconds = (double)fm->probe.duration_ns / NS_PER_S;
	} else if (is_narrow(fm)) {
		rate = fm->confirming ? fm->hi : fm->lo;
		seconds = fm->confirming ? fm->at_hi.seconds : fm->at_lo.seconds;
	} else if (!fm->lo || !fm->hi) {
		rate = findmax_widen(fm);
	} else if (fm->n_open) {
		rate = findmax_aim(fm, &seconds);
	} else {
		rate = sqrt(fm->lo * fm->hi);
	}
	rate = fmin(fmax(rate, c->min), c->max);
	fm->probe = (struct findmax_probe){
		.rate = rate,
		.duration_ns = findmax_duration(fm, rate, seconds),
		.confidence = 1 - (1 - c->confidence) / FINDMAX_PROBES,
	};
	fm->probes++;
	*probe = fm->probe;
	return true;
}

static struct findmax_point findmax_measured(const struct findmax *fm,
					     const struct load_quantile *q)
{
	struct findmax_point p = { .rate = 0 };

	if (!q->known || !q->ns)
		return p;
	p.rate = fm->probe.rate;
	p.excess = log((double)q->ns / (double)fm->config.limit_ns);
	p.seconds = (double)fm->probe.duration_ns / NS_PER_S;
	p.half = q->bounded && q->lo_ns ? log((double)q->hi_ns / (double)q->lo_ns) / 2
					: INFINITY;
	return p;
}

/*
 * Drops undecided probes outside of (lo, hi): the condition holds at lo and fails at hi, so the
 * answer lies between.
 */
static void clip_open(struct findmax *fm)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < fm->n_open; i++)
		if (fm->open[i].rate > fm->lo && (!fm->hi || fm->open[i].rate < fm->hi))
			fm->open[n++] = fm->open[i];
	fm->n_open = n;
}

static void findmax_charge(struct findmax *fm, uint64_t took_ns)
{
	uint64_t lasted = fm->probe.duration_ns;

	fm->used_ns += took_ns;
	if (took_ns > lasted && took_ns - lasted > fm->extra_ns)
		fm->extra_ns = took_ns - lasted;
}

/*
 * Takes the result of a probe that confirms the found range, first at lo and then at hi. An end
 * that is contradicted becomes the other end: where it was, the condition does not hold after all,
 * or holds.
 */
static void findmax_confirm(struct findmax *fm, enum load_truth truth,
			    const struct findmax_point *point)
{
	const bool at_lo = !fm->confirming;

	if (truth != (at_lo ? LOAD_FAILS : LOAD_HOLDS)) {
		fm->confirmed = truth != LOAD_OPEN && (at_lo || fm->confirmed);
		fm->confirming++;
		return;
	}
	if (at_lo) {
		fm->hi = fm->lo;
		fm->at_hi = *point;
		fm->lo = 0;
		fm->at_lo = (struct findmax_point){ 0 };
	} else {
		fm->lo = fm->hi;
		fm->at_lo = *point;
		fm->hi = 0;
		fm->at_hi = (struct findmax_point){ 0 };
	}
	fm->confirming = 0;
	fm->n_open = 0;
}

void findmax_doubt(struct findmax *fm, const struct load_quantile *quantile, uint64_t took_ns)
{
	if (fm->doubted) {
		findmax_feed(fm, LOAD_FAILS, quantile, took_ns);
		return;
	}
	fm->doubted = fm->probe.rate;
	findmax_charge(fm, took_ns);
}

void findmax_feed(struct findmax *fm, enum load_truth truth, const struct load_quantile *quantile,
		  uint64_t took_ns)
{
	struct findmax_point point = findmax_measured(fm, quantile);
	double rate = fm->probe.rate;

	BUG_ON(!rate);
	findmax_charge(fm, took_ns);
	fm->doubted = 0;
	if (is_narrow(fm)) {
		findmax_confirm(fm, truth, &point);
	} else if (truth == LOAD_HOLDS) {
		fm->lo = rate;
		fm->at_lo = point;
	} else if (truth == LOAD_FAILS) {
		fm->hi = rate;
		fm->at_hi = point;
	} else if (point.rate) {
		fm->open[fm->n_open++] = point;
	}
	clip_open(fm);
}
