/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --method lancet: the paper's own procedure (Kogias et al., USENIX ATC 2019, section 4.3) on a
 * bounded store of exact samples, for comparing with its figures.
 *
 *	take 10,000 samples, one of 5 requests at random
 *	dependent at some lag (Spearman, p < 0.05)? thin by the first lag at which they are not
 *	not stationary (Dickey-Fuller, p > 0.05)?   10,000 samples more
 *	interval (formulas 1 and 2) too wide?       10,000 samples more
 *	at most 10 tries
 *
 * What the paper leaves open: lags are 1, 2, 5, 10 ... 1000; after a thinning as many samples are
 * waited for as before; "at random" is by a hash of the sample's time and place in its stream, so
 * that the choice doesn't depend on the order of arrival.
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
	LANCET_MORE,      /* there was no try yet: samples are missing */
	LANCET_DONE,
	LANCET_DEPENDENT, /* neighbours are correlated: thinned, and samples are missing again */
	LANCET_NOT_STATIONARY,
	LANCET_TOO_WIDE,
};

struct lancet_sample {
	uint64_t sent, latency, hash;
};

struct lancet {
	struct VEC_OF(struct lancet_sample) samples; /* of one request in `sampling` */
	uint64_t sampling;    /* grows by what dependence asks for */
	size_t wanted;        /* samples for the next try */
	uint32_t tries;
	enum lancet_verdict verdict; /* of the last try */
	/* of the last try: */
	size_t used;          /* the first ones of `samples`; after a thinning, what is left */
	double spearman, spearman_p; /* of lag 1 */
	double adf, adf_p;    /* of the last try whose samples were independent */
	uint64_t lag;         /* the first without a significant correlation; 0: none */
	uint64_t ns, lo_ns, hi_ns; /* of the percentile asked for */
	bool bounded;         /* the two before hold */
};

void lancet_init(struct lancet *lancet);
void lancet_release(struct lancet *lancet);

/* A completed request. One that a full store has no room for is left out. 0 or -ENOMEM. */
int lancet_add(struct lancet *lancet, const struct event_sample *sample);

/* Of the last try, or before the first one so far. */
size_t lancet_samples(const struct lancet *lancet);

/*
 * A try, if there are as many samples as are wanted and it isn't over. ci_width_ns 0: any width
 * will do. Returns 0 or -ENOMEM; look at `tries` and `verdict`.
 */
int lancet_try(struct lancet *lancet, double percentile, double confidence, uint64_t ci_width_ns);

/*
 * Another quantile of the last try's samples; false: there are none, the ranks of formulas 1 and 2
 * lie beyond them (then `ns` may be set), or there is no memory.
 */
bool lancet_quantile(const struct lancet *lancet, double q, double confidence, uint64_t *ns,
		     uint64_t *lo_ns, uint64_t *hi_ns);

#endif
