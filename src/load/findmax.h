/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The highest rate at which a latency condition holds (--find-max), by probes that each are a run
 * of their own: a pure state machine, driven by runs or by a simulation.
 *
 * A probe decides only by its one-sided bound: the condition holds at a rate if the upper bound of
 * the quantile is below the limit, and fails if the lower one is not. One that shows neither is
 * open: then its rate is close to the answer, and how far off the quantile was and how wide its
 * interval say where to ask, and for how long, to have the answer between two probes that decide.
 * These estimates only choose probes: no rate is ever taken for good or bad on a noisy point.
 *
 * A run that failed for want of capacity has no valid interval. Unless nothing else can have been
 * the reason, it is asked again at the same rate, and believed if the second says so too.
 *
 * The answer is [lo, hi]: shown to hold at lo and to fail at hi. Latency is taken to grow with the
 * rate; then the answer is wrong only if a decision was. Each of at most FINDMAX_PROBES gets the
 * same share of 1 - confidence (Bonferroni), so that the answer as a whole has that confidence.
 *
 *	findmax_init(&fm, &config);
 *	while (findmax_next(&fm, &probe)) {
 *		run at probe.rate for probe.duration_ns, one-sided bounds at probe.confidence;
 *		findmax_feed(&fm, truth, &quantile, time it took);
 *	}
 */
#ifndef HOSTLAT_LOAD_FINDMAX_H
#define HOSTLAT_LOAD_FINDMAX_H

#include <stdbool.h>
#include <stdint.h>

#include "load/condition.h"

#define FINDMAX_PROBES 32

struct findmax_config {
	double q;           /* of the condition, 0 < q < 1 */
	uint64_t limit_ns;  /* of the condition */
	double confidence;  /* of the answer */
	/* hi / lo - 1 that is close enough, > 0 */
	double precision;
	double start;       /* first rate */
	double min, max;    /* rates below and above are not tried */
	uint64_t probe_ns;  /* shortest probe */
	uint64_t budget_ns; /* of all probes together */
};

struct findmax_probe {
	double rate;
	uint64_t duration_ns;
	double confidence; /* of each one-sided bound */
};

enum findmax_end {
	FINDMAX_GOES_ON,
	FINDMAX_FOUND,     /* as precise as asked for */
	FINDMAX_TIME,      /* the budget is spent: the interval is wider */
	FINDMAX_PROBES_USED,
	FINDMAX_ABOVE_MAX, /* it holds at the highest rate that may be tried */
	FINDMAX_BELOW_MIN, /* it fails at the lowest one */
};

/* What a probe measured. */
struct findmax_point {
	double rate;
	double excess;  /* ln(quantile / limit) */
	double half;    /* half of the interval's width, as a logarithm */
	double seconds;
};

struct findmax {
	struct findmax_config config;
	/* shown to hold, shown to fail; 0: none yet */
	double lo, hi;
	struct findmax_point at_lo, at_hi; /* rate 0: not measured */
	struct findmax_point open[FINDMAX_PROBES];
	uint32_t n_open;
	/* a probe took at most so much more than it lasted */
	uint64_t used_ns, extra_ns;
	double doubted;                 /* the rate that is asked again; 0: none */
	uint32_t probes;
	struct findmax_probe probe;     /* the one that is under way */
	enum findmax_end end;
};

void findmax_init(struct findmax *fm, const struct findmax_config *config);

/* False at the end: see `end`, `lo` and `hi`. */
bool findmax_next(struct findmax *fm, struct findmax_probe *probe);

/*
 * What the probe showed, what it measured (whatever of it is known), and how long it took in all. A
 * run that failed for want of capacity is LOAD_FAILS, one that says nothing LOAD_OPEN.
 */
void findmax_feed(struct findmax *fm, enum load_truth truth, const struct load_quantile *quantile,
		  uint64_t took_ns);

/* It seems to fail for want of capacity, but something else may have been the reason. */
void findmax_doubt(struct findmax *fm, const struct load_quantile *quantile, uint64_t took_ns);

/* "found", "time", ... */
const char *findmax_end_name(enum findmax_end end);

#endif
