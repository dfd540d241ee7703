/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that are judged together: decides what to run next, and what the runs say together. A
 * function of the caller's makes each run.
 */
#ifndef HOSTLAT_LOAD_BATCH_H
#define HOSTLAT_LOAD_BATCH_H

#include "base/parse.h"
#include "load/condition.h"
#include "load/rates.h"
#include "load/runs.h"

#define LOAD_BATCH_LABEL_MAX 128
/* of --find-max; the warm-up is left out of each */
#define LOAD_BATCH_PROBE_NS (3 * NS_PER_S)

struct load_batch_run {
	double rate;
	uint64_t duration_ns;
	double confidence; /* of its intervals; 0: as the batch's */
	const char *url;   /* NULL: that of all runs */
	const char *label; /* for people: "run 3 of 10" */
};

struct load_batch {
	double q;             /* the percentile in question */
	double confidence;    /* of the answer */
	double rate;          /* of each run, where all have the same */
	uint64_t duration_ns; /* of each run; of a search: of all */
	/*
	 * Makes a run. Returns 0, or a code > 0 after saying why there is no result; sets
	 * batch->end.interrupted after the last run that is to be made.
	 */
	int (*run)(void *ctx, const struct load_batch_run *run, struct load_summary *out);
	void *ctx;
	/* Results: the caller initialises the first and releases it. */
	struct load_runs runs;
	struct load_runs_end end;
	char failed[LOAD_BATCH_LABEL_MAX]; /* the run that end.failed names */
};

/*
 * Each makes all its runs and fills the report. What was measured before a run failed is reported,
 * too. Returns 0, the code of the first run if there was no other, or -ENOMEM.
 */
int load_batch_sweep(struct load_batch *batch, const struct load_rates *rates, struct report *r);
int load_batch_repeat(struct load_batch *batch, uint64_t runs, struct report *r);
int load_batch_find_max(struct load_batch *batch, const struct load_condition *condition,
			struct report *r);
/* Pairs of runs at two servers, each pair in an order that `seed` draws. */
int load_batch_against(struct load_batch *batch, const char *const urls[2], uint64_t pairs,
		       uint64_t seed, struct report *r);

#endif
