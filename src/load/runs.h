/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on several runs: a table of the runs, and their common result. */
#ifndef HOSTLAT_LOAD_RUNS_H
#define HOSTLAT_LOAD_RUNS_H

#include "base/strbuf.h"
#include "load/asserts.h"
#include "load/between_runs.h"
#include "load/findmax.h"
#include "load/summary.h"

/* Reason why fewer runs were made than requested; false and NULL: all were made. */
struct load_runs_end {
	bool interrupted;
	const char *failed; /* label of the run that failed; NULL: none */
};

/*
 * Fill in the report of a command that makes several runs, including the verdict; `q` is the
 * requested percentile, 0..1.
 */
void load_runs_sweep(const struct load_runs *runs, double q, const struct load_runs_end *end,
		       struct report *r);
/* Judges `conditions`, too, as `judged` says. Returns 0 or -ENOMEM. */
int load_runs_repeat(const struct load_runs *runs, double q, double confidence,
		     const struct load_conditions *conditions, const struct load_runs_end *end,
		     struct report *r, struct load_asserts *judged);
/* Returns 0 or -ENOMEM. */
int load_runs_find_max(const struct load_runs *runs, const struct load_condition *condition,
		       const struct findmax *fm, const struct load_runs_end *end,
		       struct report *r);

/*
 * Compares two servers; `runs` are in pairs, one run per server. Conditions are about the change
 * from the first to the second one. Returns 0 or -ENOMEM.
 */
int load_runs_against(const struct load_runs *runs, const char *const urls[2], double q,
		      double confidence, struct rng *rng,
		      const struct load_conditions *conditions, const struct load_runs_end *end,
		      struct report *r, struct load_asserts *judged);

/* Appends a CSV table of the runs, at most LOAD_RUNS_CSV_MAX bytes. Errors are in out->error. */
void load_runs_csv(const struct load_runs *runs, double q, struct strbuf *out);
#define LOAD_RUNS_CSV_MAX (4UL << 20)

#endif
