/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the highest rate at which a latency condition holds (--find-max), by probes that are runs
 * of their own. A pure state machine, driven by runs or by a simulation.
 *
 * A probe decides only by its one-sided bound: the condition holds at a rate if the upper bound of
 * the quantile is below the limit, and fails if the lower bound is not. A probe that shows neither
 * is open: its rate is close to the answer. Its quantile and interval determine rate and length of
 * the next probe, so that the answer ends up between two probes that decide. Such estimates only
 * choose probes; they never decide about a rate.
 *
 * A run beyond the server's capacity has no valid interval. If host interference may have been the
 * reason, the probe is repeated at the same rate, and counts as failed if the repeated probe also
 * fails.
 *
 * A server changes with time, and the first probes are the oldest. So a found range is confirmed:
 * one more probe at lo, and one at hi. If one of them shows the contrary, that end is given up and
 * the search goes on.
 *
 * The answer is [lo, hi]: the condition holds at lo and fails at hi. Latency is assumed to grow
 * with the rate; then the answer is wrong only if a decision was wrong. Each of at most
 * FINDMAX_PROBES probes gets the same share of 1 - confidence (Bonferroni), so that the answer as a
 * whole has that confidence.
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
	uint64_t limit_ns;  /* the quantile must be below this latency */
	double confidence;  /* confidence of the rate that is found */
	/* relative width of the range that is found: stop at hi / lo - 1 <= precision; > 0 */
	double precision;
	double start;       /* first rate to probe, requests/s */
	double min, max;    /* range of rates to probe, requests/s */
	uint64_t probe_ns;  /* length of the shortest probe (a run at one rate) */
	uint64_t budget_ns; /* total time for all probes */
};

struct findmax_probe {
	double rate;
	uint64_t duration_ns;
	double confidence; /* confidence of each one-sided bound of the quantile */
};

enum findmax_end {
	FINDMAX_GOES_ON,
	/* the rate is known as precisely as requested; confirmed, unless the time was over */
	FINDMAX_FOUND,
	FINDMAX_TIME,      /* budget_ns is used up: the rate is known less precisely */
	FINDMAX_PROBES_USED,
	FINDMAX_ABOVE_MAX, /* the condition holds at the highest rate, `max` */
	FINDMAX_BELOW_MIN, /* the condition fails at the lowest rate, `min` */
};

/* A quantile measured by a probe, which is a run at one rate. */
struct findmax_point {
	double rate;
	double excess;  /* ln(quantile / limit); > 0: above the limit */
	double half;    /* half the width of the interval of ln(quantile) */
	double seconds;
};

struct findmax {
	struct findmax_config config;
	/* highest rate at which the condition holds, lowest at which it fails; 0: none yet */
	double lo, hi;
	/* quantiles measured at the rates lo and hi; rate 0: none */
	struct findmax_point at_lo, at_hi;
	struct findmax_point open[FINDMAX_PROBES];
	uint32_t n_open;
	/* total time used; largest time by which a probe exceeded its length */
	uint64_t used_ns, extra_ns;
	double doubted;                 /* rate that must be probed again; 0: none */
	uint32_t confirming;            /* probes that confirm: 0 none yet, 1 at lo, 2 at hi too */
	bool confirmed;                 /* each of these decided as the first one there */
	uint32_t probes;
	struct findmax_probe probe;
	enum findmax_end end;
};

void findmax_init(struct findmax *fm, const struct findmax_config *config);

/* Chooses the next probe (a run at one rate). Returns false at the end: see fm->end, lo and hi. */
bool findmax_next(struct findmax *fm, struct findmax_probe *probe);

/*
 * Adds a probe's result: the condition's truth, the quantile as far as known, and the probe's total
 * time. A run beyond the server's capacity is LOAD_FAILS, a run without a result LOAD_OPEN.
 */
void findmax_feed(struct findmax *fm, enum load_truth truth, const struct load_quantile *quantile,
		  uint64_t took_ns);

/*
 * Adds a probe that seems to be beyond the server's capacity, though host interference may be the
 * reason; the probe is repeated once.
 */
void findmax_doubt(struct findmax *fm, const struct load_quantile *quantile, uint64_t took_ns);

/* Returns the name of `end` in JSON: "found", "time" ... */
const char *findmax_end_name(enum findmax_end end);

#endif
