/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the highest rate at which a latency condition holds (--find-max), by probes that are runs
 * of their own. A pure state machine, driven by runs or by a simulation.
 *
 * A probe decides only by its one-sided bound: the condition holds at a rate if the upper bound of
 * the quantile is below the limit, and fails if the lower one is not. A probe that shows neither is
 * open: its rate is close to the answer. From its quantile and the width of its interval follow
 * rate and length of the next probe, so that the answer ends up between two probes that decide.
 * Such estimates only choose probes; they never decide about a rate.
 *
 * A run beyond the server's capacity has no valid interval. If host interference may have been the
 * reason, the probe is repeated at the same rate, and counts as failed if the second one fails too.
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
	double q;           /* quantile of the condition, 0 < q < 1 */
	uint64_t limit_ns;  /* of the condition */
	double confidence;  /* confidence of the answer */
	/* relative width of the answer: stop at hi / lo - 1 <= precision; > 0 */
	double precision;
	double start;       /* first rate */
	double min, max;    /* range of rates to try */
	uint64_t probe_ns;  /* shortest probe */
	uint64_t budget_ns; /* time for all probes together */
};

struct findmax_probe {
	double rate;
	uint64_t duration_ns;
	double confidence; /* confidence of each one-sided bound */
};

enum findmax_end {
	FINDMAX_GOES_ON,
	FINDMAX_FOUND,     /* as precise as requested */
	FINDMAX_TIME,      /* the time is used up: the interval is wider */
	FINDMAX_PROBES_USED,
	FINDMAX_ABOVE_MAX, /* the condition holds at the highest rate to try */
	FINDMAX_BELOW_MIN, /* the condition fails at the lowest rate to try */
};

/* A probe's measurement. */
struct findmax_point {
	double rate;
	double excess;  /* ln(quantile / limit) */
	double half;    /* half the width of the interval, as a logarithm */
	double seconds;
};

struct findmax {
	struct findmax_config config;
	/* highest rate shown to hold, lowest shown to fail; 0: none yet */
	double lo, hi;
	struct findmax_point at_lo, at_hi; /* their measurements; rate 0: none */
	struct findmax_point open[FINDMAX_PROBES];
	uint32_t n_open;
	/* total time used; largest time a probe took beyond its length */
	uint64_t used_ns, extra_ns;
	double doubted;                 /* rate to probe again; 0: none */
	uint32_t probes;
	struct findmax_probe probe;     /* the current probe */
	enum findmax_end end;
};

void findmax_init(struct findmax *fm, const struct findmax_config *config);

/* Chooses the next probe. Returns false at the end: see `end`, `lo` and `hi`. */
bool findmax_next(struct findmax *fm, struct findmax_probe *probe);

/*
 * Adds a probe's result: its truth, its measurement as far as known, and how long it took in all. A
 * run beyond the server's capacity is LOAD_FAILS, a run without a result LOAD_OPEN.
 */
void findmax_feed(struct findmax *fm, enum load_truth truth, const struct load_quantile *quantile,
		  uint64_t took_ns);

/*
 * Adds a probe that seems to be beyond the server's capacity, though host interference may be the
 * reason: it is repeated once.
 */
void findmax_doubt(struct findmax *fm, const struct load_quantile *quantile, uint64_t took_ns);

/* "found", "time", ... */
const char *findmax_end_name(enum findmax_end end);

#endif
