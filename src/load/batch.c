/* SPDX-License-Identifier: Apache-2.0 */
#include "load/batch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "clock/clock.h"
#include "report/human.h"

#define FINDMAX_PRECISION 0.03
#define FINDMAX_START 1000
#define FINDMAX_RATE_MIN 1
#define FINDMAX_RATE_MAX 1e7

/* Makes a run and appends its summary to batch->runs. Returns 0, the run's exit code or -ENOMEM. */
static int batch_run_one(struct load_batch *batch, const struct load_batch_run *run)
{
	struct load_summary summary;
	int code = batch->run(batch->ctx, run, &summary);

	if (code)
		return code;
	summary.url = run->url;
	summary.run = batch->runs.len + 1;
	return vec_push(&batch->runs, summary);
}

static void label_run(char out[LOAD_BATCH_LABEL_MAX], uint64_t n, uint64_t of, double rate)
{
	char count[HUMAN_MAX];

	human_rate(count, rate);
	if (of)
		snprintf(out, LOAD_BATCH_LABEL_MAX, "run %llu of %llu%s%s%s", (unsigned long long)n,
			 (unsigned long long)of, rate > 0 ? ", " : "", rate > 0 ? count : "",
			 rate > 0 ? " requests/s" : "");
	else
		snprintf(out, LOAD_BATCH_LABEL_MAX, "trial run %llu, %s requests/s",
			 (unsigned long long)n, count);
}

/*
 * Ends a batch after a run's `code`. Returns `code`, or 0 if the run failed (code > 0) but earlier
 * runs have results to report. A negative code (no memory) is returned.
 */
static int end_batch(struct load_batch *batch, int code, const char *label)
{
	if (code <= 0 || !batch->runs.len)
		return code;
	snprintf(batch->failed, sizeof(batch->failed), "%s", label);
	batch->end.failed = batch->failed;
	return 0;
}

/* ---- sweeps and repetitions ---- */

/* Shuffles by the method of Fisher and Yates. */
static void batch_shuffle(uint32_t *order, uint32_t n, struct rng *rng)
{
	for (uint32_t i = n; i > 1; i--) {
		const uint32_t j = (uint32_t)rng_below(rng, i), last = order[i - 1];

		order[i - 1] = order[j];
		order[j] = last;
	}
}

static int compare_rates(const void *va, const void *vb)
{
	const struct load_summary *a = va, *b = vb;

	return a->rate != b->rate ? (a->rate < b->rate ? -1 : 1) : a->run < b->run ? -1 : 1;
}

/*
 * A server that warms up, drifts or suffers from an overload before would make rates differ that do
 * not, or a curve from one of two alike: so the order is random, and each rate comes twice.
 */
int load_batch_sweep(struct load_batch *batch, const struct load_rates *rates, uint64_t seed,
		     struct report *r)
{
	const uint64_t all = (uint64_t)LOAD_SWEEP_PASSES * rates->n;
	char label[LOAD_BATCH_LABEL_MAX] = "";
	uint32_t order[LOAD_RATES_MAX];
	struct rng rng;
	int code = 0;

	rng_init(&rng, seed);
	for (uint32_t i = 0; i < rates->n; i++)
		order[i] = i;
	for (uint64_t i = 0; !code && !batch->end.interrupted && i < all; i++) {
		struct load_batch_run run = { .duration_ns = batch->duration_ns, .label = label };

		if (i % rates->n == 0)
			batch_shuffle(order, rates->n, &rng);
		run.rate = load_rates_at(rates, order[i % rates->n]);
		label_run(label, i + 1, all, run.rate);
		code = batch_run_one(batch, &run);
	}
	code = end_batch(batch, code, label);
	qsort(batch->runs.items, batch->runs.len, sizeof(*batch->runs.items), compare_rates);
	if (!code)
		load_runs_sweep(&batch->runs, batch->q, &batch->end, r);
	return code;
}

int load_batch_repeat(struct load_batch *batch, uint64_t runs, struct report *r)
{
	char label[LOAD_BATCH_LABEL_MAX] = "";
	const struct load_batch_run run = {
		.rate = batch->rate, .duration_ns = batch->duration_ns, .label = label,
	};
	int code = 0;

	for (uint64_t i = 0; !code && !batch->end.interrupted && i < runs; i++) {
		label_run(label, i + 1, runs, run.rate);
		code = batch_run_one(batch, &run);
	}
	code = end_batch(batch, code, label);
	return code ? code : load_runs_repeat(&batch->runs, batch->q, batch->confidence,
					      &batch->conditions, &batch->end, r, &batch->judged);
}

/* ---- search for the highest rate (--find-max) ---- */

static void feed_probe(struct findmax *fm, const struct load_condition *condition,
		       const struct load_summary *s, uint64_t took_ns)
{
	struct load_quantile measured;
	bool doubtful;
	enum load_truth truth = load_summary_judge(s, condition, &measured, &doubtful);

	if (doubtful)
		findmax_doubt(fm, &measured, took_ns);
	else
		findmax_feed(fm, truth, &measured, took_ns);
}

int load_batch_find_max(struct load_batch *batch, const struct load_condition *condition,
			struct report *r)
{
	char label[LOAD_BATCH_LABEL_MAX] = "";
	struct findmax_probe probe;
	struct findmax fm;
	int code = 0;

	findmax_init(&fm, &(struct findmax_config){
		.q = condition->q, .limit_ns = condition->limit_ns,
		.confidence = batch->confidence, .precision = FINDMAX_PRECISION,
		.start = FINDMAX_START, .min = FINDMAX_RATE_MIN, .max = FINDMAX_RATE_MAX,
		.probe_ns = LOAD_BATCH_PROBE_NS, .budget_ns = batch->duration_ns,
	});
	while (!code && !batch->end.interrupted && findmax_next(&fm, &probe)) {
		/*
		 * --find-max judges each run by one-sided bounds, but a run's interval is
		 * two-sided: each side gets half of the error probability.
		 */
		const struct load_batch_run run = {
			.rate = probe.rate, .duration_ns = probe.duration_ns,
			.confidence = 2 * probe.confidence - 1, .label = label,
		};
		const uint64_t begun_ns = clock_now();

		label_run(label, fm.probes, 0, probe.rate);
		code = batch_run_one(batch, &run);
		if (!code && !batch->end.interrupted)
			feed_probe(&fm, condition, vec_last(&batch->runs),
				   clock_now() - begun_ns);
	}
	code = end_batch(batch, code, label);
	if (!code)
		code = load_runs_find_max(&batch->runs, condition, &fm, &batch->end, r);
	return code;
}

/* ---- comparison of two targets (--against) ---- */

int load_batch_against(struct load_batch *batch, const char *const urls[2], uint64_t pairs,
		       uint64_t seed, struct report *r)
{
	char label[LOAD_BATCH_LABEL_MAX] = "";
	struct load_batch_run run = {
		.rate = batch->rate, .duration_ns = batch->duration_ns, .label = label,
	};
	unsigned int first = 0;
	struct rng rng;
	int code = 0;

	rng_init(&rng, seed);
	for (uint64_t i = 0; !code && !batch->end.interrupted && i < 2 * pairs; i++) {
		if (i % 2 == 0)
			first = (unsigned int)rng_below(&rng, 2);
		run.url = urls[first ^ (i % 2)];
		label_run(label, i + 1, 2 * pairs, run.rate);
		code = batch_run_one(batch, &run);
	}
	code = end_batch(batch, code, label);
	return code ? code : load_runs_against(&batch->runs, urls, batch->q, batch->confidence,
					       &rng, &batch->conditions, &batch->end, r,
					       &batch->judged);
}
