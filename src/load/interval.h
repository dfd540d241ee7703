/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A confidence interval of a quantile from all samples of a stretch of time, although they depend
 * on each other. docs/design/load-method.md has the derivation; in short:
 *
 *	z_w = #(X <= x in window w) - F n_w         x: the estimate's bucket, F: share up to x
 *	tau = 1 + 2 sum of autocorrelations of z    Geyer's (1992) initial monotone sequence
 *	V   = variance of sum z: the greater one of   tau * sum z^2   and of b <= 64 non-overlapping
 *	      batches of at least 10 (tau - 1) windows, times (1 + r) / (1 - r) for the
 *	      remaining correlation r > 0 of neighboring batches
 *	D   = V / (n F (1 - F)), at least 1         samples worth one independent sample
 *	df  = 2 (b - 1) / (kurtosis of the batches - 1), at most b - 1
 *
 * With fewer than 100 effective samples beyond the quantile, D is the greatest of three: at the
 * quantile, and where the tail is two and four times as thick. The interval is the binomial
 * interval of n / D samples, with D widened by (t / z)^2 for df degrees of freedom (Woodruff 1952;
 * Korn and Graubard 1998), read off the pooled histogram: from the lower edge of the lower rank's
 * bucket to the upper edge of the upper rank's bucket.
 *
 * Failed requests have no latency; the interval allows for any latency from 0 to infinity.
 */
#ifndef HOSTLAT_LOAD_INTERVAL_H
#define HOSTLAT_LOAD_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "load/series.h"

#define INTERVAL_EXCEEDANCES_MIN 10 /* least number of effective samples in the thinner tail */
#define INTERVAL_EXCEEDANCES_MANY 100
#define INTERVAL_BATCHES_MIN 10
#define INTERVAL_BATCHES_MAX 64
/* length of a batch in windows of the series, as a multiple of (tau - 1) */
#define INTERVAL_BATCH_TIMES 10

enum interval_why {
	INTERVAL_GOOD,
	INTERVAL_NO_SAMPLES,
	INTERVAL_FEW_EXCEEDANCES,
	INTERVAL_FEW_BATCHES, /* no interval: dependence leaves fewer than 10 batches */
	INTERVAL_FAILURES,    /* no interval: a bound may be a failed request */
};

struct interval {
	enum interval_why why;
	uint64_t ns;           /* the observed quantile; 0: no samples */
	uint64_t lo_ns, hi_ns; /* bounds, if `why` is INTERVAL_GOOD */
	uint64_t count;        /* number of samples */
	double inflation;      /* variance inflation by dependence, >= 1; not widened for df */
	double effective;      /* effective number of samples: count / inflation */
	double exceedances;    /* effective samples in the thinner tail of q */
	double tau;            /* autocorrelation time in windows of the series (file's header) */
	double residual;       /* lag-1 autocorrelation of batches */
	double df;
	uint32_t batches, batch_windows;
};

/* Windows [from, to) of a series, and their pooled histogram. */
struct interval_range {
	const struct series *series;
	uint32_t from, to;
	enum load_from which;
	const struct hist *pooled; /* histogram of latency `which` over the windows */
	uint64_t failed;
};

/* Computes the interval of quantile q; 0 < q, confidence < 1. Returns 0 (see `why`) or -ENOMEM. */
int interval_of(const struct interval_range *range, double q, double confidence,
		struct interval *out);

/*
 * Computes an interval by another method, as a check: Student's t over the quantiles of `batches`
 * batches of equal length. Returns 0, -ENODATA (an empty batch, or fewer than 2) or -ENOMEM.
 */
int interval_by_batches(const struct interval_range *range, double q, double confidence,
			uint32_t batches, uint64_t *lo_ns, uint64_t *hi_ns);

/* Returns whether dependence could be measured, so that `inflation` and later members are valid. */
static inline bool interval_measured(const struct interval *interval)
{
	return interval->batches > 0;
}

/* Returns the interval's width as a share of the estimate; NaN without an interval. */
double interval_share(const struct interval *interval);

/*
 * Returns the relative change of the quantile that a result tolerates: the relative width of the
 * interval, but at least 5 %; 25 % without an interval.
 */
double interval_effect(const struct interval *interval);

/* Returns the number of samples up to the upper edge of `ns`'s bucket; schema: LOAD_SCHEMA. */
uint64_t interval_at_most(const struct hist *hist, uint64_t ns);

#endif
