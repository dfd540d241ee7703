/* SPDX-License-Identifier: Apache-2.0 */
/* The result of one run, for tables and joint results of several runs. */
#ifndef HOSTLAT_LOAD_SUMMARY_H
#define HOSTLAT_LOAD_SUMMARY_H

#include "load/analysis.h"
#include "load/condition.h"
#include "load/setup.h"
#include "report/report.h"

struct load_summary {
	const char *url;                  /* borrowed; NULL: the URL of all runs */
	enum load_from from;              /* where the latencies below start */
	bool closed;                      /* a closed loop: no latency at a rate */
	double rate, achieved;            /* requests per second; NaN: none, or unknown */
	uint64_t count;                   /* samples used */
	struct load_misses misses;        /* misses of the whole run; valid if misses_known */
	bool misses_known;
	uint64_t seed;                    /* seed of this run */
	struct load_quantile quantiles[REPORT_QUANTILES];
	struct load_quantile asked;       /* the requested percentile */
	bool sound;
	bool saturated;                   /* not sound: the load exceeded the server's capacity */
	/* saturated, and host interference cannot be the reason */
	bool certain;
	bool usable;                      /* not sound only because the interval is missing */
	bool comparable;                  /* the load was as requested, despite host interference */
	char reasons[256];                /* codes, separated by blanks */
};

/* Summarizes a finished run and its report; `q` is the requested percentile. */
void load_summary_make(const struct load_analysis *analysis, const struct load_setup *setup,
		       double q, const struct report *r, struct load_summary *out);

/* Derives the flags and `reasons` from the report's reasons. */
void load_summary_reasons(const struct report *r, struct load_summary *out);

/*
 * Judges a condition by the requested quantile. Sets `q` to its measured value, unknown if host
 * interference made it useless, and `doubtful` if the condition fails but host interference may be
 * the reason.
 */
enum load_truth load_summary_judge(const struct load_summary *s, const struct load_condition *c,
				   struct load_quantile *q, bool *doubtful);

#endif
