/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that are judged together: decides which run is next, and reports the result of all runs. A
 * callback of the caller makes each run.
 */
#ifndef HOSTLAT_LOAD_BATCH_H
#define HOSTLAT_LOAD_BATCH_H

#include "base/parse.h"
#include "load/condition.h"
#include "load/rates.h"
#include "load/runs.h"

#define LOAD_BATCH_LABEL_MAX 128
/* length of the shortest probe of --find-max, warm-up included */
#define LOAD_BATCH_PROBE_NS (3 * NS_PER_S)

struct load_batch_run {
	double rate;
	uint64_t duration_ns;
	double confidence; /* confidence of the run's intervals; 0: the level of --confidence */
	const char *url;   /* target; NULL: the URL that all runs share */
	const char *label; /* text for the progress line: "run 3 of 10" */
};

struct load_batch {
	double q;             /* the percentile to report, 0 < q < 1 */
	double confidence;    /* confidence of the result of all runs */
	double rate;          /* requests/s of each run, if all runs have the same rate */
	uint64_t duration_ns; /* length of each run; for --find-max, of all runs together */
	/*
	 * Makes a run. Returns 0, or an exit code > 0 after printing why there is no result. Sets
	 * batch->end.interrupted if no more runs are to be made.
	 */
	int (*run)(void *ctx, const struct load_batch_run *run, struct load_summary *out);
	void *ctx;
	struct load_conditions conditions; /* for --repeat and --against; n is 0: none */
	/* Results; the caller initializes and releases `runs`. */
	struct load_asserts judged;
	struct load_runs runs;
	struct load_runs_end end;
	char failed[LOAD_BATCH_LABEL_MAX]; /* label of the failed run; end.failed points to it */
};

/*
 * load_batch_sweep() and the functions after it make all runs of a batch and fill the report. If a
 * run fails, earlier runs are reported. Return 0, the exit code of the first run if the first run
 * failed, or -ENOMEM.
 */
/* Makes LOAD_SWEEP_PASSES runs at each rate; `seed` determines their order. */
int load_batch_sweep(struct load_batch *batch, const struct load_rates *rates, uint64_t seed,
		     struct report *r);
int load_batch_repeat(struct load_batch *batch, uint64_t runs, struct report *r);
int load_batch_find_max(struct load_batch *batch, const struct load_condition *condition,
			struct report *r);
/* Makes pairs of runs at two servers; `seed` determines the order within each pair. */
int load_batch_against(struct load_batch *batch, const char *const urls[2], uint64_t pairs,
		       uint64_t seed, struct report *r);

#endif
