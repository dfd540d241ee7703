/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --method lancet: the procedure of the Lancet paper (Kogias et al., USENIX ATC 2019, section 4.3)
 * on a bounded store of exact samples, to compare with its figures.
 *
 *	take 10,000 samples, one of 5 requests at random
 *	dependent at some lag (Spearman, p < 0.05)? thin by the first lag at which they are not
 *	not stationary (Dickey-Fuller, p > 0.05)?   10,000 samples more
 *	interval (formulas 1 and 2) too wide?       10,000 samples more
 *	at most 10 tries
 *
 * Choices that the paper leaves open: lags are 1, 2, 5, 10 ... 1000; after a thinning the next try
 * waits for as many samples as before; "at random" uses a hash of the sample's time and position in
 * its stream, so that the choice does not depend on the order of arrival.
 */
#ifndef HOSTLAT_LOAD_LANCET_H
#define HOSTLAT_LOAD_LANCET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/layout.h"

#define LANCET_STEP 10000
#define LANCET_SAMPLING 5
#define LANCET_TRIES 10
#define LANCET_STORE (4 * LANCET_TRIES * LANCET_STEP)
#define LANCET_ALPHA 0.05

enum lancet_verdict {
	LANCET_MORE,      /* not analyzed yet: more samples are needed */
	LANCET_DONE,
	LANCET_DEPENDENT, /* neighbors are correlated: samples were thinned, more are needed */
	LANCET_NOT_STATIONARY,
	LANCET_TOO_WIDE,
};

struct lancet_sample {
	uint64_t sent, latency, hash;
};

struct lancet {
	struct VEC_OF(struct lancet_sample) samples; /* samples of 1 in `sampling` requests */
	uint64_t sampling; /* inverse of the sampled share; grows at each thinning */
	size_t wanted;        /* number of samples that the next analysis needs */
	uint32_t tries;
	enum lancet_verdict verdict; /* verdict of the last analysis */
	/* Results of the last analysis of the samples. */
	size_t used;          /* number of samples analyzed, or left after thinning */
	double spearman, spearman_p; /* rank correlation at lag 1, and its p value */
	double adf, adf_p;    /* Dickey-Fuller test of the last uncorrelated samples, its p */
	uint64_t lag;         /* first lag without a significant correlation; 0: none */
	uint64_t ns, lo_ns, hi_ns; /* the requested percentile and its bounds */
	bool bounded;         /* lo_ns and hi_ns are valid */
};

void lancet_init(struct lancet *lancet);
void lancet_release(struct lancet *lancet);

/*
 * Adds a completed request to the samples, if it is among the sampled ones and the samples have not
 * reached LANCET_STORE. Returns 0 or -ENOMEM.
 */
int lancet_add(struct lancet *lancet, const struct event_sample *sample);

/* Returns the number of samples in the last analysis; before the first one, of all samples. */
size_t lancet_samples(const struct lancet *lancet);

/*
 * Analyzes the samples if there are enough of them, unless the verdict is LANCET_DONE or
 * LANCET_TRIES analyses were made. ci_width_ns 0: any width will do. Returns 0 or -ENOMEM; check
 * `tries` (the number of analyses) and `verdict`.
 */
int lancet_try(struct lancet *lancet, double percentile, double confidence, uint64_t ci_width_ns);

/*
 * Finds quantile q of the samples in the last analysis, and its bounds. Returns false without
 * samples or memory, or if the ranks of the bounds (formulas 1 and 2 of the Lancet paper) lie
 * beyond the samples; then `ns` may be set.
 */
bool lancet_quantile(const struct lancet *lancet, double q, double confidence, uint64_t *ns,
		     uint64_t *lo_ns, uint64_t *hi_ns);

#endif
