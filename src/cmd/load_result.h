/* SPDX-License-Identifier: Apache-2.0 */
/* What the command adds to a run's result: conditions, and what went wrong around the run. */
#ifndef HOSTLAT_CMD_LOAD_RESULT_H
#define HOSTLAT_CMD_LOAD_RESULT_H

#include "base/opt.h"
#include "cmd/load_intake.h"
#include "load/condition.h"
#include "report/report.h"

/* The conditions of --assert. Returns 0 or, after a message, -EINVAL. */
int load_asserts_parse(const struct opt_list *texts, struct load_condition out[OPT_LIST_MAX]);

/*
 * Adds "asserts" to the report, which has the run's verdict already; they are about the latency
 * that the result is about. One that is neither shown nor refuted makes a sound result partial.
 * `fails`: one is refuted. At most OPT_LIST_MAX. Returns 0 or -ENOMEM.
 */
int load_asserts_report(const struct load_condition *conditions, uint32_t n,
			const struct load_analysis *analysis, struct report *r, bool *fails);

/* A reason beside the run itself: a verdict of "ok" becomes "partial". */
void load_reason(struct report *r, const char *code, const char *evidence, const char *message);

/* What a table of many runs says of one. */
struct load_summary {
	const char *url;                  /* borrowed; NULL: that of all runs */
	enum load_from from;              /* what the latencies below count from */
	bool closed;                      /* a closed loop: no latency at a rate */
	double rate, achieved;            /* per second; NaN: there is none, or unknown */
	uint64_t count;                   /* samples used */
	struct load_misses misses;        /* of the whole run, if ... */
	bool misses_known;                /* ... it was told */
	uint64_t seed;                    /* of this run */
	struct load_quantile quantiles[REPORT_QUANTILES];
	struct load_quantile asked;       /* of the percentile asked for */
	bool sound, interrupted;
	bool saturated;                   /* not sound: it was more than can be served ... */
	bool certain;                     /* ... and noise can't have been the reason */
	bool usable;                      /* no more than the interval is missing */
	bool comparable;                  /* the load was what was asked for, whatever disturbed */
	char reasons[256];                /* codes, separated by blanks */
};

/* 0 or -errno. */
int load_summary_make(struct load_intake *intake, double q, struct load_summary *out);

/* What the reasons of its report say of it. */
void load_summary_reasons(const struct report *r, struct load_summary *out);

/*
 * What it shows of a condition on the quantile asked for. `q` becomes what it measured of that:
 * nothing, if noise spoilt it. `doubtful`: it fails, but noise may have been the reason.
 */
enum load_truth load_summary_judge(const struct load_summary *s, const struct load_condition *c,
				   struct load_quantile *q, bool *doubtful);

#endif
