/* SPDX-License-Identifier: Apache-2.0 */
/* The result of one run, for tables of several runs and for what is judged of them together. */
#ifndef HOSTLAT_LOAD_SUMMARY_H
#define HOSTLAT_LOAD_SUMMARY_H

#include "load/analysis.h"
#include "load/condition.h"
#include "load/setup.h"
#include "report/report.h"

struct load_summary {
	const char *url;                  /* borrowed; NULL: that of all runs */
	enum load_from from;              /* what the latencies below count from */
	bool closed;                      /* a closed loop: no latency at a rate */
	double rate, achieved;            /* per second; NaN: there is none, or unknown */
	uint64_t count;                   /* samples used */
	struct load_misses misses;        /* of the whole run; valid if misses_known */
	bool misses_known;
	uint64_t seed;                    /* of this run */
	struct load_quantile quantiles[REPORT_QUANTILES];
	struct load_quantile asked;       /* of the percentile asked for */
	bool sound;
	bool saturated;                   /* not sound: the load exceeded the server's capacity */
	bool certain;                     /* saturated, and noise cannot be the reason */
	bool usable;                      /* no more than the interval is missing */
	bool comparable;                  /* the load was what was asked for, whatever disturbed */
	char reasons[256];                /* codes, separated by blanks */
};

/* Adds a finished run and its report; `q` is the percentile asked for. */
void load_summary_make(const struct load_analysis *analysis, const struct load_setup *setup,
		       double q, const struct report *r, struct load_summary *out);

/* Derives the flags and `reasons` from the report's reasons. */
void load_summary_reasons(const struct report *r, struct load_summary *out);

/*
 * Judges a condition by the requested quantile. `q` becomes its measured value; nothing, if noise
 * spoilt it. `doubtful`: the condition fails, but noise may be the reason.
 */
enum load_truth load_summary_judge(const struct load_summary *s, const struct load_condition *c,
				   struct load_quantile *q, bool *doubtful);

#endif
