/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a single run, for tables and joint results of several runs. */
#ifndef HOSTLAT_LOAD_SUMMARY_H
#define HOSTLAT_LOAD_SUMMARY_H

#include "base/vec.h"
#include "load/analysis.h"
#include "load/condition.h"
#include "load/setup.h"
#include "report/report.h"

struct load_summary {
	const char *url;                  /* borrowed; NULL: all runs have the same URL */
	uint64_t run;                     /* number of the run in the order made, from 1 */
	enum load_from from;              /* start of the latencies: intended or actual send */
	bool closed;                      /* closed loop: the latency does not belong to a rate */
	/* requested and achieved requests per second; NaN: none or unknown */
	double rate, achieved;
	uint64_t count;                   /* number of samples used */
	uint64_t from_ns, to_ns;          /* their intended times: [from_ns, to_ns) */
	double period_ns;                 /* period of the latency; 0: none was found */
	struct load_misses misses;        /* misses in the whole run; valid if misses_known */
	bool misses_known;
	uint64_t seed;                    /* seed of the run's schedule and draws */
	struct load_quantile quantiles[REPORT_QUANTILES];
	struct load_quantile asked;       /* quantile requested by --percentile */
	bool sound;
	bool noisy;                       /* host interference was above what is harmless */
	bool saturated;                   /* not sound: the load exceeded the server's capacity */
	bool aborted;                     /* --abort-on ended the run */
	/* saturated, and host interference cannot be the cause */
	bool certain;
	bool usable;                      /* sound, or it lacks only a confidence interval */
	bool comparable;                  /* the load was as requested, despite host interference */
	/*
	 * the conditions of --assert-seen, in their order, that this run's requests show to hold,
	 * and to fail, as masks of 1 << i
	 */
	uint64_t seen_holds, seen_fails;
	char reasons[256];                /* codes of the reasons, separated by spaces */
};

struct load_runs VEC_OF(struct load_summary);

static inline const char *load_summary_verdict(const struct load_summary *s)
{
	return s->sound ? "ok" : "n/a";
}

/* Summarizes a finished run and its report; `q` is the requested percentile, 0..1. */
void load_summary_make(const struct load_analysis *analysis, const struct load_setup *setup,
		       double q, const struct report *r, struct load_summary *out);

/*
 * Sets the flags (such as `saturated`) and the `reasons` of `out` by the reasons in the report, and
 * by `noisy`, which the caller sets.
 */
void load_summary_reasons(const struct report *r, struct load_summary *out);

/*
 * Returns whether no reason in the report, and none that --tolerate made no reason, means that the
 * load was not as requested.
 */
bool load_summary_is_as_asked(const struct load_analysis *analysis, const struct report *r);

/* Returns whether a run of so many requests tells of quantile q more than chance. */
bool load_summary_enough(uint64_t requests, double q);

/*
 * Returns whether a run counts among several, by its quantile q: the load was as requested, and so
 * many requests lie beyond the quantile that it is not mostly chance.
 */
bool load_summary_counts(const struct load_summary *s, double q);

/*
 * Judges a condition on the requested quantile. Sets `q` to the measured quantile, unknown if host
 * interference invalidated it. Sets `doubtful` if the condition fails, but host interference may be
 * the cause.
 */
enum load_truth load_summary_judge(const struct load_summary *s, const struct load_condition *c,
				   struct load_quantile *q, bool *doubtful);

#endif
